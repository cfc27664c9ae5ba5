"""Records of nobody that fit an agreement, in pairs: as one side writes them, and as the other may.

Columns that are called as those of the generator of people are a person's, with the errors that happen to
people, and so is a whole `name`. All others follow from the types of the fields that read them: a number or
a day of the range, one of the values, letters of the alphabet, or else two words; and get the errors that a
column of their kind gets (recall.py). What is estimated from them says how a blocking stands up to errors,
not what a table holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.datasets import things
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people, whole_names
from accord.datasets.people_world import VARIED, variety_of
from accord.datasets.values import EVEN, SKEWED, rank_values
from accord.errors import AccordError
from accord.exact import text
from accord.fields.cardinality import FILLED_SHARE, Cardinality, count_values, is_coarser
from accord.fields.columns import Columns, Records, rows_of
from accord.fields.encoders import encode
from accord.fields.load import load_records
from accord.fields.schema import (
    Bloom,
    CategoryField,
    DateField,
    FieldSpec,
    Hash,
    Letters,
    NumberField,
    TextField,
    agreed_columns,
    dated_columns,
)
from accord.planning.recall import err, jitter
from accord.protocols.sharing import Sample
from accord.side import Side
from accord.table.layout import Layout

ROWS = 2000
_DAYS = np.datetime64("1930-01-01"), np.datetime64("2010-12-31")
"""Of dates whose range no field says."""
_KNOWN = 0.5
"""The least share of a column that must be among the agreed values."""
_LONGEST = 8
"""Letters of a word in an alphabet of its own."""

_OF_PEOPLE: dict[str, Cardinality] = {
    "middle": "hundreds",
}
"""How many values synthetic people have of a column: of all others as many as rows."""
NO_SALT = "00000000"
"""Under which choices are made, so that none depends on a salt."""
_WIDE, _DECADES = 1 << 14, 4
"""Steps from which a range is one of amounts, and over how many powers of ten these spread."""
_MISTAKEN = 0.05
"""Cells of the other side with the value of another row."""
_FINEST = 10**12
"""Of a step that is written as a decimal."""
_FEWEST, _MOST_TABLES = 10_000, 10
"""Rows of all tables by which it is counted how many records share a key, and how many tables they fill."""
_MOST_KEPT = 4
_tables: dict[tuple[str, int, int], tuple[Columns, ...] | None] = {}
"""Of fields and rows, which plans share."""
_made: dict[tuple[str, int], tuple[Records, Records] | None] = {}
"""Of fields and rule, which a plan and those that follow from it share."""

Random = np.random.Generator
Declared = dict[str, Cardinality]
_Cells = tuple[pa.Array, pa.Array]
"""Of a column, as each side writes it."""


def make_up_pairs(agreement: Agreement, rows: int = ROWS) -> tuple[Records, Records] | None:
    """Two tables, row by row the same; None where nothing can be made up that the fields take."""
    known = agreement.model_dump_json(include={"fields", "salt", "rule"}), rows
    if known not in _made:
        while len(_made) >= _MOST_KEPT:
            _made.pop(next(iter(_made)))
        _made[known] = _pairs(agreement, rows)
    return _made[known]


def _pairs(agreement: Agreement, rows: int) -> tuple[Records, Records] | None:
    rng, fields = np.random.default_rng(0), _forgiving(agreement.fields)
    declared = _cardinalities(fields)
    tables = _people(generate_people(rows, 1.0, 0, variety=variety_of(declared)))
    if more := _others(rng, fields, declared, tables):
        erring = err(rng, agreement, more[1], {name: name for name in more[1].column_names})
        tables = _with(tables[0], more[0]), _with(tables[1], _mistake(rng, erring))
    lacks = _lacking(fields, rows, 0)
    tables = _without(tables[0], lacks), _without(tables[1], lacks)
    try:
        a, b = (load_records(table, fields, agreement.salt, (), Layout()) for table in tables)
    except AccordError:
        return None
    return a, jitter(rng, agreement, b)


def make_up_samples(agreement: Agreement, sizes: tuple[int, int], most: int) -> dict[Side, Sample] | None:
    """Tables of these sizes, with at most so many rows, by which it is counted how many records share a key;
    None where nothing can be made up that the fields take. Filters are no keys, and are left out."""
    found = {}
    for side, size in zip(Side, sizes, strict=True):
        rows = min(size, most)
        copies = 1 if agreement.expected is None else agreement.expected.copies.of(side)
        tables, half = _find_tables(agreement, rows, copies), None
        if tables is None:
            return None
        if rows < size:
            shorter = _find_tables(agreement, rows // 2, copies)
            half = None if shorter is None else Sample(side, shorter, rows // 2, rows // 2)
        found[side] = Sample(side, tables, rows, size, half)
    return found


def _find_tables(agreement: Agreement, rows: int, copies: int) -> tuple[Columns, ...] | None:
    """Synthetic tables of so many rows, made once for the same fields. How many records share a key does not
    depend on the salt, so there is one for all. A person or thing has up to so many copies, all alike."""
    keys = {name: spec for name, spec in agreement.fields.items() if not _is_filter(spec)}
    declared = _cardinalities(agreement.fields)
    known = agreement.model_copy(update={"fields": keys}).model_dump_json(include={"fields"}) + repr(declared)
    key = known, rows, copies
    if key not in _tables:
        while len(_tables) >= _MOST_KEPT:
            _tables.pop(next(iter(_tables)))
        made = _make_tables(keys, declared, rows)
        _tables[key] = made and tuple(_copy(table, rows, copies, seed) for seed, table in enumerate(made))
    return _tables[key]


def _copy(table: Columns, rows: int, copies: int, seed: int) -> Columns:
    """As many rows, of fewer people or things: each has one to so many."""
    if copies == 1:
        return table
    times = np.random.default_rng(seed).integers(1, copies, rows, endpoint=True)
    chosen = np.repeat(np.arange(rows), times)[:rows]
    return {name: rows_of(column, chosen) for name, column in table.items()}


def _make_tables(keys: Mapping[str, FieldSpec], declared: Declared, rows: int) -> tuple[Columns, ...] | None:
    """Some tables of so many rows: of short ones several, so that chance decides less."""
    if not keys:
        return None
    fields, tables = _forgiving(keys), []
    for seed in range(min(_MOST_TABLES, max(1, _FEWEST // rows))):
        people = _people(generate_people(rows, 1.0, seed, variety=variety_of(declared)))
        more = _others(np.random.default_rng(seed), fields, declared, people, seed * rows)
        try:
            whole = _with(people[0], more[0]) if more else people[0]
            whole = _without(whole, _lacking(fields, rows, seed))
            table = load_records(whole, fields, NO_SALT, (), Layout())
        except AccordError:
            return None
        tables.append(table.columns)
    return tuple(tables)


def _is_filter(spec: FieldSpec) -> bool:
    return isinstance(spec, TextField) and not isinstance(spec.encoder, Hash)


def _cardinalities(fields: Mapping[str, FieldSpec]) -> Declared:
    """How many values columns have, as the fields say that read them."""
    found = {}
    for name, spec in fields.items():
        if spec.cardinality is not None and spec.columns(name) == (name,):
            found[name] = spec.cardinality
    return found


def _others(
    rng: Random,
    fields: Mapping[str, FieldSpec],
    cardinalities: Declared,
    people: tuple[pa.Table, pa.Table],
    first: int = 0,
) -> tuple[pa.Table, pa.Table] | None:
    """Columns that people do not have, or of fewer values than theirs, as each side writes them; None where
    there are none. Rows are entities from the `first` on."""
    whose = np.arange(first, first + len(people[0]))
    found: dict[str, _Cells] = {}
    for turn, name in enumerate(agreed_columns(fields)):
        declared = cardinalities.get(name)
        coarser = declared and name not in VARIED and is_coarser(declared, _OF_PEOPLE.get(name, "unique"))
        if _fits(fields, name, people) and not coarser:
            continue
        if declared in (None, "unique"):
            found[name] = _make_up(rng, fields, name, people[0])
        else:
            is_text = any(isinstance(s, TextField) for n, s in fields.items() if name in s.columns(n))
            skew = SKEWED if is_text else EVEN
            ranks = rank_values(whose, count_values(declared, len(whose)), turn, skew)
            found[name] = _make_up_some(rng, fields, name, people[0], ranks)
    if not found:
        return None
    a, b = (pa.table({name: cells[side] for name, cells in found.items()}) for side in (0, 1))
    return a, b


def _lacking(fields: Mapping[str, FieldSpec], rows: int, seed: int) -> dict[str, NDArray[np.bool_]]:
    """By column that is often empty, which rows lack it: of a pair, both."""
    rng = np.random.default_rng((seed, rows))
    columns = dict.fromkeys(
        c for name, spec in fields.items() if spec.often_empty for c in spec.columns(name)
    )
    return {name: rng.random(rows) >= FILLED_SHARE for name in columns}


def _without(table: pa.Table, lacking: Mapping[str, NDArray[np.bool_]]) -> pa.Table:
    """The table without the cells that rows lack."""
    for name, lacks in lacking.items():
        if name in table.column_names:
            cells = table[name].combine_chunks()
            kept = pc.if_else(pa.array(lacks), pa.scalar(None, cells.type), cells)
            table = table.set_column(table.column_names.index(name), name, kept)
    return table


def _mistake(rng: Random, table: pa.Table) -> pa.Table:
    """The table with the values of other rows in some cells."""
    for place, name in enumerate(table.column_names):
        rows = np.arange(len(table))
        wrong = rng.random(len(table)) < _MISTAKEN
        rows[wrong] = rng.integers(0, len(table), int(wrong.sum()))
        table = table.set_column(place, name, table[name].take(pa.array(rows)))
    return table


def _make_up_some(
    rng: Random, fields: Mapping[str, FieldSpec], column: str, people: pa.Table, ranks: NDArray[np.int64]
) -> _Cells:
    """Cells of a column by the ranks of their values."""
    if column in people.column_names:
        cells = pc.unique(pc.drop_null(people[column].combine_chunks()))
        values = cells.take(pa.array(np.random.default_rng(0).permutation(len(cells))))
        a = b = values
    else:
        a, b = _make_up(rng, fields, column, people)
    chosen = pa.array(ranks % len(a))
    return a.take(chosen), b.take(chosen)


def _people(made: Generated) -> tuple[pa.Table, pa.Table]:
    """Both tables, in the order of the pairs."""
    found = []
    for name, table in (("id_a", made.a), ("id_b", made.b)):
        rows = table.take(pc.index_in(made.truth[name], table["id"].combine_chunks()))
        found.append(rows.append_column("name", whole_names(rows)))
    return found[0], found[1]


def _forgiving(fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """The fields, but no row is left out under them: what does not fit is missing, and pairs stay pairs."""
    changed = {}
    for name, spec in fields.items():
        other = {"other": "missing"} if getattr(spec, "other", "bin") != "bin" else {}
        changed[name] = spec.model_copy(update={"missing": "differs"} | other)
    return changed


def _fits(fields: Mapping[str, FieldSpec], column: str, people: tuple[pa.Table, pa.Table]) -> bool:
    """Whether people have such a column, and write in it what is agreed."""
    if column not in people[0].column_names:
        return False
    for name, spec in fields.items():
        if isinstance(spec, CategoryField) and column in spec.columns(name):
            texts = [table[column].combine_chunks() for table in people]
            read = [encode(name, spec, cells.cast(pa.large_string()), "").column for cells in texts]
            if any(one.present.mean() < _KNOWN for one in read):
                return False
    return True


def _with(table: pa.Table, more: pa.Table) -> pa.Table:
    """With these columns, in place of those of the same names."""
    for name in more.column_names:
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, more[name])
    return table


def _make_up(rng: Random, fields: Mapping[str, FieldSpec], column: str, people: pa.Table) -> _Cells:
    """Cells for a column, as the first field takes them that reads it, and as the other side writes them."""
    specs = [spec for name, spec in fields.items() if column in spec.columns(name)]
    count = len(people)
    if column in dated_columns(fields):
        spans = [
            (np.datetime64(s.min, "D"), np.datetime64(s.max, "D")) for s in specs if isinstance(s, DateField)
        ]
        first, last = spans[0] if spans else _DAYS
        days = first + rng.integers(0, (last - first).astype(int) + 1, count).astype("timedelta64[D]")
        return _alike(pa.array(np.datetime_as_string(days)))
    match specs[0]:
        case NumberField() as spec:
            return _alike(_numbers(spec, _draw_steps(rng, spec, count)))
        case CategoryField() as spec:
            return _alike(pa.array(spec.values).take(pa.array(rng.integers(0, len(spec.values), count))))
        case TextField(encoder=Letters() as spelt):
            length = min(spelt.length, _LONGEST)
            drawn = rng.integers(0, len(spelt.alphabet), (count, length))
            spelled = ["".join(spelt.alphabet[place] for place in word) for word in drawn.tolist()]
            return _alike(pa.array(spelled))
    if any(isinstance(s, TextField) and isinstance(s.encoder, Bloom) and s.encoder.grams > 2 for s in specs):
        # Long texts, which the other side writes in other words.
        world, whose = things.draw_things(rng, count), np.arange(count)
        a, b = (things.name_things(rng, world, whose, other, False) for other in (False, True))
        return a, b
    # Without figures, which few names have: a key of them would bring few together.
    words = [people[name].combine_chunks().fill_null("") for name in ("surname", "city")]
    mixed = [word.take(pa.array(rng.permutation(count))) for word in words]
    return _alike(pc.binary_join_element_wise(*mixed, " "))


def _draw_steps(rng: Random, spec: NumberField, count: int) -> NDArray[np.int64]:
    """Steps of a number: of a wide range far more small amounts than large ones."""
    if spec.high < _WIDE or spec.type != "number":
        return rng.integers(0, spec.high + 1, count)
    zero = min(max(0, -spec.first), spec.high)
    sizes = 10 ** (-_DECADES * rng.random(count))
    signs = np.where(rng.random(count) < zero / spec.high, -zero, spec.high - zero)
    return np.rint(zero + signs * sizes).astype(np.int64)


def _alike(cells: pa.Array) -> _Cells:
    return cells, cells


def _numbers(spec: NumberField, steps: NDArray[np.int64]) -> pa.Array:
    """Texts of these steps of a number."""
    if spec.is_log:
        return pa.array(np.char.mod("%.6g", 10 ** (float(spec.min) + steps * float(spec.step))))
    scale = 1
    while (spec.step * scale).denominator != 1 and scale < _FINEST:
        scale *= 10
    if scale == _FINEST:
        return pa.array([text(spec.min + step * spec.step) for step in steps.tolist()])
    whole = int(spec.min * scale) + steps * int(spec.step * scale)
    return pa.array(np.char.mod(f"%.{len(str(scale)) - 1}f", whole / scale))
