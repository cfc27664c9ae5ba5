"""From one agreement the same with routing: which keys, and with which caps, for tables of some size.

Keys are made of all fields that can be one, alone or up to three together; they are tried on records of
nobody (made_up.py), or on rows of one's own table as they may look at the partner's. Of each it is seen which
of the pairs that the rule accepts share it, and of longer tables like them, how many others a record shares
it with: that says what a cap loses (protocols/routing.py). Then one is taken after the other, with the cap
that finds most of what is not found yet for what it costs, until nothing finds any more; for an answer, until
nothing finds more than its noise grows by.

A blocking of cells is routed as it is, with cells just wide enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.fields.recipe import DATE_WORDS
from accord.fields.schema import CategoryField, DateField, FieldSpec, Hash, NumberField, TextField
from accord.protocols.routed import Routed
from accord.protocols.routing import others_of, placed_of
from accord.rules.blocking.base import Passes, PassSpec, build_blocking
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeyPart, KeySpec
from accord.rules.blocking.passes import Pass
from accord.rules.evaluate import Tables, holds
from accord.rules.implied import reach
from accord.rules.thresholds import step_of
from accord.side import Side

Flags = NDArray[np.bool_]

CAPS = (1, 2, 4, 8)
MOST_PASSES = 8
_MOST_FIELDS = 12
"""Of which keys are made: beyond, the combinations are too many to try."""
_LEAST_GAIN = 0.0005
_STRAYS = 8.0
"""By how many pairs an answer with ε = 1 strays the more for each pair more that a record may be in: twice
3.9, the width of the noise of both sides with scale 1 (privacy/noise_answers.py)."""
_FEW_VALUES = 1 << 12
"""A number of more steps is measured, not shared."""
_CROWD = 40.0
"""With more others a key is for bins with noise."""
_NEARLY_ALL = 0.999
_PLAIN = 0.97
"""What one field more must gain: every field errs in ways that nobody has made up."""


@dataclass(frozen=True)
class _Tried:
    """A key with a cap: how likely it finds each pair, and what it costs."""

    fields: tuple[str, ...]
    cap: int
    found: NDArray[np.float64]


def routed_variant(
    agreement: Agreement,
    pairs: tuple[Records, Records] | None,
    sizes: tuple[int, int],
    like: Sequence[Tables],
    matches: int = 0,
) -> Agreement | None:
    """The agreement with routing in place of its protocol and blocking, for tables that are like others, of
    which so many pairs may match; None where nothing serves as a key."""
    grids = [part for one in agreement.passes for part in one.parts if isinstance(part, GridSpec)]
    if grids:
        cells = _cells(agreement, grids[0])
        return _routed(agreement, [cells], _cap_of(agreement, cells, sizes, like))
    if pairs is None or len(pairs[0]) != len(pairs[1]):
        return None
    tables, rows = Tables(agreement.fields, pairs[0].columns, pairs[1].columns), np.arange(len(pairs[0]))
    accepted = np.flatnonzero(holds(agreement.rule, tables, rows, rows))
    if not len(accepted):
        return None
    chosen = _choose(list(_try_all(agreement, tables, accepted, sizes, like)), _least(agreement, matches))
    passes = [
        PassSpec(
            name=" and ".join(name.replace("_", " ") for name in one.fields),
            parts=(KeySpec(kind="key", field=one.fields if len(one.fields) > 1 else one.fields[0]),),
            cap=one.cap,
        )
        for one in chosen
    ]
    return _routed(agreement, passes, 2) if passes else None


def _routed(agreement: Agreement, passes: list[PassSpec], cap: int) -> Agreement:
    blocking = Passes.model_validate({"pass": passes})
    return agreement.model_copy(update={"blocking": blocking, "protocol": Routed(name="routed", cap=cap)})


def _cells(agreement: Agreement, grid: GridSpec) -> PassSpec:
    """Cells of twice the reach: B's record is in four of them at the most."""
    step = step_of(agreement.fields[grid.fields[0]])
    far = reach(agreement.rule, grid.fields, agreement.fields)
    needed = grid.reach if far is None else (1 + isqrt(far - 1) if far else 0) * step
    wide = grid.cell if needed is None else max(step, 2 * needed)
    other = grid.model_copy(update={"cell": wide, "style": "replicate", "reach": needed or 0 * step})
    return PassSpec(parts=(other,))


def _cap_of(agreement: Agreement, cells: PassSpec, sizes: tuple[int, int], like: Sequence[Tables]) -> int:
    """The least with which hardly a record finds no place, or the largest."""
    (one,) = build_blocking([cells], agreement.fields, agreement.salt).passes
    if not like:
        return CAPS[-1]
    others = [others_of(one, side, like, size) for side, size in zip(Side, sizes, strict=True)]
    return next((cap for cap in CAPS if min(placed_of(n, cap) for n in others) >= _NEARLY_ALL), CAPS[-1])


def _try_all(
    agreement: Agreement,
    tables: Tables,
    accepted: NDArray[np.int64],
    sizes: tuple[int, int],
    like: Sequence[Tables],
) -> Iterator[_Tried]:
    names = [name for name, spec in agreement.fields.items() if _is_key(spec)][:_MOST_FIELDS]
    for count in (1, 2, 3):
        for some in combinations(names, count):
            if not _same_source(agreement, some) and not _makes_whole(agreement, some):
                yield from _try(agreement, some, tables, accepted, sizes, like)


def _is_key(spec: FieldSpec) -> bool:
    match spec:
        case TextField(encoder=Hash()) | CategoryField() | DateField():
            return True
        case NumberField():
            return spec.high < _FEW_VALUES
        case _:
            return False


def _same_source(agreement: Agreement, names: tuple[str, ...]) -> bool:
    """Whether one of these fields is made of a column that another has whole: then it tells nothing more."""
    columns = [(frozenset(agreement.fields[name].columns(name)), agreement.fields[name]) for name in names]
    return any(
        one[0] == other[0] and _is_whole(one[1]) != _is_whole(other[1])
        for one, other in combinations(columns, 2)
    )


def _makes_whole(agreement: Agreement, names: tuple[str, ...]) -> bool:
    """Whether these are all parts of a date that is a key itself: it would be the same key."""
    fields = agreement.fields
    dates = {frozenset(one.columns(name)) for name, one in fields.items() if isinstance(one, DateField)}
    parts = {getattr(fields[name], "derive", None) for name in names}
    columns = {frozenset(fields[name].columns(name)) for name in names}
    return parts >= set(DATE_WORDS) and len(columns) == 1 and columns <= dates


def _is_whole(spec: FieldSpec) -> bool:
    return getattr(spec, "derive", None) is None and not isinstance(spec, CategoryField)


def _try(
    agreement: Agreement,
    names: tuple[str, ...],
    tables: Tables,
    accepted: NDArray[np.int64],
    sizes: tuple[int, int],
    like: Sequence[Tables],
) -> Iterator[_Tried]:
    part = KeyPart(KeySpec(kind="key", field=names if len(names) > 1 else names[0]), agreement.fields)
    one = Pass("", (part,))
    met = one.compares(tables, accepted, accepted)
    others = [others_of(one, side, like, size) for side, size in zip(Side, sizes, strict=True)]
    if not met.any() or max(others) > _CROWD:
        return
    for cap in CAPS:
        placed = placed_of(others[0], cap) * placed_of(others[1], cap)
        yield _Tried(names, cap, met.astype(np.float64) * placed)


def _least(agreement: Agreement, matches: int) -> float:
    """What share of the pairs a pass must find for each record that it has room for: of an answer with noise
    as much as the noise grows by it. With more it would miss less, and be farther from the truth."""
    epsilon = agreement.output.epsilon
    return 0.0 if epsilon is None else _STRAYS / float(epsilon) / max(1, matches)


def _choose(tried: list[_Tried], least: float = 0.0) -> list[_Tried]:
    """One after the other what finds the most for its cost; a key once, and one in any case."""
    chosen: list[_Tried] = []
    apart = np.ones(len(tried[0].found)) if tried else np.ones(0)
    while len(chosen) < MOST_PASSES:
        taken = {one.fields for one in chosen}
        left = [one for one in tried if one.fields not in taken]
        gains = [float((apart * one.found).mean()) for one in left]
        worth = [gain / one.cap * _PLAIN ** len(one.fields) for one, gain in zip(left, gains, strict=True)]
        more = least if chosen else 0.0
        found = [n for n, one in enumerate(left) if gains[n] >= max(_LEAST_GAIN, more * one.cap)]
        if not found:
            break
        best = max(found, key=worth.__getitem__)
        chosen.append(left[best])
        apart = apart * (1 - left[best].found)
    return chosen
