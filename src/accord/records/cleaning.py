"""Steps that take out of a text what people write in different ways; whole columns at a time.

A step takes folded text and gives folded text: single blanks, none around. It looks at one cell and the
agreement, never at other cells; a shortcut that leaves plain cells alone gives what the long way would.
Nothing here follows the language of a text: "accents" makes ü u and not ue, in every language alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from accord.records.folding import fold, fold_list
from accord.records.recipe import Drop

TITLES = ("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "rev", "sir", "herr", "frau", "mme", "mlle")
SUFFIXES = ("jr", "sr", "jnr", "snr", "ii", "iii", "iv", "esq", "phd")
_WHOLE = {
    **{"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h"},
    **{"ŧ": "t", "ŋ": "n", "ı": "i", "ƒ": "f", "ɓ": "b", "ɗ": "d", "ƙ": "k"},
}
"""Letters with a stroke or of two, which Unicode does not take apart."""
_VANISHING = r"['‘’ʼʻ`´\p{Cf}]+"
"""Apostrophes, and what is not seen: soft hyphens, marks of direction, joiners."""
_MARKS = r"[\x{0300}-\x{036F}]"
"""Of Latin, Greek and Cyrillic letters. Marks of other scripts are no accents: か is not が without one."""


def clean(texts: pa.Array, steps: Sequence[str | Drop]) -> pa.Array:
    """Folded texts after all steps; null where nothing is left."""
    for step in steps:
        texts = drop_words(texts, step.drop) if isinstance(step, Drop) else _STEPS[step](texts)
    return empty_to_null(texts) if steps else texts


def clean_list(values: Sequence[str], steps: Sequence[str | Drop]) -> list[str | None]:
    """A list of values as cells are compared with them."""
    return clean(fold(pa.array(values, pa.large_string())), steps).to_pylist()


def empty_to_null(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def accents(texts: pa.Array) -> pa.Array:
    """Letters without what stands above, below or across them; a letter of two becomes both."""
    marked = pc.invert(pc.fill_null(pc.string_is_ascii(texts), True))
    some = texts.filter(marked)
    if not len(some):
        return texts
    some = _without(pc.utf8_normalize(some, form="NFD"), _MARKS)
    for letter, plain in _WHOLE.items():
        some = pc.replace_substring(some, letter, plain)
    return pc.replace_with_mask(texts, marked, _single_blanks(pc.utf8_normalize(some, form="NFC")))


def punctuation(texts: pa.Array) -> pa.Array:
    """Apostrophes go; every other sign becomes a blank: o'brien-smith is obrien smith."""
    spread = pc.replace_substring_regex(_without(texts, _VANISHING), r"[\p{P}\p{S}\p{Z}]+", " ")
    return _single_blanks(spread)


def leading_zeros(texts: pa.Array) -> pa.Array:
    """Zeros before the first other character go; of zeros alone one stays."""
    return pc.replace_substring_regex(texts, r"^0+([^ ])", r"\1")


def drop_words(texts: pa.Array, words: Sequence[str]) -> pa.Array:
    """Texts without these words."""
    bare = sorted({(word or "").replace(".", "").strip(",") for word in fold_list(words)} - {""})
    # Every word gets blanks of its own on both sides, so that two neighbours can both be found.
    spread = pc.replace_substring(texts, " ", "  ")
    one = "|".join(r"\.?".join(re.escape(letter) for letter in word) for word in bare)
    return _single_blanks(pc.replace_substring_regex(spread, rf"(?:^| )(?:{one})[.,]*(?: |$)", " "))


def _without(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.replace_substring_regex(texts, pattern, "")


def _single_blanks(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, r" {2,}", " "))


_STEPS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "accents": accents,
    "punctuation": punctuation,
    "digits only": lambda texts: _without(texts, r"[^0-9]+"),
    "letters only": lambda texts: _without(texts, r"[^\p{L}\p{M}]+"),
    "spaces": lambda texts: _without(texts, r"[\p{Z}\s]+"),
    "leading zeros": leading_zeros,
    "titles": lambda texts: drop_words(texts, TITLES),
    "suffixes": lambda texts: drop_words(texts, SUFFIXES),
}
