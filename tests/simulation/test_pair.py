"""Linkage in the clear: exact matches, honest recall, figures that add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.cli.simulate import report, words
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.entropy import Seeded
from accord.errors import DataError, UsageError
from accord.fields.load import load_records
from accord.rules.evaluate import Tables, holds
from accord.side import Side
from accord.simulation.pair import Promised, Simulation, candidate_pairs, load_both, peak_mib, release_of
from accord.simulation.truth import read_truth, score
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from reproduction.places import generate_places, places_agreement, places_text
from tests.fields.made_ids import read_made


def ids(result: Simulation) -> set[tuple[str, str]]:
    return set(zip(*(result.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True))


def test_products_find_every_match_of_the_rule() -> None:
    made = generate_products(600, None, 1)
    result = accord.simulate(made.a, made.b, starter("products"))
    assert result.matches == result.all_matches > 100
    assert result.recall == result.precision == 1.0
    assert result.candidate_pairs < result.all_pairs == 360_000
    assert result.runs[0].dummies_a > 10 * result.bins
    assert result.comparisons > result.candidate_pairs, "with 496 bins for 600 records dummies prevail"
    assert result.cost_ratio == result.comparisons / 360_000
    assert result.reduction_ratio == 1 - result.candidate_pairs / 360_000
    assert result.pairs.column_names[:3] == ["id_a", "id_b", "day_a"]
    names = dict(zip(made.a["id"].to_pylist(), made.a["name"].to_pylist(), strict=True))
    assert [names[i] for i in result.pairs["id_a"].to_pylist()] == result.pairs["name_a"].to_pylist()


def test_one_to_one_keeps_each_record_once_and_recall_counts_what_was_found() -> None:
    made = generate_products(600, None, 1)
    text = starter_text("products", "00000000").replace("version = 2", 'version = 2\none_to_one = "pairs"')
    wide = text.replace("hamming(name) <= 5", "hamming(name) <= 20")
    result = accord.simulate(made.a, made.b, parse_agreement(wide), runs=2)
    assert result.matches_found == result.all_matches > result.matches > 100
    assert result.recall == result.precision == 1.0
    for name in ("id_a", "id_b"):
        assert len(set(result.pairs[name].to_pylist())) == result.matches
    facts = report(result)
    assert (facts["matches"], facts["matches_found"]) == (result.matches, result.matches_found)
    assert f"{result.matches:,} kept one to one; found {result.matches_found:,} of" in words(facts, result)
    every = accord.simulate(made.a, made.b, parse_agreement(wide.replace('"pairs"', "false")))
    assert ids(result) < ids(every)
    assert every.matches_found is None


def test_both_grids_find_the_same_and_a_lossy_blocking_says_so() -> None:
    made = generate_places(2_000, None, 3)
    text = places_text()
    replicated = accord.simulate(made.a, made.b, places_agreement())
    grid = text.replace('style = "replicate"\nreach = 0.001', 'style = "neighbours"')
    neighbours = accord.simulate(made.a, made.b, parse_agreement(grid.replace("cell = 0.02", "cell = 0.005")))
    assert ids(replicated) == ids(neighbours)
    assert replicated.recall == neighbours.recall == 1.0
    short = parse_agreement(text.replace("reach = 0.001", "reach = 0"))
    assert short.plan.losses(short.rule)
    lossy = accord.simulate(made.a, made.b, adjust(short, greedy=False), beyond_blocking=True)
    assert lossy.all_matches == replicated.matches
    assert lossy.matches < replicated.matches
    assert lossy.recall == lossy.matches / replicated.matches


@pytest.mark.parametrize("seed", range(5))
def test_candidate_pairs_are_those_that_meet(seed: int) -> None:
    made_a, made_b = generate_places(40, None, seed), generate_places(50, None, seed + 9)
    agreed = places_agreement()
    left, right = (load_records(t, agreed.fields, "00") for t in (made_a.a, made_b.b))
    tables = Tables(agreed.fields, left.columns, right.columns)
    i, j = (grid.ravel() for grid in np.indices((40, 50), dtype=np.int64))
    assert candidate_pairs(agreed, left, right) == agreed.plan.compares(tables, i, j).sum()
    assert holds(agreed.rule, tables, i, j).sum() <= candidate_pairs(agreed, left, right)
    assert agreed.plan.per_record(Side.B) == 4


def test_made_ids_are_those_of_the_files(tmp_path: Path) -> None:
    made = generate_products(20, None, 1)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    for file, table in ((a, made.a), (b, made.b)):
        write_table(table.drop_columns(["id"]), file, raw=True)
    laid_out = accord.Layout(make_ids=True)
    found = accord.simulate(a, b, starter("products"), layout_a=laid_out, layout_b=laid_out, seed=1)
    known = [
        dict(zip(read_made(file).values(), table["id"].to_pylist(), strict=True))
        for file, table in ((a, made.a), (b, made.b))
    ]
    expected = ids(accord.simulate(made.a, made.b, starter("products"), seed=1))
    assert {(known[0][one], known[1][other]) for one, other in ids(found)} == expected
    with pytest.raises(UsageError, match="has no file"):
        accord.simulate(made.a, made.b, starter("products"), layout_a=laid_out)


def test_empty_tables() -> None:
    made = generate_products(5, None, 1)
    result = accord.simulate(made.a.slice(0, 0), made.b, starter("products"))
    assert (result.matches, result.candidate_pairs, result.recall, result.reduction_ratio) == (0, 0, 1.0, 0.0)


def test_the_faults_of_both_tables_are_listed_together() -> None:
    made = generate_products(5, None, 1)
    broken = made.a.set_column(1, "name", pa.array([None] * 5, pa.string()))
    with pytest.raises(DataError) as caught:
        accord.simulate(broken, broken, starter("products"))
    assert [fault.place[:9] for fault in caught.value.faults] == ["A, rows 1", "B, rows 1"]
    with pytest.raises(DataError, match="the table has 5 faults"):
        accord.simulate(made.a, broken, starter("products"))


def test_thresholds_beyond_any_distance() -> None:
    made = generate_places(30, None, 1)
    text = places_text().replace("<= 0.001", "<= 1e30")
    assert accord.simulate(made.a, made.b, parse_agreement(text)).all_matches > 30


def test_scores_against_the_truth(tmp_path: Path) -> None:
    made = generate_products(300, None, 1)
    pyarrow.csv.write_csv(made.truth, tmp_path / "truth.csv")
    result = accord.simulate(made.a, made.b, starter("products"))
    scores = score(result.pairs, read_truth(tmp_path / "truth.csv"))
    found = set(zip(*(result.pairs[n].to_pylist() for n in ("id_a", "id_b")), strict=True))
    true = set(zip(*(made.truth[n].to_pylist() for n in ("id_a", "id_b")), strict=True))
    assert scores.truth_recall == pytest.approx(len(found & true) / len(true))
    assert scores.truth_precision == pytest.approx(len(found & true) / len(found))
    assert scores.true_pairs == len(true)


def test_the_same_seed_gives_the_same_run_and_runs_differ() -> None:
    made = generate_products(300, None, 1)
    first, again = (accord.simulate(made.a, made.b, starter("products"), seed=7, runs=3) for _ in range(2))
    figures = [[(r.comparisons, r.dummies_a, r.bytes) for r in s.runs] for s in (first, again)]
    assert figures[0] == figures[1]
    assert len(set(figures[0])) == 3
    assert first.comparisons_sd > 0
    other = accord.simulate(made.a, made.b, starter("products"), seed=8)
    assert other.runs[0].dummies_a != first.runs[0].dummies_a


def test_other_protocols_and_options() -> None:
    made = generate_products(400, None, 1)
    agreed = starter("products")
    free = accord.simulate(made.a, made.b, adjust(agreed, protocol="all-pairs", greedy=False))
    assert free.comparisons == free.all_pairs == 160_000
    assert [promised.epsilon for promised in free.promises.values()] == [0.0, 0.0]
    greedy = accord.simulate(made.a, made.b, adjust(agreed, protocol="all-pairs"))
    assert greedy.comparisons < free.comparisons
    assert ids(free) == ids(greedy)
    tight = accord.simulate(made.a, made.b, adjust(agreed, epsilon="0.4", delta="1e-5"), seed=1)
    loose = accord.simulate(made.a, made.b, adjust(agreed, epsilon="1.6", delta="1e-5"), seed=1)
    assert tight.comparisons > 2 * loose.comparisons
    pruned = accord.simulate(made.a, made.b, adjust(agreed, prune=99), seed=1)
    assert pruned.recall < 1.0
    assert pruned.precision == 1.0


@pytest.mark.parametrize("engine", ["ot", pytest.param("dual", marks=pytest.mark.slow)])
def test_a_real_engine_in_simulation(engine: str) -> None:
    made, agreed = generate_products(60, None, 1), adjust(starter("products"), greedy=False)
    ideal, real = (accord.simulate(made.a, made.b, agreed, engine=e, seed=3) for e in ("ideal", engine))
    assert ids(ideal) == ids(real)
    assert ideal.comparisons == real.comparisons
    assert real.runs[0].bytes > 10 * ideal.runs[0].bytes


@pytest.mark.slow
def test_paper_scale() -> None:
    """300,000 + 300,000 places: exact."""
    made = generate_places(300_000, None, 1)
    result = accord.simulate(made.a, made.b, places_agreement())
    assert result.recall == 1.0
    assert result.matches > 300_000


def test_every_protocol_by_name() -> None:
    """On one agreement; those without bins drop its blocking, and recall is measured against its rule."""
    made = generate_products(300, None, 1)
    agreed = starter("products")
    full = accord.simulate(made.a, made.b, agreed)
    exact = accord.simulate(made.a, made.b, adjust(agreed, protocol="psi"))
    assert 0 < exact.recall < full.recall == 1.0
    assert exact.precision == 1.0
    assert set(exact.promises.values()) == {Promised(0.0, 0.0)}
    assert exact.comparisons == 600


def test_recall_is_among_the_pairs_that_meet_unless_all_are_asked_for() -> None:
    made = generate_products(200, None, 1)
    text = starter_text("products", "00000000").replace("same(day) and same(brand) and ", "")
    text = text.replace("hamming(name) <= 5", "hamming(name) <= 15")
    loose = adjust(parse_agreement(text), greedy=False)
    found = accord.simulate(made.a, made.b, loose)
    assert found.among_candidates
    assert found.matches == found.all_matches
    told = words(report(found), found)
    assert "1.0000 under the rule among the pairs that meet\n" in told
    assert "--beyond-blocking looks among all pairs" in told
    every = accord.simulate(made.a, made.b, loose, beyond_blocking=True)
    assert not every.among_candidates
    assert ids(every) == ids(found)
    assert every.all_matches > found.all_matches
    assert every.recall == found.matches / every.all_matches
    assert "among the pairs that meet" not in words(report(every), every)


def test_a_protocol_that_finds_beyond_its_blocking_is_measured_there() -> None:
    made = generate_products(100, None, 1)
    text = starter_text("products", "00000000").replace("same(brand) and ", "")
    agreed = parse_agreement(text.replace("hamming(name) <= 5", "hamming(name) <= 15"))
    found = accord.simulate(made.a, made.b, agreed, seed=1)
    assert not found.among_candidates
    assert 0 < found.recall <= found.precision == 1.0


def test_tables_that_a_protocol_refuses_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    from accord.protocols import intersection

    monkeypatch.setattr(intersection, "MOST_LINES", 100)
    made = generate_products(200, None, 1)
    with pytest.raises(UsageError, match="more than"):
        accord.simulate(made.a, made.b, adjust(starter("products"), protocol="psi"))


def test_people_with_more_records_than_agreed_are_not_simulated() -> None:
    """As `link` refuses them; only where a layout says whose record a row is."""
    made = generate_products(200, None, 1)
    who = pa.array([f"p{i // 3}" for i in range(200)])
    table, layout = made.a.append_column("who", who), Layout(person="who")
    agreed = adjust(starter("products"), records_per_person=2)
    assert accord.simulate(table, made.b, agreed).matches
    with pytest.raises(DataError) as caught:
        accord.simulate(table, made.b, agreed, layout_a=layout)
    assert {fault.place.rpartition(", ")[2] for fault in caught.value.faults} == {"column 'who'"}
    assert accord.simulate(table, made.b, adjust(agreed, records_per_person=3), layout_a=layout).matches


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
    dummies = [int(drawn.sum()) for drawn in noise]
    rows = [
        np.asarray(pc.index_in(made.truth[name].combine_chunks(), value_set=table.ids)).astype(np.int64)
        for name, table in zip(("id_a", "id_b"), tables, strict=True)
    ]
    met = agreed.plan.compares(Tables(agreed.fields, *(table.columns for table in tables)), rows[0], rows[1])
    assert 1e9 < comparisons < 2e9
    assert met.mean() > 0.95
    assert max(dummies) < 5 * records
    assert peak_mib() < 8192
