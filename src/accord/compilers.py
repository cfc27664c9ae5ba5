"""Loops that a run will need, compiled in processes beside those that need them.

The first run on a machine compiles what it comes to (`kernel.py`), one loop after the other, and each party
waits for the other meanwhile. Here other processes begin with the rest; whoever comes first to a module
compiles it, and nothing is compiled twice. They are given the names of modules alone, and see no record.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress

from accord.program import own_environment

ALWAYS = (
    "accord.secure.transfer.extension",
    "accord.secure.ot.lookup",
    "accord.fields.siphash",
    "accord.table.csv_scan",
    "accord.secure.transfer.half_tree",
    "accord.protocols.parts.schedule",
    "accord.secure.transfer.transpose",
    "accord.secure.transfer.permutation",
    "accord.secure.ot.reading",
)
"""What every run with the default engine needs, the longest first."""
LANED = ("accord.secure.ot.distance", "accord.secure.ot.single", "accord.secure.transfer.packing")
"""Where there is a loop for each lane, of which a circuit has one or two."""
SILENT = ("accord.secure.transfer.silent", "accord.secure.transfer.lpn")
INTERSECTING = (
    "accord.secure.okvs.tables",
    "accord.fields.siphash",
    "accord.secure.okvs.elimination",
    "accord.secure.transfer.extension",
    "accord.secure.transfer.permutation",
    "accord.secure.transfer.transpose",
    "accord.secure.transfer.field",
    "accord.secure.transfer.silent",
    "accord.table.csv_scan",
    "accord.secure.okvs.peeling",
    "accord.secure.okvs.rows",
    "accord.secure.okvs.store",
    "accord.secure.prf.oblivious",
    "accord.secure.transfer.half_tree",
    "accord.secure.transfer.lpn",
)
"""What an intersection needs; the last two only with more than some thousand values, so they come last."""

ROUTED = ("accord.secure.okvs.cuckoo", "accord.secure.ot.held", "accord.secure.payloads", *INTERSECTING)
"""What routing needs beside what its comparisons do."""
TALLIED = ("accord.secure.ot.tally",)
"""With a loop for each lane, of which a tally has one."""


class Compilers:
    """Processes that compile; use it as a context, at the end of which they end."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.wait()

    def start(self, modules: Sequence[str], lanes: Collection[int] = ()) -> None:
        """Compile these modules in one more process, if there can be one; nobody waits for it."""
        program = (
            "from accord.kernel import compile_modules, spare_blas; "
            f"spare_blas(); compile_modules({list(modules)!r}, {list(lanes)!r})"
        )
        with suppress(OSError):
            self._started.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-c", program],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=own_environment(),
                    process_group=0,
                )
            )
