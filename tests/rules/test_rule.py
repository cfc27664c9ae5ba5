"""The words of a rule in Python."""

from __future__ import annotations

from fractions import Fraction

import pytest

import accord
from accord.rules.rule import (
    And,
    Euclidean,
    Hamming,
    Missing,
    Not,
    Or,
    Same,
    Similar,
    Within,
    compared_fields,
    fields_of,
    read_by,
)
from accord.side import Side


def test_words_build_rules() -> None:
    rule = accord.same("day") & accord.same("brand") & (accord.hamming("name") <= 5)
    assert rule == And((Same("day"), Same("brand"), Hamming("name", 5)))
    assert str(rule) == "same(day) and same(brand) and hamming(name) <= 5"
    assert (accord.euclidean("lat", "lon") <= 0.001) == Euclidean(("lat", "lon"), Fraction(1, 1000))
    either = (accord.cosine("first") >= 0.9) | (accord.dice("last") >= "0.8")
    assert either == Or(
        (Similar("cosine", "first", Fraction(9, 10)), Similar("dice", "last", Fraction(4, 5)))
    )
    assert ~accord.within("birth", days=2) == Not(Within("birth", Fraction(2), True))
    assert accord.within("price", 0.5) == Within("price", Fraction(1, 2), False)
    assert (accord.jaccard("x") >= 1) == Similar("jaccard", "x", Fraction(1))
    assert fields_of(rule | either) == ("day", "brand", "name", "first", "last")


def test_crossed_words() -> None:
    assert accord.same("last", "middle") == Same("last", field_b="middle")
    assert accord.same("last", "last") == accord.same("last")
    assert (accord.dice("last", "middle") >= 0.8) == Similar("dice", "last", Fraction(4, 5), field_b="middle")
    assert (accord.hamming("a", "b") <= 5) == Hamming("a", 5, field_b="b")
    assert accord.within("birth", "swapped", days=2) == Within("birth", Fraction(2), True, field_b="swapped")
    assert accord.within("price", "cost", "0.5") == Within("price", Fraction(1, 2), False, field_b="cost")
    assert str(accord.within("birth", "swapped", days=2)) == "within(birth, swapped, 2 days)"
    rule = accord.same("last", "middle") & (accord.euclidean("x", "y") <= 1) & accord.missing("z", "B")
    assert fields_of(rule) == ("last", "middle", "x", "y", "z")
    assert compared_fields(Same("last", field_b="middle")) == (("last", "middle"),)
    assert compared_fields(Euclidean(("x", "y"), Fraction(1))) == (("x", "x"), ("y", "y"))


def test_missing_of_either_side_or_of_one() -> None:
    assert accord.missing("a") == Missing("a")
    assert accord.missing("a", "B") == accord.missing("a", Side.B) == Missing("a", Side.B)
    assert [str(accord.missing("a", side)) for side in (None, "A")] == ["missing(a)", "missing(a, A)"]
    assert [read_by(side, Missing("a", Side.B)) for side in Side] == [(), ("a",)]
    assert [read_by(side, Missing("a")) for side in Side] == [("a",), ("a",)]


def test_traps_are_refused() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(accord.same("a"))
    with pytest.raises(TypeError, match="joins with rules"):
        accord.same("a") & True  # type: ignore[operator]
    with pytest.raises(ValueError, match="is a similarity"):
        accord.dice("a") <= 0.5  # noqa: B015
    with pytest.raises(ValueError, match="is a distance"):
        accord.hamming("a") >= 5  # noqa: B015
    with pytest.raises(ValueError, match="whole number"):
        accord.hamming("a") <= 2.5  # noqa: B015
    with pytest.raises(ValueError, match="one amount"):
        accord.within("a")
    with pytest.raises(ValueError, match="one amount"):
        accord.within("a", "b", 1, days=2)
    with pytest.raises(ValueError, match="the amount of within"):
        accord.within("a", "b")
    with pytest.raises(ValueError, match="a side is 'A' or 'B'"):
        accord.missing("a", "C")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="named by a text"):
        accord.same("a", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one amount"):
        accord.within("a", 1, days=1)
