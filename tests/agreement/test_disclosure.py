"""What a steward reads before signing follows from the agreement."""

from __future__ import annotations

import pytest

from accord.agreement.disclosure import advice, learned_about, tell_shown_ids
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter, starter_text
from accord.protocols.parts.output import Output
from accord.rules.text import parse_rule
from accord.side import Side
from accord.table.layout import Layout
from tests.protocols.worlds import agreement

TEXT = starter_text("products", "00000000")


def test_laplace_with_greedy() -> None:
    lines = " ".join(learned_about(starter("products"), Side.A))
    assert "how many records north-shop has" in lines
    assert "496 bins" in lines
    assert "(1.6, 2^-40)" in lines
    assert "its id, day, brand, name" in lines
    assert "discloses its fields of rule and blocking at once (day, brand, name)" in lines
    assert lines.endswith("no value of a record without a match.")


def test_one_to_one_says_that_dropped_pairs_were_disclosed() -> None:
    text = TEXT.replace("version = 2", 'version = 2\none_to_one = "score"').replace(
        "same(brand) and hamming(name) <= 5", "score(brand: same -> 1; name: hamming <= 5 -> 1) >= 2"
    )
    for one in (text, text.replace("greedy = true", "greedy = false")):
        lines = " ".join(learned_about(parse_agreement(one), Side.B))
        assert "the fields of the rule in encoded form (day, brand, name)" in lines
        assert "a pair that is dropped is not in the output, but was disclosed anyway" in lines
        assert ("at once" in lines) == (one is text)
    told = " ".join(learned_about(parse_agreement(text.replace('"score"', '"pairs"')), Side.B))
    assert "nothing more for one-to-one: of the pairs found both keep the first by ids" in told
    assert "a pair that is dropped is not in the output, but was disclosed anyway" in told
    assert "dropped" not in " ".join(learned_about(starter("products"), Side.B))


def test_each_side_has_its_own_budget_and_columns() -> None:
    text = TEXT.replace("epsilon = 1.6", "epsilon = 0.4", 1).replace('"name"]\nB', '"name", "price"]\nB')
    agreed = parse_agreement(text)
    about_a, about_b = (" ".join(learned_about(agreed, side)) for side in Side)
    assert "(0.4, " in about_a
    assert "price" in about_a
    assert "(1.6, " in about_b
    assert "price" not in about_b


def test_all_pairs_tells_no_bins() -> None:
    start, end = TEXT.index("[[blocking]]"), TEXT.index("# What each side")
    agreed = parse_agreement(TEXT[:start] + '[protocol]\nname = "all-pairs"\ngreedy = false\n' + TEXT[end:])
    lines = " ".join(learned_about(agreed, Side.B))
    assert "bins" not in lines
    assert "at once" not in lines
    assert "its id, day, brand, name" in lines


def routed(**changes: object) -> Agreement:
    plain = agreement(protocol="all-pairs").model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    passes = {"pass": [{"parts": [{"kind": "key", "field": "x"}]}]}
    return Agreement.model_validate(plain | {"protocol": {"name": "routed"}, "blocking": passes} | changes)


def people() -> Agreement:
    text = TEXT.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 2", 1)
    return parse_agreement(text)


@pytest.mark.parametrize(
    ("agreed", "of_a", "of_b"),
    [
        (starter("products"), 0, 0),
        (people(), 1, 0),
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
        told = " ".join(learned_about(agreed, side))
        assert all(reason in told for reason in reasons)
        assert ("the run is refused, if" in told) == bool(reasons)


def test_both_consents_to_a_cascade_say_what_a_pass_tells() -> None:
    """Alone the side that asks sees where a pair met; in a cascade both see where it first met."""
    plain = routed(protocol={"name": "routed", "asks": "A"})
    cascade = plain.model_copy(update={"one_to_one": "pairs"})
    lines = [[len(one.leakage(side).guarantee.of_matches) for side in Side] for one in (plain, cascade)]
    assert lines == [[0, 1], [1, 2]]
    for side in Side:
        assert {*learned_about(cascade, side)} >= {*cascade.leakage(side).guarantee.of_matches}
    one_sided = cascade.model_copy(update={"output": Output(to="A")})
    assert not one_sided.task.protocol.cascades(one_sided.task)


def test_that_a_bound_ends_the_run_is_named() -> None:
    plain = agreement().model_dump() | {"most_matches": {"A": "50%"}}
    bounded = Agreement.model_validate(plain)
    for side in Side:
        told = " ".join(learned_about(bounded, side))
        assert ("the run ends before one more is shown" in told) == (side is Side.A)


def test_advice() -> None:
    assert advice(starter("products")) == []
    text = TEXT.replace("same(day) and same(brand) and", "same(day) and").replace(
        "[fields.name]", '[fields.code]\ntype = "text"\nencoder = "hash"\nmissing = "differs"\n[fields.name]'
    )
    notes = advice(parse_agreement(text))
    assert any("Matches may be missed" in note and "'brand'" in note for note in notes)
    assert any("empty code agrees with no record" in note for note in notes)
    assert "Used by neither rule nor blocking: code." in notes
    hashed = text.replace("hamming(name) <= 5", "same(code)").replace('"name"]', '"code"]')
    assert any("hash of 80 bits" in note for note in advice(parse_agreement(hashed)))


def test_advice_on_an_engine_that_tests_its_answers() -> None:
    plain = agreement(greedy=False)
    dual = Agreement.model_validate(plain.model_dump() | {"engine": "dual", "disclose": {}})
    assert any("learns one bit of your records" in note for note in advice(dual))
    assert not any("A false match is not noticed" in note for note in advice(dual))


def test_advice_on_crossed_fields_and_missing_values() -> None:
    code = '[fields.code]\ntype = "text"\nencoder = "hash"\nmissing = "differs"\n'
    alias = '[fields.alias]\ntype = "text"\nencoder = "hash"\n'
    text = TEXT.replace("[fields.name]", f"{code}{alias}[fields.name]").replace('"name"]', '"code", "alias"]')
    crossed = advice(parse_agreement(text.replace("hamming(name) <= 5", "same(code, alias)")))
    assert "same(code, alias) compares a hash of 80 bits of the text." in crossed
    assert "Used by neither rule nor blocking: name." in crossed
    for rule, warned in (("same(code) or missing(code)", True), ("same(code) and not missing(code)", False)):
        notes = advice(
            parse_agreement(text.replace("same(day) and same(brand) and hamming(name) <= 5", rule))
        )
        assert any("nothing agrees because a value is missing" in note for note in notes) == warned
        assert any("do not agree on 'brand'" in note for note in notes)


def test_advice_on_a_value_that_is_enough_by_itself() -> None:
    (note,) = [note for note in advice(starter("people")) if "alone" in note]
    assert note.startswith("email can reach the threshold alone: two records that agree on it match, even if")
    assert "raise the threshold above 23, or require another field with `and`." in note
    strict = starter("people").to_toml().replace(">= 21", ">= 24")
    assert not [note for note in advice(parse_agreement(strict)) if "alone" in note]


def test_advice_on_a_column_that_every_pass_needs() -> None:
    every = [note for note in advice(starter("people")) if note.startswith("Every pass needs")]
    assert not every, "its passes read different columns"
    text = starter("people").to_toml()
    rest, end = text.index('[[blocking.pass]]\nname = "names"'), text.index("[protocol]")
    [note] = [
        note for note in advice(parse_agreement(text[:rest] + text[end:])) if "Every pass needs" in note
    ]
    assert "is never compared" in note
    products = advice(starter("products"))
    assert not [note for note in products if "Every pass" in note], "the rule needs the same"


def test_advice_on_many_fields_and_passes_stays_short() -> None:
    agreed = starter("people")
    notes = advice(agreed)
    [missed] = [note for note in notes if "Matches may be missed" in note]
    assert "where the score is at least 21: in 'birth' the rule accepts pairs" in missed
    names = "either_way(dice(given) >= 0.5 and dice(surname) >= 0.5, given, surname)"
    rule = parse_rule(f"{names} and (same(postcode) or same(email) or same(birth_year))")
    more = advice(agreed.model_copy(update={"rule": rule}))
    assert len([note for note in more if "Matches may be missed" in note]) == 3
    assert "3 more ways to match may be missed; `accord simulate` says how much each pass finds." in more
    assert "same(phone), same(email) and same(postcode) compare a hash of 80 bits of the text." in notes
    assert len([note for note in notes if "agrees with no record" in note]) == 1


def of_protocol(protocol: str, rule: str, blocking: bool) -> str:
    head, rest = TEXT[: TEXT.index("[protocol]")], TEXT[TEXT.index("# What each side") :]
    head = head if blocking else head[: head.index("[[blocking]]")]
    head = head.replace("same(day) and same(brand) and hamming(name) <= 5", rule)
    return f"{head}[protocol]\n{protocol}\n{rest}"


def test_psi_tells_nothing_of_what_does_not_match() -> None:
    agreed = parse_agreement(of_protocol('name = "psi"', "same(day) and same(brand)", False))
    for side in Side:
        lines = learned_about(agreed, side)
        assert len(lines) == 3
        assert "how many records" in lines[0]
        assert "its id, day, brand, name" in lines[1]


def test_whom_the_promise_is_for() -> None:
    text = TEXT.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 3", 1)
    about_a, about_b = (" ".join(learned_about(parse_agreement(text), side)) for side in Side)
    assert "2^-40) for each person with up to 3 records, none of which matches anything;" in about_a
    assert "2^-40) for each record that matches nothing;" in about_b


def test_whose_ids_are_shown_beside_pseudonyms() -> None:
    """By its layout, also through a field that is made of that column."""
    pseudonyms = TEXT.replace("[protocol]", '[output]\nids = "pseudonyms"\n\n[protocol]')
    for text, told in ((TEXT, False), (pseudonyms, True)):
        agreed = parse_agreement(text)
        for layout in (Layout(id="name"), Layout(id="no", columns={"name": "no"})):
            assert bool(tell_shown_ids(agreed, Side.A, layout)) == told
        for layout in (Layout(), Layout(id="name", make_ids=True)):
            assert tell_shown_ids(agreed, Side.A, layout) == []
