"""Release keys: the same for the same release, different for any other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accord.errors import UsageError
from accord.privacy.release import release_key

BASE: dict[str, Any] = {
    "counts": np.array([3, 0, 5], dtype=np.int64),
    "blocking": b"grid 1",
    "side": "A",
    "mechanism": "geometric",
    "epsilon": Fraction(8, 5),
    "delta": Fraction(1, 2**40),
}
CHANGES: list[dict[str, Any]] = [
    {"counts": np.array([3, 0, 6], dtype=np.int64)},
    {"counts": np.array([3, 0, 5, 0], dtype=np.int64)},
    {"counts": np.array([0, 3, 5], dtype=np.int64)},
    {"blocking": b"grid 2"},
    {"side": "B"},
    {"mechanism": "paper"},
    {"epsilon": Fraction(4, 5)},
    {"delta": Fraction(1, 2**41)},
    {"side": "Ag", "mechanism": "eometric"},
]


def test_the_key_is_fixed() -> None:
    assert release_key(**BASE).hex() == "0d215e4c9702c658d5ce7f38c517803e18b0989155f7da35597df731472489e5"


def test_equal_releases_have_equal_keys_whatever_their_arrays_look_like() -> None:
    strided = np.array([3, 9, 0, 9, 5, 9], dtype=np.int32)[::2]
    assert release_key(**{**BASE, "counts": strided, "epsilon": Fraction("1.6")}) == release_key(**BASE)


def test_any_change_gives_another_key() -> None:
    keys = {release_key(**{**BASE, **change}) for change in CHANGES}
    assert len(keys | {release_key(**BASE)}) == len(CHANGES) + 1


@pytest.mark.parametrize("counts", [np.array([1.0]), np.array([-1]), np.array([[1]])])
def test_what_are_no_counts_is_refused(counts: Any) -> None:
    with pytest.raises(UsageError):
        release_key(**{**BASE, "counts": counts})
