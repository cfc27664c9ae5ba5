"""Fields of the agreement: codes, bits, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from accord.records.schema import FieldSpec


def spec(**given: Any) -> Any:
    return TypeAdapter(FieldSpec).validate_python(given)


def test_codes() -> None:
    assert spec(type="number", min=-1, max=1, step="0.5").high == 4
    assert spec(type="category", values=["a", "b"]).high == 1
    assert spec(type="category", values=["a", "b"], other="bin").high == 2
    assert spec(type="date", min="2026-01-01", max="2026-01-31").high == 30
    assert spec(type="latitude").high == 180_000_000
    assert spec(type="text", encoder="paper").bits == 50
    assert spec(type="text", encoder="hash").bits == 80


def test_a_preset_is_spelt_out() -> None:
    assert spec(type="text", encoder="paper").model_dump()["encoder"] == {
        "kind": "bloom", "bits": 50, "hashes": 1, "grams": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"type": "number", "min": 0, "max": 1, "step": 0}, "step must be above 0"),
        ({"type": "number", "min": 1, "max": 0, "step": 1}, "max must not be below min"),
        ({"type": "number", "min": "0.5", "max": 3, "step": 1}, "multiples of step"),
        ({"type": "number", "min": 0, "max": 10**9, "step": "1e-9"}, "too many steps"),
        ({"type": "latitude", "max": 91}, "less than or equal to 90"),
        ({"type": "category", "values": ["a", "A "]}, "differ from each other"),
        ({"type": "number", "min": 0, "max": "0.75", "step": "0.5"}, "multiples of step"),
        ({"type": "category", "values": ["é", "e\u0301"]}, "differ from each other"),
        ({"type": "category", "values": [" "]}, "empty text"),
        ({"type": "date", "min": "2026-02-01", "max": "2026-01-01"}, "not be before min"),
        ({"type": "text", "encoder": "papr"}, "hash"),
        ({"type": "number", "min": 0, "max": 1, "step": 1, "other": "bin"}, "'error' or 'skip'"),
        ({"type": "txt"}, "'txt'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        spec(**given)
