"""Classes of frequencies: exact, of the cleaned values, and the same for everybody who has the list."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from accord.fields.frequencies import Frequencies, classes_of
from accord.fields.schema import FrequencyField

NO_DIGEST = f"sha256:{'0' * 64}"


def listed(counts: dict[str, int], rest: int = 0) -> Frequencies:
    return Frequencies(pa.array(counts, pa.large_string()), np.array(list(counts.values()), np.int64), rest)


def field(*shares: object, **options: object) -> FrequencyField:
    said = {"type": "frequency", "list": "ours", "digest": NO_DIGEST, "shares": list(shares)}
    return FrequencyField.model_validate(said | options)


def found(spec: FrequencyField, of: Frequencies, *texts: str | None) -> list[int | None]:
    return classes_of(spec, of).of(pa.array(texts, pa.large_string())).to_pylist()


def test_a_class_is_the_number_of_shares_that_a_value_is_below() -> None:
    of = listed({"smith": 100, "jones": 99, "snow": 10, "quill": 9}, rest=782)
    spec = field("1/10", "1/100")
    assert found(spec, of, "smith", "jones", "snow", "quill", "nobody", None) == [0, 1, 1, 2, 2, None]
    assert classes_of(spec, of).sizes() == [1, 2, 1]
    assert classes_of(spec, of).listed(pa.array(["snow", "snow", "x", None], pa.large_string())) == 2


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 10**12 - 1), min_size=1),
    st.integers(0, 10**12),
    st.lists(st.fractions(0, 1).filter(bool), min_size=1, max_size=5, unique=True),
)
def test_shares_are_compared_exactly(counts: dict[str, int], rest: int, shares: list[Fraction]) -> None:
    shares = sorted(
        {*shares, Fraction(next(iter(counts.values())), sum(counts.values()) + rest)}, reverse=True
    )
    spec = field("1").model_copy(update={"shares": tuple(shares)})
    total = sum(counts.values()) + rest
    told = found(spec, listed(counts, rest), *counts, "not listed")
    assert told == [*(sum(Fraction(n, total) < s for s in shares) for n in counts.values()), len(shares)]


def test_the_list_is_cleaned_as_cells_are_and_counts_of_one_value_add_up() -> None:
    of = listed({"o'brien": 40, "obrien": 40, "o brien": 5, "josé": 15, "...": 900})
    plain, cleaned = field("1/15"), field("1/15", clean=["accents", "punctuation"])
    assert found(plain, of, "obrien", "o'brien", "jose") == [1, 1, 1]
    assert found(cleaned, of, "obrien", "o brien", "jose") == [0, 1, 1], "what is nothing counts all the same"


def test_the_digest_is_that_of_the_content_in_any_order() -> None:
    of = listed({"smith": 3, "ängström": 2, "jones": 1}, rest=7)
    body = "accord frequencies 1\n\t7\njones\t1\nsmith\t3\nängström\t2\n"
    assert of.digest == f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"
    assert of.digest == listed({"jones": 1, "smith": 3, "ängström": 2}, rest=7).digest
    others = [
        listed({"smith": 3, "ängström": 2, "jones": 1}),
        listed({"smith": 2, "ängström": 3, "jones": 1}, 7),
    ]
    assert len({of.digest, *(one.digest for one in others)}) == 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shares": []}, "at least 1"),
        ({"shares": ["1/100", "1/10"]}, "must fall from one to the next"),
        ({"shares": ["1/10", 0.1]}, "must fall from one to the next"),
        ({"shares": [0]}, "above 0 and at most 1"),
        ({"shares": ["3/2"]}, "above 0 and at most 1"),
        ({"shares": [f"1/{n}" for n in range(2, 19)]}, "at most 16"),
        ({"digest": "md5:00"}, "pattern"),
        ({"list": "../names"}, "pattern"),
        ({"derive": "soundex"}, "a frequency cannot be derived by 'soundex'; remove derive"),
    ],
)
def test_faults_of_the_field(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        field("1/10", **options)
