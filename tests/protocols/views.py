"""What each side of a run sees, kept whole, on small tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.agreement.document import Agreement
from accord.protocols.base import Task
from accord.protocols.lines import LINE
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Wire, run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.worlds import run


@dataclass(frozen=True)
class View:
    """All that one side sees of a run beyond its own table and coins."""

    received: tuple[bytes, ...]
    """The partner's messages, in order."""
    sent: tuple[int, ...]
    """The sizes of one's own."""
    outcome: Outcome
    rounds: int
    """In which messages went to and fro."""


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
    left, right = run_pair(run(task, a, engine), run(task, b, engine), wire=tape)
    return {
        side: View(tuple(tape.said[side.other]), tuple(tape.sizes[side]), outcome, tape.rounds)
        for side, outcome in ((Side.A, left), (Side.B, right))
    }


def views_of(agreed: Agreement, a: worlds.Points, b: worlds.Points, seed: int) -> dict[Side, View]:
    """What both sides see with these tables and coins."""
    own = worlds.sides(agreed, a, b, seed)
    return views(agreed.task, own[Side.A], own[Side.B], IdealEngine())


def require_one_shape(agreed: Agreement, sizes: tuple[int, int]) -> None:
    """One pair matches; the other records are all alike, or all different, or at the border of the range:
    messages have the same sizes."""
    n, m = sizes
    spread = [(5, 5), *((0, 2 * i) for i in range(n - 1))], [(5, 5), *((15, 2 * i) for i in range(m - 1))]
    alike = [(5, 5), *[(0, 0)] * (n - 1)], [(5, 5), *[(15, 15)] * (m - 1)]
    inner = [(5, 5), *((8, 2 * i) for i in range(n - 1))], [(5, 5), *((11, 7) for i in range(m - 1))]
    shapes = {
        tuple((v.sent, tuple(map(len, v.received)), v.outcome.comparisons) for v in seen.values())
        for seen in (views_of(agreed, *tables, 4) for tables in (spread, alike, inner))
    }
    assert len(shapes) == 1


def lines_of(agreed: Agreement, b: worlds.Rows, seed: int) -> np.ndarray:
    """All lines of an intersection that side B sends to an A that matches nothing."""
    received = views_of(agreed, [(0, 15)] * len(b), b, seed)[Side.A].received
    return np.frombuffer(received[1], np.uint8).reshape(-1, LINE)
