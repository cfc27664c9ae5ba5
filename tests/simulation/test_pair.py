"""Linkage in the clear: exact matches, honest recall, figures that add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, read_agreement
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.entropy import Seeded
from accord.errors import DataError, UsageError
from accord.rules.evaluate import Tables
from accord.side import Side
from accord.simulation.pair import Promised, Simulation, load_both, peak_mib, release_of
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from benchmarks.febrl import AGREEMENT, COLUMNS
from reproduction.places import generate_places, places_agreement, places_text
from tests.fields.made_ids import read_made

PRODUCTS = starter("products")


def ids(result: Simulation) -> set[tuple[str, str]]:
    return set(zip(*(result.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True))


def products(*changes: tuple[str, str]) -> Agreement:
    """The starter for products with other texts in it."""
    text = starter_text("products", "00000000")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_agreement(text)


def test_products_find_every_match_of_the_rule() -> None:
    made = generate_products(400, None, 1)
    result, again = (accord.simulate(made.a, made.b, PRODUCTS, seed=7, runs=2) for _ in range(2))
    assert result.matches == result.all_matches > 50
    assert result.recall == result.precision == 1.0
    assert result.candidate_pairs < result.all_pairs == 160_000
    assert result.comparisons > result.candidate_pairs, "with 496 bins for 400 records dummies prevail"
    assert result.cost_ratio == result.comparisons / 160_000
    assert result.reduction_ratio == 1 - result.candidate_pairs / 160_000
    assert result.pairs.column_names[:3] == ["id_a", "id_b", "day_a"]
    names = dict(zip(made.a["id"].to_pylist(), made.a["name"].to_pylist(), strict=True))
    assert [names[i] for i in result.pairs["id_a"].to_pylist()] == result.pairs["name_a"].to_pylist()
    figures = [[(run.comparisons, run.dummies_a, run.bytes) for run in one.runs] for one in (result, again)]
    assert figures[0] == figures[1]
    assert figures[0][0] != figures[0][1]
    assert result.comparisons_sd > 0
    assert accord.simulate(made.a, made.b, PRODUCTS, seed=8).runs[0].dummies_a != figures[0][0][1]
    empty = accord.simulate(made.a.slice(0, 0), made.b, PRODUCTS)
    assert (empty.matches, empty.candidate_pairs, empty.recall, empty.reduction_ratio) == (0, 0, 1.0, 0.0)


def test_both_grids_find_the_same_and_a_lossy_blocking_says_so() -> None:
    made, text = generate_places(1_000, None, 3), places_text()
    replicated = accord.simulate(made.a, made.b, places_agreement())
    grid = text.replace('style = "replicate"\nreach = 0.001', 'style = "neighbours"')
    neighbours = accord.simulate(made.a, made.b, parse_agreement(grid.replace("cell = 0.02", "cell = 0.005")))
    assert ids(replicated) == ids(neighbours)
    assert replicated.recall == neighbours.recall == 1.0
    short = adjust(parse_agreement(text.replace("reach = 0.001", "reach = 0")), greedy=False)
    lossy = accord.simulate(made.a, made.b, short, beyond_blocking=True)
    assert lossy.all_matches == replicated.matches
    assert lossy.matches < replicated.matches
    assert lossy.recall == lossy.matches / replicated.matches
    far = parse_agreement(text.replace("<= 0.001", "<= 1e30"))
    assert accord.simulate(made.a.slice(0, 30), made.b.slice(0, 30), far).all_matches > 30


def test_recall_is_among_the_pairs_that_meet_unless_all_are_asked_for() -> None:
    made = generate_products(200, None, 1)
    wide = ("hamming(name) <= 5", "hamming(name) <= 15")
    loose = adjust(products(("same(day) and same(brand) and ", ""), wide), greedy=False)
    met = accord.simulate(made.a, made.b, loose)
    assert met.among_candidates
    assert met.matches == met.all_matches
    every = accord.simulate(made.a, made.b, loose, beyond_blocking=True)
    assert not every.among_candidates
    assert ids(every) == ids(met)
    assert every.all_matches > met.all_matches
    assert every.recall == met.matches / every.all_matches
    beyond = accord.simulate(made.a, made.b, products(("same(brand) and ", ""), wide), seed=1)
    assert not beyond.among_candidates
    assert 0 < beyond.recall <= beyond.precision == 1.0


def test_made_ids_are_those_of_the_files(tmp_path: Path) -> None:
    made = generate_products(20, None, 1)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    for file, table in ((a, made.a), (b, made.b)):
        write_table(table.drop_columns(["id"]), file, raw=True)
    laid_out = Layout(make_ids=True)
    found = accord.simulate(a, b, PRODUCTS, layout_a=laid_out, layout_b=laid_out, seed=1)
    known = [
        dict(zip(read_made(file).values(), table["id"].to_pylist(), strict=True))
        for file, table in ((a, made.a), (b, made.b))
    ]
    expected = ids(accord.simulate(made.a, made.b, PRODUCTS, seed=1))
    assert {(known[0][one], known[1][other]) for one, other in ids(found)} == expected
    with pytest.raises(UsageError):
        accord.simulate(made.a, made.b, PRODUCTS, layout_a=laid_out)


def test_the_faults_of_both_tables_are_listed_together() -> None:
    made = generate_products(5, None, 1)
    broken = made.a.set_column(1, "name", pa.array([None] * 5, pa.string()))
    for a, sides in ((broken, ["A", "B"]), (made.a, ["rows 1"])):
        with pytest.raises(DataError) as caught:
            accord.simulate(a, broken, PRODUCTS)
        assert [fault.place.split(", ")[0] for fault in caught.value.faults] == sides
        assert {fault.count for fault in caught.value.faults} == {5}


def test_other_protocols_and_options() -> None:
    made = generate_products(300, None, 1)

    def run(**options: Any) -> Simulation:
        return accord.simulate(made.a, made.b, adjust(PRODUCTS, **options), seed=1)

    free, greedy = run(protocol="all-pairs", greedy=False), run(protocol="all-pairs")
    assert free.comparisons == free.all_pairs == 90_000 > greedy.comparisons
    assert [promised.epsilon for promised in free.promises.values()] == [0.0, 0.0]
    assert ids(free) == ids(greedy)
    tight, loose = (run(epsilon=epsilon, delta="1e-5") for epsilon in ("0.4", "1.6"))
    assert tight.comparisons > 2 * loose.comparisons
    pruned, exact = run(prune=99), run(protocol="psi")
    assert pruned.recall < pruned.precision == 1.0
    assert 0 < exact.recall < exact.precision == 1.0
    assert set(exact.promises.values()) == {Promised(0.0, 0.0)}
    assert exact.comparisons == 600


@pytest.mark.parametrize("engine", ["ot", pytest.param("dual", marks=pytest.mark.slow)])
def test_a_real_engine_in_simulation(engine: str) -> None:
    made, agreed = generate_products(30, None, 1), adjust(PRODUCTS, greedy=False)
    ideal, real = (accord.simulate(made.a, made.b, agreed, engine=e, seed=3) for e in ("ideal", engine))
    assert ids(ideal) == ids(real)
    assert ideal.comparisons == real.comparisons
    assert real.runs[0].bytes > 10 * ideal.runs[0].bytes


def test_tables_that_a_linkage_refuses_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large ones; and people with more records than agreed, where a layout says whose record a row is."""
    from accord.protocols import intersection

    made = generate_products(200, None, 1)
    who = pa.array([f"p{i // 3}" for i in range(200)])
    table, layout = made.a.append_column("who", who), Layout(person="who")
    agreed = adjust(PRODUCTS, records_per_person=2)
    assert accord.simulate(table, made.b, agreed).matches
    with pytest.raises(DataError) as caught:
        accord.simulate(table, made.b, agreed, layout_a=layout)
    assert {fault.place.rpartition(", ")[2] for fault in caught.value.faults} == {"column 'who'"}
    assert accord.simulate(table, made.b, adjust(agreed, records_per_person=3), layout_a=layout).matches
    monkeypatch.setattr(intersection, "MOST_LINES", 100)
    with pytest.raises(UsageError):
        accord.simulate(made.a, made.b, adjust(PRODUCTS, protocol="psi"))


def test_the_agreement_of_the_benchmark_on_febrl() -> None:
    agreed = read_agreement(AGREEMENT)
    assert len(agreed.passes) == 3
    assert (agreed.to_toml().count("1.6"), agreed.to_toml().count("2^-40")) == (2, 2)
    assert {name for spec in agreed.fields.values() for name in spec.sources} <= set(COLUMNS)


@pytest.mark.slow
def test_paper_scale() -> None:
    """300,000 + 300,000 places: exact."""
    made = generate_places(300_000, None, 1)
    result = accord.simulate(made.a, made.b, places_agreement())
    assert result.recall == 1.0
    assert result.matches > 300_000


def composite_passes(records: int) -> Agreement:
    """The starter for people under ε = 1, with three keys of two fields each; one bucket for as many records
    as a bin has dummies (docs/blocking.md)."""
    text = starter_text("people", "00000000").replace("epsilon = 1.6", "epsilon = 1")
    head, rest = text[: text.index("[[blocking.pass]]")], text[text.index("# The Laplace Protocol") :]
    keys = (f'field = ["{name}", "birth_year"]' for name in ("given_sound", "surname_sound", "postcode"))
    parts = (f'{{ kind = "key", {key}, buckets = {records // 107} }}' for key in keys)
    return parse_agreement(head + "".join(f"[[blocking.pass]]\nparts = [{part}]\n" for part in parts) + rest)


@pytest.mark.slow
def test_a_million_people_are_counted() -> None:
    """Three composite passes: some 1.5·10⁹ comparisons of 10¹² pairs; as docs/blocking.md expects."""
    records = 1_000_000
    made, agreed = generate_people(records, None, 1), composite_passes(records)
    tables = load_both(made.a, made.b, agreed, None, None)
    noise = [
        release_of(agreed, side, table.size).draw(table, Seeded(side.value))
        for side, table in zip(Side, tables, strict=True)
    ]
    counts = [
        agreed.plan.counts(side, table.columns, len(table)) + drawn
        for side, table, drawn in zip(Side, tables, noise, strict=True)
    ]
    comparisons = agreed.protocol.price(agreed.task, (records, records), (counts[0], counts[1]))
    rows = [
        np.asarray(pc.index_in(made.truth[name].combine_chunks(), value_set=table.ids)).astype(np.int64)
        for name, table in zip(("id_a", "id_b"), tables, strict=True)
    ]
    met = agreed.plan.compares(Tables(agreed.fields, *(table.columns for table in tables)), rows[0], rows[1])
    assert 1e9 < comparisons < 2e9
    assert met.mean() > 0.95
    assert max(int(drawn.sum()) for drawn in noise) < 5 * records
    assert peak_mib() < 8192
