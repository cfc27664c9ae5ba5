"""Every value that a rule accepts for a record: the ball around it, listed.

For a conjunction of predicates over different fields the ball is a product of balls:

    same            the value itself
    hamming ≤ t     all flips of at most t bits                    Σ_{i ≤ t} C(bits, i)
    within t        −t .. t steps                                  2t + 1
    euclidean ≤ θ   the whole steps of the disc or sphere          #{v ∈ Z^d : |v|² ≤ (θ/step)²}

Two records match exactly when the value of the one is in the ball of the other. Each side takes the values of
its own fields, which in a crossed predicate are not the other's. Sizes are exact integers that follow from
the agreement alone; values beyond a field's range are marked, so that every record counts alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, isqrt, prod

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.fields.columns import Columns
from accord.fields.schema import TextField
from accord.protocols.intersection import Listing, Mask, Words, values_of
from accord.ranges import ranges
from accord.rules.rule import And, Euclidean, Hamming, Rule, Same, Within, read_by
from accord.rules.thresholds import Fields, root, squared_steps, within_steps
from accord.side import Side

Listed = Same | Hamming | Within | Euclidean
"""Predicates that have a ball."""
_MOST_COUNTED = 10**7


def ball_faults(rule: Rule) -> Iterator[str]:
    """Why the ball of a record cannot be listed under this rule."""
    for part in _parts(rule):
        if not isinstance(part, Listed):
            yield f"psi-expand cannot list what '{part}' accepts; it takes same, hamming, within, euclidean."
    read = [names_of(rule, side) for side in Side]
    if any(len(set(names)) < len(names) for names in read):
        yield "psi-expand lists the values of each predicate by itself; use each field once on a side."


def names_of(rule: Rule, side: Side) -> tuple[str, ...]:
    """The fields of a side whose values are listed or asked for, in the order of the predicates."""
    return tuple(name for part in _parts(rule) if isinstance(part, Listed) for name in read_by(side, part))


def expansion(rule: Rule, fields: Fields) -> int:
    """How many values the rule accepts for one record, at most: γ of [HMFS17, §5.1]."""
    return prod(_size(part, fields) for part in _parts(rule))


def _parts(rule: Rule) -> tuple[Rule, ...]:
    return rule.parts if isinstance(rule, And) else (rule,)


def _size(part: Rule, fields: Fields) -> int:
    match part:
        case Same():
            return 1
        case Hamming(field, bound):
            spec = fields[field]
            bits = spec.bits if isinstance(spec, TextField) else 0
            return sum(comb(bits, i) for i in range(bound + 1))
        case Within():
            return 2 * _bound(part, fields) + 1
        case Euclidean(names):
            return _lattice(len(names), squared_steps(part, fields))
    raise TypeError(f"no ball: {part}")


def _bound(part: Within, fields: Fields) -> int:
    return min(within_steps(part, fields), _high(part.field, fields))


def _high(field: str, fields: Fields) -> int:
    spec = fields[field]
    return 0 if isinstance(spec, TextField) else spec.high


def _lattice(dimension: int, square: int) -> int:
    """The whole points of a ball."""
    if dimension == 1:
        return 2 * isqrt(square) + 1
    if (2 * isqrt(square) + 1) ** (dimension - 1) > _MOST_COUNTED:
        raise UsageError(problem="The distance spans too many steps for its values to be counted.")
    beside = sum(_lattice(dimension - 1, square - x * x) for x in range(1, isqrt(square) + 1))
    return _lattice(dimension - 1, square) + 2 * beside


@dataclass(frozen=True, eq=False)
class _Offsets:
    """What is XORed or added to the words of some fields: one row an element of the ball."""

    words: Words
    highs: tuple[int, ...] | None
    """The largest value of each word; None where words are XORed."""


class Balls(Listing):
    """The balls of a rule, ready to be listed for any records of one side."""

    def __init__(self, rule: Rule, fields: Fields, side: Side) -> None:
        super().__init__(names_of(rule, side))
        self.size = expansion(rule, fields)
        parts = [part for part in _parts(rule) if isinstance(part, Listed)]
        self._offsets = [(read_by(side, part), _offsets(part, fields)) for part in parts]

    def listed(self, columns: Columns, rows: slice) -> tuple[Words, Mask]:
        """All values of the balls of these records, record after record, and which of them exist."""
        count = len(range(*rows.indices(len(columns[self.names[0]]))))
        element = np.tile(np.arange(self.size), count)
        record = np.repeat(np.arange(count), self.size)
        exists = np.ones(len(element), np.bool_)
        found = []
        for names, offsets in self._offsets:
            values, present = values_of(names, columns, rows)
            element, chosen = np.divmod(element, len(offsets.words))
            words, inside = _applied(values[record], offsets, chosen)
            found.append(words)
            exists &= inside & present[record]
        return np.concatenate(found, axis=1), exists


def _applied(values: Words, offsets: _Offsets, chosen: NDArray[np.int64]) -> tuple[Words, Mask]:
    if offsets.highs is None:
        return values ^ offsets.words[chosen], np.ones(len(values), np.bool_)
    # Steps wrap around below 0 to numbers above every range.
    moved = values + offsets.words[chosen]
    return moved, np.all(moved <= np.array(offsets.highs, np.uint64), axis=1)


def _offsets(part: Listed, fields: Fields) -> _Offsets:
    match part:
        case Hamming(field, bound):
            spec = fields[field]
            return _Offsets(_flips(spec.bits if isinstance(spec, TextField) else 0, bound), None)
        case Within(field):
            bound = _bound(part, fields)
            steps = np.arange(-bound, bound + 1)[:, None]
            return _Offsets(steps.astype(np.uint64), (_high(field, fields),))
        case Euclidean(names):
            highs = tuple(_high(name, fields) for name in names)
            return _Offsets(_discs(len(names), squared_steps(part, fields)).astype(np.uint64), highs)
        case Same(field):
            spec = fields[field]
            return _Offsets(
                np.zeros((1, _width(spec.bits) if isinstance(spec, TextField) else 1), np.uint64), None
            )


def _width(bits: int) -> int:
    return (bits + 63) // 64


def _flips(bits: int, bound: int) -> Words:
    """Every choice of at most `bound` bits, as words with those bits set."""
    last, words = np.array([-1]), np.zeros((1, _width(bits)), np.uint64)
    blocks = [words]
    for _ in range(bound):
        # One more bit, behind the last one, so that every choice comes up once.
        bit = ranges(last + 1, np.full(len(last), bits))
        words = np.repeat(words, bits - 1 - last, axis=0)
        words[np.arange(len(bit)), bit // 64] |= np.uint64(1) << (bit % 64).astype(np.uint64)
        blocks.append(words)
        last = bit
    return np.concatenate(blocks)


def _discs(dimension: int, square: int) -> NDArray[np.int64]:
    """The whole points of a ball, one a row."""
    radius = root(square)
    points = np.zeros((1, 0), np.int64)
    for _ in range(dimension):
        step = np.arange(-radius, radius + 1)
        points = np.column_stack([np.repeat(points, len(step), axis=0), np.tile(step, len(points))])
        points = points[np.sum(points**2, axis=1) <= square]
    return points
