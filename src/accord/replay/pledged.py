"""One side of an accountable run before its replay: what its messages follow from, if that is as pledged.

Table and seed must be those that the side signed for when the run began (seed.py). What was announced of the
table's size is in every meeting, and so in all that was signed there (transcript.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from accord.accountable.seed import require_pledge
from accord.accountable.signing import SeedCommitment, read_cards, read_commitment
from accord.accountable.stored import attempts, read_opening
from accord.accountable.transcript import Meeting, about_run, meeting_of
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import AccordError, DepartedError, RefusedError, StateError, UsageError
from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.fields.vectors import readers, texts_digest
from accord.peer.handshake import Hello, decode_hello
from accord.peer.identity import Card
from accord.protocols.base import prepare
from accord.protocols.mine import Mine
from accord.protocols.shown import Shown, encode_shown
from accord.protocols.slots import table_digest
from accord.replay.series import Earlier, PledgedRun, find_pledged, require_goes_on
from accord.replay.verdict import Fault
from accord.run.request import read_request
from accord.secure.party import Party
from accord.side import Side
from accord.state import noise_format
from accord.state.folder import State
from accord.state.runs import Manifest, RunFolder, open_run
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike
from accord.wording import counted


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

    folder: RunFolder
    agreement: Agreement
    side: Side
    commitment: SeedCommitment
    cards: dict[Side, Card]
    layout: Layout
    records: Records
    """Those that take part."""
    series: PledgedRun | None = None
    """What else a run of a series follows from."""
    earlier: Earlier | None = None
    """The runs of its series before it."""

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    @cached_property
    def mine(self) -> Mine:
        """The side as it was fixed then: its slots follow from table, noise and seed."""
        task, size = self.agreement.task, self.manifest.partner_records
        if self.series is not None:
            return self._in_series(self.series)
        try:
            noise = noise_format.decode(self.folder.read("noise"))
        except (StateError, ValueError):
            raise self.incomplete("the noise of the run cannot be read") from None
        padding, entropy = task.protocol.padding(task, self.side.other, size), self.commitment.seed.slots()
        return prepare(task, self.side, self.records, size, noise, entropy, (), padding)

    def _in_series(self, series: PledgedRun) -> Mine:
        task, size, entropy = self.agreement.task, self.manifest.partner_records, self.commitment.seed.slots()
        try:
            slots = series.slots(entropy)
        except ValueError:
            raise self.incomplete(
                "the counts that are kept of the run are not those of its records"
            ) from None
        padding = task.protocol.padding(task, self.side.other, size)
        own = self.side, self.records, size, slots, entropy, (), padding
        return Mine(*own, standing=series.standing)

    def party_of(self, mine: Mine) -> Party[Shown | None]:
        """The program of the side; in a series it ends in what both have disclosed by then."""
        task, engine = self.agreement.task, self.agreement.engine.build()
        return (yield from task.protocol.party(task, mine, engine)).shown

    @cached_property
    def attempts(self) -> list[Attempt]:
        return [_open_attempt(self, path) for path in attempts(self.folder.path)]

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

    def require_shown(self, shown: Shown | None) -> None:
        """Raise unless this is what the side keeps as disclosed by the end of a run of a series."""
        if shown is None or not self.manifest.done:
            return
        if self.folder.read("shown") != encode_shown(shown):
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
        mend = "With the tables and seeds of both sides the run can be replayed without it."
        return StateError(path=self.folder.path / "record", reason=reason, mend=mend)


def open_case(state: State, name: str, data: TableLike | None, layout: Layout | None = None) -> Case:
    """One side of a run, if its table and its seed are those that it pledged."""
    found = open_run(state, name)
    known = found.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    if not agreement.accountable:
        raise UsageError(problem=f"The run {name} is not accountable: nothing was kept to replay it.")
    side, commitment = Side(known.side), read_commitment(found.path)
    cards = read_cards(found.path)
    asked = read_request(found)
    source = data if data is not None else asked.source(name)
    read = layout or asked.layout
    table = _load(agreement, side, source, read)
    case = Case(found, agreement, side, commitment, cards, read, table)
    if agreement.series is None:
        _require_pledged(case, table_digest(table))
        return case
    return _open_series(state, case)


def _open_series(state: State, case: Case) -> Case:
    """One side of a run of a series, whose records are those of the table that took part in it."""
    pledged = case.commitment.pledges[case.side].table
    seed = case.commitment.seed
    try:
        standings = list(find_pledged(case.folder, case.agreement, case.records))
    except ValueError:
        raise case.incomplete("what is kept of its series is not of such a run") from None
    for standing, digest in standings:
        case = replace(case, records=standing.entered.records, series=standing)
        if seed.commitments(case.side, digest)[:32] == pledged:
            break
    _require_pledged(case, digest)
    try:
        return replace(case, earlier=require_goes_on(state, case.folder, standing.looks, case.agreement.task))
    except ValueError as error:
        raise case.departed(str(error)) from None


def _load(agreement: Agreement, side: Side, data: TableLike, layout: Layout) -> Records:
    shown, per_person = agreement.disclosed(side), agreement.protocol.records_per_person(side)
    own = (agreement.fields, agreement.salt, shown, layout, per_person)
    people = agreement.series is not None and (per_person or 1) > 1
    return load_records(data, *own, Loading(by_id=True, keep_people=people))


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


def _require_pledged(case: Case, table: bytes) -> None:
    """Raise unless the seed, and a table of this digest, are those that were signed for."""
    pledge = case.commitment.pledges[case.side]
    try:
        require_pledge(pledge, case.cards[case.side], case.manifest.run, case.agreement.digest, case.side)
    except ValueError:
        raise case.incomplete("its pledge is not signed with its card") from None
    made = case.commitment.seed.commitments(case.side, table)
    if made[32:] != pledge.seed:
        raise case.departed("the seed is not the one that it was committed to")
    if made[:32] != pledge.table:
        _require_same_readers(case)
        day = case.manifest.began[: len("2026-11-16")]
        raise case.departed(f"the table is not the one that it was committed to, as of {day}")


def _require_same_readers(case: Case) -> None:
    """Raise where texts are read in another way than in the run: then any table would differ."""
    try:
        known = {attempt.hellos[case.side].texts for attempt in case.attempts}
    except StateError:
        return
    if known - {texts_digest()}:
        reason = "texts are read differently here than in the run, so that no table would be its own"
        raise case.incomplete(f"{reason}; here are {readers()}")
