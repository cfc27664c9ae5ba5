"""What a run of a series follows from, if it is as pledged; and whether the run goes on from those before it.

Runs that are in order one by one may still not be one series. So a replay also opens what was pledged in the
earlier runs that are kept: their looks must be the first of this run's, and what both had shown before it
must be what they had shown when the run before it ended.

Records are known again by hashes of 80 bits, which two records of one's own making can be given in some 2⁴⁰
tries. That such a record is nobody's, only the source of the table shows, as of every invented one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from accord.accountable.pledge import digest_series, digest_standing
from accord.accountable.signing import read_commitment
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import Entropy
from accord.errors import AccordError, StateError
from accord.fields.columns import Records
from accord.protocols.base import Task
from accord.protocols.parts.batches import Look, encode_looks
from accord.protocols.parts.shown import Shown, encode_shown
from accord.protocols.parts.slots import Slots, table_digest
from accord.protocols.parts.standing import BatchMeeting, Standing
from accord.protocols.series import Entered, Entering, Series, enter
from accord.run.receipt import receipt_of
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import StoredRun, is_named, list_runs


class NotKept(ValueError):
    """What is kept of a run is not whole, or not of such a run; says what."""


@dataclass(frozen=True, eq=False)
class FromSeries:
    """A run of a series as it began, with the records of a table that took part (followed.py)."""

    run: StoredRun
    looks: tuple[Look, ...] = field(repr=False)
    """With that of the run."""
    entered: Entered
    shown: Shown
    standing: Standing
    digest: bytes

    @property
    def records(self) -> Records:
        return self.entered.records

    @property
    def kept(self) -> bytes:
        return _digest(self.run, bytes.fromhex(self.run.manifest.table), self.looks)

    def slots(self, entropy: Entropy) -> Slots:
        try:
            return self.entered.slots(self.looks[-1], self.shown, entropy)
        except ValueError:
            raise NotKept("the counts that are kept of the run are not those of its records") from None

    def require_goes_on(self, state: State) -> Earlier:
        return _require_goes_on(state, self.run, self.looks, self.entered.task)


def find_in_series(
    run: StoredRun, agreement: Agreement, series: Series, table: Records
) -> Iterator[FromSeries]:
    """What a run of a series follows from if this was its table: with new versions of what changed, and
    without any, whichever its owner had asked for; raises NotKept."""
    known, side = run.manifest, Side(run.manifest.side)
    try:
        looks, counts, shown = (
            run.looks(),
            run.counts_before(agreement.plan.bins),
            run.shown("before", agreement.task, side),
        )
        kept = looks[-1].batch
        for unchanged_only in (False, True):
            how = Entering(due=kept is not None, unchanged_only=unchanged_only)
            entered = enter(agreement.task, series, side, looks[:-1], table, how)
            look = entered.look(None if kept is None else kept.counts)
            standing = entered.standing(BatchMeeting(known.seen, known.total), counts, shown)
            digest = _digest(run, table_digest(entered.records), (*looks[:-1], look))
            yield FromSeries(run, looks, entered, shown, standing, digest)
    except ValueError:
        raise NotKept("what is kept of its series is not of such a run") from None


def _require_goes_on(state: State, run: StoredRun, looks: Sequence[Look], task: Task) -> Earlier:
    """Open what a side pledged in the earlier runs of a series that are kept; raises ValueError, which says
    what is wrong, unless this run goes on from them."""
    known = run.manifest
    earlier = [
        one
        for one in list_runs(state, lambda one: is_named(one, known.series, known.dataset))[0]
        # One with as many looks, too: it drew the same batch.
        if one.manifest.run != known.run and one.manifest.look <= known.look
    ]
    found = [(one, _count_opened(one, looks)) for one in earlier]
    opened = {count for _, count in found}.intersection(range(1, len(looks)))
    missing = len(looks) - 1 - len(opened)
    if not _begins_with_what_was_shown(run, [one for one, count in found if count], task):
        missing = max(missing, 1)
    return Earlier(len(opened), missing)


def _begins_with_what_was_shown(run: StoredRun, earlier: Sequence[StoredRun], task: Task) -> bool:
    """Whether the run that this one goes on from is kept; raises ValueError where that ended with other
    disclosed records than this one began with."""
    # By the batches that have met, which the messages follow from; a number of a run is no more than said.
    known, side, began = run.manifest, Side(run.manifest.side), run.read("before")
    if known.seen == (0, 0):
        if began != encode_shown(Shown.nothing(task.shape(side.other, 0))):
            raise ValueError("it began with disclosed records, and nothing had met before")
        return True
    for one in earlier:
        before = one.manifest
        if before.done and (before.partner, before.total) == (known.partner, known.seen):
            try:
                one.shown("shown", task, side)
            except StateError:
                return False
            if one.read("shown") != began:
                raise ValueError(
                    f"it began with other disclosed records than its run {before.run} ended with"
                )
            return True
    return False


@dataclass(frozen=True)
class Earlier:
    """The runs of a series before one."""

    opened: int
    """Those whose pledges this one goes on from."""
    missing: int
    """Those of which nothing is kept, or nothing that can be read, or that were not accountable."""


def _count_opened(earlier: StoredRun, looks: Sequence[Look]) -> int:
    """How many looks an earlier run was committed to, 0 where its pledge cannot be opened; raises NotKept
    where that is something else than what is kept, and ValueError where this run goes on from another."""
    known = earlier.manifest
    try:
        agreement = parse_agreement(known.agreement)
        if not agreement.accountable:
            return 0
        side, commitment = Side(known.side), read_commitment(earlier)
        found = earlier.looks()
        # Where one of these is damaged nothing can be said, and nobody is convicted of a bad disk.
        earlier.counts_before(agreement.plan.bins), earlier.shown("before", agreement.task, side)
        digest = _digest(earlier, bytes.fromhex(known.table), found)
        pledged = {commitment.pledges[side].table}
        if known.done:
            signed = receipt_of(earlier).facts
            pledged.add(bytes.fromhex(signed["accountable"]["pledges"][side.value]["table"]))
    except (AccordError, OSError, ValueError, KeyError):
        return 0
    if pledged != {commitment.seed.commitments(side, digest)[:32]}:
        raise NotKept(f"what it keeps of its run {known.run} is not what it pledged then")
    both = min(len(found), len(looks))
    if encode_looks(found[:both]) != encode_looks(looks[:both]):
        raise ValueError(f"the batches that it went on with are not those of its run {known.run}")
    return len(found)


def _digest(run: StoredRun, table: bytes, looks: Sequence[Look]) -> bytes:
    known = run.manifest
    standing = digest_standing(known.series, looks, {name: run.read(name) for name in ("counts", "before")})
    return digest_series(table, standing, known.series_run, BatchMeeting(known.seen, known.total))
