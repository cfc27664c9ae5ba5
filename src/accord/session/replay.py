"""Replay one side of an accountable run: did it follow the protocol, with this table?

All that a party sends is a function of its table, its seed, its noise, the agreement, and what it received.
So the very program of the party runs again, attempt after attempt, on the messages that were received, and
every message that it sends must be the one that was sent then. What was sent is known by its hash: from the
own record, or from the partner's evidence, which has the signatures of the side that is replayed.

    followed      every message is the same, and so is everything that was signed
    departed      the table or the seed is not the pledged one; or a message differs, which is named
    incomplete    the messages that were received are not all there, or not those that were signed for

With the tables and seeds of both sides no stored message is needed: both run against each other
(replay_both.py). *Learns*: who runs this sees nothing that it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import Derived
from accord.errors import AccordError, DepartedError, StateError, UsageError
from accord.protocols.base import prepare
from accord.protocols.mine import Mine
from accord.protocols.slots import table_digest
from accord.records.columns import Records
from accord.records.layout import Layout
from accord.records.load import load_records
from accord.records.sources import TableLike
from accord.secure.party import run
from accord.session import noise_format
from accord.session.book import Meeting, Seal, meeting_of
from accord.session.desk import Promise, nonces_of, read_cards, read_promise
from accord.session.evidence import Evidence, Said, collect_all, judge_seals, records
from accord.session.handshake import Hello, decode_hello
from accord.session.identity import Card, card_from_der
from accord.session.record import Kept, attempts, read_badges, read_opening
from accord.session.replay_lines import Differs, EndOfRecord, Line, Remembered, Staff
from accord.session.seed import require_pledge
from accord.session.state import State
from accord.session.store import Manifest, open_run
from accord.side import Side
from accord.wording import counted


@dataclass(frozen=True)
class Replayed:
    """A side that followed the protocol."""

    run: str
    party: str
    attempts: int
    messages: int
    """That were sent, and are the same."""
    signatures: int
    """Of this side, which all fit."""


@dataclass(frozen=True)
class Attempt:
    """One attempt, as its opening has it."""

    folder: Path
    hellos: dict[Side, Hello]
    meeting: Meeting

    @property
    def number(self) -> int:
        return int(self.folder.name)


@dataclass(frozen=True, eq=False)
class Case:
    """One side of a run with all that it follows from."""

    folder: Path
    manifest: Manifest
    agreement: Agreement
    side: Side
    promise: Promise
    cards: dict[Side, Card]
    records: Records

    @cached_property
    def mine(self) -> Mine:
        """The side as it was fixed then: its slots follow from table, noise and seed."""
        task, size = self.agreement.task, self.manifest.partner_records
        try:
            noise = noise_format.decode((self.folder / "noise").read_bytes())
        except (OSError, ValueError):
            raise self.incomplete("the noise of the run cannot be read") from None
        padding, entropy = task.protocol.padding(task, self.side.other, size), self.promise.seed.slots()
        return prepare(task, self.side, self.records, size, noise, entropy, (), padding)

    @cached_property
    def attempts(self) -> list[Attempt]:
        return [_open_attempt(self, path) for path in attempts(self.folder)]

    @property
    def party(self) -> str:
        return self.agreement.party(self.side)

    def departed(self, problem: str) -> DepartedError:
        return DepartedError(party=self.party, run=self.manifest.run, problem=problem)

    def incomplete(self, reason: str) -> StateError:
        mend = "With the tables and seeds of both sides the run can be replayed without it."
        return StateError(path=self.folder / "record", reason=reason, mend=mend)


def open_case(state: State, name: str, data: TableLike | None, layout: Layout | None = None) -> Case:
    """One side of a run, if its table and its seed are those that it pledged."""
    found = open_run(state, name)
    known, folder = found.manifest, state.run(name)
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    if not agreement.accountable:
        raise UsageError(problem=f"The run {name} is not accountable: nothing was kept to replay it.")
    side, promise = Side(known.side), read_promise(folder)
    cards = read_cards(folder)
    source = data if data is not None else known.source()
    records = _load(agreement, side, source, layout or known.read_layout())
    case = Case(folder, known, agreement, side, promise, cards, records)
    _require_pledged(case)
    return case


def _load(agreement: Agreement, side: Side, data: TableLike, layout: Layout) -> Records:
    shown, per_person = agreement.disclosed(side), agreement.protocol.records_per_person(side)
    return load_records(data, agreement.fields, agreement.salt, shown, layout, per_person)


def _open_attempt(case: Case, folder: Path) -> Attempt:
    try:
        told = read_opening(folder)
        hellos = {side: decode_hello(content, case.agreement.party(side)) for side, content in told.items()}
    except (OSError, ValueError, AccordError):
        raise case.incomplete(f"the beginning of attempt {int(folder.name)} cannot be read") from None
    sizes = {case.side: case.records.size, case.side.other: case.manifest.partner_records}
    return Attempt(folder, hellos, meeting_of(told, sizes))


def _require_pledged(case: Case) -> None:
    """Raise unless table and seed are those that were signed for."""
    pledge = case.promise.pledges[case.side]
    try:
        require_pledge(pledge, case.cards[case.side], case.manifest.run, case.agreement.digest, case.side)
    except ValueError:
        raise case.incomplete("its pledge is not signed with its card") from None
    made = case.promise.seed.commitments(case.side, table_digest(case.records))
    if made[32:] != pledge.seed:
        raise case.departed("the seed is not the one that it was committed to")
    if made[:32] != pledge.table:
        raise case.departed("the table is not the one that it was committed to")


def replay_side(case: Case, evidence: Evidence | None = None) -> Replayed:
    """Replay a side from its record; raises unless it followed the protocol.

    With the partner's evidence it is held to what it signed there, whatever its own record says.
    """
    if evidence is not None:
        _require_about(case, evidence)
    said = {a.number: said_in(case, a, evidence) for a in case.attempts}
    journal, lines = Remembered(), list[Line]()
    for attempt in case.attempts:
        lines += _replay_attempt(case, attempt, journal, said[attempt.number])
    signatures = sum(len(one.seals) for each in said.values() for one in each.values())
    sent = sum(len(line.links) for line in lines)
    return Replayed(case.manifest.run, case.party, len(case.attempts), sent, signatures)


def _require_about(case: Case, evidence: Evidence) -> None:
    """Raise unless this is evidence about this side of this run, signed with the card that it had then."""
    about = (evidence.run, evidence.agreement, evidence.side)
    if about != (case.manifest.run, case.agreement.digest, case.side):
        raise UsageError(problem="The evidence is about another run, or about the other side of it.")
    if evidence.card.der != case.cards[case.side].der:
        problem = f"The evidence is signed with the card {evidence.card.fingerprint}, and the run began with "
        raise UsageError(problem=f"{problem}{case.cards[case.side].fingerprint}.")
    if evidence.pledge.commitments != case.promise.pledges[case.side].commitments:
        raise case.departed("it signed commitments to another table or another seed")
    missing = set(evidence.meetings) - {attempt.meeting.name for attempt in case.attempts}
    if any(said.seals for name in missing for said in evidence.meetings[name].values()):
        raise case.incomplete("it lacks an attempt of which the partner has signatures")


def said_in(case: Case, attempt: Attempt, evidence: Evidence | None) -> dict[int, Said]:
    """What the side signed on each connection of an attempt: by the evidence, or by its own record."""
    try:
        if evidence is None:
            own = records(attempt.folder)
            said = {one.number: Said(one.sent(), one.seals()[0]) for one in own}
        else:
            said = evidence.meetings.get(attempt.meeting.name, {})
        cards = read_badges(attempt.folder)
        for number, one in said.items():
            if number > len(cards):
                raise ValueError("a worker without a badge")
            card = card_from_der(cards[number - 1], attempt.folder) if number else case.cards[case.side]
            judge_seals(one, attempt.meeting.name, number, case.side, card)
    except (OSError, ValueError, AccordError):
        whose = "its record" if evidence is None else "the evidence"
        raise case.incomplete(
            f"{whose} has signatures of attempt {attempt.number} that do not hold"
        ) from None
    return said


def run_attempt(case: Case, attempt: Attempt, journal: Remembered, line: Callable[[int], Line]) -> bool:
    """Run the side's program again over these lines; whether it came to an end of its own."""
    side, nonces = case.side, nonces_of(attempt.hellos)

    def key(number: int) -> bytes:
        return case.promise.seed.connection(number, attempt.number, nonces)

    staff = Staff(attempt.hellos, read_badges(attempt.folder), line, key)
    mine = replace(case.mine, entropy=Derived(key(0)), journal=journal, staff=staff)
    task, ended = case.agreement.task, True
    try:
        journal.meet(attempt.hellos[side].steps, attempt.hellos[side.other].steps)
        run(task.protocol.party(task, mine, case.agreement.engine.build()), line(0))
    except EndOfRecord:
        ended = False
    except AccordError:
        # As then: a side that refuses what it is told sends nothing more.
        pass
    staff.finish()
    return ended


def _replay_attempt(case: Case, attempt: Attempt, journal: Remembered, said: dict[int, Said]) -> list[Line]:
    """Replay one attempt from its record; its lines. Raises unless all that was sent is the same."""
    made: dict[int, Line] = {}

    def line(number: int) -> Line:
        known = said[number].links if number in said else []
        inbox = Kept(attempt.folder, number).received()
        made[number] = Line(attempt.meeting, number, case.side, inbox, known)
        return made[number]

    try:
        ended = run_attempt(case, attempt, journal, line)
    except Differs:
        raise _name_first(case, attempt, made, said) from None
    except (OSError, ValueError):
        raise case.incomplete(f"the messages of attempt {attempt.number} cannot be read") from None
    for number, one in said.items():
        _require_signed(case, attempt, number, one, made.get(number), ended)
    return list(made.values())


def _name_first(case: Case, attempt: Attempt, lines: dict[int, Line], said: dict[int, Said]) -> AccordError:
    """What to raise for the message that differs: it is the last that was sent on its line."""
    number, line = next((n, x) for n, x in lines.items() if _differs(x, said[n].links if n in said else []))
    at, seals = len(line.links), said[number].seals
    # What it follows from must be what was signed for: else the record was changed, not the message.
    covering = next((seal for seal in seals if seal.sent >= at), None)
    if covering is not None and not _came(line, covering):
        return case.incomplete(_changed(attempt, number))
    return name_message(case, attempt, number, at, line.size)


def name_message(case: Case, attempt: Attempt, number: int, at: int, size: int) -> DepartedError:
    """What to raise for message `at` of a connection, which should have been one of so many bytes."""
    return case.departed(
        f"message {at:,} that it sent {_where(attempt, number)} is not the one, of {counted(size, 'byte')}, "
        "that follows from its table, its seed and what it had received"
    )


def _differs(line: Line, known: list[bytes]) -> bool:
    at = len(line.links)
    return 0 < at <= len(known) and line.links[-1] != known[at - 1]


def _require_signed(
    case: Case, attempt: Attempt, number: int, said: Said, line: Line | None, ended: bool
) -> None:
    """Raise unless the replay sent all that is known to have been sent, and came to what was signed."""
    for seal in said.seals:
        if line is None or not _came(line, seal):
            raise case.incomplete(_changed(attempt, number))
    sent = [] if line is None else line.links
    if len(said.links) > len(sent):
        if line is None or not ended or _exhausted(line):
            raise case.incomplete(_changed(attempt, number))
        raise case.departed(
            f"{counted(len(said.links), 'message')} came from it {_where(attempt, number)}, where the "
            f"protocol ends after {len(sent):,}"
        )


def _exhausted(line: Line) -> bool:
    """Whether the record of what was received is at its end."""
    before = len(line.came)
    line.read_on(before + 1)
    return len(line.came) == before


def _came(line: Line, seal: Seal) -> bool:
    """Whether the messages received are those that a seal is of."""
    if not seal.received:
        return True
    line.read_on(seal.received)
    return len(line.came) >= seal.received and line.came[seal.received - 1] == seal.received_link


def _changed(attempt: Attempt, number: int) -> str:
    return f"the messages received {_where(attempt, number)} are not all there, or not those it signed for"


def _where(attempt: Attempt, number: int) -> str:
    connection = f"worker {number}" if number else "the coordinator"
    return f"as {connection} in attempt {attempt.number}"


def make_evidence(state: State, name: str) -> Evidence:
    """What the partner signed in a run, from the own record."""
    found = open_run(state, name)
    known, folder = found.manifest, state.run(name)
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    if not agreement.accountable:
        raise UsageError(problem=f"The run {name} is not accountable: nobody signed anything in it.")
    side, promise = Side(known.side), read_promise(folder)
    partner = side.other
    sizes = {side: known.records, partner: known.partner_records}
    try:
        meetings = {path: meeting_of(read_opening(path), sizes) for path in attempts(folder)}
        said = collect_all(folder, partner, meetings)
    except (OSError, ValueError):
        mend = "Restore it from a copy."
        raise StateError(path=folder / "record", reason="it cannot be read", mend=mend) from None
    card = read_cards(folder)[partner]
    return Evidence(name, agreement.digest, partner, card, promise.pledges[partner], said)
