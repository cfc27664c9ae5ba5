"""What the partner learns about one side's table: as data, and as the messages of a run.

`leakage` is the whole of it, by the theorem of each protocol's file; `agreement/disclosure.py` puts it into
words for people. `views` runs a protocol on small tables and keeps what each side saw, so that an audit can
compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from accord.protocols.linkage import Own
from accord.protocols.outcome import Outcome
from accord.protocols.protocol import run
from accord.protocols.spec import AllPairs, Laplace, Leaky, LocalDp, PlainBlocking, Psi, PsiExpand
from accord.protocols.task import Task
from accord.secure.engine import Engine
from accord.secure.party import Buffer, Wire, run_pair
from accord.side import Side

Release = Literal["nothing", "noisy counts", "reports", "true bins", "suppressed counts"]
"""What is told of all records: nothing; padded bin sizes; a randomised bin of each; the bins as they are; bin
sizes from which records were taken away."""


@dataclass(frozen=True)
class Leakage:
    """Of one side's table the partner learns its size, and this."""

    bins: int
    """Something about so many bins; 0 where nothing is told of them."""
    epsilon: Fraction | None
    delta: Fraction | None
    """The guarantee of that for each record that matches nothing; 0 and 0 without bins, None without any."""
    columns: tuple[str, ...]
    """Of each matching record: its id and these columns."""
    fields: tuple[str, ...]
    """Of each matching record, in encoded form, so that its other matches are found: greedy."""
    beyond_blocking: bool
    """Whether matches that the blocking does not compare are among those found."""
    release: Release


def leakage(task: Task, side: Side) -> Leakage:
    """What running this task reveals about a side, whatever the other side computes from it."""
    release, epsilon, delta = _guarantee(task, side)
    return Leakage(
        bins=0 if release == "nothing" else task.blocking.bins,
        epsilon=epsilon,
        delta=delta,
        columns=task.disclose[side],
        fields=task.shown_fields,
        beyond_blocking=_beyond(task),
        release=release,
    )


def _guarantee(task: Task, side: Side) -> tuple[Release, Fraction | None, Fraction | None]:
    zero = Fraction(0)
    match task.protocol:
        case Laplace() as protocol:
            promise = protocol.privacy(side)
            return "noisy counts", promise.epsilon, promise.delta
        case LocalDp() as protocol if not protocol.local(side).public:
            return "reports", protocol.local(side).epsilon, zero
        case LocalDp() | PlainBlocking():
            return "true bins", None, None
        case AllPairs() | Psi() | PsiExpand():
            return "nothing", zero, zero
        case _:
            return "suppressed counts", None, None


def _beyond(task: Task) -> bool:
    protocol = task.protocol
    if isinstance(protocol, AllPairs | Psi | PsiExpand):
        return False
    return protocol.greedy and protocol.closure == "all"


def leaks(task: Task) -> str:
    """What a leaky protocol tells that it should not; empty for the others."""
    match task.protocol:
        case PlainBlocking():
            return (
                "LEAKY: the partner sees exactly how many records fall into each bin, so it can tell whether "
                "a record that matches nothing is there."
            )
        case protocol if isinstance(protocol, Leaky):
            return (
                "LEAKY: records are suppressed at random, so how many matches are missing from a bin tells "
                "how many records without a match it holds; no (ε, δ) follows from the noise."
            )
    return ""


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


def views(task: Task, a: Own, b: Own, engine: Engine) -> dict[Side, View]:
    """Run the task on two small tables and keep what each side saw."""
    tape = _Tape()
    left, right = run_pair(run(task, a, engine), run(task, b, engine), tape)
    return {
        side: View(tuple(tape.said[side.other]), tuple(tape.sizes[side]), outcome)
        for side, outcome in ((Side.A, left), (Side.B, right))
    }
