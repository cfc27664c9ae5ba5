"""What a run was in its series, in words: a function of agreement and receipt, as the receipt's page is.

Sizes are the declared ones, and batches are counted by what both sides know of them. How many records a batch
really had, its owner's page alone can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.agreement.document import Agreement
from accord.protocols.series import Series
from accord.report.charts import Bar
from accord.report.markup import join
from accord.report.page import Section, paragraph, table
from accord.side import Side
from accord.wording import counted

TITLE = "The run in its series"
NEW_PAIRS = "of batches that had not met"


def name_run(said: Mapping[str, Any]) -> str:
    """Which run of which series a receipt is of."""
    told = said["series"]
    return f"run {told['run']:,} of the series '{told['name']}'"


def tell_declared(agreement: Agreement) -> str:
    """What an agreement declares of its series."""
    series = agreement.series
    assert series is not None
    first, more = ([series.declared(side, batch) for side in Side] for batch in (0, 1))
    several = f"at most {series.versions:,} versions take part"
    return (
        f"announced are {first[0]:,} records of A and {first[1]:,} of B in the first run, {more[0]:,} and "
        f"{more[1]:,} more in every later one, however many there are; of an id "
        f"{'only the first version takes part' if series.versions == 1 else several}"
    )


def whom(series: Series, per_person: int) -> str:
    """For whom the promise of a series holds."""
    what = "each record" if series.versions == 1 else f"each id with up to {series.versions:,} versions"
    if per_person > 1:
        what = f"each person none of whose records matches, of whom at most {per_person:,} ever take part"
    return f"{what}, once for all runs of the series"


CONDITION = (
    "It is not for records that match, which are disclosed: for them it ends with the run in which they "
    "first match. Announced are declared sizes, and it holds as long as no batch has more records than that."
)


def describe(agreement: Agreement, said: Mapping[str, Any]) -> Section:
    """Where the run stands in its series, and what it compared."""
    told, series = said["series"], agreement.series
    assert series is not None
    rows = []
    for side in Side:
        met, total = told["met"][side.value], told["batches"][side.value]
        new = series.announced(side, total) - series.announced(side, met)
        rows.append(
            [f"{agreement.party(side)} ({side.value})", met, total - met, new, told["announced"][side.value]]
        )
    heads = ["side", "batches that had met", "new batches", "declared for these", "declared so far"]
    parts = [
        paragraph(f"This is {name_run(said)} between the two."),
        table("Batches, and the sizes that are declared for them", heads, rows),
        paragraph(tell_compared(told)),
    ]
    if getattr(agreement.protocol, "greedy", False) and told["run"] > 1:
        parts.append(
            paragraph(
                "Records that were disclosed in earlier runs have no slots any more. Each side first named "
                "those of its own that are gone or changed; matches of the others with what is new were "
                "found in the clear, without a comparison."
            )
        )
    return Section(TITLE, join(parts))


def tell_compared(told: Mapping[str, Any]) -> str:
    """Which batches met in a run, by what its receipt tells of the series."""
    (met_a, met_b), (all_a, all_b) = ([told[of][side.value] for side in Side] for of in ("met", "batches"))
    if not met_a and not met_b:
        return (
            f"Compared were {_batches(all_a)} of A with {_batches(all_b)} of B: nothing had met before. "
            "Later runs compare what is new."
        )
    return (
        f"Compared were {_new(all_a - met_a)} of A with all {counted(all_b, 'batch', 'batches')} of B, and "
        f"{counted(met_a, 'older batch', 'older batches')} of A with {_new(all_b - met_b)} of B. Nothing was "
        "compared twice, and older batches kept the noisy counts that they were first shown with."
    )


def _batches(count: int) -> str:
    return "the first batch" if count == 1 else f"the first {count:,} batches"


def _new(count: int) -> str:
    return "the new batch" if count == 1 else f"{count:,} new batches"


def all_pairs(agreement: Agreement, said: Mapping[str, Any]) -> tuple[int, int]:
    """Pairs of the declared sizes of all batches; and of these, those whose batches had not met."""
    told, series = said["series"], agreement.series
    assert series is not None
    a, b = (told["announced"][side.value] for side in Side)
    met_a, met_b = (series.announced(side, told["met"][side.value]) for side in Side)
    return a * b, a * b - met_a * met_b


def widest_bars(agreement: Agreement, said: Mapping[str, Any]) -> tuple[list[Bar], str]:
    """The beginning of the funnel of a run of a series, and what is said of it."""
    pairs, new = all_pairs(agreement, said)
    a, b = (said["series"]["announced"][side.value] for side in Side)
    drawn = [Bar("all pairs, as declared", pairs), Bar(NEW_PAIRS, new)]
    says = (
        f"Declared are {a:,} and {b:,} records in all batches so far, which make {pairs:,} pairs, {new:,} of "
        f"them {NEW_PAIRS}; {said['comparisons']:,} comparisons were made "
        f"({said['comparisons'] / max(1, new):.2%} of these)"
    )
    return drawn, says
