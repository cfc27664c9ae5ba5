"""Replay both sides of a run against each other, from both tables and both seeds: needs no stored message.

Both programs run in this process, each attempt to its end, also where it was cut: what comes behind the cut
is simply not compared. The messages are those that two honest sides would have exchanged. Where one side
departed from them, the other's answers differ, too, from then on, and rightly so; so who departed is the one
whose first message that differs was sent before it had received any that does.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from accord.errors import UsageError
from accord.secure.party import Buffer
from accord.session.book import Meeting
from accord.session.record import read_badges
from accord.session.replay import (
    Attempt,
    Case,
    Replayed,
    name_message,
    run_attempt,
    said_in,
)
from accord.session.replay_lines import Line, Remembered
from accord.side import Side

Box = queue.SimpleQueue[bytes | None]


@dataclass(frozen=True)
class _First:
    """The first message of a side, in the order of its program, that is not the one that was sent."""

    connection: int
    message: int
    size: int
    came: dict[int, int]
    """How many messages it had received by then on each connection."""


@dataclass
class _Seen:
    """What is found out about one side in one attempt."""

    lines: dict[int, _Wired] = field(default_factory=dict)
    first: _First | None = None
    fault: BaseException | None = None

    def same(self, connection: int) -> float:
        """How many messages on a connection are the same, from the first on."""
        line = self.lines.get(connection)
        return float("inf") if line is None or line.same is None else line.same


class _Wired(Line):
    """A line to the other side of this process; that a message differs is noted, and it is passed on."""

    def __init__(
        self,
        meeting: Meeting,
        number: int,
        side: Side,
        known: list[bytes],
        boxes: dict[Side, Box],
        seen: _Seen,
    ) -> None:
        super().__init__(meeting, number, side, iter(boxes[side].get, None), known)
        self._out, self._seen = boxes[side.other], seen
        self.same: int | None = None

    def send(self, buffer: Buffer) -> None:
        super().send(buffer)
        self._out.put(bytes(buffer))

    def differs(self) -> None:
        if self.same is None:
            self.same = len(self.links) - 1
        if self._seen.first is None:
            came = {number: len(line.came) for number, line in self._seen.lines.items()}
            self._seen.first = _First(self.number, len(self.links), self.size, came)


def replay_both(cases: dict[Side, Case]) -> dict[Side, Replayed]:
    """Replay both sides; raises for one that departed from the protocol."""
    a, b = cases[Side.A], cases[Side.B]
    if a.manifest.run != b.manifest.run or (a.side, b.side) != (Side.A, Side.B):
        raise UsageError(problem="These are not the two sides of one run.")
    journals = {side: Remembered() for side in Side}
    totals = dict.fromkeys(Side, (0, 0, 0))
    for attempts in _common(cases):
        seen = _run_both(cases, attempts, journals)
        for side in Side:
            _require_followed(cases[side], attempts[side], seen[side], seen[side.other])
            said = said_in(cases[side], attempts[side], None)
            sent = sum(len(line.links) for line in seen[side].lines.values())
            signed = sum(len(one.seals) for one in said.values())
            count, messages, signatures = totals[side]
            totals[side] = count + 1, messages + sent, signatures + signed
    return {side: Replayed(a.manifest.run, cases[side].party, *totals[side]) for side in Side}


def _common(cases: dict[Side, Case]) -> Iterator[dict[Side, Attempt]]:
    """The attempts of which both sides know: in another nothing came from the partner."""
    other = {attempt.meeting.name: attempt for attempt in cases[Side.B].attempts}
    for attempt in cases[Side.A].attempts:
        if attempt.meeting.name in other:
            yield {Side.A: attempt, Side.B: other[attempt.meeting.name]}


def _run_both(
    cases: dict[Side, Case], attempts: dict[Side, Attempt], journals: dict[Side, Remembered]
) -> dict[Side, _Seen]:
    """One attempt, each side in a thread of its own."""
    connections = 1 + max(len(read_badges(attempt.folder)) for attempt in attempts.values())
    boxes: list[dict[Side, Box]] = [{side: queue.SimpleQueue() for side in Side} for _ in range(connections)]
    seen = {side: _Seen() for side in Side}

    def work(side: Side) -> None:
        said, own = said_in(cases[side], attempts[side], None), seen[side]

        def line(number: int) -> Line:
            known = said[number].links if number in said else []
            made = _Wired(attempts[side].meeting, number, side, known, boxes[number], own)
            own.lines[number] = made
            return made

        try:
            run_attempt(cases[side], attempts[side], journals[side], line)
        except BaseException as error:
            own.fault = error
        finally:
            for box in boxes:
                box[side.other].put(None)

    threads = [threading.Thread(target=work, args=(side,), daemon=True) for side in Side]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own in seen.values():
        if own.fault is not None:
            raise own.fault
    return seen


def _require_followed(case: Case, attempt: Attempt, own: _Seen, other: _Seen) -> None:
    """Raise if the first message of this side that differs follows from none that differs."""
    first = own.first
    if first is not None and all(came <= other.same(number) for number, came in first.came.items()):
        raise name_message(case, attempt, first.connection, first.message, first.size)
