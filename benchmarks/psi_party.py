"""One party of SecretFlow PSI, run by the Python of `.venv-peers`.

Arguments: its rank, the address at which it listens, the one at which it finds the other, a folder with its
items as CSV, and the protocol. Its library writes a log to the standard output, in which the parent finds how
long the intersection itself took; one line of it is what was counted here.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from spu import libspu, psi


def main() -> None:
    rank, own, other, folder, protocol = sys.argv[1:]
    link = libspu.link.Desc()
    for number in range(2):
        link.add_party("AB"[number], own if number == int(rank) else other)
    link.recv_timeout_ms = 600_000
    connected = libspu.link.create_brpc(link, int(rank))
    settings = psi.PsiProtocolConfig(
        protocol=psi.parse_protocol(f"PROTOCOL_{protocol.split()[0]}"),
        receiver_rank=0,
        ecdh_params=psi.EcdhParams(curve=psi.EllipticCurveType.CURVE_25519),
        rr22_params=psi.Rr22Rarams(low_comm_mode=protocol.endswith("low")),
    )
    csv = psi.SourceType.SOURCE_TYPE_FILE_CSV
    source = psi.InputParams(csv, str(Path(folder) / f"in-{rank}.csv"), ["item"], True)
    target = psi.OutputParams(csv, str(Path(folder) / f"out-{rank}.csv"), disable_alignment=True)
    connected.barrier()
    began, busy = time.perf_counter(), time.process_time()
    psi.psi_execute(psi.PsiExecuteConfig(settings, source, target), connected)
    facts = {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - busy,
        "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    connected.stop_link()
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
