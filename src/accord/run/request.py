"""A request: all that the owner of a table says of a linkage, as one value.

The command line and `accord.link` make it, it is judged when it is made, a run keeps it, and `resume` takes
it up again with whatever is named anew. What else a run has follows from it, from the state folder and from
the partner. A new thing to say about a linkage is one field here.

    what          data with its layout, the agreement, the partner
    whose money   the account, and the name under which the noise is kept: none, a snapshot's, a series'
    whereto       the output
    how           the way to the partner, who compares
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_flag, require_share, require_text, require_text_or_none
from accord.errors import UncoveredError, UsageError
from accord.exact import Number, text
from accord.peer.connection import Reach
from accord.privacy.budget import UNCOVERED
from accord.privacy.events import CROWDED
from accord.protocols.base import Coverage
from accord.state.manifest import Manifest, StoredRequest
from accord.table.layout import Layout
from accord.table.sinks.targets import Target, settled
from accord.table.sources.opening import TableLike, require_table, settle
from accord.wording import tell_share
from accord.workers.choice import OnCluster, require_workers


@dataclass(frozen=True)
class SeriesPart:
    """What the owner of a table says of the series that it takes part in."""

    name: str
    unchanged_only: bool = False
    """Records that changed take part no more."""
    mostly_new: bool = False
    """The table is right, though most of it is new."""
    let_wait: bool = False
    """Arrivals that a run has no room for wait for a later one."""

    def __post_init__(self) -> None:
        require_text("series", self.name, "monthly")
        for flag in ("unchanged_only", "mostly_new", "let_wait"):
            require_flag(flag, getattr(self, flag))


@dataclass(frozen=True)
class Output:
    """Where the pairs go, if they are written down."""

    target: Target | None = None
    raw: bool = False
    """A csv is written with cells as they are, even those that a spreadsheet takes for formulas."""
    force: bool = False
    """What is there is replaced."""

    def __post_init__(self) -> None:
        require_flag("force", self.force)
        require_flag("raw", self.raw)

    @property
    def settled(self) -> str:
        """The target as a run keeps it; empty for none."""
        return "" if self.target is None else settled(self.target)


@dataclass(frozen=True)
class WorkerChoice:
    """Who shares the comparisons."""

    named: int | str | None = None
    trust_cluster: bool = False
    """The owner's word for a cluster that lets anybody in: for one time, and kept nowhere."""

    def __post_init__(self) -> None:
        require_workers(self.named, self.trust_cluster)

    @property
    def wanted(self) -> int | OnCluster | None:
        return require_workers(self.named, self.trust_cluster)


@dataclass(frozen=True)
class Request:
    """What one side wants linked, and how."""

    data: TableLike = field(repr=False)
    agreement: Agreement
    partner: str
    dataset: str | None = None
    """The account, if there are several."""
    layout: Layout = field(default_factory=Layout)
    snapshot: str | None = None
    """What the table is called, whose noise is drawn once under that name."""
    series: SeriesPart | None = None
    """The series that the table takes part in."""
    output: Output = field(default_factory=Output)
    reach: Reach = field(default_factory=Reach)
    workers: WorkerChoice = field(default_factory=WorkerChoice)
    uncovered: Number | None = None
    """The share of one's own records for which the promise may not hold; 1 % by default. It stays here."""

    def __post_init__(self) -> None:
        require_table("data", self.data)
        require("agreement", self.agreement, "an Agreement, such as read_agreement(PATH) gives", Agreement)
        require_text("partner", self.partner)
        require_text_or_none("dataset", self.dataset)
        require("layout", self.layout, "a Layout", Layout)
        require_text_or_none("snapshot", self.snapshot, "2026-11")
        require("reach", self.reach, "a Reach", Reach)
        require_sound(self.agreement)
        self._require_declared()
        self._allowed_uncovered()
        self.layout.require_known(self.agreement.names, self.agreement.lists)
        self.reach.require_way()

    def _allowed_uncovered(self) -> Fraction:
        return UNCOVERED if self.uncovered is None else require_share("uncovered", self.uncovered)

    def require_covered(self, coverage: Coverage, records: int) -> None:
        """Raise if more of one's own records are uncovered than their owner allows."""
        allowed, uncovered = self._allowed_uncovered(), coverage.count
        if uncovered > allowed * records:
            passes = (
                f"{one.uncovered:,} in pass '{one.name}' (cap {one.cap})"
                for one in sorted(coverage.passes, key=lambda one: -one.uncovered)
                if one.uncovered
            )
            raise UncoveredError(
                share=tell_share(uncovered, records),
                crowded=CROWDED,
                passes=", ".join(passes),
                allowed=text(allowed * 100),
                enough=-(-100 * uncovered // records),
            )

    def _require_declared(self) -> None:
        """Raise unless a series is named where the agreement declares one, and nowhere else."""
        if self.series is None:
            if self.agreement.series is not None:
                raise UsageError(
                    problem="This agreement declares a series, whose runs go on from each other. Name it: "
                    "`series=`."
                )
            return
        if self.agreement.series is None:
            raise UsageError(
                problem="This agreement declares no series: add [series] to it, or leave out `series=`."
            )
        if self.snapshot is not None:
            raise UsageError(
                problem="A series keeps the noise of all its runs, so there is no snapshot in it: leave out "
                "`snapshot=`."
            )
        if self.layout.make_ids:
            raise UsageError(
                problem="A series knows records again by their ids, and one that is made stays with a row "
                "only as long as none of its cells changes: name a column of ids, `id=`."
            )


def store(request: Request) -> StoredRequest:
    """A request as its run keeps it."""
    said = {} if request.series is None else {k: v for k, v in asdict(request.series).items() if k != "name"}
    return StoredRequest(
        data=settle(request.data),
        layout=request.layout.to_json(),
        out=request.output.settled,
        raw=request.output.raw,
        snapshot=request.snapshot,
        listen=request.reach.listen,
        connect=request.reach.connect,
        workers=request.workers.named,
        **said,
    )


@dataclass(frozen=True)
class Resumption:
    """What is named anew where a run is resumed; everything else stays as it was."""

    data: TableLike | None = None
    output: Output = field(default_factory=Output)
    reach: Reach = field(default_factory=Reach)
    workers: WorkerChoice = field(default_factory=WorkerChoice)


def request_again(known: Manifest, agreement: Agreement, changes: Resumption) -> Request:
    """The request of a run that is resumed."""
    kept, output, reach = known.request, changes.output, changes.reach
    said = kept.unchanged_only, kept.mostly_new, kept.let_wait
    named = bool(reach.listen or reach.connect)
    chosen = changes.workers
    return Request(
        data=kept.source(known.run) if changes.data is None else changes.data,
        agreement=agreement,
        partner=known.partner,
        dataset=known.dataset,
        layout=kept.read_layout(),
        snapshot=kept.snapshot,
        series=SeriesPart(known.series, *said) if known.series else None,
        output=Output(output.target or kept.target, output.raw or kept.raw, output.force),
        reach=reach if named else replace(reach, listen=kept.listen, connect=kept.connect),
        workers=replace(chosen, named=kept.workers) if chosen.named is None else chosen,
    )
