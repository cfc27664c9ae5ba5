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
A receipt binds both, whoever of them has it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from accord.accountable.stored import StoredTranscript
from accord.accountable.transcript import Chain, Meeting
from accord.errors import StateError, UsageError
from accord.protocols.parts.shown import Shown
from accord.replay.evidence import Signatures, collect, judge_seals, records
from accord.replay.one_side import Replayed, run_attempt
from accord.replay.pledged import Attempt, PledgedSide
from accord.replay.signed import Connections, judge_receipt, require_seals
from accord.replay.stand_ins import MemoryJournal, ReplayedConnection
from accord.replay.verdict import (
    Objection,
    causes_first,
    gravest,
    in_order,
    misstated,
    name_message,
    went_on,
    where,
)
from accord.secure.party import Buffer
from accord.side import Side

Box = queue.SimpleQueue[bytes | None]


@dataclass
class _Seen:
    """What is found out about one side in one attempt."""

    signed: dict[int, Signatures]
    connections: dict[int, _LinkedConnection] = field(default_factory=dict)
    error: BaseException | None = None
    shown: Shown | None = None
    """In a series, what both had disclosed at its end."""

    def same(self, number: int) -> float:
        """How many messages on a connection are the same for certain, from the first on."""
        connection, signed = self.connections.get(number), self.signed.get(number)
        good = 0
        if connection is None or signed is None:
            return float("inf")
        for seal in in_order(signed.seals):
            if not _is_same(connection.links, seal.sent, seal.sent_link):
                return good
            good = seal.sent
        return float("inf")


class _LinkedConnection(ReplayedConnection):
    """One to the other side in this process; that a message differs is noted, and it is passed on."""

    def __init__(
        self,
        meeting: Meeting,
        number: int,
        side: Side,
        signed: Signatures | None,
        inbox: Iterator[Buffer],
        out: Box | None,
        seen: _Seen,
    ) -> None:
        super().__init__(meeting, number, side, inbox, signed)
        self._out, self._seen = out, seen
        self.by_then: dict[int, dict[int, int]] = {}
        """How many messages the side had received on each connection when it sent which message."""

    def send(self, buffer: Buffer) -> None:
        super().send(buffer)
        self.by_then[len(self.links)] = {
            number: len(connection.came) for number, connection in self._seen.connections.items()
        }
        if self._out is not None:
            self._out.put(bytes(buffer))


def replay_both(subjects: dict[Side, PledgedSide]) -> dict[Side, Replayed]:
    """Replay both sides; raises for one that departed from the protocol."""
    a, b = subjects[Side.A], subjects[Side.B]
    if a.manifest.run != b.manifest.run or (a.side, b.side) != (Side.A, Side.B):
        raise UsageError(problem="These are not the two sides of one run.")
    both = list(_common(subjects))
    found = _replay(subjects, both, None)
    _require_departed(subjects, found.objections)
    if found.objections:
        for side in Side:
            objections = _replay(subjects, both, side).objections
            _require_departed(subjects, {side.other: objections.get(side.other)})
    for side in Side:
        subjects[side].require(found.objections.get(side))
        subjects[side].require_signatures(found.signatures[side])
    _require_receipts(subjects, found.connections)
    return {
        side: Replayed(
            a.manifest.run,
            subject.party,
            len(both),
            found.messages[side],
            found.signatures[side],
            subject.columns,
            subject.earlier,
        )
        for side, subject in subjects.items()
    }


@dataclass
class _Found:
    """What came of all attempts, or of those up to the first with an objection."""

    messages: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    signatures: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    objections: dict[Side, Objection | None] = field(default_factory=dict)
    connections: dict[Side, dict[bytes, dict[int, _LinkedConnection]]] = field(
        default_factory=lambda: {side: {} for side in Side}
    )


def _replay(
    subjects: dict[Side, PledgedSide], both: list[dict[Side, Attempt]], recorded: Side | None
) -> _Found:
    """Replay attempt after attempt: against each other, or with one side on the messages of its record."""
    journals = {side: MemoryJournal() for side in Side}
    found = _Found()
    for attempts in both:
        seen = _run_both(subjects, attempts, journals, recorded)
        objections = {side: _judge(attempts[side].number, seen[side], seen[side.other]) for side in Side}
        for side, each in seen.items():
            found.messages[side] += sum(len(connection.links) for connection in each.connections.values())
            found.signatures[side] += sum(len(one.seals) for one in each.signed.values())
            found.connections[side][attempts[side].meeting.name] = each.connections
        if any(objections.values()):
            found.objections = objections
            break
        for side, each in seen.items():
            subjects[side].require_shown(each.shown)
    return found


def _require_departed(subjects: dict[Side, PledgedSide], objections: dict[Side, Objection | None]) -> None:
    """Raise for a side that departed: that comes before what nothing can be said of, and may cause it."""
    for side, objection in objections.items():
        if objection is not None and objection.departed:
            subjects[side].require(objection)


def _require_receipts(subjects: dict[Side, PledgedSide], replayed: Mapping[Side, Connections]) -> None:
    """Raise unless both receipts name what was replayed; for what cannot be known only where neither convicts
    anybody."""
    found, unknown = list[dict[Side, Objection | None]](), list[StateError]()
    for holder in subjects.values():
        try:
            found.append(judge_receipt(holder, replayed))
        except StateError as error:
            unknown.append(error)
    for objections in found:
        _require_departed(subjects, objections)
    for objections in found:
        for side, objection in objections.items():
            subjects[side].require(objection)
    for missing in unknown:
        raise missing


def _common(subjects: dict[Side, PledgedSide]) -> Iterator[dict[Side, Attempt]]:
    """The attempts of both sides. One that a side lacks, though the other has its signatures, was taken away;
    where it has none, that side may never have heard of it."""
    names = {side: {attempt.meeting.name: attempt for attempt in subjects[side].attempts} for side in Side}
    for side in Side:
        for name, attempt in names[side].items():
            if name not in names[side.other] and any(one.seals()[1] for one in records(attempt.stored)):
                _require_known(subjects[side], attempt, subjects[side.other])
    for name, attempt in names[Side.A].items():
        if name in names[Side.B]:
            for side in Side:
                if any(
                    one.seals
                    for one in _signatures(subjects, {s: names[s][name] for s in Side}, side).values()
                ):
                    subjects[side].require_size(subjects[side].manifest.records)
            yield {Side.A: attempt, Side.B: names[Side.B][name]}


def _require_known(holder: PledgedSide, attempt: Attempt, lacking: PledgedSide) -> None:
    """Raise for an attempt that a side does not know, though the other has its signatures: for what it said
    there of its size, if that is it."""
    taken = StoredTranscript(attempt.stored.folder, 0).seals()[1]
    try:
        judge_seals(taken, holder.about, attempt.meeting.name, 0, lacking.side, lacking.cards[lacking.side])
    except ValueError:
        raise holder.incomplete(
            f"it has signatures of attempt {attempt.number} that {lacking.party} did not make"
        ) from None
    lacking.require_size(holder.manifest.partner_records)
    raise lacking.incomplete(f"{lacking.party} lacks an attempt of which the partner has signatures")


def _signatures(
    subjects: dict[Side, PledgedSide], attempts: dict[Side, Attempt], side: Side
) -> dict[int, Signatures]:
    """What a side signed, as the other holds it and as itself does; its own links help to name a message."""
    subject, attempt, found = subjects[side], attempts[side], dict[int, Signatures]()
    try:
        for one in records(attempts[side.other].stored):
            found[one.number] = _taken(one, attempts[side.other], side)
        for one in records(attempt.stored):
            taken = found.get(one.number, Signatures([], []))
            seals = list(dict.fromkeys([*taken.seals, *one.seals()[0]]))
            # Its own links help to name a message; those of what came prove who its workers are.
            links = taken.links if taken.workers else one.sent()
            found[one.number] = Signatures(links, seals, workers=taken.workers)
    except (OSError, ValueError):
        raise subject.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None
    return require_seals(subject, attempt, found, "one of the records")


def _taken(record: StoredTranscript, attempt: Attempt, side: Side) -> Signatures:
    """What the partner of a record signed there; also where the messages that came cannot be read."""
    try:
        return collect(record, attempt.meeting, side)
    except ValueError:
        return Signatures([], record.seals()[1])


def _run_both(
    subjects: dict[Side, PledgedSide],
    attempts: dict[Side, Attempt],
    journals: dict[Side, MemoryJournal],
    recorded: Side | None,
) -> dict[Side, _Seen]:
    """One attempt, each side in a thread of its own."""
    count = 1 + max(len(attempt.stored.certificates()) for attempt in attempts.values())
    boxes: list[dict[Side, Box]] = [{side: queue.SimpleQueue() for side in Side} for _ in range(count)]
    seen = {side: _Seen(_signatures(subjects, attempts, side)) for side in Side}

    def work(side: Side) -> None:
        own, attempt = seen[side], attempts[side]

        def connect(number: int) -> ReplayedConnection:
            box = boxes[number]
            inbox: Iterator[Buffer] = iter(box[side].get, None)
            if side is recorded:
                chain = Chain(attempt.meeting, number, side.other)
                inbox = StoredTranscript(attempt.stored.folder, number).received(chain)
            out = None if side.other is recorded else box[side.other]
            made = _LinkedConnection(attempt.meeting, number, side, own.signed.get(number), inbox, out, own)
            own.connections[number] = made
            return made

        try:
            own.shown = run_attempt(subjects[side], attempt, journals[side], connect).shown
        except BaseException as error:
            own.error = error
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
        if own.error is not None and not (
            side is recorded and isinstance(own.error, OSError | ValueError | StateError)
        ):
            raise own.error
    return seen


def _judge(attempt: int, own: _Seen, other: _Seen) -> Objection | None:
    """What is wrong with what a side signed, if anything."""
    return gravest(_judge_connection(attempt, number, own, other) for number in causes_first(own.signed))


def _judge_connection(attempt: int, number: int, own: _Seen, other: _Seen) -> Objection | None:
    """A side departed at a seal if it had received, and signed so, what an honest partner sends, and sent
    something else; on its other connections nothing may have come that differs."""
    connection, good = own.connections.get(number), 0
    for seal in in_order(own.signed[number].seals):
        if connection is None or not _is_same(connection.came, seal.received, seal.received_link):
            return _unclear(attempt, number)
        if _is_same(connection.links, seal.sent, seal.sent_link):
            if (seal.sent, seal.received) not in connection.marks:
                return Objection(True, misstated(attempt, number, connection, seal.sent, seal.received))
            good = seal.sent
            continue
        last = {n: len(each.came) for n, each in own.connections.items()}
        by_then = connection.by_then.get(seal.sent, last)
        if any(came > other.same(n) for n, came in by_then.items() if n != number):
            return _unclear(attempt, number)
        if len(connection.links) < seal.sent:
            return went_on(attempt, number, connection, good, seal.sent)
        return Objection(True, name_message(attempt, number, connection, good, seal.sent))
    return None


def _is_same(links: list[bytes], count: int, link: bytes) -> bool:
    return not count or (len(links) >= count and links[count - 1] == link)


def _unclear(attempt: int, number: int) -> Objection:
    place = where(attempt, number)
    return Objection(False, f"what was signed {place} is not what two honest sides come to, and not by whom")
