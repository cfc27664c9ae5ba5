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
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people, whole_names
from accord.errors import AccordError
from accord.exact import text
from accord.fields.columns import Columns, Records
from accord.fields.encoders import encode
from accord.fields.load import load_records
from accord.fields.schema import (
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

NO_SALT = "00000000"
"""Under which choices are made, so that none depends on a salt."""
_FINEST = 10**12
"""Of a step that is written as a decimal."""
_FEWEST, _MOST_TABLES = 10_000, 10
"""Rows of all tables by which it is counted how many records share a key, and how many tables they fill."""
_MOST_KEPT = 4
_tables: dict[tuple[str, int], tuple[Columns, ...] | None] = {}
"""Of fields and rows, which plans share."""
_made: dict[tuple[str, int], tuple[Records, Records] | None] = {}
"""Of fields and rule, which a plan and those that follow from it share."""

Random = np.random.Generator


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
    tables = _people(generate_people(rows, 1.0, 0))
    if more := _others(rng, fields, tables):
        erring = err(rng, agreement, more, {name: name for name in more.column_names})
        tables = _with(tables[0], more), _with(tables[1], erring)
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
        tables, half = _find_tables(agreement, rows), None
        if tables is None:
            return None
        if rows < size:
            shorter = _find_tables(agreement, rows // 2)
            half = None if shorter is None else Sample(side, shorter, rows // 2, rows // 2)
        found[side] = Sample(side, tables, rows, size, half)
    return found


def _find_tables(agreement: Agreement, rows: int) -> tuple[Columns, ...] | None:
    """Synthetic tables of so many rows, made once for the same fields. How many records share a key does not
    depend on the salt, so there is one for all."""
    keys = {name: spec for name, spec in agreement.fields.items() if not _is_filter(spec)}
    known = agreement.model_copy(update={"fields": keys}).model_dump_json(include={"fields"})
    if (known, rows) not in _tables:
        while len(_tables) >= _MOST_KEPT:
            _tables.pop(next(iter(_tables)))
        _tables[known, rows] = _make_tables(keys, rows)
    return _tables[known, rows]


def _make_tables(keys: Mapping[str, FieldSpec], rows: int) -> tuple[Columns, ...] | None:
    """Some tables of so many rows: of short ones several, so that chance decides less."""
    if not keys:
        return None
    fields, tables = _forgiving(keys), []
    for seed in range(min(_MOST_TABLES, max(1, _FEWEST // rows))):
        people = _people(generate_people(rows, 1.0, seed))
        more = _others(np.random.default_rng(seed), fields, people)
        try:
            table = load_records(_with(people[0], more) if more else people[0], fields, NO_SALT, (), Layout())
        except AccordError:
            return None
        tables.append(table.columns)
    return tuple(tables)


def _is_filter(spec: FieldSpec) -> bool:
    return isinstance(spec, TextField) and not isinstance(spec.encoder, Hash)


def _others(
    rng: Random, fields: Mapping[str, FieldSpec], people: tuple[pa.Table, pa.Table]
) -> pa.Table | None:
    """Columns that people do not have; None where there are none."""
    names = [name for name in agreed_columns(fields) if not _fits(fields, name, people)]
    return pa.table({name: _make_up(rng, fields, name, people[0]) for name in names}) if names else None


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


def _make_up(rng: Random, fields: Mapping[str, FieldSpec], column: str, people: pa.Table) -> pa.Array:
    """Cells for a column, as the first field takes them that reads it."""
    specs = [spec for name, spec in fields.items() if column in spec.columns(name)]
    if column in dated_columns(fields):
        spans = [
            (np.datetime64(s.min, "D"), np.datetime64(s.max, "D")) for s in specs if isinstance(s, DateField)
        ]
        first, last = spans[0] if spans else _DAYS
        days = first + rng.integers(0, (last - first).astype(int) + 1, len(people)).astype("timedelta64[D]")
        return pa.array(np.datetime_as_string(days))
    match specs[0]:
        case NumberField() as spec:
            return _numbers(spec, rng.integers(0, spec.high + 1, len(people)))
        case CategoryField() as spec:
            return pa.array(spec.values).take(pa.array(rng.integers(0, len(spec.values), len(people))))
        case TextField(encoder=Letters() as spelt):
            length = min(spelt.length, _LONGEST)
            drawn = rng.integers(0, len(spelt.alphabet), (len(people), length))
            return pa.array(["".join(spelt.alphabet[place] for place in word) for word in drawn.tolist()])
    words = [people[name].combine_chunks().fill_null("") for name in ("surname", "street")]
    mixed = [word.take(pa.array(rng.permutation(len(people)))) for word in words]
    return pc.binary_join_element_wise(*mixed, " ")


def _numbers(spec: NumberField, steps: NDArray[np.int64]) -> pa.Array:
    """Texts of these steps of a number."""
    scale = 1
    while (spec.step * scale).denominator != 1 and scale < _FINEST:
        scale *= 10
    if scale == _FINEST:
        return pa.array([text(spec.min + step * spec.step) for step in steps.tolist()])
    whole = int(spec.min * scale) + steps * int(spec.step * scale)
    return pa.array(np.char.mod(f"%.{len(str(scale)) - 1}f", whole / scale))
