"""What a field says of how its value is made: read, judged, written as little as possible."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from accord.fields.recipe import Drop, Prefix
from accord.fields.schema import FieldSpec, agreed_columns, is_made

TEXT: dict[str, Any] = {"type": "text", "encoder": "hash"}
NUMBER: dict[str, Any] = {"type": "number", "min": 0, "max": 9999, "step": 1}
DATE: dict[str, Any] = {"type": "date", "min": "1900-01-01", "max": "2030-12-31"}


def read(**spec: Any) -> FieldSpec:
    return TypeAdapter(FieldSpec).validate_python(spec)


@pytest.mark.parametrize("plain", [TEXT, NUMBER, DATE, {"type": "latitude"}])
def test_what_is_not_said_is_not_written(plain: dict[str, Any]) -> None:
    written = read(**plain).model_dump(mode="json")
    assert not {"from", "sources", "clean", "missing_values", "derive"} & set(written)
    spelt: dict[str, Any] = {"from": "x", "clean": [], "missing_values": [], "derive": None}
    assert read(**plain, **spelt).model_dump(mode="json") == written | {"from": "x"}


def test_what_is_said_is_read_again() -> None:
    steps = ["titles", {"drop": ["von", "van"]}, "accents"]
    said = {"from": ["given", "surname"], "clean": steps, "missing_values": ["U"], "derive": {"prefix": 3}}
    spec = read(**TEXT, **said)
    assert spec.clean[1] == Drop(drop=("von", "van"))
    assert spec.derive == Prefix(prefix=3)
    written = spec.model_dump(mode="json")
    assert {key: written[key] for key in said} == said
    assert read(**written) == spec
    assert read(**TEXT, **{"from": ["given"]}).model_dump(mode="json")["from"] == "given"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (TEXT | {"clean": ["acents"]}, "'acents' is not a cleaning step. Did you mean 'accents'?"),
        (TEXT | {"clean": ["xyz"]}, "Known are: accents, punctuation, digits only"),
        (TEXT | {"clean": [7]}, "a step is a word such as"),
        (TEXT | {"clean": [{"drop": ["a b"]}]}, "drop takes single words"),
        (TEXT | {"clean": [{"drop": []}]}, "drop is a list of words"),
        (TEXT | {"clean": [{"dorp": ["a"]}]}, "a step is a word such as"),
        (
            TEXT | {"derive": "soundx"},
            "'soundx' is not something that can be derived. Did you mean 'soundex'?",
        ),
        (TEXT | {"derive": "prefix"}, "must say how many characters"),
        (TEXT | {"derive": {"prefix": 0}}, "1 to 64"),
        (TEXT | {"derive": {"prefix": True}}, "1 to 64"),
        (TEXT | {"derive": {"prefix": 2, "suffix": 2}}, "must be a word such as"),
        (TEXT | {"derive": "swapped"}, "a text cannot be derived by 'swapped'; it can be: prefix"),
        (TEXT | {"derive": "year", "clean": ["spaces"]}, "read by the format of their column"),
        (TEXT | {"derive": "year", "from": ["a", "b"]}, "one date comes from one column"),
        (TEXT | {"from": []}, "must name a column"),
        (TEXT | {"from": ["a", "a"]}, "must name each column once"),
        (TEXT | {"from": 3}, "must name a column, or a list"),
        (TEXT | {"missing_values": "U"}, "must be a list of texts, each in quotes"),
        (TEXT | {"missing_values": [" "]}, "an empty cell is missing anyway"),
        (
            NUMBER | {"derive": "soundex"},
            "a number cannot be derived by 'soundex'; it can be: prefix, suffix",
        ),
        (NUMBER | {"from": ["a", "b"]}, "a number comes from one column"),
        ({"type": "latitude", "derive": "year"}, "a latitude cannot be derived by 'year'; remove derive"),
        (DATE | {"clean": ["spaces"]}, "not cleaned; remove clean"),
        (DATE | {"derive": "year"}, "a date cannot be derived by 'year'; it can be: swapped"),
        (DATE | {"derive": "swapped"}, 'a swapped date needs missing = "differs"'),
        (DATE | {"derive": "swapped", "missing": "skip"}, 'a swapped date needs missing = "differs"'),
    ],
)
def test_what_cannot_be_is_said_with_what_can(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(**said)
    (slip,) = caught.value.errors()
    assert words in slip["msg"]


def test_columns_and_fields_that_are_made() -> None:
    fields = {
        "given": read(**TEXT),
        "sound": read(**TEXT, **{"from": "given", "derive": "soundex"}),
        "name": read(**TEXT, **{"from": ["given", "surname"]}),
    }
    assert agreed_columns(fields) == ("given", "surname")
    assert agreed_columns(fields, ("sound", "city")) == ("given", "surname", "city")
    assert [is_made(name, fields) for name in ("given", "sound", "name", "city")] == [
        False,
        True,
        True,
        False,
    ]
