"""Choose the keys of routing and their caps: most matches, fewest comparisons, few uncovered records.

Each key is tried on synthetic pairs (which of those that the rule accepts share it) and on synthetic tables
of the stated size (how many records share it, protocols/sharing.py). A set of keys with caps is worth

    share of the pairs found − least gain · Σ price

where the price of a pass is its cap, which its comparisons are proportional to, and what its own session
costs. A set is worth more if it finds matches of which one field is wrong (wrong_fields.py), up to a share
that is enough. So each pass earns its least gain times its price, or it is not taken. Sets that leave more
records of a side uncovered than wished are not considered: finer keys buy coverage, not higher caps. Every
field errs in ways that no synthetic pair shows, so a key of more fields pays a little more.

The search is greedy from several starts, each improved by exchanging one pass at a time. It is deterministic:
the same fields, rule and sizes give the same passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from accord.planning.wrong_fields import SURVIVING, WRONG, WrongField
from accord.protocols.sharing import Sharers
from accord.rules.blocking.base import AnyPart
from accord.side import Side

Flags = NDArray[np.bool_]
Octets = NDArray[np.uint8]
Floats = NDArray[np.float64]

CAPS = (1, 2, 3, 4, 8)
MOST_PASSES = 8
LEAST_GAIN = 0.0006
"""Of all pairs, for each record that a pass has room for in a key."""
_PLAIN = 0.97
"""By which a key of one field more is cheaper at the same price."""
_SESSION = 5_000
"""Records whose comparisons, one each, take as long as the session of a pass."""
_STARTS, _SHAKEN = 24, 0.5
"""From how many starts the search goes, and by how much their ranks are shaken: the standard deviation of a
factor's logarithm."""
_GROUP = 5
"""Uncovered records that share a key, about."""
_ROUNDS = 20
_SLACK = 1e-9
_KNOWN = 128
"""Sets of passes of which it is remembered what they leave apart."""
_COUNTED = 1 << 18
"""Records of a table whose coverage is followed from pass to pass."""
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
"""Ones in an octet."""


@dataclass(frozen=True, eq=False)
class Key:
    """A key that was tried."""

    fields: tuple[str, ...]
    parts: tuple[AnyPart, ...]
    met: Flags
    """Which pairs share it."""
    sharers: Mapping[Side, Sharers]
    """In a table of each side."""
    times: int = 1
    """Keys of a record, at the most."""
    reads: frozenset[str] = frozenset()
    """Columns that decide it."""


@dataclass(frozen=True)
class ChosenKey:
    """A key with its cap."""

    key: Key
    cap: int


@dataclass(frozen=True, eq=False)
class _Over:
    """Uncovered records of a side."""

    flags: Octets
    """Of some records of its table, one bit each."""
    share: float
    """Of all its records, in a table of the stated size."""


_NONE = _Over(np.zeros(1, np.uint8), 0.0)


def _over(sharers: Sharers, cap: int) -> _Over:
    """Those of one pass."""
    flags = sharers.over(cap)
    some = np.packbits(flags[:: -(-len(flags) // _COUNTED)])
    return _Over(some, sharers.growth(cap) * _ones(some) / (8 * len(some)))


def _unite(passes: Sequence[_Over], before: _Over = _NONE) -> _Over:
    """Those of all passes. What a pass adds grows with the table as what it has."""
    for one in passes:
        more = _ones(one.flags & ~before.flags)
        share = before.share + (one.share * more / _ones(one.flags) if more else 0.0)
        before = _Over(one.flags | before.flags, share)
    return before


def _ones(flags: Octets) -> int:
    return int(_ONES[flags].sum())


@dataclass(frozen=True, eq=False)
class _Candidate:
    key: int
    cap: int
    price: float
    placed: float
    """How likely both records of a pair with this key find a place."""
    over: Mapping[Side, _Over]
    """By side that is to be covered."""

    @property
    def uncovered(self) -> float:
        """The larger share of a side."""
        return max((one.share for one in self.over.values()), default=0.0)


def choose_keys(
    keys: Sequence[Key],
    queries: int,
    sides: Sequence[Side],
    covered: float,
    least: float = LEAST_GAIN,
    most_cap: int = CAPS[-1],
    wrong: Sequence[WrongField] = (),
) -> list[ChosenKey]:
    """The best set found. `queries`: how many a pass asks with a cap of 1. `covered`: the least share of
    records to be covered on each of these sides. `least`: what a pass must find for its price, as a share of
    the pairs. `most_cap`: the largest cap that the tables leave room for. `wrong`: pairs with a wrong column
    that the set should find as well."""
    if not any(key.met.any() for key in keys):
        return []
    for most in (keep_margin(1.0 - covered, min(queries, _COUNTED)), 1.0 - covered):
        search = _Search(keys, sides, most, wrong)
        search.add_candidates(queries, least, most_cap)
        found = max((search.improve(search.start(number)) for number in range(_STARTS)), key=search.worth)
        if found:
            break
    return [ChosenKey(keys[one.key], one.cap) for one in found]


def keep_margin(share: float, records: int) -> float:
    """The largest expected share whose double standard deviation keeps a table of so many records within this
    share. Uncovered records come in groups, so x groups have a standard deviation of √x groups."""
    spread = sqrt(_GROUP / max(1, records))
    return (sqrt(spread**2 + share) - spread) ** 2


class _Pairs:
    """Which keys pairs share: each set of keys once, with its share of the pairs."""

    def __init__(self, met: Flags) -> None:
        packed, counts = np.unique(np.packbits(met, axis=0), axis=1, return_counts=True)
        self.met = np.unpackbits(packed, axis=0, count=len(met)).astype(np.float32)
        self.shares = (counts / counts.sum()).astype(np.float32)
        self._known: dict[tuple[tuple[int, int], ...], NDArray[np.float32]] = {}

    def apart(self, chosen: Sequence[_Candidate]) -> NDArray[np.float32]:
        """Of pairs with the same keys, the share that meets in none of these passes. The latest are kept:
        sets grow by one pass after another."""
        if not chosen:
            return self.shares
        names = tuple((one.key, one.cap) for one in chosen)
        if names not in self._known:
            *before, last = chosen
            apart = self.apart(before) * (1 - np.float32(last.placed) * self.met[last.key])
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[names] = apart
        return self._known[names]

    def gains(self, apart: NDArray[np.float32]) -> Floats:
        """What each key finds of the pairs that are apart."""
        # No product of matrices: its threads would wait for each other on a busy machine.
        return np.einsum("kp,p->k", self.met, apart).astype(np.float64)


class _Search:
    """Sets of candidates. Uncovered records are flags packed into octets."""

    def __init__(
        self, keys: Sequence[Key], sides: Sequence[Side], most: float, wrong: Sequence[WrongField]
    ) -> None:
        self._keys, self._sides, self._most = keys, sides, most
        met = np.stack([key.met for key in keys])
        self._pairs = _Pairs(met)
        self._wrong = [
            _Pairs(met[:, one.accepted] & np.array([one.column not in key.reads for key in keys])[:, None])
            for one in wrong
            if one.accepted.any()
        ]
        self._candidates: list[_Candidate] = []

    def add_candidates(self, queries: int, least: float, most_cap: int) -> None:
        """All keys with all caps that leave few enough uncovered by themselves."""
        session = _SESSION / max(1, queries)
        for number, key in enumerate(self._keys):
            for cap in (cap for cap in CAPS if cap <= most_cap and key.met.any()):
                over = {side: _over(key.sharers[side], cap) for side in self._sides}
                placed = prod(sharers.placed(cap) for sharers in key.sharers.values())
                price = least * (key.times * cap / _PLAIN ** len(key.fields) + session)
                one = _Candidate(number, cap, price, placed, over)
                if one.uncovered > self._most:
                    continue
                self._candidates.append(one)
                if placed == 1.0 and not one.uncovered:
                    # A higher cap costs more, and leaves out no fewer.
                    break

        self._key_of = np.array([one.key for one in self._candidates], np.int64)
        self._placed = np.array([one.placed for one in self._candidates])
        self._prices = np.array([one.price for one in self._candidates])

    def worth(self, chosen: Sequence[_Candidate]) -> float:
        """What a set finds less what it costs."""
        apart = float(self._pairs.apart(chosen).sum())
        kept = (1 - float(pairs.apart(chosen).sum()) for pairs in self._wrong)
        survives = sum(min(share, SURVIVING) for share in kept)
        return 1.0 - apart + WRONG * survives - sum(one.price for one in chosen)

    def start(self, number: int) -> list[_Candidate]:
        """One pass after the other, each with the largest gain for its price, and rather one that leaves few
        uncovered. All starts but the first shake the ranks, always in the same way."""
        drawn = np.random.default_rng(number).normal(0, _SHAKEN if number else 0, len(self._candidates))
        uncovered = np.array([one.uncovered for one in self._candidates])
        factors = np.exp(drawn) * (1 - uncovered / max(2 * self._most, 1e-12))

        def rank(gains: Floats, prices: Floats) -> Floats:
            return gains / prices * factors

        chosen: list[_Candidate] = []
        while len(chosen) < MOST_PASSES and (more := self._best(chosen, rank)):
            chosen.append(more)
        return chosen

    def improve(self, chosen: list[_Candidate]) -> list[_Candidate]:
        """Leave out, exchange and add single passes as long as that is worth more."""
        for _ in range(_ROUNDS):
            rests = [[*chosen[:at], *chosen[at + 1 :]] for at in range(len(chosen))]
            more = [(rest, self._best(rest, np.subtract)) for rest in (*rests, chosen)]
            grown = [[*rest, one] for rest, one in more if one and len(rest) < MOST_PASSES]
            best = max([*filter(None, rests), *grown], key=self.worth, default=chosen)
            if self.worth(best) <= self.worth(chosen) + _SLACK:
                break
            chosen = best
        return chosen

    def _best(
        self, chosen: Sequence[_Candidate], rank: Callable[[Floats, Floats], Floats]
    ) -> _Candidate | None:
        """The next candidate that earns its price, and keeps enough records covered; the first one need not
        earn it."""
        found = self._pairs.gains(self._pairs.apart(chosen))
        gains: Floats = self._placed * found[self._key_of]
        for pairs in self._wrong:
            apart = pairs.apart(chosen)
            short = max(0.0, float(apart.sum()) - 1 + SURVIVING)
            if short:
                gains = gains + WRONG * np.minimum(self._placed * pairs.gains(apart)[self._key_of], short)
        ranks = rank(gains, self._prices)
        taken = [one.key for one in chosen]
        useful = (gains > 0) & ~np.isin(self._key_of, taken)
        useful &= (gains >= self._prices) | (not chosen)
        order = np.argsort(-ranks, kind="stable")
        before = {side: _unite([one.over[side] for one in chosen]) for side in self._sides}
        ranked = (self._candidates[at] for at in order[useful[order]])
        return next((one for one in ranked if self._keeps_covered(before, one)), None)

    def _keeps_covered(self, before: Mapping[Side, _Over], one: _Candidate) -> bool:
        return all(_unite([one.over[side]], before[side]).share <= self._most for side in self._sides)
