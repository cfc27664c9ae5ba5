"""The names of the census, and how often each occurs."""

from __future__ import annotations

from accord.fields.census import EVERYBODY, census_names


def test_names_of_every_kind_the_most_frequent_first() -> None:
    for kind, count, first in (
        ("female", 4275, "mary"),
        ("male", 1219, "james"),
        ("surname", 18839, "smith"),
    ):
        found = census_names(kind)
        assert (len(found), next(iter(found))) == (count, first)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert 0 < EVERYBODY - sum(found.values()) < EVERYBODY // 4, "some have other names"
