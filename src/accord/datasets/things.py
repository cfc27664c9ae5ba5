"""Things in the tables of two organisations that describe them in their own words: products, places, works.

A thing has a maker, a sort and a model, of which its names and descriptions are made, and values of all kinds
of columns. The other table says it in other words: some are left out or added, stand in another order or are
mistyped; values are off by a little, another's, or missing. Words are made of syllables, few of them common
and most rare, as words are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.datasets.people_typos import SLIPS
from accord.datasets.people_world import Addresses, draw_addresses

Random = np.random.Generator
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.str_]
_SYLLABLES = np.array(
    [
        *("ba", "cor", "den", "fi", "gra", "hel", "jo", "kla", "lu", "mer"),
        *("nox", "pri", "qui", "ro", "stel", "tur", "ul", "vex", "wy", "zan"),
    ]
)
_VOCABULARY = 4_000
_MAKERS, _SORTS = 120, 60
_LETTERS = np.array([*"ABCDEFGHJKLMNPRSTUVWXYZ"])
_OTHER_WORDS = 0.05
"""Of how many things the other table has altogether other words or values."""
_MISSING = 0.05
_MISTYPED = 0.08
_BRANCHES = 0.2
"""Of organisations."""


@dataclass(frozen=True)
class Things:
    """Things of a world, by their numbers."""

    maker: Ints
    sort: Ints
    words: Ints
    """Some of each thing's own."""
    model: Words
    places: Addresses

    @property
    def count(self) -> int:
        return len(self.maker)


def draw_things(rng: Random, count: int) -> Things:
    """So many, of makers and sorts of which some are common."""
    letters = _join(_LETTERS[rng.integers(0, len(_LETTERS), (count, 3))])
    return Things(
        maker=_common(rng, _MAKERS, count),
        sort=_common(rng, _SORTS, count),
        words=_common(rng, _VOCABULARY, (count, 40)),
        model=np.char.add(letters, rng.integers(100, 100_000, count).astype(str)),
        places=draw_addresses(rng, count),
    )


def name_things(rng: Random, things: Things, whose: Ints, other: bool, product: bool) -> pa.Array:
    """Names of things as one table has them: of a product with its maker, sort and model, else of some words
    of its own; the `other` table has them in other words."""
    words, count = _vocabulary(), things.count
    length = 2 + (things.words[:, -1] % 4)
    own = words[things.words[:, :5]]
    shown = np.arange(5) < length[:, None]
    parts = [(own, shown)]
    if product:
        makers = np.char.capitalize(words[things.maker + _VOCABULARY // 2])
        sorts = words[things.sort * 2 + 1], words[things.sort * 2 + 2]
        known = np.ones((count, 1), bool)
        parts = [
            *((column[:, None], known) for column in (makers, *sorts)),
            (own, shown & (np.arange(5) < 3)),
            (things.model[:, None], known),
        ]
    text = np.concatenate([one for one, _ in parts], axis=1)[whose]
    there = np.concatenate([one for _, one in parts], axis=1)[whose]
    return _tell(rng, text, there, other, 0.15 if product else 0.1)


def name_companies(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    """Names of organisations without legal forms: words of its own, and often what it does and where.
    Branches of a chain share both, and differ by a number or a place."""
    words, (chance, second, place, number) = _vocabulary(), things.words[:, -5:-1].T * 7919 % 997 / 997
    is_branch = chance < _BRANCHES
    numbered = number < np.where(is_branch, 0.7, 0.05)
    text = [
        np.where(is_branch, words[things.maker + _VOCABULARY // 2], words[things.words[:, 0]]),
        words[things.words[:, 1]],
        words[np.where(is_branch, things.maker % _SORTS, things.sort) * 2 + 1],
        np.char.decode(things.places.city, "ascii"),
        (things.words[:, 2] * 7919 % 99 + 1).astype(str),
    ]
    there = [
        np.ones(things.count, bool),
        ~is_branch & (second < 0.5),
        is_branch | (second < 0.8),
        (place < 0.3) | (is_branch & ~numbered),
        numbered,
    ]
    return _tell(rng, np.stack(text, axis=1)[whose], np.stack(there, axis=1)[whose], other, 0.1)


def describe_things(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    """Longer texts: each table takes its own choice of what there is to say."""
    words = _vocabulary()
    text = np.concatenate([words[things.words[:, :24]], things.model[:, None]], axis=1)[whose]
    there = rng.random(text.shape) < (0.6 if other else 0.75)
    return _tell(rng, text, there, other, 0.1)


def draw_place(rng: Random, things: Things, whose: Ints, other: bool, which: str) -> pa.Array:
    """Its `street`, `city`, `postcode` or phone (`line`)."""
    cells = np.char.decode(getattr(things.places, which)[whose], "ascii")
    return _err(rng, _slip(rng, cells, _MISTYPED if other else 0.0), other)


def draw_email(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    cells = np.char.add("info@", np.char.add(_vocabulary()[things.words[:, 6]], ".example"))[whose]
    return _err(rng, _slip(rng, cells, _MISTYPED if other else 0.0), other)


def draw_category(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    """One of some values, by the maker: things of one maker have the same."""
    values = np.char.capitalize(_vocabulary()[things.maker + _VOCABULARY // 2])
    return _err(rng, values[whose], other)


def draw_flag(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    return _err(rng, np.array(["yes", "no"])[things.sort[whose] % 2], other)


def draw_code(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    """A number that both know: mostly the same, sometimes mistyped."""
    cells = np.char.add(things.model, (things.words[:, 0] % 1_000).astype(str))[whose]
    return _err(rng, _slip(rng, cells, _MISTYPED if other else 0.0), other)


def draw_number(rng: Random, things: Things, whose: Ints, other: bool, most: int = 300) -> pa.Array:
    """A whole number, mostly a small one; the other table may have the next one."""
    share = (things.words[:, 1] * 7919 + things.words[:, 2] * 104_729) % 9_973 / 9_973
    cells = np.floor(most * share**2)[whose]
    near = cells + rng.choice([-1, 0, 1], len(cells), p=[0.06, 0.88, 0.06] if other else [0, 1, 0])
    return _err(rng, near.clip(0, most).astype(np.int64).astype(str), other)


def draw_year(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    recent = draw_number(rng, things, whose, other, 60).cast(pa.int64())
    return pc.subtract(2025, recent).cast(pa.string())


def draw_price(rng: Random, things: Things, whose: Ints, other: bool) -> pa.Array:
    """By the sort and the thing; each shop has its own."""
    usual = 20.0 * 1.08**things.sort * (1 + things.words[:, 3] % 17 / 8)
    own = np.where(rng.random(len(whose)) < 0.6, 0.0, rng.normal(0, 0.12, len(whose))) if other else 0.0
    return _err(rng, np.char.mod("%.2f", (usual[whose] * np.exp(own)).round(2)), other)


def draw_day(rng: Random, things: Things, whose: Ints, other: bool, days: int | None = None) -> pa.Array:
    """A day of some decades; the other table may have one soon after. Or one of so many `days`, as of
    bookings and visits: the other table often has a later one."""
    first, span = np.datetime64("2000-01-01"), days or 9_000
    shares = [0.9, 0.05, 0.03, 0.02] if days is None else [0.6, 0.2, 0.15, 0.05]
    day = (things.words[:, 4] * 15_485_863 + things.words[:, 5] * 32_452_843) % 9_000
    day = day if days is None else (day * 7_919 % 9_973) % days
    late = rng.choice([0, 1, 3, 7], len(whose), p=shares) if other else 0
    return _err(rng, np.datetime_as_string(first + (day[whose] + late).clip(0, span - 1)), other)


def draw_words(count: int, turn: int) -> Words:
    """So many words that mean nothing, other ones for each turn."""
    words = np.random.default_rng(turn).permutation(np.unique(_vocabulary()))
    if count <= len(words):
        return words[:count]
    numbers = np.arange(count).astype(str)
    return np.char.add(np.char.add(np.resize(words, count), " "), numbers)


def slip_in(rng: Random, cells: Words, rate: float) -> Words:
    """The cells, some of them mistyped."""
    return _slip(rng, cells, rate)


def err_in(rng: Random, cells: Words, other: bool) -> pa.Array:
    """The cells, some of them missing or another row's."""
    return _err(rng, cells, other)


def _common(rng: Random, count: int, size: int | tuple[int, int]) -> Ints:
    """Numbers below `count`, the first of which come up most."""
    return np.floor(count * rng.random(size) ** 2.5).astype(np.int64)


def _vocabulary() -> Words:
    rng = np.random.default_rng(7)
    words = _join(_SYLLABLES[rng.integers(0, len(_SYLLABLES), (2 * _VOCABULARY, 3))])
    return np.where(rng.random(len(words)) < 0.4, np.char.add(words, "s"), words)


def _join(parts: Words) -> Words:
    word = parts[:, 0]
    for column in parts.T[1:]:
        word = np.char.add(word, column)
    return word


def _tell(rng: Random, text: Words, there: Flags, other: bool, slips: float) -> pa.Array:
    """A text of those words; how much the other table changes differs from thing to thing."""
    rows = len(text)
    if other:
        eager = rng.random((rows, 1)) ** 2
        there = there & (rng.random(text.shape) >= 0.5 * eager)
        turned = rng.random(rows) < 0.15
        text[turned], there[turned] = text[turned][:, ::-1], there[turned][:, ::-1]
        added = _vocabulary()[_common(rng, _VOCABULARY, (rows, 2))]
        text = np.concatenate([text, added], axis=1)
        there = np.concatenate([there, rng.random((rows, 2)) < 0.6 * eager], axis=1)
    cells = np.where(there[:, 0], text[:, 0], "")
    for column in range(1, text.shape[1]):
        cells = np.char.add(cells, np.where(there[:, column], np.char.add(" ", text[:, column]), ""))
    return _err(rng, _slip(rng, np.char.strip(cells), slips if other else 0.0), other)


def _slip(rng: Random, cells: Words, rate: float) -> Words:
    octets = np.char.encode(cells, "ascii")
    made = octets.astype(f"S{octets.dtype.itemsize + 2}")
    for slip in SLIPS.values():
        rows = np.flatnonzero(rng.random(len(made)) < rate / len(SLIPS))
        made[rows] = slip(rng, made[rows])
    return np.char.decode(made, "ascii")


def _err(rng: Random, cells: Words, other: bool) -> pa.Array:
    """The other table has another thing's value now and then; either may have none."""
    if other:
        wrong = rng.random(len(cells)) < _OTHER_WORDS
        cells = np.where(wrong, rng.permutation(cells), cells)
    return pa.array(cells, pa.string(), mask=(rng.random(len(cells)) < _MISSING) | (cells == ""))
