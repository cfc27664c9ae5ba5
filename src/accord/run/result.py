"""What a linkage gives to whoever called it, and the notice that it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from accord import notices
from accord.drawing import draw
from accord.privacy.events import Cost, describe_cost
from accord.protocols.parts.answers import Answered
from accord.table.pairs import Paired, PairTable
from accord.table.sinks.targets import Target
from accord.wording import lasting, tell_kept


@dataclass(frozen=True, repr=False)
class Linked(Paired):
    """What a linkage gave to this side."""

    run: str
    found: PairTable
    """The pairs as rows of two tables, in an order that is the same on both sides."""
    matches_found: int | None
    """How many pairs were found, of which these are a one-to-one set; None where all are kept."""
    comparisons: int
    bytes: int
    """Sent and received."""
    seconds: float
    cost: Cost | None
    """The guarantee of this side's release; None where nothing is promised."""
    charged: Cost | None
    """What was charged for it: nothing if the same release had been paid for."""
    receipt: Path
    out: Target | None = None
    """Where the pairs were written."""
    answer: Answered | None = None
    """What both learned where nobody is shown."""
    learns: bool = True
    """Whether this side learned pairs."""

    def _repr_html_(self) -> str:
        """For notebooks: figures and first pairs as tables, and what may be shown to others as charts."""
        return super()._repr_html_() + draw("show_linked", self)

    @property
    def matches(self) -> int:
        """How many pairs this side learned."""
        return len(self.found)

    @property
    def result(self) -> PairTable | pa.Table:
        """What is written or shown: the pairs, or the cells of the answer."""
        return self.found if self.answer is None else self.answer.table()

    def _facts(self) -> dict[str, str]:
        return {
            "run": self.run,
            **self._outcome(),
            "comparisons": f"{self.comparisons:,}",
            "charged": describe_cost(self.charged),
            "time": lasting(self.seconds),
        }

    def _outcome(self) -> dict[str, str]:
        if self.answer is not None:
            return {"answer": self.answer.brief()}
        if not self.learns:
            return {"matches": "not told to this side"}
        return {"matches": tell_kept(self.matches, self.matches_found)}


def done(linked: Linked, peaks: tuple[int, ...]) -> notices.Done:
    """The notice of it, with the most memory that each process held."""
    (epsilon, delta), (charged_epsilon, charged_delta) = map(_numbers, (linked.cost, linked.charged))
    return notices.Done(
        run=linked.run,
        matches=linked.matches if linked.learns else None,
        comparisons=linked.comparisons,
        bytes=linked.bytes,
        seconds=round(linked.seconds, 3),
        epsilon=epsilon,
        delta=delta,
        charged_epsilon=charged_epsilon,
        charged_delta=charged_delta,
        unless="" if linked.cost is None else linked.cost.unless,
        matches_found=linked.matches_found,
        peak_mib=tuple(-(-peak >> 20) for peak in peaks),
        answer=None if linked.answer is None else linked.answer.encode(),
    )


def charge_notice(run: str, charged: Cost | None) -> notices.Charged:
    """The notice that the ledger holds a run."""
    return notices.Charged(run, *_numbers(charged), "" if charged is None else charged.unless)


def _numbers(cost: Cost | None) -> tuple[float | None, float | None]:
    return (None, None) if cost is None else (float(cost.epsilon), float(cost.delta))
