"""Replay one side of an accountable run: did it follow the protocol, with this table?

All that a party sends is a function of its table, its seed, its noise, the agreement, and what it received.
So the very program of the party runs again, attempt after attempt, on the messages that were received, and
must come to everything that the side signed then: by its own record, or by the partner's evidence
(verdict.py).

    followed      every message up to the last signature is the same
    departed      the table or the seed is not the pledged one; the table has another size than it announced;
                  or a message differs, which is named
    incomplete    the messages that were received are not all there, or not those that were signed for; or
                  nothing was signed

A replay that fails for a reason of its own, such as a full disk, is no verdict: only what a party raises at
its partner, or at its own bound, is a part of the protocol.

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
from accord.errors import (
    AccordError,
    DepartedError,
    NoRoomError,
    PeerError,
    RefusedError,
    StateError,
    TooManyMatchesError,
    UsageError,
)
from accord.protocols.base import prepare
from accord.protocols.mine import Mine
from accord.protocols.slots import table_digest
from accord.records.columns import Records
from accord.records.layout import Layout
from accord.records.load import load_records
from accord.records.sources import TableLike
from accord.records.vectors import readers, texts_digest
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
from accord.wording import counted


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
    columns: dict[str, str]
    """By agreed name, and for `id`: the column of the table that it was read from. Which one it is, each side
    chooses, and no commitment shows that it is the right one."""


@dataclass(frozen=True)
class Attempt:
    """One attempt, as its opening has it."""

    folder: Path
    told: dict[Side, bytes]
    """Both hellos, as they were said."""
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
    layout: Layout
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
    def sizes(self) -> dict[Side, int]:
        """What both announced, by the run's own folder."""
        return {self.side: self.manifest.records, self.side.other: self.manifest.partner_records}

    @property
    def about(self) -> bytes:
        return about_run(self.manifest.run, self.agreement.digest)

    @property
    def party(self) -> str:
        return self.agreement.party(self.side)

    @property
    def columns(self) -> dict[str, str]:
        """Which column each agreed name was read from, and the id unless it is the number of the row."""
        ids = {} if self.layout.id_row else {"id": self.layout.id}
        return ids | {name: self.layout.source(name).column for name in self.agreement.names}

    def departed(self, problem: str) -> DepartedError:
        return DepartedError(party=self.party, run=self.manifest.run, problem=problem)

    def require(self, fault: Fault | None) -> None:
        """Raise what was found, if anything was."""
        if fault is not None:
            raise self.departed(fault.problem) if fault.departed else self.incomplete(fault.problem)

    def require_size(self, announced: int) -> None:
        """Raise unless the table has the size that the side signed for."""
        if announced != self.records.size:
            said = f"it signed that it has {counted(announced, 'record')}"
            raise self.departed(f"{said}, and the table that it was committed to has {self.records.size:,}")

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
    read = layout or known.read_layout()
    case = Case(folder, known, agreement, side, promise, cards, read, _load(agreement, side, source, read))
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
    except RefusedError:
        # Of the hellos' version, which changes with every message of the protocol.
        raise case.incomplete(f"attempt {int(folder.name)} was made by another version of Accord") from None
    except (OSError, ValueError, AccordError):
        raise case.incomplete(f"the beginning of attempt {int(folder.name)} cannot be read") from None
    return Attempt(folder, told, hellos, meeting_of(told, case.sizes, case.about))


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
        _require_same_readers(case)
        raise case.departed("the table is not the one that it was committed to")


def _require_same_readers(case: Case) -> None:
    """Raise where texts are read in another way than in the run: then any table would differ."""
    try:
        known = {attempt.hellos[case.side].texts for attempt in case.attempts}
    except StateError:
        return
    if known - {texts_digest()}:
        reason = "texts are read here in another way than in the run, so that no table would be its own"
        raise case.incomplete(f"{reason}; here are {readers()}")


def replay_side(case: Case, evidence: Evidence | None = None) -> Replayed:
    """Replay a side from its record; raises unless it followed the protocol.

    With the partner's evidence it is held to what it signed there, whatever its own record says.
    """
    if evidence is not None:
        _require_about(case, evidence)
    said = {a.number: said_in(case, a, evidence) for a in case.attempts}
    if any(one.seals for each in said.values() for one in each.values()):
        case.require_size(case.manifest.records)
    journal, lines = Remembered(), list[Line]()
    for attempt in case.attempts:
        lines += _replay_attempt(case, attempt, journal, said[attempt.number])
    signatures = sum(len(one.seals) for each in said.values() for one in each.values())
    case.require_signatures(signatures)
    sent = sum(len(line.links) for line in lines)
    run, count = case.manifest.run, len(case.attempts)
    return Replayed(run, case.party, count, sent, signatures, case.columns)


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
            raise _false_evidence() from None
        if name in {meeting_of(a.told, evidence.sizes, case.about).name for a in case.attempts}:
            case.require_size(evidence.sizes[case.side])
        raise case.incomplete("it lacks an attempt of which the partner has signatures")


def _false_evidence() -> UsageError:
    problem = "The evidence has signatures of another run, or such as its card did not make."
    return UsageError(problem=problem)


def said_in(case: Case, attempt: Attempt, evidence: Evidence | None) -> dict[int, Said]:
    """What the side signed on each connection of an attempt: by the evidence, or by its own record. Where the
    evidence knows nothing of a connection, the own record may say what was received there."""
    own = _said_by_itself(case, attempt, evidence is None)
    if evidence is None:
        return own
    said = evidence.meetings.get(attempt.meeting.name, {})
    try:
        if 0 in said:
            judge_seals(said[0], case.about, attempt.meeting.name, 0, case.side, evidence.card)
    except ValueError:
        raise _false_evidence() from None
    return own | require_seals(case, attempt, said, "the evidence")


def _said_by_itself(case: Case, attempt: Attempt, needed: bool) -> dict[int, Said]:
    """What the side's own record has; where that is not needed, nothing if it does not hold."""
    try:
        found = {one.number: Said(one.sent(), one.seals()[0]) for one in records(attempt.folder)}
        return require_seals(case, attempt, found, "its record")
    except (OSError, ValueError, StateError) as error:
        if not needed:
            return {}
        if isinstance(error, StateError):
            raise
        raise case.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None


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
    nonces = nonces_of(attempt.hellos)

    def key(number: int) -> bytes:
        return case.promise.seed.connection(number, attempt.number, nonces)

    staff = Staff(attempt.hellos, read_badges(attempt.folder), line, key)
    mine = replace(case.mine, entropy=Derived(key(0)), journal=journal, staff=staff)
    try:
        ended = _run_again(case, attempt, mine, journal, line)
        staff.finish()
    except NoRoomError as error:
        raise case.incomplete(f"this machine is too small for its replay: {error.problem}") from None
    return ended


def _run_again(
    case: Case, attempt: Attempt, mine: Mine, journal: Remembered, line: Callable[[int], Line]
) -> bool:
    task, side = case.agreement.task, case.side
    try:
        journal.meet(attempt.hellos[side].steps, attempt.hellos[side.other].steps)
        run_noted(task.protocol.party(task, mine, case.agreement.engine.build()), line(0), closes=True)
    except EndOfRecord:
        return False
    except NoRoomError:
        raise
    except (PeerError, TooManyMatchesError):
        # As then: a side that refuses what it is told sends nothing more.
        pass
    return True


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
    return Evidence(name, agreement.digest, partner, card, promise.pledges[partner], sizes, said)
