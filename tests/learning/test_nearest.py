"""The nearest threshold of Dice follows the measure and the filter, and no salt or data."""

from __future__ import annotations

from fractions import Fraction

import jellyfish
from pydantic import TypeAdapter

from accord.fields.schema import FieldSpec, TextField
from accord.learning.nearest import nearest_dice


def field(bits: int, **more: object) -> TextField:
    encoder = {"kind": "bloom", "bits": bits, "hashes": 1, "grams": 2}
    found = TypeAdapter(FieldSpec).validate_python({"type": "text", "encoder": encoder, **more})
    assert isinstance(found, TextField)
    return found


def at_least(bound: float) -> Fraction:
    return nearest_dice("n", field(256), lambda a, b: jellyfish.jaro_winkler_similarity(a, b) >= bound)


def test_stricter_measures_have_stricter_thresholds() -> None:
    found = [at_least(bound) for bound in (0.7, 0.85, 0.92, 0.999)]
    assert found == sorted(found)
    assert found[0] < found[2] < 1
    assert found[-1] == 1
    edits = [
        nearest_dice("n", field(256), lambda a, b, most=most: jellyfish.levenshtein_distance(a, b) <= most)  # type: ignore[misc]
        for most in (0, 1, 2)
    ]
    assert edits[0] == 1 > edits[1] > edits[2]


def test_a_crowded_filter_wants_more() -> None:
    """In few bits strangers share many."""
    found = [
        nearest_dice("n", field(bits), lambda a, b: jellyfish.levenshtein_distance(a, b) <= 1)
        for bits in (16, 512)
    ]
    assert found[0] > found[1]


def test_how_a_field_is_made_decides_nothing() -> None:
    made = field(256, clean=["digits only"], derive={"prefix": 1}, **{"from": ["a", "b"]})
    assert nearest_dice("n", made, lambda a, b: a == b) == 1
