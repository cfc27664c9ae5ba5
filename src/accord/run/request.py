"""A request: all that the owner of a table says of a linkage, as one value.

The command line and `accord.link` make it, it is judged when it is made, a run keeps it, and `resume` takes
it up again with whatever is named anew. What else a run has follows from it, from the state folder and from
the partner. A new thing to say about a linkage is one field here.

    what          data with its layout, the agreement, the partner
    whose money   the account, and the name under which the noise is kept: none, or a snapshot's
    whereto       the output
    how           the way to the partner, who compares
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_flag, require_share, require_text, require_text_or_none
from accord.errors import UncoveredError
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
class Output:
    """Where the pairs go, if they are written down."""

    target: Target | None = None
    raw: bool = False
    """A csv is written with cells as they are, even those that a spreadsheet takes for formulas."""
    force: bool = False
    """A file that is there is replaced; a table never is."""

    def __post_init__(self) -> None:
        require_flag("force", self.force)
        require_flag("raw", self.raw)

    @property
    def settled(self) -> str:
        """The target as a run keeps it; empty for none."""
        return "" if self.target is None else settled(self.target)

    @property
    def replaces(self) -> bool:
        """Whether what is there is replaced, whoever wrote it."""
        return self.force and isinstance(self.target, Path)


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
        self._allowed_uncovered()
        self.layout.require_known(self.agreement.names)
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


def store(request: Request) -> StoredRequest:
    """A request as its run keeps it."""
    return StoredRequest(
        data=settle(request.data),
        layout=request.layout.to_json(),
        out=request.output.settled,
        raw=request.output.raw,
        snapshot=request.snapshot,
        listen=request.reach.listen,
        connect=request.reach.connect,
        workers=request.workers.named,
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
    named = bool(reach.listen or reach.connect)
    chosen = changes.workers
    return Request(
        data=kept.source(known.run) if changes.data is None else changes.data,
        agreement=agreement,
        partner=known.partner,
        dataset=known.dataset,
        layout=kept.read_layout(),
        snapshot=kept.snapshot,
        output=Output(output.target or kept.target, output.raw or kept.raw, output.force),
        reach=reach if named else replace(reach, listen=kept.listen, connect=kept.connect),
        workers=replace(chosen, named=kept.workers) if chosen.named is None else chosen,
    )
