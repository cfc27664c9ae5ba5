"""The words of a rule in Python."""

from __future__ import annotations

from fractions import Fraction

import pytest

import accord
from accord.matching.rule import And, Euclidean, Hamming, Not, Or, Same, Similar, Within, fields_of


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
        accord.within("a", 1, days=1)
