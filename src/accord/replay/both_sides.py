"""Replay both sides of a run against each other, from both tables and both seeds: needs no stored message.

Both programs run in this process, each attempt to its end, also where it was cut: what comes behind the cut
is simply not compared. The messages are those that two honest sides would have exchanged. What a side
signed is taken from the records of both, so that neither helps itself by emptying its own. Where one side
departed, the other's answers differ, too, from then on, and rightly so: who departed is the one that signed
for having received what an honest partner sends, and for having sent something else.

Who departs between two of its signatures has received other answers by the next one, and that next one is
the first that tells. Then the messages that the *other* side received are followed, if it has them: from
them follows what it sent, as long as it was honest; and who signed for having received just that, and sent
something else, departed. So a cheat that empties its own record gains nothing before a partner that kept its.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from accord.accountable.stored import StoredTranscript, read_certificates
from accord.accountable.transcript import Meeting
from accord.errors import StateError, UsageError
from accord.protocols.shown import Shown
from accord.replay.evidence import Said, judge_seals, records
from accord.replay.one_side import Replayed, run_attempt
from accord.replay.pledged import Attempt, Case
from accord.replay.signed import require_seals
from accord.replay.stand_ins import Line, Remembered
from accord.replay.verdict import Fault, causes_first, in_order, misstated, name_message, went_on, where
from accord.secure.party import Buffer
from accord.side import Side

Box = queue.SimpleQueue[bytes | None]


@dataclass
class _Seen:
    """What is found out about one side in one attempt."""

    said: dict[int, Said]
    lines: dict[int, _Wired] = field(default_factory=dict)
    fault: BaseException | None = None
    shown: Shown | None = None
    """In a series, what both had disclosed at its end."""

    def same(self, connection: int) -> float:
        """How many messages on a connection are the same for certain, from the first on."""
        line, said = self.lines.get(connection), self.said.get(connection)
        good = 0
        if line is None or said is None:
            return float("inf")
        for seal in in_order(said.seals):
            if not _is_same(line.links, seal.sent, seal.sent_link):
                return good
            good = seal.sent
        return float("inf")


class _Wired(Line):
    """A line to the other side of this process; that a message differs is noted, and it is passed on."""

    def __init__(
        self,
        meeting: Meeting,
        number: int,
        side: Side,
        said: Said | None,
        inbox: Iterator[Buffer],
        out: Box | None,
        seen: _Seen,
    ) -> None:
        super().__init__(meeting, number, side, inbox, said)
        self._out, self._seen = out, seen
        self.by_then: dict[int, dict[int, int]] = {}
        """How many messages the side had received on each connection when it sent which message."""

    def send(self, buffer: Buffer) -> None:
        super().send(buffer)
        self.by_then[len(self.links)] = {number: len(line.came) for number, line in self._seen.lines.items()}
        if self._out is not None:
            self._out.put(bytes(buffer))


def replay_both(cases: dict[Side, Case]) -> dict[Side, Replayed]:
    """Replay both sides; raises for one that departed from the protocol."""
    a, b = cases[Side.A], cases[Side.B]
    if a.manifest.run != b.manifest.run or (a.side, b.side) != (Side.A, Side.B):
        raise UsageError(problem="These are not the two sides of one run.")
    both = list(_common(cases))
    found = _replay(cases, both, None)
    _require_departed(cases, found.faults)
    if found.faults:
        for side in Side:
            faults = _replay(cases, both, side).faults
            _require_departed(cases, {side.other: faults.get(side.other)})
    for side in Side:
        cases[side].require(found.faults.get(side))
        cases[side].require_signatures(found.signatures[side])
    return {
        side: Replayed(
            a.manifest.run,
            case.party,
            len(both),
            found.messages[side],
            found.signatures[side],
            case.columns,
            case.earlier,
        )
        for side, case in cases.items()
    }


@dataclass
class _Found:
    """What came of all attempts, or of those up to the first with a fault."""

    messages: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    signatures: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    faults: dict[Side, Fault | None] = field(default_factory=dict)


def _replay(cases: dict[Side, Case], both: list[dict[Side, Attempt]], recorded: Side | None) -> _Found:
    """Replay attempt after attempt: against each other, or with one side on the messages of its record."""
    journals = {side: Remembered() for side in Side}
    found = _Found()
    for attempts in both:
        seen = _run_both(cases, attempts, journals, recorded)
        faults = {side: _judge(attempts[side].number, seen[side], seen[side.other]) for side in Side}
        for side, each in seen.items():
            found.messages[side] += sum(len(line.links) for line in each.lines.values())
            found.signatures[side] += sum(len(one.seals) for one in each.said.values())
        if any(faults.values()):
            found.faults = faults
            break
        for side, each in seen.items():
            cases[side].require_shown(each.shown)
    return found


def _require_departed(cases: dict[Side, Case], faults: dict[Side, Fault | None]) -> None:
    """Raise for a side that departed: that comes before what nothing can be said of, and may cause it."""
    for side, fault in faults.items():
        if fault is not None and fault.departed:
            cases[side].require(fault)


def _common(cases: dict[Side, Case]) -> Iterator[dict[Side, Attempt]]:
    """The attempts of both sides. One that a side lacks, though the other has its signatures, was taken away;
    where it has none, that side may never have heard of it."""
    names = {side: {attempt.meeting.name: attempt for attempt in cases[side].attempts} for side in Side}
    for side in Side:
        for name, attempt in names[side].items():
            if name not in names[side.other] and any(one.seals()[1] for one in records(attempt.folder)):
                _require_known(cases[side], attempt, cases[side.other])
    for name, attempt in names[Side.A].items():
        if name in names[Side.B]:
            for side in Side:
                if any(one.seals for one in _said(cases, {s: names[s][name] for s in Side}, side).values()):
                    cases[side].require_size(cases[side].manifest.records)
            yield {Side.A: attempt, Side.B: names[Side.B][name]}


def _require_known(holder: Case, attempt: Attempt, lacking: Case) -> None:
    """Raise for an attempt that a side does not know, though the other has its signatures: for what it said
    there of its size, if that is it."""
    taken = StoredTranscript(attempt.folder, 0).seals()[1]
    try:
        judge_seals(taken, holder.about, attempt.meeting.name, 0, lacking.side, lacking.cards[lacking.side])
    except ValueError:
        raise holder.incomplete(
            f"it has signatures of attempt {attempt.number} that {lacking.party} did not make"
        ) from None
    lacking.require_size(holder.manifest.partner_records)
    raise lacking.incomplete(f"{lacking.party} lacks an attempt of which the partner has signatures")


def _said(cases: dict[Side, Case], attempts: dict[Side, Attempt], side: Side) -> dict[int, Said]:
    """What a side signed, as the other holds it and as itself does; its own links help to name a message."""
    case, attempt, found = cases[side], attempts[side], dict[int, Said]()
    try:
        for one in records(attempts[side.other].folder):
            found[one.number] = Said([], one.seals()[1])
        for one in records(attempt.folder):
            taken = found[one.number].seals if one.number in found else []
            found[one.number] = Said(one.sent(), list(dict.fromkeys([*taken, *one.seals()[0]])))
    except (OSError, ValueError):
        raise case.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None
    return require_seals(case, attempt, found, "one of the records")


def _run_both(
    cases: dict[Side, Case],
    attempts: dict[Side, Attempt],
    journals: dict[Side, Remembered],
    recorded: Side | None,
) -> dict[Side, _Seen]:
    """One attempt, each side in a thread of its own."""
    connections = 1 + max(len(read_certificates(attempt.folder)) for attempt in attempts.values())
    boxes: list[dict[Side, Box]] = [{side: queue.SimpleQueue() for side in Side} for _ in range(connections)]
    seen = {side: _Seen(_said(cases, attempts, side)) for side in Side}

    def work(side: Side) -> None:
        own, attempt = seen[side], attempts[side]

        def line(number: int) -> Line:
            box = boxes[number]
            inbox: Iterator[Buffer] = iter(box[side].get, None)
            if side is recorded:
                inbox = StoredTranscript(attempt.folder, number).received()
            out = None if side.other is recorded else box[side.other]
            made = _Wired(attempt.meeting, number, side, own.said.get(number), inbox, out, own)
            own.lines[number] = made
            return made

        try:
            own.shown = run_attempt(cases[side], attempt, journals[side], line).shown
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
    for side, own in seen.items():
        # A record that cannot be read, or that asks for more than this machine has, is followed up to there.
        if own.fault is not None and not (
            side is recorded and isinstance(own.fault, OSError | ValueError | StateError)
        ):
            raise own.fault
    return seen


def _judge(attempt: int, own: _Seen, other: _Seen) -> Fault | None:
    """What is wrong with what a side signed, if anything."""
    found = [_judge_line(attempt, number, own, other) for number in causes_first(own.said)]
    faults = [fault for fault in found if fault is not None]
    return next((fault for fault in faults if fault.departed), faults[0] if faults else None)


def _judge_line(attempt: int, number: int, own: _Seen, other: _Seen) -> Fault | None:
    """A side departed at a seal if it had received, and signed so, what an honest partner sends, and sent
    something else; on its other connections nothing may have come that differs."""
    line, good = own.lines.get(number), 0
    for seal in in_order(own.said[number].seals):
        if line is None or not _is_same(line.came, seal.received, seal.received_link):
            return _unclear(attempt, number)
        if _is_same(line.links, seal.sent, seal.sent_link):
            if (seal.sent, seal.received) not in line.marks:
                return Fault(True, misstated(attempt, number, line, seal.sent, seal.received))
            good = seal.sent
            continue
        last = {n: len(each.came) for n, each in own.lines.items()}
        by_then = line.by_then.get(seal.sent, last)
        if any(came > other.same(n) for n, came in by_then.items() if n != number):
            return _unclear(attempt, number)
        if len(line.links) < seal.sent:
            return went_on(attempt, number, line, good, seal.sent)
        return Fault(True, name_message(attempt, number, line, good, seal.sent))
    return None


def _is_same(links: list[bytes], count: int, link: bytes) -> bool:
    return not count or (len(links) >= count and links[count - 1] == link)


def _unclear(attempt: int, number: int) -> Fault:
    place = where(attempt, number)
    return Fault(False, f"what was signed {place} is not what two honest sides come to, and not by whom")
