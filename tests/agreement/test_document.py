"""The agreement: one meaning, one digest, whatever the spelling."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.differences import diff
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter, starter_text
from accord.errors import AgreementError
from accord.fields import vectors
from accord.protocols.all_pairs import AllPairs
from accord.protocols.laplace import Laplace
from accord.side import Side
from reproduction.places import places_agreement

STARTERS = {"products": starter("products"), "people": starter("people")}
SCHEMA = Path(__file__).parents[2] / "docs" / "agreement.schema.json"


@pytest.mark.parametrize("kind", STARTERS)
def test_text_to_object_to_text_is_stable(kind: str) -> None:
    first = STARTERS[kind]
    text = first.to_toml()
    again = parse_agreement(text)
    assert again == first
    assert again.to_toml() == text
    assert again.digest == first.digest


@given(st.integers(1, 400), st.integers(1, 99), st.booleans(), st.integers(0, 20))
def test_any_agreement_reads_back(tenths: int, prune: int, greedy: bool, bound: int) -> None:
    plain = starter("products").model_dump(mode="json")
    plain["protocol"] |= {"prune": prune, "greedy": greedy}
    plain["protocol"]["A"]["epsilon"] = tenths / 10
    plain["rule"] = f"same(day) and not hamming(name) <= {bound}"
    made = Agreement.model_validate(plain)
    assert parse_agreement(made.to_toml().replace("disclose", "disclose")).digest == made.digest


def test_the_digest_ignores_comments_order_and_spelling() -> None:
    text = starter_text("products", "00000000")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    head, tables = "\n".join(lines).split("[parties]")
    moved = "\n".join(reversed(head.strip().splitlines())) + "\n[parties]" + tables
    respelt = (
        moved.replace("epsilon = 1.6", 'epsilon = "1.60"')
        .replace('"2^-40"', "9.094947017729282379150390625e-13")
        .replace("same(day) and same(brand)", "same( day )  and same(brand)")
        .replace('encoder = "paper"', 'encoder = { grams = 3, hashes = 1, bits = 50, kind = "bloom" }')
        .replace("prune = 0", "")
    )
    assert respelt != text
    assert parse_agreement(respelt).digest == parse_agreement(text).digest


def test_everything_that_matters_changes_the_digest() -> None:
    text = starter_text("products", "00000000")
    changes = [
        ('salt = "00000000"', 'salt = "00000001"'),
        ("<= 5", "<= 4"),
        ("north-shop", "south-mall"),
        ("epsilon = 1.6", "epsilon = 1.5"),
        ('other = "bin"', 'other = "skip"'),
        ("prune = 0", "prune = 10"),
        ("sort = true", "sort = false"),
        ('encoder = "paper"', 'encoder = { kind = "bloom", bits = 51, hashes = 1, grams = 3 }'),
        ('B = ["day", "brand", "name"]', 'B = ["day", "brand", "name", "price"]'),
        ("max = 2026-03-31", "max = 2026-03-30"),
    ]
    digests = {parse_agreement(text.replace(old, new, 1)).digest for old, new in changes}
    assert len(digests | {parse_agreement(text).digest}) == len(changes) + 1


def test_defaults_of_version_2_never_change() -> None:
    """A change of these digests means that two releases would read one file differently: make a version 3."""
    assert starter("products").digest[:16] == "8719037ac083b0c2"
    assert places_agreement().digest[:16] == "f44c72b2cc18b20a"


def test_canonical_bytes_spell_out_every_default() -> None:
    canonical = places_agreement().canonical()
    assert canonical.startswith(b"accord agreement 2\n{")
    plain = json.loads(canonical.split(b"\n", 1)[1])
    assert plain["fields"]["lat"]["step"] == "0.000001"
    assert plain["fields"]["lat"]["missing"] == "error"


def test_a_changed_copy_remembers_nothing() -> None:
    agreed = starter("products")
    assert (agreed.plan.bins, len(agreed.digest)) == (496, 64)
    changed = agreed.model_copy(update={"blocking": agreed.passes[0].parts[:1]})
    assert changed.plan.bins == 31
    assert changed.digest != agreed.digest


def test_sides() -> None:
    agreed = places_agreement()
    assert (agreed.party(Side.A), agreed.party(Side.B)) == ("yellow-cabs", "green-cabs")
    assert isinstance(agreed.protocol, Laplace)
    release = [agreed.protocol.release(agreed.task, side, 1000).setting for side in Side]
    assert [found.name for found in release if found is not None] == ["geometric", "gaussian"]
    free = agreed.model_copy(update={"protocol": AllPairs(name="all-pairs"), "blocking": ()})
    assert free.protocol.release(free.task, Side.A, 10).setting is None


def test_the_circuit_leaves_out_what_the_blocking_guarantees() -> None:
    assert "day" not in str(starter("products").task.lowered.node)


def test_the_schema_in_the_docs_is_the_models() -> None:
    """Renew it with: python -m accord.agreement.document > docs/agreement.schema.json"""
    assert json.loads(SCHEMA.read_text()) == Agreement.model_json_schema()


def test_a_difference_is_said_in_words() -> None:
    ours = starter("products")
    text = starter_text("products", "00000000")
    theirs = parse_agreement(
        text.replace("<= 5", "<= 4")
        .replace("greedy = true", "greedy = false")
        .replace('"Orla"]', '"Orla", "Zed"]')
        .replace("[[blocking]]\nkind = \"key\"\nfield = \"brand\"\n", "")
        .replace("epsilon = 1.6", "epsilon = 0.4", 1)
    )  # fmt: skip
    sentences = diff(ours, theirs)
    assert sentences == [
        "fields.brand.values lists only in theirs: Zed.",
        "rule is 'same(day) and same(brand) and hamming(name) <= 5' in ours and "
        "'same(day) and same(brand) and hamming(name) <= 4' in theirs.",
        "blocking has 2 parts in ours and 1 in theirs.",
        "protocol.greedy is on in ours and off in theirs.",
        "protocol.A.epsilon is '1.6' in ours and '0.4' in theirs.",
    ]
    assert diff(ours, ours) == []


def test_of_a_score_what_differs_is_told() -> None:
    text = starter_text("people", "00000000")
    bound = re.search(r"^\) >= (\d+)$", text, re.M)
    assert bound is not None
    theirs = parse_agreement(text.replace(bound[0], ") >= 20"))
    assert diff(parse_agreement(text), theirs) == [
        f"rule lists only in ours: >= {bound[1]}.",
        "rule lists only in theirs: >= 20.",
    ]


@given(st.sampled_from(list(STARTERS)), st.sampled_from(list(STARTERS)))
def test_no_words_exactly_when_the_digests_agree(a: str, b: str) -> None:
    assert (diff(STARTERS[a], STARTERS[b]) == []) == (STARTERS[a].digest == STARTERS[b].digest)


def test_one_record_a_person_is_not_written() -> None:
    """Agreements of before there were people keep their bytes; said or not, it is the same agreement."""
    text = starter_text("products", "00000000")
    said = parse_agreement(text.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 1"))
    assert said.digest == parse_agreement(text).digest
    assert b"records_per_person" not in said.canonical()
    assert "records_per_person" not in said.to_toml()


def test_one_to_one_is_written_where_it_is_agreed() -> None:
    """Agreements of before keep their bytes; said or not, that all pairs are kept is the same agreement."""
    text = starter_text("products", "00000000")
    said, agreed = (
        parse_agreement(text.replace("version = 2", f"version = 2\none_to_one = {value}"))
        for value in ("false", '"pairs"')
    )
    assert said == parse_agreement(text)
    assert said.digest == parse_agreement(text).digest
    assert b"one_to_one" not in said.canonical()
    assert "one_to_one" not in said.to_toml()
    assert agreed.digest != said.digest
    assert parse_agreement(agreed.to_toml()) == agreed
    assert diff(agreed, said) == ["one_to_one is only in ours: 'pairs'."]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("0", """'one_to_one' must be false, "score" or "pairs"."""),
        ("0.0", """'one_to_one' must be false, "score" or "pairs"."""),
        ("[]", """'one_to_one' must be false, "score" or "pairs"."""),
        ("true", """'one_to_one' must be false, "score" or "pairs"."""),
    ],
)
def test_one_to_one_is_false_or_a_word(value: str, problem: str) -> None:
    text = starter_text("products", "00000000").replace("version = 2", f"version = 2\none_to_one = {value}")
    with pytest.raises(AgreementError) as caught:
        parse_agreement(text)
    assert [fault.problem for fault in caught.value.faults] == [problem]


def test_a_bound_on_matches_is_written_where_it_is_agreed() -> None:
    """Agreements of before keep their bytes; the spelling of a share does not matter, a bound does."""
    text = starter_text("products", "00000000")
    assert b"most_matches" not in parse_agreement(text).canonical()
    first, second, other = (
        parse_agreement(f"{text}\n[most_matches]\nA = 500\nB = {share}\n")
        for share in ('"5%"', '"5.0 %"', '"6%"')
    )
    assert first.digest == second.digest != parse_agreement(text).digest
    assert parse_agreement(first.to_toml()) == first
    assert diff(first, other) == ["most_matches.B is '5%' in ours and '6%' in theirs."]
    assert diff(parse_agreement(text), first) == ["most_matches is only in theirs: A 500, B '5%'."]
    assert set(starter("people").bounds) == set(Side), "it proposes one"


def test_several_records_a_person_are_written_and_read_back() -> None:
    text = starter_text("products", "00000000")
    made = parse_agreement(text.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 3", 1))
    assert parse_agreement(made.to_toml()) == made
    assert made.digest != starter("products").digest
    assert [made.protocol.records_per_person(made.task, side) for side in Side] == [3, 1]
    sentence = "protocol.A.records_per_person is only in ours: 3."
    assert diff(made, parse_agreement(text)) == [sentence]


@pytest.mark.parametrize("given", ["ot", {"name": "ot"}, {"name": "ot", "network": "100/20", "silent": True}])
def test_an_engine_without_options_is_its_name_in_every_spelling(given: object) -> None:
    plain = starter("products").model_dump(mode="json")
    assert plain["engine"] == "ot"
    made = Agreement.model_validate(plain | {"engine": given})
    assert made.canonical() == starter("products").canonical()


def test_options_of_the_engine_are_agreed_on_and_reach_it() -> None:
    plain = starter("products").model_dump(mode="json")
    made = Agreement.model_validate(plain | {"engine": {"name": "ot", "network": "50/8", "silent": False}})
    assert made.digest != starter("products").digest
    assert parse_agreement(made.to_toml()) == made
    settings = made.engine.build().settings  # type: ignore[attr-defined]
    assert (str(settings.network), settings.silent) == ("50/8", False)


def _with_field(name: str, **options: object) -> Agreement:
    plain = starter("products").model_dump(mode="json")
    plain["fields"][name] = plain["fields"].get(name, {}) | options
    return Agreement.model_validate(plain)


def test_a_recipe_is_agreed_on_and_none_is_not_written() -> None:
    silent = starter("products")
    assert _with_field("brand", **{"from": "brand"}).digest == silent.digest
    assert _with_field("brand", clean=[], missing_values=[], derive=None).digest == silent.digest
    options: list[dict[str, object]] = [
        {"from": "maker"},
        {"from": ["brand", "maker"]},
        {"clean": ["accents"]},
        {"clean": ["accents", "spaces"]},
        {"clean": [{"drop": ["inc"]}]},
        {"missing_values": ["none"]},
        {"derive": "initial"},
        {"derive": {"prefix": 2}},
        {"derive": {"suffix": 2}},
    ]
    made = [_with_field("name", **one) for one in options]
    assert len({one.digest for one in (silent, *made)}) == len(options) + 1
    for one in made:
        assert parse_agreement(_disclosed(one).to_toml()) == _disclosed(one)
        assert diff(silent, one)


def _disclosed(agreed: Agreement) -> Agreement:
    """All columns are disclosed, as greedy asks for."""
    both = {side: ["day", "brand", "maker", "name"] for side in "AB"}
    return Agreement.model_validate(agreed.model_dump(mode="json") | {"disclose": both})


def test_where_records_fall_depends_on_the_recipes_of_the_blocking() -> None:
    silent = starter("products").task.placement
    assert _with_field("brand", **{"from": "brand"}).task.placement == silent
    for options in ({"from": "maker"}, {"clean": ["accents"]}, {"missing_values": ["none"]}):
        assert _with_field("brand", **options).task.placement != silent
        # Of a field that neither places nor leaves out a record, nothing does.
        assert _with_field("name", **options).task.placement == silent
        skipping = _with_field("name", missing="skip").task.placement
        assert _with_field("name", missing="skip", **options).task.placement != skipping


def test_letters_that_leave_a_record_out_decide_where_it_is() -> None:
    def placed(length: int, **options: object) -> bytes:
        letters = {"kind": "letters", "length": length}
        return _with_field("name", encoder=letters, **options).task.placement

    assert placed(12) == placed(13)
    assert placed(12, other="skip") != placed(13, other="skip")
    assert placed(12, missing="skip") == placed(13, missing="skip")


def test_a_layout_maps_columns_and_not_what_is_made_of_them() -> None:
    agreed = _with_field("name", **{"from": ["title", "maker"]})
    assert agreed.names == ("day", "brand", "title", "maker")


def test_a_placement_by_texts_names_how_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade that reads a letter in another way everybody draws anew, not only who has it."""
    by_texts, by_numbers = starter("products"), places_agreement()
    before = by_texts.task.placement, by_numbers.task.placement
    monkeypatch.setattr(vectors, "texts_digest", lambda: b"other libraries")
    assert by_texts.task.placement != before[0]
    assert by_numbers.task.placement == before[1]


def test_at_first_sight() -> None:
    agreed = starter("products")
    assert repr(agreed) == str(agreed)
    assert repr(agreed) == (f"<Agreement: north-shop and south-shop, laplace, digest {agreed.digest[:16]}…>")
    shown = agreed._repr_html_()
    assert "same(day) and same(brand) and hamming(name) &lt;= 5" in shown
    assert "laplace; A: ε = 1.6, δ = 2^-40; B: ε = 1.6, δ = 2^-40" in shown
    assert agreed.digest in shown
