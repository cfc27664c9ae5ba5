"""Values that are taken of others: pieces of a text, how it sounds, parts of a day.

Sounds are those of English: the text without accents, of which only the letters a to z are kept, is coded as
one word, so that `Mary Ann`, `Mary-Ann` and `Maryann` sound alike. A text without such letters has no sound.
The codes come from jellyfish, and each distinct text is coded once. Like every text they are in lower case.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.fields.cleaning import accents, empty_to_null
from accord.fields.recipe import SOUNDS, Prefix, Suffix

_NO_WORD = r"^[^\p{L}\p{N}]+"


def derive_text(texts: pa.Array, how: str | Prefix | Suffix) -> pa.Array:
    """A piece of each folded text, or its sound; null where there is none."""
    if isinstance(how, Prefix):
        piece = pc.utf8_slice_codeunits(texts, 0, how.prefix)
    elif isinstance(how, Suffix):
        piece = pc.utf8_slice_codeunits(texts, -how.suffix)
    elif how in SOUNDS:
        return _sound(texts, how)
    else:
        piece = pc.utf8_slice_codeunits(pc.replace_substring_regex(texts, _NO_WORD, ""), 0, 1)
    return empty_to_null(pc.utf8_trim_whitespace(piece))


def _sound(texts: pa.Array, how: str) -> pa.Array:
    letters = pc.replace_substring_regex(accents(texts), r"[^a-z]+", "")
    distinct = letters.dictionary_encode()
    code = _coder(how)
    codes = pa.array([code(word).lower() for word in distinct.dictionary.to_pylist()], pa.large_string())
    return empty_to_null(codes.take(distinct.indices))


def _coder(how: str) -> Callable[[str], str]:
    # Imported here: most agreements need no sounds.
    import jellyfish

    coders = {"soundex": jellyfish.soundex, "metaphone": jellyfish.metaphone, "nysiis": jellyfish.nysiis}
    return coders[how]


def derive_part(days: pa.Array, how: str) -> pa.Array:
    """The year, month or day of the month, as numbers, of days since 1970."""
    dates = days.cast(pa.int32()).cast(pa.date32())
    part = {"year": pc.year, "month": pc.month, "day": pc.day}[how]
    return part(dates).cast(pa.int64())


def swap(days: pa.Array) -> pa.Array:
    """The days with day and month exchanged: null where that is no date, and where it is the same one."""
    month, day = (np.asarray(pc.fill_null(derive_part(days, how), 1)) for how in ("month", "day"))
    year = np.asarray(pc.fill_null(derive_part(days, "year"), 1970))
    first = ((year - 1970) * 12 + np.minimum(day, 12) - 1).astype("datetime64[M]").astype("datetime64[D]")
    swapped = first.astype(np.int64) + month - 1
    none = np.asarray(pc.is_null(days)) | (day > 12) | (day == month)
    return pa.array(swapped.astype(np.int32), pa.int32(), mask=none)
