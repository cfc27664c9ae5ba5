"""What each side of a run sees, kept whole, on small tables."""

from __future__ import annotations

from dataclasses import dataclass

from accord.protocols.base import Task
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.secure.engine import Engine
from accord.secure.party import Buffer, Wire, run_pair
from accord.side import Side
from tests.protocols.worlds import run


@dataclass(frozen=True)
class View:
    """All that one side sees of a run beyond its own table and coins."""

    received: tuple[bytes, ...]
    """The partner's messages, in order."""
    sent: tuple[int, ...]
    """The sizes of one's own."""
    outcome: Outcome


class _Tape(Wire):
    def __init__(self) -> None:
        super().__init__()
        self.said: dict[Side, list[bytes]] = {side: [] for side in Side}

    def record(self, sender: Side, buffer: Buffer, depth: int) -> None:
        super().record(sender, buffer, depth)
        self.said[sender].append(bytes(buffer))


def views(task: Task, a: OwnSide, b: OwnSide, engine: Engine) -> dict[Side, View]:
    """Run the task on two small tables and keep what each side saw."""
    tape = _Tape()
    left, right = run_pair(run(task, a, engine), run(task, b, engine), tape)
    return {
        side: View(tuple(tape.said[side.other]), tuple(tape.sizes[side]), outcome)
        for side, outcome in ((Side.A, left), (Side.B, right))
    }
