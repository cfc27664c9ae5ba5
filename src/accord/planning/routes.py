"""From one agreement the same with routing: which keys, and with which caps, for tables of stated sizes.

Keys are made of all fields that can be one, alone or up to three together, and chosen by keys.py on synthetic
pairs and tables. A blocking of cells is routed as it is, with cells just wide enough and the least cap that
covers enough records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.fields.recipe import DATE_WORDS
from accord.fields.schema import CategoryField, DateField, FieldSpec, Hash, NumberField, TextField
from accord.planning.keys import CAPS, LEAST_GAIN, Key, choose_keys
from accord.protocols.parts.lanes import HASHES
from accord.protocols.routed import Routed
from accord.protocols.sharing import Sample
from accord.rules.blocking.base import Passes, PassSpec, build_blocking
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeyPart, KeySpec
from accord.rules.blocking.passes import Pass
from accord.rules.evaluate import Tables, holds
from accord.rules.implied import reach
from accord.rules.thresholds import step_of
from accord.secure.okvs.sizes import MOST
from accord.side import Side

_MOST_FIELDS = 12
"""Of which keys are made: beyond, the combinations are too many to try."""
_STRAYS = 8.0
"""By how many pairs an answer with ε = 1 strays the more for each pair more that a record may be in: twice
3.9, the width of the noise of both sides with scale 1 (privacy/noise_answers.py)."""
_FEW_VALUES = 1 << 12
"""A number of more steps is measured, not shared."""
_CELL_CAPS = (1, 2, 4, 8, 16)
_FEW = 1 << 16
"""Rows by which crowded keys are told."""


def routed_variant(
    agreement: Agreement,
    pairs: tuple[Records, Records] | None,
    samples: Mapping[Side, Sample] | None,
    covered: float,
    matches: int = 0,
) -> Agreement | None:
    """The agreement with routing in place of its protocol and blocking, for tables like the samples, of which
    so many pairs may match; None where nothing serves as a key."""
    grids = [part for one in agreement.passes for part in one.parts if isinstance(part, GridSpec)]
    if grids:
        cells = _cells(agreement, grids[0])
        return _routed(agreement, [cells], _cap_of(agreement, cells, samples, covered))
    if pairs is None or len(pairs[0]) != len(pairs[1]) or samples is None:
        return None
    tables, rows = Tables(agreement.fields, pairs[0].columns, pairs[1].columns), np.arange(len(pairs[0]))
    accepted = np.flatnonzero(holds(agreement.rule, tables, rows, rows))
    if not len(accepted):
        return None
    trials = _Trials(agreement, tables, accepted, samples, covered)
    keys = [key for names in _combine(agreement) if (key := trials.try_key(names)) is not None]
    queries = min(sample.size for sample in samples.values())
    least, most_cap = _least(agreement, matches), _most_cap(samples)
    chosen = choose_keys(keys, queries, _promised(agreement), covered, least, most_cap)
    passes = [
        PassSpec(
            name=" and ".join(name.replace("_", " ") for name in one.fields),
            parts=(KeySpec(kind="key", field=one.fields if len(one.fields) > 1 else one.fields[0]),),
            cap=one.cap,
        )
        for one in chosen
    ]
    return _routed(agreement, passes, 2) if passes else None


def _promised(agreement: Agreement) -> list[Side]:
    """The sides whose promise depends on coverage."""
    output = agreement.output
    return [] if output.answers else [side for side in Side if side is not output.learner]


def _most_cap(samples: Mapping[Side, Sample]) -> int:
    """The largest cap with which the values of a pass can be listed."""
    return MOST // (HASHES * max(sample.size for sample in samples.values()))


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


def _cap_of(
    agreement: Agreement, cells: PassSpec, samples: Mapping[Side, Sample] | None, covered: float
) -> int:
    """The least with which enough records of both sides are covered, or the largest."""
    (one,) = build_blocking([cells], agreement.fields, agreement.salt).passes
    if samples is None:
        return _CELL_CAPS[-1]
    both = samples.values()
    fit = (cap for cap in _CELL_CAPS if all(some.covered([(one, cap)]) >= covered for some in both))
    return next(fit, _CELL_CAPS[-1])


def _combine(agreement: Agreement) -> Iterator[tuple[str, ...]]:
    """Fields that may be a key, alone and together."""
    names = [name for name, spec in agreement.fields.items() if _is_key(spec)][:_MOST_FIELDS]
    for count in (1, 2, 3):
        for some in combinations(names, count):
            if not _same_source(agreement, some) and not _makes_whole(agreement, some):
                yield some


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


class _Trials:
    """Keys on synthetic pairs and tables. What they show does not depend on the side, so equal sizes are
    counted once."""

    def __init__(
        self,
        agreement: Agreement,
        tables: Tables,
        accepted: NDArray[np.int64],
        samples: Mapping[Side, Sample],
        covered: float,
    ) -> None:
        self._fields, self._tables, self._accepted, self._covered = (
            agreement.fields,
            tables,
            accepted,
            covered,
        )
        self._by_size = {sample.size: sample for sample in samples.values()}
        self._sizes = {side: sample.size for side, sample in samples.items()}
        promised = {self._sizes[side] for side in _promised(agreement)}
        self._few = [self._by_size[size].cut(min(self._by_size[size].rows, _FEW)) for size in promised]

    def try_key(self, names: tuple[str, ...]) -> Key | None:
        """A key; None if it finds too little, or covers too little even in far shorter tables."""
        part = KeyPart(KeySpec(kind="key", field=names if len(names) > 1 else names[0]), self._fields)
        one = Pass("", (part,))
        met = one.compares(self._tables, self._accepted, self._accepted)
        if met.mean() < LEAST_GAIN or any(
            few.covered([(one, CAPS[-1])]) < self._covered for few in self._few
        ):
            return None
        found = {size: sample.sharers(one) for size, sample in self._by_size.items()}
        return Key(names, met, {side: found[size] for side, size in self._sizes.items()})


def _least(agreement: Agreement, matches: int) -> float:
    """What share of the pairs a pass must find for each record that it has room for: of an answer with noise
    at least as much as the noise grows by it. With more it would miss less, and be farther from the truth."""
    epsilon = agreement.output.epsilon
    noise = 0.0 if epsilon is None else _STRAYS / float(epsilon) / max(1, matches)
    return max(LEAST_GAIN, noise)
