"""The text that is compared: NFKC, lower case, single blanks, trimmed. One function for cells and for lists.

Folding follows the Unicode tables of the installed Arrow; a letter that a newer Unicode adds may fold in one
release and not in another, which can cost a match and never makes a false one under `same()`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def trim(cells: pa.Array) -> pa.Array:
    """Cells as text without blanks around; empty ones are null."""
    bare = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.large_string()), bare)


def fold(cells: pa.Array) -> pa.Array:
    """Cells as they are compared; empty ones are null."""
    lower = pc.utf8_lower(pc.utf8_normalize(trim(cells), form="NFKC"))
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(lower, pattern=r"\s+", replacement=" "))


def fold_list(values: Sequence[str]) -> list[str | None]:
    """A list of values as they are compared."""
    return fold(pa.array(values, pa.large_string())).to_pylist()
