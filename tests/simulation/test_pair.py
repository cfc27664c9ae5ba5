"""Linkage in the clear: exact matches, honest recall, figures that add up; and matches against the truth:
scores, the curve, figures by field and missed pairs."""

from __future__ import annotations

from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.entropy import Seeded
from accord.errors import AccordError, DataError, UsageError
from accord.protocols import intersection
from accord.protocols.routed import Routed
from accord.rules.blocking.base import Passes
from accord.rules.evaluate import Tables, holds
from accord.rules.evaluate import scores as score_pairs
from accord.rules.text import parse_rule
from accord.side import Side
from accord.simulation import pair
from accord.simulation.curve import Curve, Point, trace
from accord.simulation.known import Known, Weighed, split
from accord.simulation.pair import Promised, Simulation, load_both, peak_mib, release_of
from accord.simulation.report import judge
from accord.simulation.truth import Scores, f1, read_truth, score
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from reproduction.places import generate_places, places_agreement, places_text
from tests.fields.made_ids import read_made
from tests.simulation.made import SCORE, agree, know, people, run

PRODUCTS = starter("products")


def ids(result: Simulation) -> set[tuple[str, str]]:
    return set(zip(*(result.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True))


def test_products_find_every_match_of_the_rule() -> None:
    made = generate_products(300, None, 1)
    result, again = (accord.simulate(made.a, made.b, PRODUCTS, seed=7, runs=2) for _ in range(2))
    assert result.matches == result.all_matches > 50
    assert result.recall == result.precision == 1.0
    assert result.candidate_pairs < result.all_pairs == 90_000
    assert result.comparisons > result.candidate_pairs, "with 496 bins for 300 records dummies prevail"
    assert result.cost_ratio == result.comparisons / 90_000
    assert result.reduction_ratio == 1 - result.candidate_pairs / 90_000
    assert result.pairs.column_names[:3] == ["id_a", "id_b", "day_a"]
    names = dict(zip(made.a["id"].to_pylist(), made.a["name"].to_pylist(), strict=True))
    assert [names[i] for i in result.pairs["id_a"].to_pylist()] == result.pairs["name_a"].to_pylist()
    one, other = result.runs
    assert [(run.comparisons, run.dummies_a, run.bytes) for run in again.runs] == [
        (run.comparisons, run.dummies_a, run.bytes) for run in result.runs
    ]
    assert one.comparisons != other.comparisons
    assert result.comparisons_sd > 0
    assert accord.simulate(made.a, made.b, PRODUCTS, seed=8).runs[0].dummies_a != one.dummies_a
    empty = accord.simulate(made.a.slice(0, 0), made.b, PRODUCTS)
    assert (empty.matches, empty.candidate_pairs, empty.recall, empty.reduction_ratio) == (0, 0, 1.0, 0.0)


def test_both_grids_find_the_same_and_a_lossy_blocking_says_so() -> None:
    made, text = generate_places(300, None, 3), places_text()
    grid = text.replace('style = "replicate"\nreach = 0.001', 'style = "neighbours"')
    replicated, neighbours = (
        accord.simulate(made.a, made.b, adjust(parse_agreement(one), epsilon="8"))
        for one in (text, grid.replace("cell = 0.02", "cell = 0.005"))
    )
    assert ids(replicated) == ids(neighbours)
    assert replicated.recall == neighbours.recall == 1.0
    short = adjust(parse_agreement(text.replace("reach = 0.001", "reach = 0")), greedy=False, epsilon="8")
    lossy = accord.simulate(made.a, made.b, short, beyond_blocking=True)
    assert lossy.all_matches == replicated.matches > lossy.matches
    assert lossy.recall == lossy.matches / replicated.matches
    far = parse_agreement(text.replace("<= 0.001", "<= 1e30"))
    assert accord.simulate(made.a.slice(0, 30), made.b.slice(0, 30), far).all_matches > 30


def test_recall_is_among_the_pairs_that_meet_unless_all_are_asked_for() -> None:
    made, wide = generate_products(200, None, 1), "hamming(name) <= 15"
    loose = adjust(PRODUCTS.model_copy(update={"rule": parse_rule(wide)}), greedy=False)
    met, every = (accord.simulate(made.a, made.b, loose, beyond_blocking=all_) for all_ in (False, True))
    assert (met.among_candidates, every.among_candidates) == (True, False)
    assert ids(every) == ids(met)
    assert every.all_matches > met.all_matches == met.matches
    assert every.recall == met.matches / every.all_matches
    of_a_day = PRODUCTS.model_copy(update={"rule": parse_rule(f"same(day) and {wide}")})
    beyond = accord.simulate(made.a, made.b, of_a_day, seed=1)
    assert not beyond.among_candidates
    assert 0 < beyond.recall <= beyond.precision == 1.0


def test_made_ids_are_those_of_the_files(tmp_path: Path) -> None:
    made, laid_out = generate_products(20, None, 1), Layout(make_ids=True)
    files, tables = (tmp_path / "a.csv", tmp_path / "b.csv"), (made.a, made.b)
    for file, table in zip(files, tables, strict=True):
        write_table(table.drop_columns(["id"]), file, raw=True)
    found = accord.simulate(*files, PRODUCTS, layout_a=laid_out, layout_b=laid_out, seed=1)
    known = [
        dict(zip(read_made(file).values(), table["id"].to_pylist(), strict=True))
        for file, table in zip(files, tables, strict=True)
    ]
    expected = ids(accord.simulate(*tables, PRODUCTS, seed=1))
    assert {(known[0][one], known[1][other]) for one, other in ids(found)} == expected
    with pytest.raises(UsageError):
        accord.simulate(*tables, PRODUCTS, layout_a=laid_out)


def test_the_faults_of_both_tables_are_listed_together() -> None:
    made = generate_products(5, None, 1)
    broken = made.a.set_column(1, "name", pa.array([None] * 5, pa.string()))
    for a, sides in ((broken, ["A", "B"]), (made.a, ["rows 1"])):
        with pytest.raises(DataError) as caught:
            accord.simulate(a, broken, PRODUCTS)
        assert [fault.place.split(", ")[0] for fault in caught.value.faults] == sides
        assert {fault.count for fault in caught.value.faults} == {5}


def test_other_protocols_and_options() -> None:
    made = generate_products(150, None, 1)

    def run(**options: Any) -> Simulation:
        return accord.simulate(made.a, made.b, adjust(PRODUCTS, **options), seed=1)

    free, greedy = run(protocol="all-pairs", greedy=False), run(protocol="all-pairs")
    assert free.comparisons == free.all_pairs == 22_500 > greedy.comparisons
    assert [promised.epsilon for promised in free.promises.values()] == [0.0, 0.0]
    assert ids(free) == ids(greedy)
    tight, loose = (run(epsilon=epsilon, delta="1e-5") for epsilon in ("0.4", "1.6"))
    assert tight.comparisons > 2 * loose.comparisons
    pruned, exact = run(prune=99), run(protocol="psi")
    assert pruned.recall < pruned.precision == 1.0
    assert 0 < exact.recall < exact.precision == 1.0
    assert set(exact.promises.values()) == {Promised(0.0, 0.0)}
    assert exact.comparisons == 300


@pytest.mark.parametrize("engine", ["ot", pytest.param("dual", marks=pytest.mark.slow)])
def test_a_real_engine_in_simulation(engine: str) -> None:
    made, agreed = generate_products(30, None, 1), adjust(PRODUCTS, greedy=False, epsilon="8")
    ideal, real = (accord.simulate(made.a, made.b, agreed, engine=e, seed=3) for e in ("ideal", engine))
    assert ids(ideal) == ids(real)
    assert ideal.comparisons == real.comparisons
    assert real.runs[0].bytes > 10 * ideal.runs[0].bytes


def test_tables_that_a_linkage_refuses_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large ones; and people with more records than agreed, where a layout says whose record a row is."""
    made = generate_products(200, None, 1)
    who = pa.array([f"p{i // 3}" for i in range(200)])
    table, layout = made.a.append_column("who", who), Layout(person="who")
    two, three = (adjust(PRODUCTS, records_per_person=most) for most in (2, 3))
    for agreed, given in ((two, None), (three, layout)):
        assert accord.simulate(table, made.b, agreed, layout_a=given).matches
    with pytest.raises(DataError) as caught:
        accord.simulate(table, made.b, two, layout_a=layout)
    assert {fault.place.rpartition(", ")[2] for fault in caught.value.faults} == {"column 'who'"}
    monkeypatch.setattr(intersection, "MOST_LINES", 100)
    with pytest.raises(UsageError):
        accord.simulate(made.a, made.b, adjust(PRODUCTS, protocol="psi"))


# -- matches against the truth, counted slowly --------------------------------------------------------------

PLAIN = """
dice(given) >= 0.5 and dice(surname) >= 0.5 and (same(birth) or same(email)) or same(phone) and same(birth)
"""


def crowded() -> Agreement:
    """Routed over keys that many share."""
    passes = [
        {"name": name, "cap": cap, "parts": [{"kind": "key", "field": field}]}
        for name, cap, field in (("sex", 3, "sex"), ("birth", 1, "birth_year"))
    ]
    routed = {"blocking": Passes.model_validate({"pass": passes}), "protocol": Routed(name="routed")}
    return agree().model_copy(update=routed)


def traced(known: Known, shown: int) -> tuple[Curve, list[int], list[int]]:
    found = trace(known, shown)
    assert found is not None
    return found[0], found[1].tolist(), found[2].tolist()


def test_each_pair_counts_once() -> None:
    def pairs(ids: str = "") -> pa.Table:
        columns = [pa.array([pair[n] for pair in ids.split()], pa.string()) for n in (0, 1)]
        return read_truth(pa.table(columns, ["id_a", "id_b"]))

    found, true = pairs("a1 b2 b2 c9"), pairs("a1 b2 c3 d4 d4")
    assert astuple(score(found, true)) == pytest.approx((4, 2 / 4, 2 / 3, 4 / 7))
    assert score(pairs(), pairs()) == Scores(0, 1.0, 1.0, 1.0)
    assert score(pairs("a1"), pairs("b2")) == Scores(1, 0.0, 0.0, 0.0)


def test_true_pairs_are_rows_and_those_of_nobody_are_counted() -> None:
    made = people()
    pairs = made.truth.select(["id_a", "id_b"])
    more = pa.table([["A1", "nobody", "A1"], ["nobody", "B1", "nobody"]], pairs.column_names).cast(
        pairs.schema
    )
    known = know(agree(), made, pa.concat_tables([pairs, pairs.slice(0, 9), more]))
    left, right = known.rows(known.true)
    found = zip(known.a.ids.take(left).to_pylist(), known.b.ids.take(right).to_pylist(), strict=True)
    assert set(found) == set(zip(*pairs.to_pydict().values(), strict=True))
    assert (len(known.true), known.unknown, known.true_pairs) == (72, 2, 74)
    assert sorted({*known.missed, *known.found}) == sorted({*known.true, *known.false})


def test_what_is_no_truth_is_refused() -> None:
    made = people(20)
    done = run(agree(), made)
    cases: list[tuple[type[AccordError], Any, int]] = [
        *((DataError, made.a, 1), (UsageError, made.truth, -1), (UsageError, 3, 1))
    ]
    for error, truth, pairs in cases:
        with pytest.raises(error):
            done.quality(truth, pairs=pairs)


@pytest.mark.parametrize("rule", [SCORE, f"not missing(birth) and {SCORE}"])
def test_every_point_is_what_that_threshold_finds(rule: str) -> None:
    """Of every pair that meets and fulfils the rest of the rule, slowly."""
    known = know(agree(rule), people())
    graded = split(known.agreement.rule)
    assert graded is not None
    keys, true = np.arange(len(known.a) * len(known.b)), set(known.true.tolist())
    kept = keys[known.meets(keys) & holds(graded[1], known.tables, *known.rows(keys))]
    weighed = score_pairs(graded[0].comparisons, known.tables, *known.rows(kept))
    sums = dict(zip(kept.tolist(), weighed.tolist(), strict=True))
    curve, below, above = traced(known, 5)
    for point in curve.points:
        found = {key for key, sum_ in sums.items() if sum_ >= point.threshold}
        precision, recall = len(found & true) / len(found), len(found & true) / len(true)
        assert point == Point(point.threshold, len(found), precision, recall, f1(precision, recall))
    least = min(sum_ for key, sum_ in sums.items() if key in true)
    thresholds = {9} | {sum_ for sum_ in sums.values() if sum_ >= least}
    assert [point.threshold for point in curve.points] == sorted(thresholds)
    assert curve.at(curve.best).f1 == max(point.f1 for point in curve.points)
    assert below == sorted((k for k in sums if sums[k] < 9), key=lambda k: (-sums[k], k not in true, k))[:5]
    assert above == sorted((k for k in sums if sums[k] >= 9), key=lambda k: (sums[k], k in true, k))[:5]


def test_a_better_threshold_is_named_and_of_equals_the_nearest() -> None:
    """Of 30 people all true pairs weigh much, and nothing else comes near."""
    made = people()
    high, low = (traced(know(agree(rule), made), 0)[0] for rule in (SCORE.replace(">= 9", ">= 23"), SCORE))
    assert high.best == low.best
    assert high.at(23).f1 < high.at(high.best).f1
    wide = agree("score(birth: same -> 80; email: same -> 1) >= 50")
    curve, _, _ = traced(know(wide, people(30)), 0)
    assert curve.best == 50
    assert curve.at(50).f1 == curve.at(80).f1


def test_edges_of_the_curve() -> None:
    """All pairs without a blocking, nothing for a rule without a score, one point where nothing is true."""
    agreed, made = adjust(agree(), protocol="all-pairs", greedy=False), people(40)
    every, below, above = traced(know(agreed, made), 10_000)
    assert len(below) + len(above) == 40 * 40
    assert every.points[0].recall == 1
    for rule in ("same(birth)", f"same(birth) or {SCORE}", f"not not {SCORE}"):
        assert trace(know(agree(rule), made), 3) is None
    curve, below, _ = traced(know(agree(), made, made.truth.slice(0, 0)), 2)
    assert [(point.threshold, point.recall) for point in curve.points] == [(9, 1.0)]
    assert len(below) == 2


def test_a_pair_is_told_of_without_its_values() -> None:
    made = people()
    known = know(agree(), made)
    told = known.describe(known.true)
    cells = [dict(zip(t["id"].to_pylist(), t["email"].to_pylist(), strict=True)) for t in (made.a, made.b)]
    for one in told:
        values = [cells[0][one.id_a], cells[1][one.id_b]]
        same = None not in values and values[0].lower() == values[1].lower()
        assert ("email" in one.lacks) == (None in values)
        assert ("email" in one.differs) == (not same and None not in values)
        assert not set(one.differs) & set(one.lacks)
        assert one.levels[3] == Weighed(("email",), *(("same(email)", 6) if same else ("otherwise", 0)))
        assert one.score == sum(level.weight for level in one.levels)
        assert one.accepted == (one.score >= 9)
        assert one.true
        assert all(value not in repr(one) for value in values if value is not None)
    assert 0 < sum("email" in one.differs + one.lacks for one in told) < len(told)
    found = {key for key, one in zip(known.true.tolist(), told, strict=True) if one.found}
    assert found == set(known.found.tolist()) & set(known.true.tolist()) < set(known.true.tolist())
    assert known.count_apart(known.true).tolist() == [len(one.differs) + len(one.lacks) for one in told]
    assert known.fields == ("given", "surname", "birth", "email")


def test_figures_by_field_are_those_of_the_pairs_that_are_apart_in_it() -> None:
    known = know(agree(PLAIN), people(200))
    quality = judge(known, 10_000)
    told = [*known.describe(known.true), *known.describe(known.false)]
    assert [one.field for one in quality.fields] == ["given", "surname", "birth", "email", "phone"]
    assert {(one.score, one.levels) for one in told} == {(None, ())}
    for one in quality.fields:
        apart = [facts for facts in told if one.field in facts.differs + facts.lacks]
        true, found = ([facts for facts in apart if getattr(facts, is_)] for is_ in ("true", "found"))
        hits = [facts for facts in true if facts.found]
        for some, differing, lacking in (
            (true, one.differing, one.lacking),
            (hits, one.differing_found, one.lacking_found),
        ):
            assert differing == sum(one.field in facts.differs for facts in some)
            assert lacking == sum(one.field in facts.lacks for facts in some)
        assert one.recall == len(hits) / len(true)
        assert one.precision == (len(hits) / len(found) if found else 1)
        assert one.false_agreeing == len(known.false) - sum(not facts.true for facts in apart)
    assert quality.false == len(known.false)
    assert any(0 < one.recall < 1 for one in quality.fields)
    assert any(one.false_agreeing for one in quality.fields), "else the test says nothing of them"
    odd = {name: [len(p.differs) + len(p.lacks) for p in pairs] for name, pairs in quality.pairs.items()}
    assert odd["missed"] == sorted(odd["missed"])
    assert odd["false"] == sorted(odd["false"], reverse=True)
    assert len(odd["missed"]) == len(known.missed)


@pytest.mark.parametrize("protocol", ["laplace", "all-pairs", "psi"])
def test_every_missed_pair_has_one_reason(protocol: str) -> None:
    known = know(adjust(agree(PLAIN), protocol=protocol), people(200))
    missed = judge(known, 0).missed
    found = set(known.true.tolist()) & set(known.found.tolist())
    assert sum(asdict(missed).values()) == known.true_pairs - len(found)
    told = known.describe(known.missed)
    assert missed.refused == sum(one.meets and not one.accepted for one in told) > 0
    assert missed.apart == sum(one.accepted and not one.meets for one in told)
    assert (missed.apart > 0) == (protocol == "laplace")
    assert (missed.passed_over > 0) == (protocol == "psi")


def test_the_report_of_a_simulation_has_the_scores_of_its_pairs() -> None:
    made = people(200)
    done, ids = run(agree(PLAIN), made), made.truth.select(["id_a", "id_b"])
    quality = done.quality(ids, pairs=1)
    assert quality.scores == score(done.pairs, ids.cast(done.pairs.select(["id_a", "id_b"]).schema))
    assert [one.name for one in quality.passes] == ["birth", "names", "phone"]
    assert quality.curve is None
    found = {name: [pair.found for pair in some] for name, some in quality.pairs.items()}
    assert found == {"missed": [False], "false": [True]}
    recall, page = f"{quality.scores.truth_recall:.4f}", quality._repr_html_()
    assert recall in repr(quality)
    assert (recall in page, page.count("<tr>")) == (True, 9 + 1 + len(quality.fields))
    assert "id_a" not in repr(quality)


@pytest.mark.parametrize("options", [None, {}, {"prune": 40}])
def test_the_curve_at_the_agreed_threshold_is_what_the_run_found(options: dict[str, Any] | None) -> None:
    agreement = crowded() if options is None else adjust(agree(), **options)
    made = people(120)
    done = run(agreement, made)
    quality = done.quality(made.truth, 10_000)
    assert quality.curve is not None
    point, scores = quality.curve.at(quality.curve.agreed), quality.scores
    assert point.matches == done.matches
    assert (point.precision, point.recall) == (scores.truth_precision, scores.truth_recall)
    assert (quality.missed.not_compared > 0) == (options != {})
    assert quality.missed.passed_over == 0
    assert quality.passes[-1].recall_so_far < 1
    for name, pairs in quality.pairs.items():
        assert all(one.compared for one in pairs)
        assert (
            {(one.score or 0) >= 9 for one in pairs} == {one.accepted for one in pairs} == {name == "above"}
        )
    assert not any(one.compared for one in quality.missed_pairs if one.meets and one.accepted)


def test_pairs_and_membership_agree_and_keep_the_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of crowded keys the pairs that the rule accepts are estimated."""
    made = people(400)
    done = run(crowded(), made)
    pairs = np.stack([np.concatenate(rows) for rows in zip(*done.compared.pairs(), strict=True)], axis=1)
    rows = np.indices((done.records_a, done.records_b)).reshape(2, -1)
    has = rows.T[done.compared.has(*rows)]
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, has.tolist()))
    assert len(pairs) <= done.comparisons
    assert max(np.bincount(pairs[:, 0])) <= 3 + 1
    monkeypatch.setattr(pair, "_MOST_TRIED", 0)
    estimate = run(crowded(), made)
    assert (done.estimated, estimate.estimated) == (False, True)
    assert estimate.matches == done.matches
    assert estimate.all_matches == pytest.approx(done.all_matches, rel=0.3)
    assert 0 < estimate.recall <= 1


# -- at scale -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_paper_scale() -> None:
    """300,000 + 300,000 places: exact."""
    made = generate_places(300_000, None, 1)
    result = accord.simulate(made.a, made.b, places_agreement())
    assert result.recall == 1.0
    assert result.matches > 300_000


@pytest.mark.slow
def test_a_million_people_are_counted() -> None:
    """Three keys of two fields each under ε = 1, one bucket for as many records as a bin has dummies: some
    1.5·10⁹ comparisons of 10¹² pairs; as docs/blocking.md expects."""
    records = 1_000_000
    keys = [
        {"kind": "key", "field": [name, "birth_year"], "buckets": records // 107}
        for name in ("given_sound", "surname_sound", "postcode")
    ]
    blocking = Passes.model_validate({"pass": [{"parts": [key]} for key in keys]})
    agreed = adjust(starter("people").model_copy(update={"blocking": blocking}), epsilon="1")
    made = generate_people(records, None, 1)
    tables = load_both(made.a, made.b, agreed, None, None)
    noise, counts, rows = [], [], []
    for side, table, name in zip(Side, tables, ("id_a", "id_b"), strict=True):
        noise.append(release_of(agreed, side, table.size).draw(table, Seeded(side.value)))
        counts.append(agreed.plan.counts(side, table.columns, len(table)) + noise[-1])
        found = pc.index_in(made.truth[name].combine_chunks(), value_set=table.ids)
        rows.append(np.asarray(found).astype(np.int64))
    comparisons = agreed.protocol.price(agreed.task, (records, records), (counts[0], counts[1]))
    met = agreed.plan.compares(Tables(agreed.fields, *(table.columns for table in tables)), rows[0], rows[1])
    assert 1e9 < comparisons < 2e9
    assert met.mean() > 0.95
    assert max(int(drawn.sum()) for drawn in noise) < 5 * records
    assert peak_mib() < 8192
