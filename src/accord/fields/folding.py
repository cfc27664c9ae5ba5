"""The text that is compared: NFKC, lower case, single blanks, trimmed. One function for cells and for lists.

Folding follows the Unicode tables of Python (NFKC) and of the installed Arrow (letter case). A letter that a
newer Unicode adds may fold in one release and not in another, which can cost a match and never makes a false
one under `same()`; the parties compare what they make of some texts first (vectors.py). NFKC is Python's, as
Arrow before 26 takes letters apart and does not put them together again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from accord.table.cell_text import to_text


def trim(cells: pa.Array) -> pa.Array:
    """Cells as text without blanks around; empty ones are null."""
    bare = pc.utf8_trim_whitespace(to_text(cells))
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.large_string()), bare)


def fold(cells: pa.Array) -> pa.Array:
    """Cells as they are compared; empty ones are null."""
    lower = pc.utf8_lower(change_beyond_ascii(trim(cells), lambda text: unicodedata.normalize("NFKC", text)))
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(lower, pattern=r"\s+", replacement=" "))


def change_beyond_ascii(texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Texts of which those that are not ASCII are changed by a function of each, called once for each."""
    beyond = pc.invert(pc.fill_null(pc.string_is_ascii(texts), True))
    distinct = texts.filter(beyond).dictionary_encode()
    if not len(distinct):
        return texts
    changed = pa.array([change(text) for text in distinct.dictionary.to_pylist()], texts.type)
    return pc.replace_with_mask(texts, beyond, changed.take(distinct.indices))


def fold_list(values: Sequence[str]) -> list[str | None]:
    """A list of values as they are compared."""
    return fold(pa.array(values, pa.large_string())).to_pylist()
