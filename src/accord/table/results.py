"""A table of pairs as its reader wants it: Arrow, pandas, polars, a line of text, a table in a notebook."""

from __future__ import annotations

import html
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accord.errors import UsageError
from accord.table.pairing import PairTable

if TYPE_CHECKING:
    import pandas
    import polars

_SHOWN = 10


class Paired:
    """A result whose heart are its `pairs`; anything that speaks Arrow takes it as that table, and is given
    some pairs at a time."""

    if TYPE_CHECKING:
        # At run time it would be taken for the default of a field of that name.
        @property
        def found(self) -> PairTable:
            """The pairs as rows of two tables: for whoever does not need them all at once."""

    @cached_property
    def pairs(self) -> pa.Table:
        """`id_a`, `id_b`, and the disclosed columns of both sides."""
        return self.found.table()

    @abstractmethod
    def _facts(self) -> dict[str, str]:
        """What is worth seeing at first sight."""

    def to_pandas(self) -> pandas.DataFrame:
        """The pairs as a pandas table."""
        try:
            return self.pairs.to_pandas()
        except ImportError:
            raise UsageError(
                problem="pandas is not installed: `pip install pandas`, or take .pairs."
            ) from None

    def to_polars(self) -> polars.DataFrame:
        """The pairs as a polars table."""
        try:
            import polars
        except ImportError:
            raise UsageError(
                problem="polars is not installed: `pip install polars`, or take .pairs."
            ) from None
        return polars.DataFrame(polars.from_arrow(self.pairs))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.found.schema, self.found.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        """For notebooks. Every text is escaped: the partner wrote some of it."""
        facts = "".join(html_row((name, value), "th", "td") for name, value in self._facts().items())
        shown = self.found.head(_SHOWN)
        head = html_row(shown.column_names, "th", "th")
        rows = "".join(html_row(row.values(), "td", "td") for row in shown.to_pylist())
        hidden = len(self.found) - shown.num_rows
        more = f"<p>… and {hidden:,} more pairs</p>" if hidden > 0 else ""
        return f"<table>{facts}</table><table>{head}{rows}</table>{more}"


def html_row(cells: Any, first: str, rest: str) -> str:
    """A row of a table, escaped: the first cell between tags of one name, the rest of another."""
    texts = ["" if cell is None else html.escape(str(cell)) for cell in cells]
    tags = [first, *[rest] * (len(texts) - 1)]
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in zip(tags, texts, strict=True))}</tr>"
