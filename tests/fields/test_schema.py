"""Fields of the agreement: codes, bits, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from accord.fields.schema import FieldSpec


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
    assert spec(type="text", encoder={"kind": "letters", "length": 12}).bits == 12 * 6
    assert spec(type="text", encoder={"kind": "letters", "length": 5, "alphabet": "0123456789"}).bits == 5 * 4


def test_of_other_on_texts_only_what_is_said_is_written() -> None:
    assert "other" not in spec(type="text", encoder="hash", other="error").model_dump()
    letters = {"kind": "letters", "length": 3}
    assert spec(type="text", encoder=letters, other="skip").model_dump()["other"] == "skip"


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
        ({"type": "text", "encoder": "hash", "other": "skip"}, "every text has a hash"),
        ({"type": "text", "encoder": {"kind": "letters", "length": 25}}, "less than or equal to 24"),
        ({"type": "text", "encoder": {"kind": "letters", "length": 5, "alphabet": "aba"}}, "appears twice"),
        (
            {"type": "text", "encoder": {"kind": "letters", "length": 5, "alphabet": "aBc\t"}},
            r"no folded text holds 'B' or '\\t'",
        ),
        ({"type": "number", "min": 0, "max": 1, "step": 1, "other": "bin"}, "'error', 'skip' or 'missing'"),
        ({"type": "txt"}, "'txt'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        spec(**given)
