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

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_flag, require_text, require_text_or_none
from accord.errors import StateError, UsageError
from accord.peer.connection import Reach
from accord.state.journal import BROKEN
from accord.state.runs import RunFolder
from accord.table.address import find_address
from accord.table.layout import Layout
from accord.table.sinks.targets import Target, as_target_or_none, settled
from accord.table.sources.opening import Place, TableLike, require_table, settle
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
        self.layout.require_known(self.agreement.names, self.agreement.lists)
        self.reach.require_way()

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
        if self.layout.id_row:
            raise UsageError(
                problem="A series knows records again by their ids, and row numbers change with every row "
                "that comes or goes: name a column of ids, `id=`."
            )


@dataclass(frozen=True)
class _Kept:
    """What of a request is kept with its run, besides agreement, partner and account: those are the run's."""

    data: str
    """Where the table is; empty if Python had it."""
    layout: str
    out: str
    raw: bool
    snapshot: str | None
    series: SeriesPart | None
    listen: str
    connect: str
    workers: int | str | None
    trust_cluster: bool


def keep(request: Request) -> dict[str, Any]:
    """A request as a run keeps it, in JSON's terms."""
    kept = _Kept(
        data=settle(request.data),
        layout=request.layout.to_json(),
        out=request.output.settled,
        raw=request.output.raw,
        snapshot=request.snapshot,
        series=request.series,
        listen=request.reach.listen,
        connect=request.reach.connect,
        workers=request.workers.named,
        trust_cluster=request.workers.trust_cluster,
    )
    return dict(TypeAdapter(_Kept).dump_python(kept, mode="json"))


@dataclass(frozen=True)
class Resumption:
    """What is named anew where a run is resumed; everything else stays as it was."""

    data: TableLike | None = None
    output: Output = field(default_factory=Output)
    reach: Reach = field(default_factory=Reach)
    workers: WorkerChoice = field(default_factory=WorkerChoice)


class KeptRequest:
    """What a run keeps of its request: parts of it can be read where the whole cannot be had any more."""

    def __init__(self, kept: dict[str, Any]) -> None:
        """Raises ValueError unless `keep` could have made it."""
        try:
            self._kept = TypeAdapter(_Kept).validate_python(kept, strict=False)
            self.layout = Layout.from_json(self._kept.layout)
        except (ValidationError, UsageError):
            raise ValueError("not a request") from None
        self.snapshot, self.series = self._kept.snapshot, self._kept.series
        self.out, self.raw = self._kept.out, self._kept.raw

    @property
    def target(self) -> Target | None:
        """Where the pairs were to go."""
        # A file has its path from the root on, whatever stands in it.
        return Path(self.out) if self.out.startswith("/") else as_target_or_none("out", self.out or None)

    def source(self, run: str) -> Place:
        """Where the data was."""
        if not self._kept.data:
            raise UsageError(problem=f"The run {run} was not given a file. Name the data with `data=`.")
        return find_address(self._kept.data) or Path(self._kept.data)

    def again(
        self, run: str, agreement: Agreement, partner: str, dataset: str, changes: Resumption | None = None
    ) -> Request:
        """The request of a run that is resumed."""
        new, kept = changes or Resumption(), self._kept
        named = bool(new.reach.listen or new.reach.connect)
        workers = (
            WorkerChoice(kept.workers, kept.trust_cluster) if new.workers == WorkerChoice() else new.workers
        )
        return Request(
            data=self.source(run) if new.data is None else new.data,
            agreement=agreement,
            partner=partner,
            dataset=dataset,
            layout=self.layout,
            snapshot=self.snapshot,
            series=self.series,
            output=Output(new.output.target or self.target, new.output.raw or self.raw, new.output.force),
            reach=new.reach if named else replace(new.reach, listen=kept.listen, connect=kept.connect),
            workers=workers,
        )


def read_request(run: RunFolder) -> KeptRequest:
    """What a run keeps of its request."""
    try:
        return KeptRequest(run.manifest.request)
    except ValueError:
        raise StateError(path=run.path / "run.json", reason="it cannot be read", mend=BROKEN) from None
