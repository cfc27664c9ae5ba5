"""Release names: the same for the same release, another for any other, and nothing of them is data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.naming import fold_name
from accord.privacy.calibration import calibrate
from accord.privacy.events import Cost, Promise, released
from accord.privacy.release import release_key, snapshot_place

EVENT = released(calibrate("geometric", "1.6", "2^-40"))
BASE: dict[str, Any] = {
    "account": "north",
    "snapshot": "2026-11",
    "run": "r1",
    "place": b"A grid 1",
    "event": EVENT,
}
CHANGES: list[dict[str, Any]] = [
    {"account": "south"},
    {"snapshot": "2026-12"},
    {"snapshot": None},
    {"place": b"B grid 1"},
    {"place": b"A grid 2"},
    {"event": released(calibrate("geometric", "0.8", "2^-40"))},
    {"event": released(calibrate("geometric", "1.6", "2^-41"))},
    {"event": released(calibrate("geometric", "1.6", "2^-40", 2))},
    {"event": released(calibrate("gaussian", "1.6", "2^-40"))},
    {"event": Promise(Cost(Fraction(8, 5), Fraction(1, 2**40)))},
    {"account": "north2", "snapshot": "026-11"},
]


def test_the_key_is_fixed() -> None:
    """Or a new version would draw, and charge, every stored release anew."""
    fixed = {**BASE, "event": Promise(Cost(Fraction(1), Fraction(0)))}
    assert release_key(**fixed).hex() == "0eec38bdb626cd42e235116b4c30e8b11caf277c3c4adaaf10a26ab60f87c3c6"


def test_any_change_gives_another_key() -> None:
    keys = {release_key(**{**BASE, **change}) for change in CHANGES}
    assert len(keys | {release_key(**BASE)}) == len(CHANGES) + 1


def test_the_run_is_in_the_name_exactly_where_there_is_no_snapshot() -> None:
    other = {**BASE, "run": "r2"}
    assert release_key(**other) == release_key(**BASE)
    assert release_key(**{**other, "snapshot": None}) != release_key(**{**BASE, "snapshot": None})
    assert release_key(**{**BASE, "snapshot": "r1"}) != release_key(**{**BASE, "snapshot": None})


@pytest.mark.parametrize(
    "spelt",
    [
        "North",
        "NORTH",
        " north",
        "ｎｏｒｔｈ",
        "no\N{LATIN SMALL LETTER R}th",
        "North\N{NO-BREAK SPACE}",
        "north\N{VARIATION SELECTOR-16}",
    ],
)
def test_spellings_of_a_name_are_one(spelt: str) -> None:
    assert fold_name(spelt) == "north"
    assert release_key(**{**BASE, "account": spelt}) == release_key(**BASE)
    assert snapshot_place(spelt, spelt, b"") == snapshot_place("north", "north", b"")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Straße", "STRASSE"), ("e\N{COMBINING ACUTE ACCENT}t", "\N{LATIN SMALL LETTER E WITH ACUTE}t")],
)
def test_combining_forms_and_letters_that_fold_are_one(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@given(st.text())
def test_folding_ends(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)
