from __future__ import annotations

from dataclasses import replace

import pytest

from accord.drafting.answers import Answers, in_order, name_fields
from accord.drafting.kinds import ColumnKind, Confirmed, read_kind
from accord.errors import AgreementError, UsageError


def fields(*typed: str) -> tuple[Confirmed, ...]:
    return in_order(name_fields([read_kind(one) for one in typed]))


def test_fields_are_in_the_order_of_types_whatever_the_order_of_columns() -> None:
    assert fields("birth", "id", "given", "skip") == fields("given", "birth")
    named = fields("category", "category:brand", "category")
    assert [one.name for one in named] == ["brand", "category", "category_2"]


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(AgreementError) as raised:
        Answers(
            fields("birth", "price", "latitude"),
            (0, 5),
            parties=("a", "?"),
            disclose=("brith",),
            values={"birth": ("x",)},
            ranges={"birth": ("1", "2"), "price": ("0", "x")},
            within={"latitude": "-1"},
            missing={"birth": "ignore"},
        )
    told = str(raised.value)
    for word in (
        "--records",
        "'?': cannot",
        "Did you mean 'birth'",
        "--field birth.values`",
        "birth.range=1..2",
    ):
        assert word in told
    assert "'a': cannot be a party's name. A and B name the sides" in told
    for word in ("price.range=0..x", "latitude.within=-1", "birth.missing=ignore", "longitude"):
        assert word in told


@pytest.mark.parametrize("typed", [["id", "skip"], ["text:a", "category:a"], ["birth", "text:birth_year"]])
def test_fields_that_no_agreement_can_have(typed: list[str]) -> None:
    with pytest.raises(AgreementError):
        Answers(fields(*typed), (10, 10))


@pytest.mark.parametrize("typed", ["surnme", "given:first", "category:", "category:a b", ""])
def test_types_that_are_none(typed: str) -> None:
    with pytest.raises(UsageError):
        read_kind(typed)


def test_a_type_may_be_typed_as_one_likes() -> None:
    assert read_kind(" Surname ") == Confirmed(ColumnKind.SURNAME)
    assert read_kind("category: brand") == Confirmed(ColumnKind.CATEGORY, "brand")


def test_answers_are_plain() -> None:
    given = Answers(fields("text", "sex"), (10, 10))
    assert given.values_of(given.fields[0]) == ("f", "m")
    assert replace(given, values={"sex": ("m", "w")}).values_of(given.fields[0]) == ("m", "w")
    assert given.policy_of("text") == "differs"
