"""What the name of a column says: the types that its words stand for in the public vocabulary.

Whole names count before single words, and words are the same whatever their case, accents and joints are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from unicodedata import normalize

from accord.drafting.kinds import SEVERAL, ColumnKind
from accord.drafting.vocabulary import ENDINGS, GENERAL, MAKERS, QUALIFIERS, WORDS

_LEAST_LETTERS = 2
_FOREIGN = str.maketrans({"ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d"})


def is_called(column: str, kind: ColumnKind) -> bool:
    """Whether the whole name of a column says so, not one word of it."""
    joined = "".join(words_of(column))
    return joined in WORDS[kind] or any(joined.endswith(end) for end, of in ENDINGS if of is kind)


def kinds_by_name(column: str) -> list[ColumnKind]:
    """What the name of a column says, the likeliest first."""
    words = words_of(column)
    joined = "".join(words)
    found = [kind for kind, names in WORDS.items() if joined in names]
    found += [kind for ending, kind in ENDINGS if joined.endswith(ending)]
    found += _spell_out(column, joined) if not found else []
    some = [kind for kind, names in WORDS.items() if any(word in names for word in words)]
    if MAKERS & {WORDS[ColumnKind.TEXT].get(word) for word in words}:
        # The first author is nobody's given name.
        some = [kind for kind in some if kind not in (ColumnKind.GIVEN, ColumnKind.SURNAME)]
    if "of" in words[1:2]:
        # The number of something names no record.
        some = [kind for kind in some if kind is not ColumnKind.ID]
    if {ColumnKind.GIVEN, ColumnKind.SURNAME} <= {*some}:
        found.append(ColumnKind.NAME)
    # Many things have a name, and a number: it names people, or records, if nothing else is said.
    last = (ColumnKind.NAME, ColumnKind.ID)
    return list(
        dict.fromkeys([*found, *sorted(some, key=lambda kind: kind in last and last.index(kind) + 1)])
    )


def _spell_out(column: str, joined: str) -> list[ColumnKind]:
    """What a name that ends in a full stop is short for: the shortest word that begins so, of those that
    mean one thing only."""
    if not column.rstrip().endswith(".") or len(joined) < _LEAST_LETTERS:
        return []
    longer = sorted(
        (len(name), kind)
        for kind, names in WORDS.items()
        if kind not in SEVERAL
        for name in names
        if name.startswith(joined)
    )
    return [kind for length, kind in longer if length == longer[0][0]][:1]


def without_qualifiers(columns: Sequence[str]) -> list[str]:
    """Headers without the first words that say whose or which, and not what: `ADDR_CITY` is a city, and so is
    `kd_ort` beside `kd_plz`. What is left must be known; a header that is known as it is stays."""
    firsts = Counter(words[0] for column in columns if len(words := words_of(column)) > 1)
    return [_without_qualifiers(column, firsts) for column in columns]


def _without_qualifiers(column: str, firsts: Mapping[str, int]) -> str:
    words = words_of(column)
    while len(words) > 1 and not _is_known("".join(words)):
        first, *rest = words
        if first not in QUALIFIERS and (firsts[first] < 2 or _is_known(first)):
            break
        words = rest
    end = "." if column.rstrip().endswith(".") else ""
    bare = " ".join(words) + end
    is_shorter = len(words) < len(words_of(column))
    return bare if is_shorter and {*kinds_by_name(bare)} - {ColumnKind.ID} else column


def _is_known(joined: str) -> bool:
    """Whether a word is one of the vocabulary."""
    return any(joined in names for names in WORDS.values())


def words_of(column: str) -> list[str]:
    """Its words in lower case, without accents: `dateOfBirth`, `DATE_OF_BIRTH` and `Date of birth` alike. Of
    a web address, those of its last part."""
    if "://" in column:
        column = re.split(r"[/#]", column.rstrip("/#"))[-1]
    spelt = re.sub(r"(?<=[a-zß-ü\d])(?=[A-ZÄÖÜ])", " ", column).casefold().translate(_FOREIGN)
    return re.findall(r"[a-z0-9]+", re.sub("[\u0300-\u036f]", "", normalize("NFD", spelt)))


def word_for(column: str, kind: ColumnKind) -> str:
    """What the public vocabulary calls such a column, where a type has no name of its own."""
    words, known = words_of(column), WORDS.get(kind, {})
    said = [known[word] for word in ("".join(words), *words) if word in known]
    return min(said, key=lambda name: name in GENERAL, default="") if kind in SEVERAL else ""


def unusual(column: str, kind: ColumnKind) -> int:
    """How unusual a name is for a type: its place in the vocabulary, which has usual words first."""
    joined, known = "".join(words_of(column)), [*WORDS.get(kind, ())]
    if joined in known:
        return known.index(joined)
    return len(known) + (kind not in kinds_by_name(column))
