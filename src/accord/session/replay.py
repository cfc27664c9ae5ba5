"""Replay one side of an accountable run: did it follow the protocol, with this table?

All that a party sends is a function of its table, its seed, its noise, the agreement, and what it received.
So the very program of the party runs again, attempt after attempt, on the messages that were received, and
must come to everything that the side signed then: by its own record, or by the partner's evidence
(verdict.py).

    followed      every message up to the last signature is the same
    departed      the table or the seed is not the pledged one; or a message differs, which is named
    incomplete    the messages that were received are not all there, or not those that were signed for; or
                  nothing was signed

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
from accord.errors import AccordError, DepartedError, NoRoomError, StateError, UsageError
from accord.protocols.base import prepare
from accord.protocols.mine import Mine
from accord.protocols.slots import table_digest
from accord.records.columns import Records
from accord.records.layout import Layout
from accord.records.load import load_records
from accord.records.sources import TableLike
from accord.session import noise_format
from accord.session.book import Meeting, about_run, meeting_of
from accord.session.desk import Promise, nonces_of, read_cards, read_promise
from accord.session.evidence import Evidence, Said, collect_all, judge_seals, records
from accord.session.handshake import Hello, decode_hello
from accord.session.identity import Card, card_from_der
from accord.session.record import Kept, attempts, read_badges, read_opening
from accord.session.replay_lines import EndOfRecord, Line, Remembered, Staff, run_noted
from accord.session.seed import require_pledge
from accord.session.state import State
from accord.session.store import Manifest, open_run
from accord.session.verdict import Fault, judge
from accord.side import Side


@dataclass(frozen=True)
class Replayed:
    """A side that followed the protocol."""

    run: str
    party: str
    attempts: int
    messages: int
    """That the replay sent; those up to the last signature are the same."""
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
    def about(self) -> bytes:
        return about_run(self.manifest.run, self.agreement.digest)

    @property
    def party(self) -> str:
        return self.agreement.party(self.side)

    def departed(self, problem: str) -> DepartedError:
        return DepartedError(party=self.party, run=self.manifest.run, problem=problem)

    def require(self, fault: Fault | None) -> None:
        """Raise what was found, if anything was."""
        if fault is not None:
            raise self.departed(fault.problem) if fault.departed else self.incomplete(fault.problem)

    def require_signatures(self, count: int) -> None:
        """Raise where there is nothing to hold the side to."""
        if not count:
            raise self.incomplete(
                f"{self.party} did not get as far as a signature in what is known of the run"
            )

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
    own = (agreement.fields, agreement.salt, shown, layout, per_person)
    return load_records(data, *own, by_id=True)


def _open_attempt(case: Case, folder: Path) -> Attempt:
    try:
        told = read_opening(folder)
        hellos = {side: decode_hello(content, case.agreement.party(side)) for side, content in told.items()}
    except (OSError, ValueError, AccordError):
        raise case.incomplete(f"the beginning of attempt {int(folder.name)} cannot be read") from None
    sizes = {case.side: case.records.size, case.side.other: case.manifest.partner_records}
    return Attempt(folder, hellos, meeting_of(told, sizes, case.about))


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
    case.require_signatures(signatures)
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
    for name in set(evidence.meetings) - {attempt.meeting.name for attempt in case.attempts}:
        # Its workers' certificates were in the attempt, so only what its card signed can be judged.
        said = evidence.meetings[name].get(0)
        if said is None or not said.seals:
            continue
        try:
            judge_seals(said, case.about, name, 0, case.side, evidence.card)
        except ValueError:
            raise UsageError(
                problem="The evidence has signatures of another run, or such as its card did not make."
            ) from None
        raise case.incomplete("it lacks an attempt of which the partner has signatures")


def said_in(case: Case, attempt: Attempt, evidence: Evidence | None) -> dict[int, Said]:
    """What the side signed on each connection of an attempt: by the evidence, or by its own record. What the
    partner signed there is taken from both."""
    try:
        own = {one.number: Said(one.sent(), *one.seals()) for one in records(attempt.folder)}
    except (OSError, ValueError):
        raise case.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None
    if evidence is None:
        return require_seals(case, attempt, own, "its record")
    said = evidence.meetings.get(attempt.meeting.name, {})
    for number, one in said.items():
        if number in own:
            said = said | {number: replace(one, heard=[*one.heard, *own[number].heard])}
    return require_seals(case, attempt, said, "the evidence")


def require_seals(case: Case, attempt: Attempt, said: dict[int, Said], whose: str) -> dict[int, Said]:
    """The same; raises unless the side, or its workers, made these seals."""
    try:
        cards = read_badges(attempt.folder)
        for number, one in said.items():
            if number > len(cards):
                raise ValueError("a worker without a badge")
            card = card_from_der(cards[number - 1], attempt.folder) if number else case.cards[case.side]
            judge_seals(one, case.about, attempt.meeting.name, number, case.side, card)
    except (OSError, ValueError, AccordError):
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
        run_noted(task.protocol.party(task, mine, case.agreement.engine.build()), line(0), closes=True)
    except EndOfRecord:
        ended = False
    except NoRoomError as error:
        raise case.incomplete(f"this machine is too small for its replay: {error.problem}") from None
    except AccordError:
        # As then: a side that refuses what it is told sends nothing more.
        pass
    staff.finish()
    return ended


def _replay_attempt(case: Case, attempt: Attempt, journal: Remembered, said: dict[int, Said]) -> list[Line]:
    """Replay one attempt from its record; its lines. Raises unless all that was signed is the same."""
    made: dict[int, Line] = {}

    def line(number: int) -> Line:
        inbox = Kept(attempt.folder, number).received()
        made[number] = Line(attempt.meeting, number, case.side, inbox, said.get(number))
        return made[number]

    try:
        ended = run_attempt(case, attempt, journal, line)
        fault = judge(attempt.number, made, said, ended)
    except (OSError, ValueError):
        raise case.incomplete(f"the messages of attempt {attempt.number} cannot be read") from None
    case.require(fault)
    return list(made.values())


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
        about = about_run(name, agreement.digest)
        meetings = {path: meeting_of(read_opening(path), sizes, about) for path in attempts(folder)}
        said = collect_all(folder, partner, meetings)
    except (OSError, ValueError):
        mend = "Restore it from a copy."
        raise StateError(path=folder / "record", reason="it cannot be read", mend=mend) from None
    card = read_cards(folder)[partner]
    return Evidence(name, agreement.digest, partner, card, promise.pledges[partner], said)
