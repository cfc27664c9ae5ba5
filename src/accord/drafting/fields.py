"""The fields of a draft: for each type its encoder, its cleaning, its range or list, as text with comments.

Texts that only decide about bins (how a name sounds) are fields of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log10

from accord.drafting.answers import LISTED, RANGED, Answers
from accord.drafting.kinds import ColumnKind, Confirmed


def quote(values: Iterable[str]) -> str:
    """A list of texts in TOML."""
    return "[" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"


_NAME = 'clean = ["accents", "titles", "suffixes", "letters only"]'
_WORDS = 'clean = ["accents", "punctuation"]'
_TITLE = 'clean = ["brackets", "accents", "punctuation"]'
_ARTICLES = ["the", "a", "an", "der", "die", "das", "le", "la", "les", "un", "une", "el", "los", "las", "il"]
_BARE_TITLE = f'clean = ["brackets", "accents", "punctuation", {{ drop = {quote(_ARTICLES)} }}]'
_CODE = 'clean = ["accents"]'
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
    *("straat", "laan", "plein", "utca", "u", "út", "tér", "strada", "bulevardul", "ulica", "ul", "ulice"),
    *("gatan", "vej", "gade", "katu", "nr", "no"),
]
_LEGAL_FORMS = (
    "ltd limited plc llc llp lp inc incorporated corp corporation co company pty pvt gmbh ggmbh mbh ag kg "
    "kgaa ohg ug gbr ek ev eg gesellschaft se sa sas sasu sarl eurl snc scop sl slu sau sociedad limitada "
    "lda ltda eireli spa srl srls sapa bv nv vof cv bvba stichting sp z oo spzoo spj spk sro spol as vos "
    "ks kft zrt nyrt bt kkt doo dd jdoo dno ab hb kb a/s aps ivs asa ans da oy oyj ky & + and und et en "
    "og och ja the"
)
"""And words between names."""
_CURRENCIES = ["eur", "usd", "gbp", "chf", "€", "$", "£"]
_NO_CURRENCIES = f"clean = [{{ drop = {quote(_CURRENCIES)} }}]"
_FILTER = 'encoder = { kind = "bloom", bits = 64, hashes = 1, grams = 2 }'
_LONGER_FILTER = 'encoder = { kind = "bloom", bits = 128, hashes = 1, grams = 2 }'
_LONG_FILTER = 'encoder = { kind = "bloom", bits = 256, hashes = 1, grams = 3 }'
_LETTERS = 'clean = ["accents", "letters only"]'
_HASH = 'encoder = "hash"'
_TEXT = 'type = "text"'
_UNREAD = 'other = "missing"'
_MAY_LACK = 'missing = "differs"'
PHONE_DIGITS = 8
"""Without the code of the country, and the zero that stands in its place."""


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

    @property
    def column(self) -> str:
        """The column that it is made of."""
        made_of = (line for line in self.lines if line.startswith("from = "))
        return next(made_of, f'from = "{self.name}"').partition('"')[2].rstrip('"')


def keep_used(blocks: Sequence[Block], used: Iterable[str]) -> list[Block]:
    """The used fields, and the columns that they are made of, which have the class of cardinality."""
    names = {*used}
    columns = {block.column for block in blocks if block.name in names}
    return [block for block in blocks if block.name in names | columns]


def draft_fields(used: Iterable[Confirmed], answers: Answers, keys: Iterable[str]) -> list[Block]:
    """The fields that are compared, then those of which bins are made, `keys`."""
    found = [
        _with_cardinality(_with_missing(block, answers, one.name), answers, one.name)
        for one in used
        for block in _blocks(one, answers)
    ]
    known = {block.name: block for block in found}
    for name in sorted(set(keys) - known.keys()):
        source, _, what = name.rpartition("_")
        lines = _MADE[what] if what in _MADE else _hashed(known[source])
        made = Block(name, (_TEXT, f'from = "{source}"', *lines))
        found.append(_with_missing(made, answers, source))
    return found


_MADE = {
    "sound": ('clean = ["accents", "titles", "suffixes"]', 'derive = "soundex"', _HASH),
    "start": (_BARE_TITLE, "derive = { prefix = 6 }", _HASH),
    "end": (_BARE_TITLE, "derive = { suffix = 6 }", _HASH),
    "code": (_CODE, 'derive = "code"', _HASH),
}
"""Of which bins are made: how a name sounds, how a text begins and ends, the number of a model in it."""


def _hashed(block: Block) -> tuple[str, ...]:
    """How a field is cleaned, for a hash of all of it: a filter has no bins."""
    return (*(line for line in block.lines if line.startswith(("clean", "derive"))), _HASH)


def _with_cardinality(block: Block, answers: Answers, source: str) -> Block:
    """A field that is a column of its own says how many values it has, and whether it is often empty."""
    declared = answers.cardinality.get(source)
    if block.name != source:
        return block
    lines = [f'cardinality = "{declared}"'] * (declared is not None)
    lines += ["often_empty = true"] * (source in answers.often_empty)
    return Block(block.name, (*block.lines, *lines), block.comment)


def _with_missing(block: Block, answers: Answers, source: str) -> Block:
    lines = [*block.lines]
    if values := answers.missing_values.get(source):
        lines.append(f"missing_values = {quote(values)}")
    if _MAY_LACK not in lines:
        lines.append(f'missing = "{answers.policy_of(source)}"')
    return Block(block.name, tuple(lines), block.comment)


_SIMPLE: dict[ColumnKind, tuple[tuple[str, ...], str]] = {
    ColumnKind.GIVEN: ((_TEXT, _NAME, _FILTER), ""),
    ColumnKind.SURNAME: ((_TEXT, _NAME, _FILTER), ""),
    ColumnKind.SURNAME_2: ((_TEXT, _NAME, _FILTER), ""),
    ColumnKind.MIDDLE: ((_TEXT, _LETTERS, _FILTER), ""),
    ColumnKind.NAME: (
        (_TEXT, 'clean = ["brackets", "accents", "titles", "suffixes", "punctuation"]', _LONGER_FILTER),
        "",
    ),
    ColumnKind.STREET: (
        (_TEXT, f'clean = ["accents", {{ drop = {quote(_STREETS)} }}, "punctuation"]', _LONGER_FILTER),
        "",
    ),
    ColumnKind.CITY: ((_TEXT, _LETTERS, _FILTER), ""),
    ColumnKind.POSTCODE: (
        (_TEXT, 'clean = ["punctuation", "spaces"]', "derive = { prefix = 5 }", _FILTER),
        "Of 02139-1234 the 02139.",
    ),
    ColumnKind.PHONE: (
        (_TEXT, 'clean = ["digits only"]', f"derive = {{ suffix = {PHONE_DIGITS} }}", _FILTER),
        "The last digits: 030 1234567 and +49 30 1234567 are the same.",
    ),
    ColumnKind.EMAIL: ((_TEXT, 'clean = ["spaces"]', _LONGER_FILTER), ""),
    ColumnKind.IDENTIFIER: ((_TEXT, 'clean = ["accents", "punctuation", "spaces"]', _FILTER), ""),
    ColumnKind.COMPANY: (
        (
            _TEXT,
            f'clean = ["brackets", "accents", {{ drop = {quote(_LEGAL_FORMS.split())} }}, "punctuation"]',
            _LONGER_FILTER,
        ),
        "Without legal forms: of Acme Ltd. and ACME Limited the acme.",
    ),
    ColumnKind.TEXT: ((_TEXT, _TITLE, _LONG_FILTER), ""),
}
"""Types that ask for nothing: their lines, and a comment."""
_INITIALS = quote("abcdefghijklmnopqrstuvwxyz")


def _blocks(one: Confirmed, answers: Answers) -> Iterator[Block]:
    """The fields that come of a column; the first has its name."""
    if one.kind in _SIMPLE:
        yield Block(one.name, *_SIMPLE[one.kind])
    match one.kind:
        case ColumnKind.MIDDLE:
            lines = ('type = "category"', f'from = "{one.name}"', 'derive = "initial"')
            yield Block("middle_initial", (*lines, f"values = {_INITIALS}", _UNREAD))
        case ColumnKind.COMPANY:
            digits = (_TEXT, f'from = "{one.name}"', 'clean = ["digits only"]', _HASH, _MAY_LACK)
            yield Block(f"{one.name}_digits", digits, "Branches that share a name differ by a number.")
        case ColumnKind.TEXT if not answers.about_people and one.name == answers.title:
            model = (_TEXT, f'from = "{one.name}"', _CODE, 'derive = "code"', _FILTER)
            yield Block(f"{one.name}_model", model, "The number of a model, where the text has one.")
        case ColumnKind.BIRTH:
            yield from _birth(one, answers)
        case kind if kind in LISTED:
            yield _listed(one, answers)
        case kind if kind in RANGED:
            yield _ranged(one, answers)
            if kind is ColumnKind.PRICE:
                yield _logarithm(one, answers)


def _birth(one: Confirmed, answers: Answers) -> Iterator[Block]:
    first, last = answers.range_of(one)
    yield Block(one.name, ('type = "date"', f"min = {first}", f"max = {last}", _UNREAD))
    for part, low, high in (
        ("year", int(first[:4]), int(last[:4])),
        ("month", 1, 12),
        ("day", 1, 31),
    ):
        lines = ('type = "number"', f'from = "{one.name}"', f'derive = "{part}"')
        yield Block(f"birth_{part}", (*lines, f"min = {low}", f"max = {high}", "step = 1", _UNREAD))


def _listed(one: Confirmed, answers: Answers) -> Block:
    values = answers.values_of(one)
    if not values:
        note = "Any values, compared by a hash; values = [...] would list the agreed ones."
        return Block(one.name, (_TEXT, _WORDS, _HASH), note)
    listed = f"values = {quote(values)}"
    if one.kind is ColumnKind.YESNO:
        return Block(
            one.name, ('type = "category"', listed, _UNREAD), "Each side maps its own words to these."
        )
    if one.kind is ColumnKind.SEX:
        note = f"Both sides write {', '.join(values)}, or words that begin so; all else counts as missing."
        return Block(one.name, ('type = "category"', 'derive = "initial"', listed, _UNREAD), note)
    note = "All values that are not listed count as one."
    return Block(one.name, ('type = "category"', listed, 'other = "bin"'), note)


def _logarithm(one: Confirmed, answers: Answers) -> Block:
    """The logarithm of an amount: for shares of it, in steps of about 0.2 %."""
    most = max(map(abs, map(float, answers.range_of(one))))
    last = max(1, ceil(log10(most))) if most else 1
    lines = (
        'type = "number"',
        f'from = "{one.name}"',
        _NO_CURRENCIES,
        'derive = "log"',
        f"min = -2\nmax = {last}\nstep = 0.001",
        _UNREAD,
        _MAY_LACK,
    )
    return Block(f"{one.name}_log", lines, "For levels within a share of the amount: 0.1 is 10 %.")


def _ranged(one: Confirmed, answers: Answers) -> Block:
    low, high = answers.range_of(one)
    limits = (f"min = {low}", f"max = {high}", _UNREAD)
    match one.kind:
        case ColumnKind.DATE:
            return Block(one.name, ('type = "date"', *limits))
        case ColumnKind.YEAR | ColumnKind.BIRTH_YEAR:
            return Block(one.name, ('type = "number"', *limits, "step = 1"))
        case ColumnKind.NUMBER:
            return Block(one.name, ('type = "number"', *limits, "step = 0.01"))
        case ColumnKind.PRICE:
            return Block(one.name, ('type = "number"', _NO_CURRENCIES, *limits, "step = 0.01"))
        case _:
            return Block(one.name, (f'type = "{one.kind}"', *limits))
