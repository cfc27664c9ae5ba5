"""The agreement: one meaning, one digest, whatever the spelling; read from a file or with all its faults."""

from __future__ import annotations

import contextlib
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.differences import diff
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, read_agreement, require_sound
from accord.datasets.starter import starter, starter_text
from accord.errors import AccordError, AgreementError, UnreadableError
from accord.fields import vectors
from accord.protocols.all_pairs import AllPairs
from accord.protocols.laplace import Laplace
from accord.rules.rule import Within
from accord.rules.words import same
from accord.side import Side
from reproduction.places import places_agreement
from tests.agreement.worlds import TEXT, changed, with_passes

PRODUCTS, PEOPLE = starter("products"), starter("people")
ORIGINS = ("nobody", "public", "A", "B", "A and B", "A linked", "B linked", "A and B linked")

# -- one digest -------------------------------------------------------------------------------------------


def test_the_digest_ignores_comments_order_and_spelling() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith("#")]
    head, tables = "\n".join(lines).split("[parties]")
    moved = "\n".join(reversed(head.strip().splitlines())) + "\n[parties]" + tables
    respelt = (
        moved.replace("epsilon = 1.6", 'epsilon = "1.60"')
        .replace('"2^-40"', "9.094947017729282379150390625e-13")
        .replace("same(day) and same(brand)", "same( day )  and same(brand)")
        .replace('encoder = "paper"', 'encoder = { grams = 3, hashes = 1, bits = 50, kind = "bloom" }')
        .replace("prune = 0", "")
    )
    assert respelt != TEXT
    assert parse_agreement(respelt).digest == PRODUCTS.digest


def test_everything_that_matters_changes_the_digest() -> None:
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
    digests = {parse_agreement(TEXT.replace(old, new, 1)).digest for old, new in changes}
    assert len(digests | {PRODUCTS.digest}) == len(changes) + 1


def test_defaults_of_version_2_never_change() -> None:
    """A change of these digests means that two releases would read one file differently: make a version 3."""
    assert PRODUCTS.digest[:16] == "8719037ac083b0c2"
    assert places_agreement().digest[:16] == "f44c72b2cc18b20a"
    canonical = places_agreement().canonical()
    assert canonical.startswith(b"accord agreement 2\n{")
    lat = json.loads(canonical.split(b"\n", 1)[1])["fields"]["lat"]
    assert (lat["step"], lat["missing"]) == ("0.000001", "error")


@pytest.mark.parametrize(
    ("old", "silent", "said"),
    [
        ("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 1", "epsilon = 1.6\nrecords_per_person = 3"),
        ("version = 2", "version = 2\none_to_one = false", 'version = 2\none_to_one = "pairs"'),
        ("# What each", "", "[most_matches]\nA = 500\nB = '5%'\n# What each"),
        *(("version = 2", "", f'version = 2\nlearnt_from = "{origin}"') for origin in ORIGINS),
    ],
)
def test_what_came_later_is_written_only_where_it_is_agreed(old: str, silent: str, said: str) -> None:
    """Agreements of before keep their bytes."""
    if silent:
        plain = parse_agreement(TEXT.replace(old, silent, 1))
        assert (plain.digest, plain.to_toml()) == (PRODUCTS.digest, PRODUCTS.to_toml())
    agreed = parse_agreement(TEXT.replace(old, said, 1))
    assert parse_agreement(agreed.to_toml()) == agreed
    assert agreed.digest != PRODUCTS.digest
    assert len(diff(PRODUCTS, agreed)) == len(diff(agreed, PRODUCTS)) == 1
    assert agreed.task.placement == PRODUCTS.task.placement, "the noise of before stays good"


def test_what_is_agreed_reaches_the_protocol_and_the_engine() -> None:
    plain = PRODUCTS.model_dump(mode="json")
    three = parse_agreement(TEXT.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 3", 1))
    assert [three.protocol.records_per_person(three.task, side) for side in Side] == [3, 1]
    bounds = [
        parse_agreement(f"{TEXT}\n[most_matches]\nA = 500\nB = '{share}'\n")
        for share in ("5%", "5.0 %", "6%")
    ]
    assert bounds[0].digest == bounds[1].digest != bounds[2].digest
    for given_ in ("ot", {"name": "ot"}, {"name": "ot", "network": "100/20", "silent": True}):
        assert Agreement.model_validate(plain | {"engine": given_}).canonical() == PRODUCTS.canonical()
    engine = {"name": "ot", "network": "50/8", "silent": False}
    made = Agreement.model_validate(plain | {"engine": engine})
    assert made.digest != PRODUCTS.digest
    assert parse_agreement(made.to_toml()) == made
    settings = made.engine.build().settings  # type: ignore[attr-defined]
    assert (str(settings.network), settings.silent) == ("50/8", False)
    places = places_agreement()
    assert (places.party(Side.A), places.party(Side.B)) == ("yellow-cabs", "green-cabs")
    assert isinstance(places.protocol, Laplace)
    release = [places.protocol.release(places.task, side, 1000).setting for side in Side]
    assert [found.name for found in release if found is not None] == ["geometric", "gaussian"]
    free = places.model_copy(update={"protocol": AllPairs(name="all-pairs"), "blocking": ()})
    assert free.protocol.release(free.task, Side.A, 10).setting is None
    assert "day" not in str(PRODUCTS.task.lowered.node), "what the blocking guarantees is not compared"
    assert {*PEOPLE.bounds} == {*Side}, "a starter proposes bounds"


def test_a_changed_copy_remembers_nothing_and_is_shown_escaped() -> None:
    assert (PRODUCTS.plan.bins, len(PRODUCTS.digest)) == (496, 64)
    copy = PRODUCTS.model_copy(update={"blocking": PRODUCTS.passes[0].parts[:1]})
    assert copy.plan.bins == 31
    assert copy.digest != PRODUCTS.digest
    passes = parse_agreement(with_passes())
    assert passes.plan.bins == 300 + 16
    assert [len(one.name.split()) for one in passes.plan.passes] == [3, 2]
    assert passes.blocking_fields == ("day", "brand")
    assert repr(PRODUCTS) == str(PRODUCTS)
    shown = PRODUCTS._repr_html_()
    for fact in ("north-shop", "south-shop", "laplace", PRODUCTS.digest[:16]):
        assert fact in repr(PRODUCTS)
        assert fact in shown
    assert "&lt;= 5" in shown, "every text is escaped"


def test_the_schema_in_the_docs_is_the_models() -> None:
    """Renew it with: python -m accord.agreement.document > docs/agreement.schema.json"""
    schema = Path(__file__).parents[2] / "docs" / "agreement.schema.json"
    assert json.loads(schema.read_text()) == Agreement.model_json_schema()


def test_every_difference_is_named() -> None:
    theirs = parse_agreement(
        TEXT.replace("<= 5", "<= 4")
        .replace("greedy = true", "greedy = false")
        .replace('"Orla"]', '"Orla", "Zed"]')
        .replace('[[blocking]]\nkind = "key"\nfield = "brand"\n', "")
        .replace("epsilon = 1.6", "epsilon = 0.4", 1)
    )
    lines = diff(PRODUCTS, theirs)
    facts = [
        ("fields.brand.values", "Zed"),
        ("rule", "<= 5", "<= 4"),
        ("blocking", "2", "1"),
        ("protocol.greedy",),
        ("protocol.A.epsilon", "1.6", "0.4"),
    ]
    assert len(lines) == len(facts)
    for line, named in zip(lines, facts, strict=True):
        assert line.startswith(named[0])
        assert all(fact in line for fact in named)
    assert diff(PRODUCTS, PRODUCTS) == []
    bound = re.search(r"^\) >= (\d+)$", starter_text("people", "00000000"), re.M)
    assert bound is not None
    people = parse_agreement(starter_text("people", "00000000").replace(bound[0], ") >= 20"))
    own, other = diff(PEOPLE, people)
    assert bound[1] in own
    assert "20" in other
    assert len(own) + len(other) < 200, "of a score what differs is told, not the whole"


# -- recipes and placement --------------------------------------------------------------------------------


def with_field(name: str, **options: object) -> Agreement:
    plain = PRODUCTS.model_dump(mode="json")
    plain["fields"][name] = plain["fields"].get(name, {}) | options
    # All columns are disclosed, as greedy asks for.
    plain["disclose"] = {side: [*PRODUCTS.disclosed(Side.A), "maker"] for side in "AB"}
    return Agreement.model_validate(plain)


def test_a_recipe_is_agreed_on_and_none_is_not_written() -> None:
    silent = with_field("brand")
    assert with_field("brand", **{"from": "brand"}).digest == silent.digest
    assert with_field("brand", clean=[], missing_values=[], derive=None).digest == silent.digest
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
    made = [with_field("name", **one) for one in options]
    assert len({one.digest for one in (silent, *made)}) == len(options) + 1
    for one in made:
        assert parse_agreement(one.to_toml()) == one
        assert diff(silent, one)
    names = with_field("name", **{"from": ["title", "maker"]}).names
    assert names == ("day", "brand", "title", "maker"), "a layout maps columns, not what is made of them"


def test_where_records_fall_depends_on_the_recipes_of_the_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade that reads a letter in another way everybody draws anew, not only who has it."""
    silent = PRODUCTS.task.placement
    assert with_field("brand", **{"from": "brand"}).task.placement == silent
    for options in ({"from": "maker"}, {"clean": ["accents"]}, {"missing_values": ["none"]}):
        assert with_field("brand", **options).task.placement != silent
        # Of a field that neither places nor leaves out a record, nothing does.
        assert with_field("name", **options).task.placement == silent
        skipping = with_field("name", missing="skip").task.placement
        assert with_field("name", missing="skip", **options).task.placement != skipping

    def placed(length: int, **options: object) -> bytes:
        return with_field("name", encoder={"kind": "letters", "length": length}, **options).task.placement

    assert placed(12) == placed(13)
    assert placed(12, other="skip") != placed(13, other="skip"), "letters that leave a record out"
    assert placed(12, missing="skip") == placed(13, missing="skip")
    by_numbers = places_agreement()
    before = PRODUCTS.task.placement, by_numbers.task.placement
    monkeypatch.setattr(vectors, "texts_digest", lambda: b"other libraries")
    assert PRODUCTS.task.placement != before[0]
    assert by_numbers.task.placement == before[1]


# -- from a file ------------------------------------------------------------------------------------------


def test_an_agreement_built_in_python_is_judged_alike() -> None:
    grid = {"kind": "grid", "fields": ["lat", "lon"], "cell": "0.02", "style": "replicate", "reach": "0.001"}
    plain = places_agreement().model_dump(mode="json")
    passes = [
        Agreement.model_validate(plain | {"blocking": {"pass": [{"parts": [grid]} for _ in range(count)]}})
        for count in (16, 17)
    ]
    require_sound(passes[0])
    negative = PRODUCTS.model_copy(update={"rule": Within("day", Fraction(-1), True) & PRODUCTS.rule})
    unknown = PRODUCTS.model_copy(update={"rule": same("colour")})
    for wrong, fact in ((passes[1], "64"), (negative, "0"), (unknown, "'colour'")):
        with pytest.raises(AgreementError) as caught:
            require_sound(wrong)
        assert fact in str(caught.value), "a record in more bins than noise can hide, and others"


@pytest.mark.parametrize(
    ("name", "content", "is_table"),
    [
        ("t.csv", b"id\n1\n", True),
        ("t.txt", b"id;name\n1;x\n", True),
        ("t.parquet", b"PAR1\xff", True),
        ("a.toml", b"version 1, really\n", True),
        ("a.toml", b"version = 2, 2\n", False),
        ("a.toml", b"\xff", False),
        ("a.toml", None, False),
    ],
)
def test_a_table_in_the_place_of_the_agreement(
    tmp_path: Path, name: str, content: bytes | None, is_table: bool
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((AgreementError, UnreadableError)) as caught:
        read_agreement(tmp_path / name)
    assert ("AGREEMENT TABLE" in str(caught.value)) == is_table


@given(
    st.sampled_from(TEXT.split("\n")), st.sampled_from(["", "x = 1", "[x]", "= 3", "[[fields]]", "rule = 3"])
)
def test_no_damage_to_a_line_gives_a_traceback(line: str, other: str) -> None:
    with contextlib.suppress(AccordError):
        parse_agreement(TEXT.replace(line, other, 1))


def test_a_rule_is_judged_with_the_engine_and_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation may try others. Greedy shows a made field by itself or with its columns."""
    monkeypatch.setattr("accord.secure.garbled.boolean.MOST_WIRES", 40)
    text = TEXT.replace('engine = "ot"', 'engine = "dual"').replace("greedy = true", "greedy = false")
    with pytest.raises(AgreementError) as caught:
        parse_agreement(text)
    (fault,) = caught.value.faults
    assert fault.place.startswith(f"line {text[: text.index('engine =')].count(chr(10)) + 1}")
    assert "40" in fault.problem
    parse_agreement(text, simulated=True)
    assert parse_agreement(changed('name = "psi"', blocking=False), simulated=True).protocol.name == "psi"
    denied = changed('name = "psi"', "same(day) and not same(brand)", blocking=False)
    with pytest.raises(AgreementError):
        parse_agreement(denied, simulated=True)
    made = TEXT.replace('encoder = "paper"', 'encoder = "paper"\nfrom = "title"')
    for shown in ('"name"', '"title"'):
        parse_agreement(made.replace('["day", "brand", "name"]', f'["day", "brand", {shown}]'))
