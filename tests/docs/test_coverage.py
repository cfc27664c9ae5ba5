"""What the pages say about covered records of `routed` [MATHS §10.4]: theorem, δ and counts.

The views of the asker are listed for small tables of the lister: over every way to leave records out of full
keys, and every way to draw ranks. Two runs share who is left out, and the partner's second table depends on
what it saw in the first.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import pytest

from benchmarks.coverage import measure

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "maths.md").read_text()
ROUTING = PAGE[PAGE.index("### 10.4 ") : PAGE.index("### 10.5 ")]

Record = tuple[str, tuple[int | None, ...]]
"""A name and a key for each pass. Names match if they are equal."""
Table = tuple[Record, ...]
View = tuple[tuple[int, str, int], ...]
"""The pass, the match and the rank of the lister's record."""
Placed = dict[tuple[int, int], tuple[str, ...]]
"""Who takes part under each key of a pass."""


def groups(table: Table) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    for name, keys in table:
        for at, key in enumerate(keys):
            if key is not None:
                found.setdefault((at, key), []).append(name)
    return found


def placings(table: Table, cap: int) -> list[tuple[Placed, Fraction]]:
    """Who is placed under each key, and how likely, over all orders of the records. One order decides in all
    passes."""
    keys, found = groups(table), Counter[tuple[tuple[str, ...], ...]]()
    for order in permutations(name for name, _ in table):
        first = {name: number for number, name in enumerate(order)}
        found[tuple(tuple(sorted(sorted(n, key=first.__getitem__)[:cap])) for n in keys.values())] += 1
    orders = found.total()
    return [
        (dict(zip(keys, placed, strict=True)), Fraction(often, orders)) for placed, often in found.items()
    ]


def views(placed: Placed, partner: Table, cap: int) -> Counter[View]:
    """What the asker sees in one run, over all ranks."""
    seen: Counter[View] = Counter()
    ways = [list(permutations(range(cap), len(names))) for names in placed.values()]
    theirs = groups(partner)
    for ranks in product(*ways):
        pairs = [
            (at, name, rank)
            for ((at, key), names), drawn in zip(placed.items(), ranks, strict=True)
            for name, rank in zip(names, drawn, strict=True)
            if name in theirs.get((at, key), ())
        ]
        seen[tuple(sorted(pairs))] += 1
    return seen


def shares(counts: Counter[View]) -> dict[View, Fraction]:
    return {view: Fraction(often, counts.total()) for view, often in counts.items()}


def one_run(table: Table, partner: Table, cap: int) -> dict[View, Fraction]:
    law: dict[View, Fraction] = {}
    for placed, likely in placings(table, cap):
        for view, share in shares(views(placed, partner, cap)).items():
            law[view] = law.get(view, Fraction(0)) + share * likely
    return law


def two_runs(table: Table, partner: Table, cap: int) -> dict[tuple[View, View], Fraction]:
    """The partner removes from its second table what it found with an even rank."""
    law: dict[tuple[View, View], Fraction] = {}
    for placed, likely in placings(table, cap):
        for first, share in shares(views(placed, partner, cap)).items():
            gone = {name for _, name, rank in first if rank % 2 == 0}
            later = tuple(record for record in partner if record[0] not in gone)
            for second, again in shares(views(placed, later, cap)).items():
                both = share * again * likely
                law[first, second] = law.get((first, second), Fraction(0)) + both
    return law


def delta(one: dict[View, Fraction], other: dict[View, Fraction], factor: Fraction) -> Fraction:
    terms = (max(Fraction(0), p - factor * other.get(view, Fraction(0))) for view, p in one.items())
    return sum(terms, Fraction(0))


def is_covered(record: Record, table: Table, cap: int) -> bool:
    keys = groups(table)
    return all(key is None or len(keys[at, key]) <= cap for at, key in enumerate(record[1]))


KEYS = (None, 0, 1)
OTHERS: Table = (("m", (0, 0)), ("n", (0, 1)), ("s", (1, 0)))
"""Two records that the partner has, too, and a stranger."""
PARTNER: Table = (("m", (0, 0)), ("n", (0, 1)), ("t", (1, 1)))


@pytest.mark.parametrize(("cap", "more"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_covered_records_that_match_nothing_do_not_show(cap: int, more: int) -> None:
    """One or two of them, in one run and in two, whether or not other records are covered."""
    without = one_run(OTHERS, PARTNER, cap), two_runs(OTHERS, PARTNER, cap)
    covered = 0
    for keys in product(product(KEYS, KEYS), repeat=more):
        added = tuple((f"x{number}", key) for number, key in enumerate(keys))
        table = (*OTHERS, *added)
        if all(is_covered(record, table, cap) for record in added):
            covered += 1
            assert (one_run(table, PARTNER, cap), two_runs(table, PARTNER, cap)) == without
    assert covered


def crowd(cap: int, matching: int, passes: int, keyed: bool) -> tuple[Table, Table]:
    """In each pass `cap` other records that share a key, some of which match, and a stranger with or without
    all these keys."""
    others: list[Record] = []
    for at in range(passes):
        keys = tuple(0 if place == at else None for place in range(passes))
        others += [(f"{'m' if n < matching else 's'}{at} {n}", keys) for n in range(cap)]
    stranger: Record = ("x", (0 if keyed else None,) * passes)
    return (*others, stranger), tuple(one for one in others if one[0].startswith("m"))


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_what_shows_of_a_record_that_fills_a_key(cap: int) -> None:
    """δ for any ε is m/(c + 1) in one pass, and at most the sum over passes; the odds rise by Σc_p + 1."""
    assert "δ_p = m/(c + 1)" in ROUTING
    assert "over passes at most Σδ_p" in ROUTING
    assert "up to Σc_p + 1" in ROUTING
    for passes in (1, 2) if cap < 3 else (1,):
        for matching in range(1, cap + 1):
            (with_it, partner), (without, _) = (crowd(cap, matching, passes, k) for k in (True, False))
            one, other = one_run(with_it, partner, cap), one_run(without, partner, cap)
            shown, of_one = delta(one, other, Fraction(1)), Fraction(matching, cap + 1)
            assert delta(one, other, Fraction(3)) == delta(one, other, Fraction(10**6)) == shown
            assert shown == of_one if passes == 1 else of_one < shown < passes * of_one
            ratios = {p / one[view] for view, p in other.items() if view in one}
            assert max(ratios) <= passes * cap + 1
            assert (max(ratios) == passes * cap + 1) == (matching == cap)


def test_the_counts_are_those_of_the_results() -> None:
    with (DOCS / "results" / "coverage.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for passes in ("former", "fine"):
        for row in (row for row in rows if row["passes"] == passes):
            line = f"| {passes} | {int(row['records']):,} | {row['cap']} | {row['uncovered_percent']} % | "
            assert line + f"{row['beside_match_percent']} % |" in ROUTING
    (small,) = (row for row in rows if row["records"] == "5000")
    assert {name: str(value) for name, value in measure("fine", 5_000, 2).items()} == small
    former = next(row["uncovered_percent"] for row in rows if row["cap"] == "1")
    told = re.findall(r"(\d+) % of 100,000", (DOCS / "protocols" / "routed.md").read_text())
    assert told == [f"{float(former):.0f}"]
