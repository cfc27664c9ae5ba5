"""Where one's own table is, as it is typed: a file, a folder, a pattern or an address; and where the file is
that says how it is laid out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from accord.table.sources.opening import Place

TABLE = (
    "csv, parquet (or a folder of them), arrow, xlsx; or an address: duckdb:FILE?table=NAME, sqlite:…, "
    "postgres:SERVICE?…"
)
PAIRS = ".csv, .parquet, .arrow, or a table: duckdb:FILE?table=NAME, sqlite:…, postgres:SERVICE?table=NAME"
_LONGEST = 1 << 20


def find_table(typed: str) -> Place:
    """What was typed as a table; `query=@FILE` is the query in that file."""
    from accord.table.address import Address
    from accord.table.sources.opening import find_place

    place = find_place(typed)
    assert place is not None
    if isinstance(place, Address):
        # No query begins with @.
        if place.query is not None and place.query.startswith("@"):
            place = replace(place, query=_read_query(Path(place.query[1:])))
        return place.require_relation()
    return place


def find_table_or_none(typed: str | None) -> Place | None:
    """The same, where there may be none."""
    return None if typed is None else find_table(typed)


def _read_query(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend="Check its name.") from None
    except UnicodeDecodeError:
        raise UnreadableError(path=path, reason="it is not UTF-8", mend="Is it a query?") from None
    if len(content) > _LONGEST:
        raise UnreadableError(path=path, reason="it is longer than 1 MiB", mend="Is it a query?")
    if not text.strip():
        raise UsageError(problem=f"{path} is empty: write a SELECT into it.")
    return text


def shown(place: Place) -> str:
    """A table in a message; a query is not repeated."""
    return str(place) if isinstance(place, Path) else place.name


def layout_of(table: Place) -> Path:
    """Where a table's layout is written, unless its owner names another place."""
    from accord.table.sources.opening import layout_file

    return layout_file(table)


def layout_beside(table: Place | None) -> Path | None:
    """The layout file beside a table, if there is one."""
    return layout_of(table) if table is not None and layout_of(table).is_file() else None
