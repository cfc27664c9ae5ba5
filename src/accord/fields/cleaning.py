"""Steps that take out of a text what people write in different ways, and values that are taken of others.

A step takes folded text and gives folded text: single blanks, none around. It looks at one cell and the
agreement, never at other cells; a shortcut that leaves plain cells alone gives what the long way would.
Nothing here follows the language of a text: "accents" makes ü u and not ue, in every language alike.

Derived are pieces of a text, the number of a model in it, how it sounds, and parts of a day. Sounds are those
of English: the text without accents, of which only the letters a to z are kept, is coded as one word, so that
`Mary Ann`, `Mary-Ann` and `Maryann` sound alike. A text without such letters has no sound. The codes come
from jellyfish, and each distinct text is coded once. Like every text they are in lower case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.fields.folding import change_beyond_ascii, fold, fold_list
from accord.fields.recipe import SOUNDS, Drop, Prefix, Suffix

TITLES = ("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "rev", "sir", "herr", "frau", "mme", "mlle")
SUFFIXES = ("jr", "sr", "jnr", "snr", "ii", "iii", "iv", "esq", "phd")
_WHOLE = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h"}
    | {"ŧ": "t", "ŋ": "n", "ı": "i", "ƒ": "f", "ɓ": "b", "ɗ": "d", "ƙ": "k"}
)
"""Letters with a stroke or of two, which Unicode does not take apart."""
_VANISHING = r"['‘’ʼʻ`´\p{Cf}]+"
"""Apostrophes, and what is not seen: soft hyphens, marks of direction, joiners."""
_MARKS = re.compile("[\u0300-\u036f]")
"""Of Latin, Greek and Cyrillic letters. Marks of other scripts are no accents: か is not が without one."""
_SHORTEST_CODE = 4
_NO_WORD = r"^[^\p{L}\p{N}]+"


def clean(texts: pa.Array, steps: Sequence[str | Drop]) -> pa.Array:
    """Folded texts after all steps, null where nothing is left; each distinct text is cleaned once."""
    if not steps:
        return texts
    distinct = texts.dictionary_encode()
    words = distinct.dictionary
    for step in steps:
        words = drop_words(words, step.drop) if isinstance(step, Drop) else _STEPS[step](words)
    return empty_to_null(words).take(distinct.indices)


def clean_list(values: Sequence[str], steps: Sequence[str | Drop]) -> list[str | None]:
    """A list of values as cells are compared with them."""
    return [*_clean_list(tuple(values), tuple(steps))]


@lru_cache(maxsize=64)
def _clean_list(values: tuple[str, ...], steps: tuple[str | Drop, ...]) -> tuple[str | None, ...]:
    """The same, kept: a plan reads one agreement again and again, with little changed."""
    return tuple(clean(fold(pa.array(values, pa.large_string())), steps).to_pylist())


def empty_to_null(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def accents(texts: pa.Array) -> pa.Array:
    """Letters without what stands above, below or across them; a letter of two becomes both."""
    return single_blanks(change_beyond_ascii(texts, _bare))


def _bare(text: str) -> str:
    letters = _MARKS.sub("", unicodedata.normalize("NFD", text)).translate(_WHOLE)
    return unicodedata.normalize("NFC", letters)


def punctuation(texts: pa.Array) -> pa.Array:
    """Apostrophes go; every other sign becomes a blank: o'brien-smith is obrien smith."""
    spread = pc.replace_substring_regex(_without(texts, _VANISHING), r"[\p{P}\p{S}\p{Z}]+", " ")
    return single_blanks(spread)


def leading_zeros(texts: pa.Array) -> pa.Array:
    """Zeros before the first other character go; of zeros alone one stays."""
    return pc.replace_substring_regex(texts, r"^0+([^ ])", r"\1")


def drop_words(texts: pa.Array, words: Sequence[str]) -> pa.Array:
    """Texts without these words."""
    bare = sorted({(word or "").replace(".", "").strip(",") for word in fold_list(words)} - {""})
    # Every word gets blanks of its own on both sides, so that two neighbours can both be found.
    spread = pc.replace_substring(texts, " ", "  ")
    one = "|".join(r"\.?".join(re.escape(letter) for letter in word) for word in bare)
    return single_blanks(pc.replace_substring_regex(spread, rf"(?:^| )(?:{one})[.,]*(?: |$)", " "))


def brackets(texts: pa.Array) -> pa.Array:
    """What stands in round, square or curly brackets goes, with them: of "solaris (1972)" the solaris."""
    return single_blanks(pc.replace_substring_regex(texts, r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", " "))


def _without(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.replace_substring_regex(texts, pattern, "")


def single_blanks(texts: pa.Array) -> pa.Array:
    """Texts with one blank between words and none around."""
    if pc.any(pc.match_substring(texts, "  ")).as_py():
        texts = pc.replace_substring_regex(texts, r" {2,}", " ")
    return pc.utf8_trim_whitespace(texts)


_STEPS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "accents": accents,
    "punctuation": punctuation,
    "digits only": lambda texts: _without(texts, r"[^0-9]+"),
    "letters only": lambda texts: _without(texts, r"[^\p{L}\p{M}]+"),
    "spaces": lambda texts: _without(texts, r"[\p{Z}\s]+"),
    "leading zeros": leading_zeros,
    "titles": lambda texts: drop_words(texts, TITLES),
    "suffixes": lambda texts: drop_words(texts, SUFFIXES),
    "brackets": brackets,
}


def derive_text(texts: pa.Array, how: str | Prefix | Suffix) -> pa.Array:
    """A piece of each folded text, or its sound; null where there is none."""
    if isinstance(how, Prefix):
        piece = pc.utf8_slice_codeunits(texts, 0, how.prefix)
    elif isinstance(how, Suffix):
        piece = pc.utf8_slice_codeunits(texts, -how.suffix)
    elif how in SOUNDS:
        return _sound(texts, how)
    elif how == "code":
        return _code(texts)
    else:
        piece = pc.utf8_slice_codeunits(pc.replace_substring_regex(texts, _NO_WORD, ""), 0, 1)
    return empty_to_null(pc.utf8_trim_whitespace(piece))


def _code(texts: pa.Array) -> pa.Array:
    """The number of a model in the name of a product: of the words with a digit the longest, the first of
    these, without signs, if it has so many letters and digits that it is no size."""
    words = pc.split_pattern(texts, " ")
    plain = pc.replace_substring_regex(words.flatten(), r"[^\p{L}\p{N}]+", "")
    fits = pc.match_substring_regex(plain, r"\d")
    lengths = np.where(np.asarray(fits), np.asarray(pc.utf8_length(plain)), 0)
    rows = np.asarray(pc.list_parent_indices(words))
    # By row, longest first, in their order: the first of each row.
    order = np.lexsort((np.arange(len(rows)), -lengths, rows))
    firsts = order[np.r_[True, np.diff(rows[order]) > 0][: len(order)]]
    firsts = firsts[lengths[firsts] >= _SHORTEST_CODE]
    places = np.full(len(texts), -1, np.int64)
    places[rows[firsts]] = firsts
    return plain.take(pa.array(places, mask=places < 0))


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
