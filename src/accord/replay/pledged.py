"""One side of an accountable run before its replay: what its messages follow from, if that is as pledged.

Table and seed must be those that the side signed for when the run began (seed.py). What was announced of the
table's size is in every meeting, and so in all that was signed there (transcript.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from accord.accountable.pledge import require_pledge
from accord.accountable.signing import SeedCommitment, read_cards, read_commitment
from accord.accountable.stored import StoredAttempt, attempts
from accord.accountable.transcript import Meeting, about_run, meeting_of
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import AccordError, DamagedError, DepartedError, RefusedError, StateError, UsageError
from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.fields.vectors import readers, texts_digest
from accord.peer.handshake import Hello, decode_hello
from accord.peer.identity import Card
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.shown import Shown, encode_shown
from accord.replay.followed import Followed, find_followed
from accord.replay.series import Earlier, NotKept
from accord.replay.verdict import Objection
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun, open_run
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike
from accord.wording import counted


@dataclass(frozen=True)
class Attempt:
    """One attempt, as its opening has it."""

    stored: StoredAttempt
    told: dict[Side, bytes]
    """Both hellos, as they were said."""
    hellos: dict[Side, Hello]
    meeting: Meeting

    @property
    def number(self) -> int:
        return self.stored.number


@dataclass(frozen=True, eq=False)
class PledgedSide:
    """One side of a run with all that it follows from."""

    run: StoredRun
    agreement: Agreement
    side: Side
    commitment: SeedCommitment
    cards: dict[Side, Card]
    layout: Layout
    followed: Followed
    """What its messages follow from besides the seed."""
    earlier: Earlier | None = None
    """The runs of its series before it."""

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def records(self) -> Records:
        """Those that took part."""
        return self.followed.records

    @cached_property
    def mine(self) -> OwnSide:
        """The side as it was fixed then."""
        task, size, entropy = self.agreement.task, self.manifest.partner_records, self.commitment.slots()
        try:
            slots = self.followed.slots(entropy)
        except NotKept as error:
            raise self.incomplete(str(error)) from None
        padding = task.protocol.padding(task, self.side.other, size)
        own = self.side, self.records, size, slots, entropy, (), padding
        return OwnSide(*own, standing=self.followed.standing)

    def party_of(self, mine: OwnSide) -> Party[Shown | None]:
        """The program of the side; in a series it ends in what both have disclosed by then."""
        task, engine = self.agreement.task, self.agreement.engine.build()
        return (yield from task.protocol.party(task, mine, engine)).shown

    @cached_property
    def attempts(self) -> list[Attempt]:
        return [_open_attempt(self, path) for path in attempts(self.run)]

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
        """Which column each agreed name was read from and how, and the id unless it was made."""
        ids = {} if self.layout.make_ids else {"id": self.layout.id}
        return ids | {name: self.layout.source(name).tell() for name in self.agreement.names}

    def departed(self, problem: str) -> DepartedError:
        return DepartedError(party=self.party, run=self.manifest.run, problem=problem)

    def require(self, objection: Objection | None) -> None:
        """Raise what was found, if anything was."""
        if objection is not None:
            raise (
                self.departed(objection.problem) if objection.departed else self.incomplete(objection.problem)
            )

    def require_shown(self, shown: Shown | None) -> None:
        """Raise unless this is what the side keeps as disclosed by the end of a run of a series."""
        if shown is None or not self.manifest.done:
            return
        if self.run.read("shown") != encode_shown(shown):
            raise self.incomplete("what it keeps as disclosed is not what was disclosed by its end")

    def require_size(self, announced: int) -> None:
        """Raise unless the table has the size that the side signed for."""
        if announced != self.records.size:
            said = f"it signed that it has {counted(announced, 'record')}"
            raise self.departed(f"{said}, but the table that it was committed to has {self.records.size:,}")

    def require_signatures(self, count: int) -> None:
        """Raise where there is nothing to hold the side to."""
        if not count:
            raise self.incomplete(
                f"{self.party} did not get as far as a signature in what is known of the run"
            )

    def incomplete(self, reason: str) -> StateError:
        return _incomplete(self.run, reason)


def _incomplete(run: StoredRun, reason: str) -> StateError:
    mend = "With the tables and seeds of both sides the run can be replayed without it."
    return StateError(path=run.path / "record", reason=reason, mend=mend)


def open_pledged_side(
    state: State, name: str, data: TableLike | None, layout: Layout | None = None
) -> PledgedSide:
    """One side of a run, if its table and its seed are those that it pledged."""
    found = open_run(state, name)
    known = found.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    if not agreement.accountable:
        raise UsageError(problem=f"The run {name} is not accountable: nothing was kept to replay it.")
    side, commitment = Side(known.side), read_commitment(found)
    cards = read_cards(found)
    asked = known.request
    source = data if data is not None else asked.source(name)
    read = layout or asked.read_layout()
    table = _load(agreement, side, source, read)
    try:
        candidates = find_followed(found, agreement, side, table)
    except NotKept as error:
        raise _incomplete(found, str(error)) from None
    made = [commitment.seed.commitments(side, one.digest)[:32] for one in candidates]
    pledged = commitment.pledges[side].table
    followed = candidates[made.index(pledged) if pledged in made else -1]
    subject = PledgedSide(found, agreement, side, commitment, cards, read, followed)
    _require_pledged(subject)
    try:
        return replace(subject, earlier=followed.require_goes_on(state))
    except NotKept as error:
        raise _incomplete(found, str(error)) from None
    except ValueError as error:
        raise subject.departed(str(error)) from None


def _load(agreement: Agreement, side: Side, data: TableLike, layout: Layout) -> Records:
    shown, per_person = agreement.disclosed(side), agreement.protocol.records_per_person(side)
    own = (agreement.fields, agreement.salt, shown, layout, per_person)
    people = agreement.series is not None and (per_person or 1) > 1
    # Whoever replays makes no ids: those of the run are a part of its table.
    return load_records(data, *own, Loading(by_id=True, keep_people=people, entropy=None))


def _open_attempt(subject: PledgedSide, stored: StoredAttempt) -> Attempt:
    try:
        told = stored.hellos()
        hellos = {
            side: decode_hello(content, subject.agreement.party(side)) for side, content in told.items()
        }
    except RefusedError:
        # Of the hellos' version, which changes with every message of the protocol.
        raise subject.incomplete(f"attempt {stored.number} was made by another version of Accord") from None
    except DamagedError:
        raise
    except (ValueError, AccordError):
        raise subject.incomplete(f"the beginning of attempt {stored.number} cannot be read") from None
    return Attempt(stored, told, hellos, meeting_of(told, subject.sizes, subject.about))


def _require_pledged(subject: PledgedSide) -> None:
    """Raise unless seed and table are those that were signed for.

    For another table the side answers, which is what a replay is for. For a seed or anything else of its
    state that is not what was pledged nobody is convicted: a disk does that, too. Nor is anybody cleared.
    """
    pledge = subject.commitment.pledges[subject.side]
    try:
        require_pledge(
            pledge, subject.cards[subject.side], subject.manifest.run, subject.agreement.digest, subject.side
        )
    except ValueError:
        raise subject.incomplete("its pledge is not signed with its card") from None
    seed, followed = subject.commitment.seed, subject.followed
    made = seed.commitments(subject.side, followed.digest)
    if made[32:] != pledge.seed:
        raise subject.incomplete(f"the seed that {subject.party} keeps is not the one that it pledged")
    if made[:32] != pledge.table:
        if followed.kept is not None and seed.commitments(subject.side, followed.kept)[:32] != pledge.table:
            raise subject.incomplete(f"what {subject.party} keeps of the series is not what it pledged")
        _require_same_readers(subject)
        day = subject.manifest.began[: len("2026-11-16")]
        raise subject.departed(f"the table is not the one that it was committed to, as of {day}")


def _require_same_readers(subject: PledgedSide) -> None:
    """Raise where texts are read in another way than in the run: then any table would differ."""
    try:
        known = {attempt.hellos[subject.side].texts for attempt in subject.attempts}
    except StateError:
        return
    if known - {texts_digest()}:
        reason = "texts are read differently here than in the run, so that no table would be its own"
        raise subject.incomplete(f"{reason}; here are {readers()}")
