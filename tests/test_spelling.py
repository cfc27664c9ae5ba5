"""Suggestions for typing errors."""

from __future__ import annotations

from accord.spelling import did_you_mean, nearest


def test_the_nearest_name_is_never_the_given_one() -> None:
    assert nearest("delimeter", ["delimiter", "id"]) == "delimiter"
    assert nearest("A", ["A", "B"]) is None
    assert nearest("zzz", ["delimiter"]) is None
    assert did_you_mean("ids", ["id"]) == "Did you mean 'id'?"
    assert did_you_mean("id", ["id", "ids"], "Remove it.") == "Remove it."
