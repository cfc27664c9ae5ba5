"""What a plan is made of: ranges, options, warnings, and the one option that was chosen.

Every figure is a range: what is least, what is expected, what is most. From counts alone it says how far the
spread of records over bins may go; with one's own table it is narrow. A plan is its options as a table
(Arrow, pandas, a notebook), and `to_json` is what `accord plan --json` prints.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.drawing import draw
from accord.errors import UsageError
from accord.privacy.events import either, tell_unless
from accord.protocols.parts.answers import tell_widths
from accord.side import Side
from accord.wording import lasting, sized

if TYPE_CHECKING:
    import pandas

FIGURES = ("dummies", "comparisons", "bytes", "rounds", "memory", "seconds")
MARK = " *"
"""Of an ε with a condition, in a table."""
_SHOWN = 12
_FAR = 1.2
"""From where on the most is worth a word beside what is expected."""


@dataclass(frozen=True)
class Range:
    """A number that is not known yet."""

    low: float
    expected: float
    high: float

    @classmethod
    def of(cls, *values: float) -> Range:
        """From the least of these to the largest; expected is the first."""
        return cls(min(values), values[0], max(values))

    def scaled(self, low: float, expected: float | None = None, high: float | None = None) -> Range:
        """All three times a number, or each times its own."""
        middle = low if expected is None else expected
        return Range(low * self.low, middle * self.expected, (middle if high is None else high) * self.high)

    def tell_most(self) -> str:
        """The most, if it is far from what is expected."""
        return f" (at most {self.high:,.0f})" if self.high > _FAR * self.expected else ""

    def to_json(self, whole: bool = True) -> dict[str, float]:
        """As numbers that a person can read."""
        each = {"low": self.low, "expected": self.expected, "high": self.high}
        return {name: round(value) if whole else float(f"{value:.4g}") for name, value in each.items()}


@dataclass(frozen=True)
class Warning:
    """What a careful person would say; the code stays, the words may change."""

    code: str
    text: str


@dataclass(frozen=True)
class TimeSpent:
    """Where the time goes: what each would take by itself, in seconds."""

    processor: float
    network: float
    waiting: float


@dataclass(frozen=True)
class Option:
    """One way to run the linkage, and what it comes to."""

    agreement: Agreement = field(repr=False)
    """As it would have to be agreed."""
    agreed: bool
    """Whether this is the agreement as it stands."""
    protocol: str
    blocking: str
    greedy: bool
    all_pairs: bool
    """Whether every record is compared with every record."""
    epsilon: dict[Side, float | None]
    """None where nothing is promised."""
    delta: dict[Side, float | None]
    """As it exactly is, not as it was asked for."""
    recall: float | None
    """Of the pairs that the rule accepts; None where nobody can tell."""
    estimated: bool
    """Whether the recall is: from made-up pairs with errors."""
    covered: float | None
    """The expected share of records for which the promise holds, the lower of both sides; 1 where it has no
    condition, None where it cannot be estimated."""
    bins: int
    dummies: Range
    comparisons: Range
    """Secure comparisons, or for psi values that are listed or asked for."""
    bytes: Range
    rounds: Range
    memory: Range
    """Bytes, of one side."""
    seconds: Range
    """On this machine."""
    usual: float
    """Seconds on the machine whose times are written down (machine.py): what is chosen by, so that a choice
    follows from public numbers alone."""
    work: TimeSpent
    widths: tuple[int, ...] = ()
    """Within how much of the truth each number of an answer is, in 95 of 100 runs."""
    unless: dict[Side, str] = field(default_factory=dict)
    """When ε and δ do not hold; empty where they always do."""

    def to_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "blocking": self.blocking,
            "greedy": self.greedy,
            "agreed": self.agreed,
            "epsilon": {side.value: value for side, value in self.epsilon.items()},
            "delta": {side.value: value for side, value in self.delta.items()},
            "unless": {side.value: value for side, value in self.unless.items()},
            "recall": self.recall,
            "recall_estimated": self.estimated,
            "covered": self.covered,
            "bins": self.bins,
            **{name: getattr(self, name).to_json(name != "seconds") for name in FIGURES},
            "within": [*self.widths],
        }

    @property
    def largest_epsilon(self) -> float | None:
        """Of the two sides; None where one of them is promised nothing."""
        a, b = self.epsilon.values()
        return None if a is None or b is None else max(a, b)

    @property
    def keys(self) -> int:
        """Passes of keys, which list no bins."""
        return 0 if self.agreement.protocol.lists_bins else len(self.agreement.task.blocking.passes)

    @property
    def condition(self) -> str:
        """When the ε of either side does not hold; empty where it always does."""
        return either(*self.unless.values())

    @property
    def free(self) -> bool:
        """Whether a run spends no ε."""
        return self.largest_epsilon == 0 or self.agreement.output.exact

    def tell_epsilon(self) -> str:
        """The larger one, with a mark if it has a condition."""
        epsilon = self.largest_epsilon
        return "none" if epsilon is None else f"{epsilon:g}{MARK * bool(self.condition)}"

    def tell_promise(self) -> str:
        """The same in words."""
        if self.largest_epsilon is None:
            return "no promise"
        return f"ε = {self.largest_epsilon:g}{tell_unless(self.condition)}"

    def tell_widths(self) -> str:
        """How near to the truth an answer comes; empty where none is asked for."""
        return tell_widths(self.agreement.output, self.widths)

    def tell_recall(self) -> str:
        """As a number, with a mark if it is estimated."""
        return "?" if self.recall is None else f"{'~' if self.estimated else ''}{self.recall:.3f}"

    def tell_covered(self) -> str:
        """As a share, with a mark if it is estimated."""
        if self.covered is None:
            return "?"
        return "all" if self.covered == 1 and not self.condition else f"~{self.covered:.2%}"

    def tell(self) -> str:
        """In a few words."""
        blocking = f", {self.blocking}" if self.blocking else ""
        return f"{self.protocol}{blocking}{', greedy' if self.greedy else ''} ({self.tell_promise()})"


@dataclass(frozen=True)
class Plan:
    """All options, the one to take, and what is worth knowing beforehand."""

    options: tuple[Option, ...]
    choice: Option
    why: str
    """In one paragraph: why this one, and why not the others."""
    warnings: tuple[Warning, ...]
    """The most important first."""
    sizes: tuple[int, int]
    network: str
    missed: tuple[str, ...] = ()
    """The wishes that no option meets all at once, and the choice does not meet."""
    workers: int = 1
    """That share the comparisons on each side."""

    @property
    def agreed(self) -> Option:
        """The agreement as written."""
        return next(option for option in self.options if option.agreed)

    def to_json(self) -> dict[str, Any]:
        return {
            "records": dict(zip(("A", "B"), self.sizes, strict=True)),
            "network": self.network,
            "workers": self.workers,
            "options": [option.to_json() for option in self.options],
            "choice": self.choice.to_json(),
            "why": self.why,
            "missed": [*self.missed],
            "warnings": [{"code": one.code, "text": one.text} for one in self.warnings],
        }

    @cached_property
    def table(self) -> pa.Table:
        """One row an option."""
        return pa.Table.from_pylist([_row(option, option is self.choice) for option in self.options])

    def to_pandas(self) -> pandas.DataFrame:
        """The options as a pandas table."""
        try:
            return self.table.to_pandas()
        except ImportError:
            raise UsageError(
                problem="pandas is not installed: `pip install pandas`, or take .table."
            ) from None

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        codes = ", ".join(one.code for one in self.warnings) or "none"
        return f"<Plan: {self.choice.tell()} of {len(self.options)} options; warnings: {codes}>"

    def _repr_html_(self) -> str:
        """For notebooks: the options as a table, and their costs as charts."""
        head = ("", "protocol", "blocking", "ε", "recall", "covered", "comparisons", "bytes", "time")
        ranked = sorted(self.options, key=lambda one: (one is not self.choice, not one.agreed, cost(one)))
        rows = [_cells(one, self.choice) for one in ranked[:_SHOWN]]
        body = "".join(_line(cells, "td") for cells in rows)
        told = [*(one.text for one in self.warnings), *tell_conditions(ranked[:_SHOWN])]
        notes = "".join(f"<li>{html.escape(one)}</li>" for one in told)
        hidden = len(ranked) - len(rows)
        more = f"<p>… and {hidden:,} more options in .table</p>" if hidden > 0 else ""
        table = (
            f"<p>{html.escape(self.why)}</p><ul>{notes}</ul><table>{_line(head, 'th')}{body}</table>{more}"
        )
        return table + draw("show_plan", self)


def cost(option: Option) -> tuple[float, float]:
    """What the cheapest is cheapest by: time, then comparisons."""
    return option.usual, option.comparisons.expected


def tell_conditions(options: Iterable[Option]) -> list[str]:
    """What the mark beside an ε stands for; one line for each condition."""
    conditions = dict.fromkeys(one.condition for one in options if one.condition)
    return [f"{MARK.strip()} unless {condition}" for condition in conditions]


def _row(option: Option, chosen: bool) -> dict[str, Any]:
    plain = option.to_json()
    promised = ("epsilon", "delta", "unless")
    flat = {f"{name}_{side}": plain[name][side] for name in promised for side in ("A", "B")}
    ranges = {f"{name}_{end}": float(value) for name in FIGURES for end, value in plain[name].items()}
    kept = ("protocol", "blocking", "greedy", "agreed", "recall", "recall_estimated", "covered", "bins")
    return {name: plain[name] for name in kept} | {"chosen": chosen} | flat | ranges


def _cells(option: Option, choice: Option) -> list[str]:
    marks = " ".join(filter(None, ("chosen" * (option is choice), "agreed" * option.agreed)))
    return [
        marks,
        option.protocol + (", greedy" if option.greedy else ""),
        option.blocking,
        option.tell_epsilon(),
        option.tell_recall(),
        option.tell_covered(),
        f"{option.comparisons.expected:,.0f}",
        sized(round(option.bytes.expected)),
        lasting(option.seconds.expected),
    ]


def _line(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
