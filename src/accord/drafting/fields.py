"""The fields of a draft: for each type its encoder, its cleaning, its range or list, as text with comments.

Names share a `hash_key`, so that a given name can be compared with a family name; texts that only decide
about bins (how a name sounds) are fields of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from accord.drafting.answers import LISTED, RANGED, Answers
from accord.drafting.kinds import ColumnKind, Confirmed


def quote(values: Iterable[str]) -> str:
    """A list of texts in TOML."""
    return "[" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"


_NAME = 'clean = ["accents", "titles", "suffixes", "letters only"]'
_WORDS = 'clean = ["accents", "punctuation"]'
_STREETS = [
    "street",
    "st",
    "road",
    "rd",
    "avenue",
    "ave",
    "lane",
    "ln",
    "drive",
    "dr",
    "strasse",
    "straße",
    "str",
    "weg",
    "platz",
    "rue",
    "avenida",
    "calle",
    "via",
]
_CURRENCIES = ["eur", "usd", "gbp", "chf", "€", "$", "£"]
_FILTER = 'encoder = { kind = "bloom", bits = 64, hashes = 1, grams = 2 }'
_LONG_FILTER = 'encoder = { kind = "bloom", bits = 128, hashes = 1, grams = 3 }'
_LETTERS = 'clean = ["accents", "letters only"]'
_HASH = 'encoder = "hash"'
_TEXT = 'type = "text"'
_UNREAD = 'other = "missing"'
PHONE_DIGITS = 8
"""Without the code of the country, and the zero that stands in its place."""
LIST_OF_SURNAMES = "us-surnames-1990"


@dataclass(frozen=True)
class Block:
    """A `[fields.NAME]` table: its lines, and a comment above it."""

    name: str
    lines: tuple[str, ...]
    comment: str = ""

    @property
    def text(self) -> str:
        head = f"# {self.comment}\n" if self.comment else ""
        return f"{head}[fields.{self.name}]\n" + "\n".join(self.lines) + "\n"


def draft_fields(used: Iterable[Confirmed], answers: Answers, keys: Iterable[str]) -> list[Block]:
    """The fields that are compared, then those of which bins are made, `keys`."""
    found = [_with_missing(block, answers, one.name) for one in used for block in _blocks(one, answers)]
    wanted = set(keys) - {block.name for block in found}
    for name in sorted(wanted):
        source, _, what = name.rpartition("_")
        made = Block(name, (_TEXT, f'from = "{source}"', *_MADE[what], _HASH))
        found.append(_with_missing(made, answers, source))
    return found


_MADE = {
    "sound": ('clean = ["accents", "titles", "suffixes"]', 'derive = "soundex"'),
    "start": (_WORDS, "derive = { prefix = 4 }"),
    "end": (_WORDS, "derive = { suffix = 4 }"),
}
"""Of which bins are made: how a name sounds, how a text begins and ends."""


def _with_missing(block: Block, answers: Answers, source: str) -> Block:
    lines = [*block.lines]
    if values := answers.missing_values.get(source):
        lines.append(f"missing_values = {quote(values)}")
    lines.append(f'missing = "{answers.policy_of(source)}"')
    return Block(block.name, tuple(lines), block.comment)


_SIMPLE = {
    ColumnKind.GIVEN: ((_TEXT, _NAME, _FILTER, 'hash_key = "name"'), ""),
    ColumnKind.SURNAME: ((_TEXT, _NAME, _FILTER, 'hash_key = "name"'), ""),
    ColumnKind.SURNAME_2: ((_TEXT, _NAME, _FILTER, 'hash_key = "name"'), ""),
    ColumnKind.MIDDLE: ((_TEXT, _LETTERS, _FILTER), ""),
    ColumnKind.NAME: ((_TEXT, 'clean = ["accents", "titles", "suffixes", "punctuation"]', _FILTER), ""),
    ColumnKind.STREET: (
        (_TEXT, f'clean = ["accents", {{ drop = {quote(_STREETS)} }}, "punctuation"]', _FILTER),
        "",
    ),
    ColumnKind.CITY: ((_TEXT, _LETTERS, _FILTER), ""),
    ColumnKind.POSTCODE: (
        (_TEXT, 'clean = ["spaces"]', "derive = { prefix = 5 }", _HASH),
        "Of 02139-1234 the 02139.",
    ),
    ColumnKind.PHONE: (
        (_TEXT, 'clean = ["digits only"]', f"derive = {{ suffix = {PHONE_DIGITS} }}", _HASH),
        "The last digits: 030 1234567 and +49 30 1234567 are the same.",
    ),
    ColumnKind.EMAIL: ((_TEXT, 'clean = ["spaces"]', _HASH), ""),
    ColumnKind.IDENTIFIER: ((_TEXT, 'clean = ["accents", "punctuation", "spaces"]', _HASH), ""),
    ColumnKind.TEXT: ((_TEXT, _WORDS, _LONG_FILTER), ""),
}
"""Types that ask for nothing: their lines, and a comment."""


def _blocks(one: Confirmed, answers: Answers) -> Iterator[Block]:
    """The fields that come of a column; the first has its name."""
    if one.kind in _SIMPLE:
        yield Block(one.name, *_SIMPLE[one.kind])
    if one.kind is ColumnKind.SURNAME and answers.rarity:
        yield _rarity()
    if one.kind is ColumnKind.BIRTH:
        yield from _birth(one, answers)
    elif one.kind in LISTED:
        yield _listed(one, answers)
    elif one.kind in RANGED:
        yield _ranged(one, answers)


def _birth(one: Confirmed, answers: Answers) -> Iterator[Block]:
    first, last = answers.range_of(one)
    yield Block(one.name, ('type = "date"', f"min = {first}", f"max = {last}", _UNREAD))
    years = (f"min = {int(first[:4])}", f"max = {int(last[:4])}", "step = 1", _UNREAD)
    yield Block("birth_year", ('type = "number"', 'from = "birth"', 'derive = "year"', *years))
    days = ("min = 1", "max = 31", "step = 1", _UNREAD)
    yield Block("birth_day", ('type = "number"', 'from = "birth"', 'derive = "day"', *days))


def _rarity() -> Block:
    from accord.fields.frequencies import find_list

    lines = (
        'type = "frequency"',
        'from = "surname"',
        'clean = ["accents", "letters only"]',
        f'list = "{LIST_OF_SURNAMES}"',
        f'digest = "{find_list(LIST_OF_SURNAMES).digest}"',
        'shares = ["1/1000", "1/10000"]',
    )
    return Block(
        "surname_rarity", lines, "How rare a family name is, by a public list that ships with Accord."
    )


def _listed(one: Confirmed, answers: Answers) -> Block:
    values = answers.values_of(one)
    if not values:
        note = "Any values, compared by a hash; values = [...] would list the agreed ones."
        return Block(one.name, (_TEXT, _WORDS, _HASH), note)
    listed = f"values = {quote(values)}"
    if one.kind is ColumnKind.SEX:
        note = f"Both sides write {', '.join(values)}, or words that begin so; all else counts as missing."
        return Block(one.name, ('type = "category"', 'derive = "initial"', listed, _UNREAD), note)
    if one.kind is ColumnKind.YESNO:
        return Block(one.name, ('type = "category"', listed, _UNREAD))
    note = "All values that are not listed count as one."
    return Block(one.name, ('type = "category"', listed, 'other = "bin"'), note)


def _ranged(one: Confirmed, answers: Answers) -> Block:
    low, high = answers.range_of(one)
    limits = (f"min = {low}", f"max = {high}", _UNREAD)
    match one.kind:
        case ColumnKind.DATE:
            return Block(one.name, ('type = "date"', *limits))
        case ColumnKind.BIRTH_YEAR | ColumnKind.YEAR:
            return Block(one.name, ('type = "number"', *limits, "step = 1"))
        case ColumnKind.NUMBER:
            return Block(one.name, ('type = "number"', *limits, "step = 0.01"))
        case ColumnKind.PRICE:
            clean = f"clean = [{{ drop = {quote(_CURRENCIES)} }}]"
            return Block(one.name, ('type = "number"', clean, *limits, "step = 0.01"))
        case _:
            return Block(one.name, (f'type = "{one.kind}"', *limits))
