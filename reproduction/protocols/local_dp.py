"""The local-DP protocol [HMFS17, §4.1 and appendix]: every record reports one bin by randomised response.

    1  each record reports a bin (randomised_response.py); public bins are reported as they are
    2  the reports are the slots, shuffled within each bin: as many slots as the table has rows; a row that
       was left out is a dummy with a uniform report
    3  reports i of A are compared with the reports i, …, i + k' − 1 of B, round the end, by the engine, as in
       linkage.py; the whole rule, since nothing follows from a reported bin
    4  matches are disclosed and confirmed as there, Greedy Match & Clean included

*Learns*: each side the other's size, how many records reported each bin, and its matching records with the
bins that they reported. *Theorem*: (ε, 0) for every record that matches nothing. Its report is the only
thing that the partner's view depends on besides the matching records, by the argument of linkage.py, and the
report is ε-private by itself. With `records_per_person` = g each report is made at ε/g, so that the g reports
of a person are ε-private together [MATHS §5.1]. *Recall*: of the matches whose records share a bin, the share
that `expected_recall` gives; with a window of all bins every pair is compared.

Reports are kept: drawn once for a release, stored by the ids' order, repeated wherever the release is
(privacy/release.py says when that is). Two independent reports of one record cost 2ε.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import pyarrow.compute as pc
from pydantic import Field, StrictBool, StrictInt, model_validator

from accord.entropy import NOISE, Entropy, below
from accord.errors import UsageError
from accord.exact import text
from accord.fields.columns import Columns, Records
from accord.fields.schema import Exact
from accord.protocols.base import Blockings, Fault, Guarantee, Ints, Options, Release, Task
from accord.protocols.binned import OF_MATCHES, Binned, tell_bins
from accord.protocols.linkage import link_bins
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.people import Protected, whom
from accord.protocols.parts.slots import Slots, shuffle_slots
from accord.rules.blocking.base import PassSpec, build_blocking
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Indices
from accord.rules.rule import Rule
from accord.rules.thresholds import Fields
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from reproduction.protocols.randomised_response import (
    PublicBins,
    Reports,
    Response,
    best_spread,
    compared,
    compared_public,
    report,
)

REPORTS = "a bin for each record, reported by randomised response"
TRUE_BINS = "the true bin of each record"
MOST_PAIRS = 10_000_000
"""Of bins, in the window: as many as memory should hold."""


class LocalSide(Protected):
    """One side's ε for each of its records or people, or the statement that its bins may be known."""

    epsilon: Exact | None = Field(default=None, gt=0, le=64)
    """ε of each report."""
    public: StrictBool = False
    """Whether the bins of this side may be known; then it has no ε."""

    @model_validator(mode="after")
    def _fits(self) -> LocalSide:
        if (self.epsilon is None) != self.public:
            raise ValueError("needs either epsilon, or public = true if its bins may be known")
        if self.public and self.records_per_person > 1:
            raise ValueError("records_per_person goes with epsilon: of public bins nothing is promised")
        return self

    @property
    def of_report(self) -> Fraction | None:
        """ε of a single report: all reports of a person together have the ε that is promised."""
        return None if self.epsilon is None else self.epsilon / self.records_per_person


class LocalDp(Binned):
    """Randomised response over the bins [HMFS17, appendix]: each record reports one bin."""

    one_slot_a_row: ClassVar[bool] = True
    promises: ClassVar[tuple[str, ...]] = ("epsilon",)
    side_options: ClassVar[tuple[str, ...]] = ("epsilon", "records_per_person")
    options: ClassVar[tuple[str, ...]] = ("greedy",)

    name: Literal["local-dp"]
    A: LocalSide
    """How the records of A report."""
    B: LocalSide
    """How those of B do."""
    window: StrictInt = Field(ge=1, le=5_000_000)
    """k': a record of A is compared with those in this many bins of B, from its own on, wrapping around."""
    spread: StrictInt | None = Field(default=None, ge=1, le=5_000_000)
    """x: how many bins are reported with the higher probability; 1 is the basic way; by default the best."""

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "local-dp", "window": 1, **{side.value: {"epsilon": epsilon} for side in Side}}

    def faults(
        self, rule: Rule, fields: Fields | None, blocking: Blockings, simulated: bool
    ) -> Iterator[Fault]:
        if self.A.public and self.B.public:
            problem = "local-dp protects nothing if both sides are public"
            yield ("protocol",), f"{problem}; give one side an epsilon."
        if len(blocking) > 1:
            problem = "local-dp has one report per record, but each pass would need its own"
            yield ("blocking",), f"{problem}; keep one pass, or take 'laplace'."
        elif not all(isinstance(part, KeySpec) for parts in blocking for part in parts):
            problem = "local-dp needs one bin per record, the same for both records of a match"
            yield ("blocking", 0), f"{problem}; block by key alone."
        elif fields is not None and _fits(blocking, fields):
            agreed = [PassSpec(parts=tuple(parts)) for parts in blocking]
            yield from self._window_faults(build_blocking(agreed, fields).bins)
        if self.spread is not None and self.spread > self.window:
            yield ("protocol", "spread"), "the spread must be at most the window."

    def _window_faults(self, bins: int) -> Iterator[Fault]:
        if self.window > bins:
            yield ("protocol", "window"), f"the window must be at most the {bins:,} bins."
        elif bins * self.window > MOST_PAIRS:
            pairs = f"{bins:,} bins with a window of {self.window:,}"
            yield ("protocol", "window"), f"{pairs} are too many pairs of bins; take buckets."

    # -- reports ------------------------------------------------------------------------------------------

    def local(self, side: Side) -> LocalSide:
        return self.A if side is Side.A else self.B

    def records_per_person(self, task: Task, side: Side) -> int | None:
        local = self.local(side)
        return None if local.public else local.records_per_person

    def response(self, bins: int, side: Side) -> Response | None:
        """How this side's records report; None where their bins are public."""
        epsilon, other = self.local(side).of_report, self.local(side.other)
        if epsilon is None:
            return None
        likely = self.likely(bins)
        # A's block must end with the true bin where B reports that itself: windows run upward from A's bin.
        start = likely - 1 if other.public and side is Side.A else 0
        return Response(bins, likely, epsilon, start)

    def likely(self, bins: int) -> int:
        """How many bins are likely: as agreed, or the number with which most matches are compared."""
        if self.spread is not None:
            return self.spread
        a, b = self.A.of_report, self.B.of_report
        return self.window if a is None or b is None else best_spread(bins, self.window, a, b)

    def expected_recall(self, bins: int) -> float:
        """The probability that a match whose records share a bin is compared."""
        a, b, x = self.A.of_report, self.B.of_report, self.likely(bins)
        if a is not None and b is not None:
            return float(compared(bins, self.window, x, a, b))
        private = a if a is not None else b
        return 1.0 if private is None else compared_public(bins, self.window, x, private)

    def finds_beyond(self, task: Task) -> bool:
        """Two records of different bins may report bins that meet."""
        return True

    def share_found(self, task: Task) -> float:
        return self.expected_recall(task.blocking.bins)

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> ReportedBins:
        response = self.response(task.blocking.bins, side)
        people = self.local(side).records_per_person
        event = PublicBins() if response is None else Reports(response, people)
        return ReportedBins(task, side, event, None, response)

    # -- a side and its run -------------------------------------------------------------------------------

    def counts(self, task: Task, side: Side, records: Records, noise: Ints) -> Ints:
        return np.bincount(noise, minlength=task.blocking.bins)

    def make_slots(self, task: Task, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
        bins = task.blocking.bins
        if len(noise) != records.size or (len(noise) and not 0 <= noise.min() <= noise.max() < bins):
            raise UsageError(problem="The stored reports are not those of this table. Start a new run.")
        placed, live = np.array(noise), len(records)
        placed[_order_of_ids(records)] = noise[:live]
        record = np.concatenate([np.arange(live), np.full(records.left_out, -1)])
        return shuffle_slots(record, placed, bins, records, entropy)

    def bins_of(self, task: Task, side: Side, columns: Columns, records: int) -> None:
        return None

    def equal(self, task: Task) -> frozenset[str]:
        """None: of a randomised bin nothing follows."""
        return frozenset()

    def pairs(self, task: Task) -> tuple[Indices, Indices]:
        bins = task.blocking.bins
        left = np.repeat(np.arange(bins), self.window)
        return left, (left + np.tile(np.arange(self.window), bins)) % bins

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return link_bins(task, self, mine, engine)

    # -- what it leaks ------------------------------------------------------------------------------------

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        local = self.local(side)
        epsilon = local.epsilon
        if epsilon is None:
            true = f"into which of {tell_bins(task)} each record falls: the agreement calls that public;"
            return Guarantee(TRUE_BINS, None, None, (true,), OF_MATCHES)
        told = (
            f"a bin for each record, one of {task.blocking.bins:,}, reported by randomised response: "
            f"ε = {text(epsilon)} for {whom(local.records_per_person)};"
        )
        of_matches = ("for each record that matches: the bin that it reports;",)
        return Guarantee(REPORTS, epsilon, Fraction(0), (told,), of_matches)

    def advice(self, task: Task) -> list[str]:
        share = self.expected_recall(task.blocking.bins)
        return [f"Of the matches whose records share a bin, {share:.1%} are compared on average."]


@dataclass(frozen=True)
class ReportedBins(Release):
    """A bin for each record: a randomised one, or the true one where that may be known."""

    response: Response | None = None

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """Fresh reports, in the order of the ids, then of the rows that were left out: these report like
        records without a bin. *Distribution*: as `report`, or the true bins."""
        live = true_bins(self.task, self.side, records)[_order_of_ids(records)]
        return self._reported(np.concatenate([live, np.full(records.left_out, -1)]), entropy)

    def foresee(self, counts: Ints, records: int, entropy: Entropy) -> Ints:
        live = np.repeat(np.arange(len(counts)), counts)
        bins = np.concatenate([live, np.full(max(0, records - len(live)), -1)])
        return np.bincount(self._reported(bins, entropy), minlength=len(counts))

    def _reported(self, bins: Ints, entropy: Entropy) -> Ints:
        if self.response is not None:
            return report(self.response, bins, entropy)
        anywhere = below(entropy.stream(NOISE), self.task.blocking.bins, len(bins)).astype(np.int64)
        return np.where(bins < 0, anywhere, bins)


def true_bins(task: Task, side: Side, records: Records) -> Ints:
    """The bin of each record; −1 where it has none. *Requires* a blocking with at most one bin a record."""
    found = np.full(len(records), -1, np.int64)
    record, bins = task.blocking.place(side, records.columns, len(records))
    found[record] = bins
    return found


def _order_of_ids(records: Records) -> Ints:
    return np.asarray(pc.sort_indices(records.ids)).astype(np.int64)


def _fits(blocking: Blockings, fields: Fields) -> bool:
    parts = [part for one in blocking for part in one]
    known = all(name in fields for part in parts for name in part.names)
    return bool(parts) and known and not any(list(part.faults(fields)) for part in parts)
