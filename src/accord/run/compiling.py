"""Which loops an agreement will need, and others that help to compile them.

As soon as the first loop of a run turns out not to be on disk, other processes begin with the rest
(`compilers.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from accord.agreement.document import Agreement
from accord.compilers import ALWAYS, INTERSECTING, LANED, ROUTED, SILENT, TALLIED, Compilers
from accord.kernel import is_being_compiled, when_missing
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.program import lane_of

_MOST = 2
"""Processes: more have nothing left to share after the first second."""


def modules_of(agreement: Agreement) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The modules with the loops that a run will need, and the lanes; none for engines that few use."""
    if not agreement.protocol.compares:
        return INTERSECTING, ()
    engine = agreement.engine.build()
    if not isinstance(engine, OtEngine):
        return (), ()
    program = compile_circuit(agreement.protocol.circuit(agreement.task, (1, 1)), engine.name)
    tallied = {lane_of(program.tally.bits)} if program.tally else set()
    lanes = sorted({share.lane for share in program.shares} | tallied)
    routing = ROUTED + (TALLIED if program.tally else ()) if program.held else ()
    return LANED + ALWAYS + routing + (SILENT if engine.settings.saves else ()), tuple(lanes)


@contextmanager
def compiling_beside(agreement: Agreement) -> Iterator[None]:
    """While this lasts, others help as soon as something is not on disk."""
    modules, lanes = modules_of(agreement)
    with Compilers() as compilers:

        def help_out() -> None:
            # Where others are at it already, there is enough to wait for.
            if modules and not is_being_compiled(modules):
                for _ in range(max(1, min(_MOST, (os.cpu_count() or 1) - 1))):
                    compilers.start(modules, lanes)

        with when_missing(help_out):
            yield
