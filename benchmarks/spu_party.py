"""One party of SPU's comparison, run by the Python of `.venv-peers`: Cheetah, with Ferret for its transfers.

Arguments: its rank, the two ports, a folder with its rows, the rule's name, its bound and its ring. Every row
is brought in once, as a value that its owner keeps: cheaper than shares of it. Distances are
|a|² + |b|² − 2⟨a, b⟩, of which each side knows its square, so that one product of matrices and one comparison
a pair are left. How many bytes its link sent SPU writes to its log, which the parent reads.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import spu
from spu import libspu
from spu.utils import frontend

NAMES = ("a", "a_square", "b", "b_square")


class Party:
    """A runtime on a link to the other party, and what it computes."""

    def __init__(self, rank: int, ports: list[str], bound: int, ring: str) -> None:
        link = libspu.link.Desc()
        for name, port in zip("AB", ports, strict=True):
            link.add_party(name, f"127.0.0.1:{port}")
        link.recv_timeout_ms = 600_000
        self.rank, self.bound = rank, bound
        self.link = libspu.link.create_brpc(link, rank)
        config = libspu.RuntimeConfig()
        settings = {
            "protocol": "CHEETAH",
            "field": ring,
            "cheetah_2pc_config": {"ot_kind": "YACL_Ferret"},
            "experimental_enable_colocated_optimization": True,
            "enable_pphlo_profile": True,
        }
        config.ParseFromJsonString(json.dumps(settings))
        self.io, self.runtime = spu.Io(2, config), spu.Runtime(self.link, config)

    def compare(self, rows: Any) -> tuple[float, Any]:
        """Seconds for all pairs, and the answers."""
        square = (rows * rows).sum(1).astype(rows.dtype)
        shapes = [np.zeros_like(rows), np.zeros_like(square)] * 2
        secret = [libspu.Visibility.VIS_SECRET] * 4
        program, _ = frontend.compile(
            frontend.Kind.JAX, self._close, shapes, {}, list(NAMES), secret, lambda _: ["out"]
        )
        self.link.barrier()
        began = time.perf_counter()
        self._bring_in([rows, square])
        self.runtime.run(program)
        seconds = time.perf_counter() - began
        return seconds, self._answers(self.runtime.get_var("out"))

    def _close(self, a: Any, a_square: Any, b: Any, b_square: Any) -> Any:
        return a_square[:, None] + b_square[None, :] - 2 * jnp.matmul(a, b.T) <= self.bound

    def _bring_in(self, own: list[Any]) -> None:
        secret, other = libspu.Visibility.VIS_SECRET, 1 - self.rank
        for name, values in zip(NAMES[2 * self.rank :], own, strict=False):
            shares = self.io.make_shares(values, secret, self.rank)
            self.runtime.set_var(name, shares[self.rank])
            self._send(shares[other])
        for name in NAMES[2 * other : 2 * other + 2]:
            self.runtime.set_var(name, self._receive())

    def _answers(self, own: Any) -> Any:
        self._send(own)
        shares = [own, self._receive()]
        return self.io.reconstruct(shares if self.rank == 0 else shares[::-1]).astype(bool)

    def _send(self, share: Any) -> None:
        chunks = share.share_chunks
        for part in (share.meta, str(len(chunks)).encode(), *chunks):
            self.link.send(1 - self.rank, part)

    def _receive(self) -> Any:
        share = libspu.Share()
        share.meta, count = (self.link.recv(1 - self.rank) for _ in range(2))
        share.share_chunks = [self.link.recv(1 - self.rank) for _ in range(int(count))]
        return share


def main() -> None:
    rank, *ports, folder, rule, bound, ring = sys.argv[1:]
    jax.config.update("jax_enable_x64", True)
    party = Party(int(rank), ports, int(bound), ring)
    rows = np.load(Path(folder) / f"{rule}-{rank}.npy").astype(np.int32 if ring == "FM32" else np.int64)
    # The first run makes Ferret's correlations and keys; what counts is the last.
    party.compare(rows[:64])
    seconds, answers = party.compare(rows)
    np.save(Path(folder) / f"answers-{rank}.npy", np.packbits(answers))
    party.link.stop_link()
    print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
