"""Some values of a field before and after, for the owner of the table, who asks for them, and nobody else.

After is what is encoded: the text behind a hash or a filter, the day, the number, the class. Everywhere
else values are kept out of what is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from accord.errors import UsageError
from accord.fields.folding import trim
from accord.fields.making import Cells, make
from accord.fields.own_cells import formatted, read_all
from accord.fields.row_ids import open_named
from accord.fields.schema import FieldSpec, dated_columns
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, open_table
from accord.wording import did_you_mean

_SHOWN = 10


@dataclass(frozen=True)
class ShownValue:
    """The cells of a row from which a value is made, and the value; None where there is none."""

    before: tuple[str | None, ...]
    after: str | None


def show_values(
    source: TableLike, name: str, fields: Mapping[str, FieldSpec], layout: Layout, most: int = _SHOWN
) -> list[ShownValue]:
    """The first rows with other cells than those before them, empty ones left out."""
    if name not in fields:
        hint = did_you_mean(name, fields, f"Agreed are: {', '.join(fields)}.")
        raise UsageError(problem=f"The agreement has no field '{name}' to show. {hint}")
    spec = fields[name]
    sources = layout.sources(spec.columns(name))
    wanted = layout.own_columns(sources)
    found: dict[tuple[str | None, ...], ShownValue] = {}
    for batch in open_table(source, wanted, layout).batches if wanted else ():
        columns = read_all(sources, batch)
        formats = {column: formatted(one) for column, one in sources.items()}
        made = make(name, spec, Cells(columns, formats, None, dated_columns(fields)))
        before = (trim(batch.column(column)).to_pylist() for column in wanted)
        for cells, after in zip(zip(*before, strict=True), _texts(made.shown()), strict=True):
            if any(cell is not None for cell in cells):
                found.setdefault(cells, ShownValue(cells, after))
            if len(found) == most:
                return list(found.values())
    return list(found.values())


def show_rows(
    source: TableLike, ids: Collection[str], columns: Sequence[str], layout: Layout
) -> dict[str, list[str | None]]:
    """The cells of some records in these agreed columns, as the layout reads them, by id."""
    sources, own = layout.sources(columns), layout.own_columns(columns)
    found: dict[str, list[str | None]] = {}
    for batch in open_named(source, list(dict.fromkeys([layout.id_column, *own])), layout).batches:
        names = to_text(batch.column(layout.id_column)).to_pylist()
        read = read_all(sources, batch)
        cells = zip(*(_texts(read[column]) for column in columns), strict=True)
        found |= {name: list(row) for name, row in zip(names, cells, strict=True) if name in ids}
    return found


def _texts(values: pa.Array) -> list[str | None]:
    return trim(values).to_pylist()
