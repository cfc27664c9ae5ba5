"""What goes wrong between a person and the two tables, each kind at its rate.

A rate is the share of people, among those to whom it can happen, of whose two records one has the error;
which one is a toss of a coin. So a true pair has each kind at most once, a record that is in one table only
is as faulty as any, and what is listed for a pair has changed a cell. (Two may undo each other, as a doubled
letter and one too few: in 1 of 10,000 pairs.) Kinds are independent of each other, so that more of them leave
fewer pairs without any, as Π(1 − rate).

A field that is missing has no other error. By default a pair has 1.5 errors on average, a fifth of the pairs
have none, and a tenth lacks a given name, surname, birth date, postcode or phone on one side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from accord.arguments import require
from accord.datasets.people_events import EVENTS, Record
from accord.datasets.people_world import Flags, People
from accord.errors import UsageError

FIELDS = ("given", "middle", "surname", "sex", "birth", "street", "city", "postcode", "phone", "email")


def _missing() -> dict[str, float]:
    return {
        **{"given": 0.005, "surname": 0.005, "birth": 0.02, "postcode": 0.03, "phone": 0.044},
        **{"middle": 0.05, "sex": 0.01, "street": 0.02, "city": 0.01, "email": 0.05},
    }


@dataclass(frozen=True)
class Errors:
    """How often each kind of error happens."""

    keyboard: float = 0.21
    phonetic: float = 0.14
    scanning: float = 0.09
    transposed: float = 0.09
    inserted: float = 0.07
    deleted: float = 0.08
    nickname: float = 0.18
    maiden: float = 0.18
    swapped_names: float = 0.03
    swapped_date: float = 0.06
    misdated: float = 0.03
    moved: float = 0.17
    new_phone: float = 0.08
    new_email: float = 0.06
    format: float = 0.16
    missing: Mapping[str, float] = field(default_factory=_missing)
    """By field."""

    def __post_init__(self) -> None:
        require("missing", self.missing, "a dictionary of fields and rates, such as {'phone': 0.05}", Mapping)
        unknown = [name for name in self.missing if name not in FIELDS]
        wrong = [name for name, rate in self.rates.items() if not 0 <= rate <= 1]
        if unknown:
            raise UsageError(
                problem=f"People have no field {', '.join(unknown)}; they have {', '.join(FIELDS)}."
            )
        if wrong:
            raise UsageError(problem=f"Rates are from 0 to 1; {', '.join(wrong)} is not.")

    @property
    def rates(self) -> dict[str, float]:
        """By kind, as the truth calls it: a missing phone is `missing_phone`."""
        kinds = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "missing"}
        return kinds | {f"missing_{name}": self.missing[name] for name in FIELDS if name in self.missing}

    def scaled(self, factor: float) -> Errors:
        """All of them so many times as often, none more often than always."""
        kinds = {name: min(1.0, rate * factor) for name, rate in self.rates.items()}
        lacks = {name: kinds.pop(f"missing_{name}") for name in FIELDS if name in self.missing}
        return replace(self, **kinds, missing=lacks)


def draw_errors(
    rng: np.random.Generator, count: int, errors: Errors
) -> tuple[Mapping[str, Flags], Mapping[str, Flags]]:
    """By kind, to which of so many people it is to happen, in the first table and in the second."""
    first, second = {}, {}
    for kind, rate in errors.rates.items():
        drawn = rng.random(count)
        first[kind], second[kind] = drawn < rate / 2, (drawn >= rate / 2) & (drawn < rate)
    return first, second


def write_down(
    rng: np.random.Generator, people: People, due: Mapping[str, Flags]
) -> tuple[Record, Mapping[str, Flags]]:
    """The people as a table has them, and which of the errors that were due in it came about."""
    there = {name: _filled(people, name) for name in FIELDS}
    came: dict[str, Flags] = {}
    for kind in (kind for kind in due if kind.startswith("missing_")):
        name = kind.removeprefix("missing_")
        came[kind] = due[kind] & there[name]
        there[name] = there[name] & ~due[kind]
    for kind, happen in EVENTS.items():
        record = Record(people, there, np.zeros(len(people), np.bool_))
        happen(rng, record, np.flatnonzero(due[kind]))
        came[kind] = record.changed
    return record, came


def _filled(people: People, name: str) -> Flags:
    column = people.female if name == "sex" else getattr(people, name)
    return column != b"" if column.dtype.kind == "S" else np.ones(len(people), np.bool_)
