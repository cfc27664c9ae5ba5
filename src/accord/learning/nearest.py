"""The threshold of Dice that says most nearly what another measure of texts says.

Measures on letters have no exact counterpart on filters. How near a threshold comes depends on the field's
filter, so it is found by trying: on pairs of names of a public list, each with slips and beside other names,
the threshold is taken on which both measures differ for the fewest pairs. Nobody's records are used.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.datasets.people_typos import SLIPS
from accord.datasets.people_world import Text, census
from accord.fields.columns import Bits
from accord.fields.encoders import encode
from accord.fields.schema import TextField

Measure = Callable[[str, str], bool]
"""Whether two texts are near enough."""

_NAMES = 400
_TWENTIETHS = range(4, 21)


def nearest_dice(field: str, spec: TextField, near: Measure) -> Fraction:
    """The least Dice, in twentieths, that tells the pairs that are near from the others best."""
    left, right = _pairs()
    wanted = np.array([near(a, b) for a, b in zip(left, right, strict=True)])
    plain = spec.model_copy(update={"clean": (), "derive": None, "sources": (), "missing": "differs"})
    bits = [encode(field, plain, pa.array(texts, pa.large_string()), "").column for texts in (left, right)]
    found = _dice(*bits)
    wrong = {step: int(((found >= step / 20 - 1e-9) != wanted).sum()) for step in _TWENTIETHS}
    # Of several that do as well the strictest.
    return Fraction(min(reversed(_TWENTIETHS), key=wrong.__getitem__), 20)


@cache
def _pairs() -> tuple[list[str], list[str]]:
    """Names with one and with two slips, and beside the next in the alphabet."""
    rng = np.random.default_rng(0)
    lists = census()
    names = np.concatenate([lists[kind].texts[:_NAMES] for kind in ("female", "male", "surname")])
    once = _slipped(rng, names)
    ordered = np.sort(names)
    left = np.concatenate([names, names, ordered])
    right = np.concatenate([once, _slipped(rng, once), np.roll(ordered, 1)])
    return [text.decode() for text in left.tolist()], [text.decode() for text in right.tolist()]


def _slipped(rng: np.random.Generator, names: Text) -> Text:
    made, kinds = names.copy(), rng.integers(0, len(SLIPS), len(names))
    for number, slip in enumerate(SLIPS.values()):
        made[kinds == number] = slip(rng, names[kinds == number])
    return made


def _dice(a: object, b: object) -> NDArray[np.float64]:
    assert isinstance(a, Bits)
    assert isinstance(b, Bits)
    one, other = a.unpack(), b.unpack()
    either = one.sum(axis=1) + other.sum(axis=1)
    return 2 * (one * other).sum(axis=1) / np.maximum(either, 1)
