"""What a steward reads before signing follows from the agreement; and what other settings find and cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.agreement import cheaper
from accord.agreement.adjusting import adjust
from accord.agreement.by_pass import best_buckets, by_pass, count_unplaced
from accord.agreement.cheaper import cheaper_thresholds
from accord.agreement.differences import diff
from accord.agreement.disclosure import advice, learned_about, tell_shown_ids
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.agreement.learnt import learnt_about
from accord.datasets.starter import starter
from accord.errors import AgreementError
from accord.protocols.parts.output import Output
from accord.rules.text import parse_rule
from accord.side import Side
from accord.table.layout import Layout
from tests.agreement.worlds import RULE, TEXT, changed
from tests.protocols import worlds
from tests.protocols.worlds import agreement

PRODUCTS, EXACT = starter("products"), "same(day) and same(brand)"


def told(agreed: Agreement, side: Side = Side.A) -> str:
    """All that the partner learns about a side's table."""
    return "\n".join(learned_about(agreed, side))


def test_each_side_has_its_own_budget_bins_columns_and_people() -> None:
    text = TEXT.replace("epsilon = 1.6", "epsilon = 0.4\nrecords_per_person = 3", 1)
    agreed = parse_agreement(text.replace('"name"]\nB', '"name", "price"]\nB'))
    about = {side: told(agreed, side) for side in Side}
    for side, facts, others in (
        (Side.A, ("north-shop", "496", "(0.4, 2^-40)", "day, brand, name, price", "3 records"), ("1.6",)),
        (Side.B, ("south-shop", "496", "(1.6, 2^-40)", "day, brand, name"), ("price", "0.4")),
    ):
        assert all(fact in about[side] for fact in facts)
        assert not any(other in about[side] for other in others)
    assert PRODUCTS.leakage(Side.A).fields == ("day", "brand", "name")


def test_protocols_without_bins_tell_none() -> None:
    for agreed in (
        adjust(PRODUCTS, protocol="all-pairs", greedy=False),
        parse_agreement(changed('name = "psi"', EXACT, False)),
    ):
        leakage = agreed.leakage(Side.B)
        assert (leakage.guarantee.of_all, leakage.fields) == ((), ())
        assert len(learned_about(agreed, Side.B)) == 3
        assert all(name in told(agreed, Side.B) for name in ("day", "brand", "name"))


def test_one_to_one_tells_by_what_both_choose() -> None:
    score = "score(brand: same -> 1; name: hamming <= 5 -> 1) >= 2"
    text = TEXT.replace("version = 2", 'version = 2\none_to_one = "score"')
    scored = parse_agreement(text.replace("same(brand) and hamming(name) <= 5", score))
    pairs = parse_agreement(scored.to_toml().replace('"score"', '"pairs"'))
    found = [agreed.leakage(Side.B) for agreed in (scored, pairs, PRODUCTS)]
    assert [leakage.one_to_one for leakage in found] == ["score", "pairs", False]
    assert [leakage.chosen_by for leakage in found] == [("day", "brand", "name"), (), ()]
    lines = [len(learned_about(agreed, Side.B)) for agreed in (scored, pairs, PRODUCTS)]
    assert lines[0] == lines[1] == lines[2] + 1


def routed(**changes: object) -> Agreement:
    plain = agreement(protocol="all-pairs").model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    passes = {"pass": [{"parts": [{"kind": "key", "field": "x"}]}]}
    return Agreement.model_validate(plain | {"protocol": {"name": "routed"}, "blocking": passes} | changes)


@pytest.mark.parametrize(
    ("agreed", "of_a", "of_b"),
    [
        (PRODUCTS, 0, 0),
        (parse_agreement(TEXT.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 2", 1)), 1, 0),
        (routed(), 1, 1),
        (routed(output={"to": "A"}), 0, 2),
        (routed(output={"answer": "count", "epsilon": "1"}), 0, 0),
        (routed(protocol={"name": "routed", "over": "refuse"}), 1, 1),
        (routed(protocol={"name": "routed", "over": "refuse"}, output={"to": "A"}), 1, 2),
    ],
)
def test_every_refusal_that_depends_on_the_data_is_named(agreed: Agreement, of_a: int, of_b: int) -> None:
    for side, expected in zip(Side, (of_a, of_b), strict=True):
        reasons = agreed.protocol.refusals(agreed.task, side)
        assert len(reasons) == expected
        assert all(reason in told(agreed, side) for reason in reasons)


def test_both_consents_to_a_cascade_say_what_a_pass_tells() -> None:
    """Alone the side that asks sees where a pair met. A bound on matches is told of its side."""
    plain = routed(protocol={"name": "routed", "asks": "A"})
    cascade = plain.model_copy(update={"one_to_one": "pairs"})
    lines = [[len(one.leakage(side).guarantee.of_matches) for side in Side] for one in (plain, cascade)]
    assert lines == [[0, 1], [1, 2]]
    for side in Side:
        assert {*learned_about(cascade, side)} >= {*cascade.leakage(side).guarantee.of_matches}
    kept = plain.protocol.model_copy(update={"over": "leave-out"})
    refused = plain.protocol.model_copy(update={"over": "refuse"})
    displaced = [one.guarantee(plain.task, Side.A) for one in (kept, refused)]
    assert len(displaced[0].of_all) == len(displaced[1].of_all) + 1
    one_sided = cascade.model_copy(update={"output": Output(to="A")})
    assert not one_sided.task.protocol.cascades(one_sided.task)
    bounded = Agreement.model_validate(agreement().model_dump() | {"most_matches": {"A": "50%"}})
    assert [("50%" in told(bounded, side)) for side in Side] == [True, False]
    more = [len(learned_about(bounded, side)) - len(learned_about(agreement(), side)) for side in Side]
    assert more == [1, 0]
    both = bounded.model_dump() | {"most_matches": {"A": "50%", "B": "5%"}}
    assert len(diff(bounded, Agreement.model_validate(both))) == 1


ORIGINS = [None, "nobody", "public", "A", "B", "A and B", "A linked", "B linked", "A and B linked"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_whose_data_a_rule_was_learnt_from_is_told(origin: str | None) -> None:
    """To the partner a line more about the side whose data it was; to both whose it was."""
    agreed = PRODUCTS.model_copy(update={"learnt_from": origin})
    notes = [note for note in advice(agreed) if note not in advice(PRODUCTS)]
    assert len(notes) == (origin is not None)
    for side in Side:
        expected = "nothing"
        if side.value in (origin or ""):
            expected = f"{'this' if 'linked' in str(origin) else 'another'} table"
        assert learnt_about(agreed.learnt_from, side) == agreed.leakage(side).learnt_from == expected
        more = {*learned_about(agreed, side)} - {*learned_about(PRODUCTS, side)}
        assert len(more) == (expected != "nothing")
        assert all(f"{expected} of {agreed.party(side)}" in line for line in more)
        assert all((agreed.party(side) in note) == (expected != "nothing") for note in notes)


def test_whose_ids_are_shown_beside_pseudonyms() -> None:
    """By its layout, also through a field that is made of that column."""
    pseudonyms = TEXT.replace("[protocol]", '[output]\nids = "pseudonyms"\n\n[protocol]')
    for text, shown in ((TEXT, False), (pseudonyms, True)):
        agreed = parse_agreement(text)
        for layout in (Layout(id="name"), Layout(id="no", columns={"name": "no"})):
            assert bool(tell_shown_ids(agreed, Side.A, layout)) == shown
        for layout in (Layout(), Layout(id="name", make_ids=True)):
            assert tell_shown_ids(agreed, Side.A, layout) == []


# -- advice -----------------------------------------------------------------------------------------------


def noted(agreed: Agreement, *facts: str) -> int:
    """How many notes have all of these."""
    return sum(all(fact in note for fact in facts) for note in advice(agreed))


def test_advice_on_what_may_be_missed_or_is_not_used() -> None:
    assert advice(PRODUCTS) == []
    hash_of = '[fields.{0}]\ntype = "text"\nencoder = "hash"\nmissing = "differs"\n'
    text = TEXT.replace("[fields.name]", f"{hash_of.format('code')}{hash_of.format('alias')}[fields.name]")
    text = text.replace('"name"]', '"code", "alias"]')
    loose = parse_agreement(text.replace(RULE, "same(day) and same(code, alias)"))
    assert noted(loose, "'brand'") == 1, "a pass that the rule does not need loses matches"
    assert noted(loose, "alias", "80") == 1
    assert noted(loose, "name") == 1, "a field that nothing uses"
    assert noted(loose, "code", "alias") == 2
    for rule, warned in (("same(code) or missing(code)", 1), ("same(code) and not missing(code)", 0)):
        agreed = parse_agreement(text.replace(RULE, rule))
        without = parse_agreement(text.replace(RULE, "same(code)"))
        assert len(advice(agreed)) - len(advice(without)) == warned


def test_advice_on_scores_and_passes() -> None:
    people = starter("people")
    (alone,) = [note for note in advice(people) if note.startswith("email") and "23" in note]
    strict = parse_agreement(people.to_toml().replace(">= 21", ">= 24"))
    assert alone not in advice(strict)
    names = "either_way(dice(given) >= 0.5 and dice(surname) >= 0.5, given, surname)"
    rule = parse_rule(f"{names} and (same(postcode) or same(email) or same(birth_year))")
    many = people.model_copy(update={"rule": rule})
    assert len(many.plan.losses(many.rule)) == 6
    losses = [loss for loss in many.plan.losses(many.rule) if any(loss in note for note in advice(many))]
    assert len(losses) == 3, "of many the first are told, and how many more there are"
    text = people.to_toml()
    rest, end = text.index('[[blocking.pass]]\nname = "names"'), text.index("[protocol]")
    one_pass = parse_agreement(text[:rest] + text[end:])
    needed = [note for note in advice(one_pass) if note not in advice(people)]
    assert any("birth" in note or "given" in note for note in needed)


def test_advice_on_an_engine_that_tests_its_answers() -> None:
    """Without columns that check a match a false one is not noticed."""
    hidden: dict[str, Any] = {"disclose": {"A": [], "B": []}}
    plain = Agreement.model_validate(agreement(greedy=False).model_dump(mode="json") | hidden)
    dual = Agreement.model_validate(plain.model_dump(mode="json") | {"engine": "dual"})
    assert [(noted(one, "'dual'"), noted(one, "x and y")) for one in (plain, dual)] == [(0, 1), (1, 0)]


# -- other settings ---------------------------------------------------------------------------------------


def test_a_protocol_without_bins_has_no_blocking_and_there_is_a_way_back() -> None:
    free = adjust(PRODUCTS, protocol="all-pairs", greedy=False)
    assert (free.protocol.name, free.passes) == ("all-pairs", ())
    assert (free.rule, free.fields) == (PRODUCTS.rule, PRODUCTS.fields)
    back = adjust(free.model_copy(update={"blocking": PRODUCTS.blocking}), protocol="laplace")
    assert (back.protocol.name, back.passes) == ("laplace", PRODUCTS.passes)
    assert back.model_dump()["protocol"]["greedy"] is False, "both have it"
    with pytest.raises(AgreementError) as caught:
        adjust(PRODUCTS, records_per_person=0)
    places = [fault.place for fault in caught.value.faults]
    assert places == [f"protocol.{side}.records_per_person" for side in "AB"], (
        "no line of a text that nobody sees"
    )


A = [(0, 0), (3, 3), (9, 9)]
B = [(0, 9), (3, 3), (8, 9)]


def of_passes(*names: str, **options: Any) -> Agreement:
    return worlds.agreement(blocking=worlds.passes(*names), missing="differs", **options)


def test_recall_by_pass_and_so_far_and_records_in_no_bin() -> None:
    agreed = of_passes("x", "y")
    wanted = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
    found = by_pass(agreed, worlds.records(A, agreed), worlds.records(B, agreed), [wanted])
    named = [("pass 1", 16, 2), ("pass 2", 5, 3)]
    assert [(one.name, one.bins, one.candidate_pairs) for one in found] == named
    assert [(one.recall, one.recall_so_far) for one in found] == [(0.5, 0.5), (0.5, 0.75)]
    assert [one.buckets for one in found] == [None, 5]
    empty = worlds.records([], agreed)
    assert {
        (one.recall, one.recall_so_far, one.candidate_pairs) for one in by_pass(agreed, empty, empty, [])
    } == {(1, 1, 0)}
    rows: Any = [(0, 0), (None, 3), (None, None), (4, None)]
    held = worlds.records(rows, agreed)
    assert count_unplaced(agreed, Side.A, held) == (1, {"pass 1": 2, "pass 2": 2})


@pytest.mark.parametrize("sizes", [(100_000, 100_000), (10_000, 1_000_000)])
def test_the_best_number_of_buckets_is_that_of_the_formula(sizes: tuple[int, int]) -> None:
    agreed = of_passes("x", "both")
    release = agreed.protocol.release(agreed.task, Side.A, sizes[0])
    assert release.setting is not None
    dummies = release.setting.expected_dummies

    def cost(k: float) -> float:
        a, b = sizes
        return a * b / k + (a + b) * dummies + k * dummies**2

    none, best = best_buckets(agreed, sizes)
    assert none is None
    assert best is not None
    assert all(cost(best) < cost(best * share) for share in (0.25, 0.5, 0.8, 1.25, 2, 4))
    assert best_buckets(worlds.agreement(protocol="all-pairs"), (1000, 1000)) == []


def notes(predicate: str, engine: str = "ot") -> list[str]:
    text = TEXT.replace("hamming(name) <= 5", predicate).replace('engine = "ot"', f'engine = "{engine}"')
    if engine == "dual":
        text = text.replace("greedy = true", "greedy = false")
    return cheaper_thresholds(parse_agreement(text))


@pytest.mark.parametrize("engine", ["ot", "dual"])
def test_a_costly_threshold_is_told_once_with_the_cheap_one_beside_it(engine: str) -> None:
    (note,) = notes("dice(name) >= 0.7418 and dice(name) >= 0.7418", engine)
    assert "'dice(name) >= 0.7418'" in note
    assert "'dice(name) >= 0.75'" in note
    for cheap in ("dice(name) >= 0.75", "cosine(name) >= 0.7418", "hamming(name) <= 7"):
        assert notes(cheap, engine) == []


def test_of_very_many_costly_thresholds_some_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partner may have written the rule, and pricing takes longer than its square."""
    priced: list[object] = []

    def count(_: object, rule: object) -> float:
        priced.append(rule)
        return 1.0

    monkeypatch.setattr(cheaper, "_bytes", count)
    assert notes("(" + " or ".join(f"dice(name) >= 0.{n}" for n in range(7001, 7201, 2)) + ")") == []
    assert 0 < len(priced) <= 1 + 16 * 21
