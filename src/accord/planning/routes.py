"""From one agreement the same with routing: which keys, and with which caps, for tables of stated sizes.

Keys are made of all fields that can be one, alone or up to three together, and chosen by keys.py on synthetic
pairs and tables. Where the rule accepts dates or numbers that lie apart, a key may have them in cells with
neighbours. Places have cells as well. Where the rule requires them, they are the only pass, with cells just
wide enough and the least cap that covers enough records.
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
from accord.planning.recall import nearest_distance
from accord.planning.wrong_fields import wrong_fields
from accord.protocols.parts.lanes import HASHES
from accord.protocols.routed import Routed
from accord.protocols.sharing import Sample
from accord.rules.blocking.base import AnyPart, Passes, PassSpec, build_blocking
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Tables, holds
from accord.rules.implied import reach
from accord.rules.thresholds import step_of
from accord.secure.okvs.sizes import MOST
from accord.side import Side

_MOST_FIELDS = 12
"""Of which keys are made: beyond, the combinations are too many to try."""
_FEW_STEPS = 31
"""Values of a number or a list up to which it is no key alone: days and months are none."""
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
    grid = map_grid(agreement)
    if grid is not None and (pairs is None or _requires_place(agreement, grid)):
        cells = _cells(agreement, grid)
        return _routed(agreement, [cells], _cap_of(agreement, cells, samples, covered))
    if pairs is None or len(pairs[0]) != len(pairs[1]) or samples is None:
        return None
    tables, rows = Tables(agreement.fields, pairs[0].columns, pairs[1].columns), np.arange(len(pairs[0]))
    accepted = np.flatnonzero(holds(agreement.rule, tables, rows, rows))
    if not len(accepted):
        return None
    trials = _Trials(agreement, tables, accepted, samples, covered)
    found = [*_combine(agreement), *([] if grid is None else [_cells(agreement, grid).parts])]
    keys = [key for parts in found if (key := trials.try_key(parts)) is not None]
    wrong = wrong_fields(agreement, tables, accepted, accepted)
    queries = min(sample.size for sample in samples.values())
    least, most_cap = _least(agreement, matches), _most_cap(samples)
    chosen = choose_keys(keys, queries, _promised(agreement), covered, least, most_cap, wrong)
    passes = [PassSpec(name=_name(one.key.parts), parts=one.key.parts, cap=one.cap) for one in chosen]
    return _routed(agreement, passes, 2) if passes else None


def map_grid(agreement: Agreement) -> GridSpec | None:
    """The cells of a map, if the agreement has any."""
    grids = [part for one in agreement.passes for part in one.parts if isinstance(part, GridSpec)]
    return next((grid for grid in grids if len(grid.fields) > 1), None)


def _requires_place(agreement: Agreement, grid: GridSpec) -> bool:
    """Whether all matches lie near each other."""
    return reach(agreement.rule, grid.fields, agreement.fields) is not None


def _name(parts: tuple[AnyPart, ...]) -> str:
    """What a pass with these parts is called."""
    near = [name for part in parts if isinstance(part, GridSpec) for name in part.fields]
    names = [name for part in parts if isinstance(part, KeySpec) for name in part.names]
    words = [*names, *(f"near {name}" for name in near)]
    return " and ".join(word.replace("_", " ") for word in words)


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
    (one,) = build_blocking([cells], agreement.fields).passes
    if samples is None:
        return _CELL_CAPS[-1]
    both = samples.values()
    fit = (cap for cap in _CELL_CAPS if all(some.covered([(one, cap)]) >= covered for some in both))
    return next(fit, _CELL_CAPS[-1])


def _combine(agreement: Agreement) -> Iterator[tuple[AnyPart, ...]]:
    """Keys of single fields, and of several together."""
    fields = agreement.fields
    names = [name for name, spec in fields.items() if _is_key(spec)][:_MOST_FIELDS]
    near = {name: cells for name, spec in fields.items() if (cells := _near(agreement, name, spec))}
    for count in (1, 2, 3):
        for some in combinations(names, count):
            alone = count == 1 and _has_few_values(fields[some[0]])
            if not (alone or _same_source(agreement, some) or _makes_whole(agreement, some)):
                yield (_key(some),)
    columns = {name: {*fields[name].columns(name)} for name in (*names, *near)}
    for name, cells in near.items():
        others = [one for one in names if not columns[one] & columns[name]]
        for count in (0, 1, 2):
            for some in combinations(others, count):
                if not _same_source(agreement, some):
                    yield (_key(some), cells) if some else (cells,)
    for one, other in combinations(near, 2):
        if columns[one] & columns[other]:
            continue
        yield near[one], near[other]
        for name in names:
            if not columns[name] & (columns[one] | columns[other]):
                yield _key((name,)), near[one], near[other]


def _has_few_values(spec: FieldSpec) -> bool:
    """Whether a field is too coarse to be a key alone."""
    return spec.cardinality == "few" or (not isinstance(spec, TextField) and spec.high <= _FEW_STEPS)


def _key(names: tuple[str, ...]) -> KeySpec:
    return KeySpec(kind="key", field=names if len(names) > 1 else names[0])


def _near(agreement: Agreement, name: str, spec: FieldSpec) -> GridSpec | None:
    """Cells of a field in which values meet that are as far apart as the first of its levels allows."""
    if not isinstance(spec, DateField | NumberField):
        return None
    far = nearest_distance(agreement, name)
    if not 0 < 2 * far <= spec.high:
        return None
    step = step_of(spec)
    return GridSpec(kind="grid", fields=(name,), cell=2 * far * step, style="replicate", reach=far * step)


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

    def try_key(self, parts: tuple[AnyPart, ...]) -> Key | None:
        """A key; None if it finds too little, or covers too little even in far shorter tables."""
        (one,) = build_blocking([PassSpec(parts=parts)], self._fields).passes
        met = one.compares(self._tables, self._accepted, self._accepted)
        if met.mean() < LEAST_GAIN or any(
            few.covered([(one, CAPS[-1])]) < self._covered for few in self._few
        ):
            return None
        found = {size: sample.sharers(one) for size, sample in self._by_size.items()}
        names = tuple(name for part in parts for name in part.names)
        reads = frozenset(column for name in names for column in self._fields[name].columns(name))
        sharers = {side: found[size] for side, size in self._sizes.items()}
        return Key(names, parts, met, sharers, one.per_record(Side.B), reads)


def _least(agreement: Agreement, matches: int) -> float:
    """What share of the pairs a pass must find for each record that it has room for: of an answer with noise
    at least as much as the noise grows by it. With more it would miss less, and be farther from the truth."""
    epsilon = agreement.output.epsilon
    strays = _STRAYS * agreement.output.records_per_person
    noise = 0.0 if epsilon is None else strays / float(epsilon) / max(1, matches)
    return max(LEAST_GAIN, noise)
