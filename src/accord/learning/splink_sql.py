"""A condition of Splink, which is SQL, as a rule; or what has no counterpart, with the nearest that has.

Splink writes few forms of SQL, with `_l` and `_r` behind the columns of the two records: here A's and B's.
They are read as texts. What only changes how a cell is written (letter case, blanks, the type it is cast to)
is dropped, since fields are read so anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil, floor

from accord.exact import short
from accord.fields.schema import Bloom, DateField, Letters, NumberField, TextField
from accord.learning.nearest import nearest_dice
from accord.rules.rule import And, Missing, Not, Or, Rule, Same, Similar, Within, join
from accord.rules.thresholds import Fields
from accord.rules.words import edit
from accord.side import Side
from accord.table.layout import Layout
from accord.wording import did_you_mean


class NoCounterpartError(ValueError):
    """A condition that no rule says; its words name the nearest that one can say."""


ALWAYS, NEVER = And(()), Or(())
_SIDES = {"l": Side.A, "r": Side.B}
_LONGEST = 4_000
"""Letters of a condition."""
_MOST = 10**12
"""No threshold is larger."""
_SECONDS = 86_400
_DAYS = {"day": 1.0, "month": 365.25 / 12, "year": 365.25}
_COLUMN = r"(\w+)_([lr])"
_NUMBER = r"([0-9.eE+-]+)"
_WRAPPED = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:try_)?cast\( ?(\w+) as \w+(?: ?\(\d+\))? ?\)",
        r"\b(?:lower|upper|trim|date)\( ?(\w+) ?\)",
        r"\b(?:try_)?(?:strptime|to_date|to_timestamp)\( ?(\w+) ?(?:, ?'[^']*' ?)?\)",
        r"\b(?:date_parse|str_to_date|parse_date)\( ?(\w+) ?, ?'[^']*' ?\)",
        r"\bnullif\( ?(\w+) ?, ?'' ?\)",
        r"(\b\w+)::\w+",
    )
]
_SAME = re.compile(rf"{_COLUMN} = {_COLUMN}")
_NULL = re.compile(rf"{_COLUMN} is null", re.I)
_THERE = re.compile(rf"{_COLUMN} is not null", re.I)
_MEASURE = re.compile(rf"(\w+)\( ?{_COLUMN} ?, ?{_COLUMN} ?\) ?(>=|<=|>|<) ?{_NUMBER}")
_DIFFERENCE = re.compile(rf"abs\( ?{_COLUMN} ?- ?{_COLUMN} ?\) ?(<=|<) ?{_NUMBER}", re.I)
_EPOCH = re.compile(
    rf"abs\( ?(?:epoch|unix_timestamp|time_to_unix|to_unixtime)\( ?{_COLUMN} ?\) ?- ?"
    rf"(?:epoch|unix_timestamp|time_to_unix|to_unixtime)\( ?{_COLUMN} ?\) ?\) ?(<=|<) ?{_NUMBER}",
    re.I,
)
_DATE_DIFF = re.compile(
    rf"abs\( ?date_?diff\( ?(?:'(day|month|year)' ?, ?)?{_COLUMN} ?, ?{_COLUMN} ?\) ?\) ?(<=|<) ?{_NUMBER}",
    re.I,
)
_UNKNOWN = (
    (r"array|list_|flatten|unnest", "same() on a field of its own for each value of the list"),
    (
        r"regexp_extract|substr|\bleft\(|\bright\(|split_part",
        "same() on a field with derive = { prefix = 3 }",
    ),
    (r"soundex|metaphone|nysiis", 'same() on a field with derive = "soundex"'),
    (r"\b(?:sin|cos|acos|radians)\(", "euclidean(lat, lon) <= 0.01, in degrees"),
    (r"cosine", "cosine() >= 0.9 on a text field with a Bloom filter"),
    (r"abs\(.*/", "within(), by an amount and not by a share"),
    (r"<>|!=", "not same(), and not missing()"),
)
_OTHERWISE = (
    "same(), dice() >= 0.9 or within(); known are equality, nulls, Jaro, Jaro-Winkler, Jaccard, Levenshtein \
and differences of numbers and dates"
)


def _text_measure(name: str, sign: str, bound: float) -> Callable[[str, str], bool] | None:
    """What a function of Splink says of two texts; None if it is not known, or asks for what is far."""
    # Imported here: most learning needs it not.
    import jellyfish

    similar = {
        "jaro_winkler": jellyfish.jaro_winkler_similarity,
        "jaro": jellyfish.jaro_similarity,
        "jaccard": _jaccard,
    }
    apart = {
        "levenshtein": jellyfish.levenshtein_distance,
        "damerau_levenshtein": jellyfish.damerau_levenshtein_distance,
        "dam_lev": jellyfish.damerau_levenshtein_distance,
    }
    plain = re.sub(r"_(similarity|sim|distance)$", "", name.lower()).replace("jarowinkler", "jaro_winkler")
    if plain in similar and sign in (">=", ">"):
        return lambda a, b: similar[plain](a, b) >= bound
    return (lambda a, b: apart[plain](a, b) <= bound) if plain in apart and sign in ("<=", "<") else None


def _jaccard(a: str, b: str) -> float:
    """Of the letters, as DuckDB has it."""
    return len(set(a) & set(b)) / max(1, len(set(a) | set(b)))


def _without_counterpart(sql: str) -> NoCounterpartError:
    near = next((words for known, words in _UNKNOWN if re.search(known, sql, re.I)), _OTHERWISE)
    return NoCounterpartError(f"'{sql}' has no counterpart. The nearest is {near}.")


@dataclass
class Translator:
    """From conditions on Splink's columns to rules on the agreed fields."""

    fields: Fields
    layout: Layout
    notes: dict[str, None] = field(default_factory=dict)
    """What is near and not the same, each once."""

    def rule(self, sql: str) -> Rule:
        """The rule that says what the condition says; raises `NoCounterpartError`."""
        if len(sql) > _LONGEST:
            # Brackets in brackets take the square of their number to read.
            raise NoCounterpartError(f"it has {len(sql):,} characters, but at most {_LONGEST:,} are read.")
        try:
            return self._read(_plain(sql))
        except RecursionError:
            raise NoCounterpartError("its brackets are nested too deeply.") from None

    def _read(self, sql: str) -> Rule:
        for word, kind in (("or", Or), ("and", And)):
            parts = _split(sql, word)
            if len(parts) > 1:
                return _settle(join(kind, [self._read(part) for part in parts]))
        if sql.lower().startswith("not "):
            return _settle(Not(self._read(_bare(sql[4:]))))
        for form, read in (
            (_NULL, self._null),
            (_THERE, self._there),
            (_SAME, self._same),
            (_EPOCH, partial(self._apart, 1 / _SECONDS)),
            (_DATE_DIFF, self._date_diff),
            (_DIFFERENCE, partial(self._apart, 1.0)),
            (_MEASURE, self._measure),
        ):
            if found := form.fullmatch(sql):
                return read(*found.groups())
        raise _without_counterpart(sql)

    def _null(self, column: str, side: str) -> Rule:
        name = self._any(column)
        return Missing(name, _SIDES[side]) if self.fields[name].missing == "differs" else NEVER

    def _there(self, column: str, side: str) -> Rule:
        return _settle(Not(self._null(column, side)))

    def _same(self, first: str, of: str, second: str, other: str) -> Rule:
        a, b = _sides((first, of), (second, other))
        if exact := self._pair(a, b, _is_exact):
            return Same(exact[0], field_b=exact[1])
        names = self._filters(a, b, "same() needs a field that is not a Bloom filter")
        self.notes[f"{_named(names)}: equal filters, dice >= 1, in place of equal texts."] = None
        return Similar("dice", names[0], Fraction(1), field_b=names[1])

    def _measure(
        self, name: str, first: str, of: str, second: str, other: str, sign: str, bound: str
    ) -> Rule:
        limit = float(_amount(bound)) if sign != "<" else ceil(_amount(bound)) - 1
        near = _text_measure(name, sign, limit)
        if near is None:
            raise _without_counterpart(f"{name}(...) {sign} {bound}")
        a, b = _sides((first, of), (second, other))
        exact = self._edit(name, a, b, limit)
        if exact is not None:
            return exact
        names = self._filters(a, b, f"{name}() needs a Bloom filter, whose dice() is the nearest")
        spec = self.fields[names[0]]
        assert isinstance(spec, TextField)
        least = nearest_dice(names[0], spec, near)
        self.notes[f"{_named(names)}: dice >= {float(least):g} in place of {name} {sign} {bound}."] = None
        return Similar("dice", names[0], least, field_b=names[1])

    def _edit(self, name: str, a: str, b: str, bound: float) -> Rule | None:
        """Levenshtein's distance itself, where the field has letters to count."""
        names = self._pair(
            a, b, lambda spec: isinstance(spec, TextField) and isinstance(spec.encoder, Letters)
        )
        if names is None or name.lower() != "levenshtein":
            return None
        return edit(*dict.fromkeys(names)) <= floor(bound)

    def _date_diff(self, unit: str | None, *rest: str) -> Rule:
        return self._apart(_DAYS[(unit or "day").lower()], *rest)

    def _apart(
        self, unit: float, first: str, of: str, second: str, other: str, sign: str, bound: str
    ) -> Rule:
        a, b = _sides((first, of), (second, other))
        names = self._pair(a, b, lambda spec: isinstance(spec, DateField | NumberField))
        if names is None:
            known = f"no field of dates or numbers is made of '{a}' alone"
            raise NoCounterpartError(f"{known}: declare one, for within().")
        amount, spec = _amount(bound), self.fields[names[0]]
        if not isinstance(spec, DateField):
            assert isinstance(spec, NumberField)
            below = (ceil(amount / spec.step) - 1) * spec.step
            return Within(
                names[0], amount if sign == "<=" else max(below, Fraction(0)), False, field_b=names[1]
            )
        days = float(amount) * unit
        whole = floor(days) if sign == "<=" else ceil(days) - 1
        return Within(names[0], Fraction(max(whole, 0)), True, field_b=names[1])

    # -- columns and fields -------------------------------------------------------------------------------

    def _made_of(self, column: str) -> list[str]:
        """The fields that are this column of the model's tables: by name, or made of it as it is."""
        named = [column] if column in self.fields and self.layout.source(column).column == column else []
        made = [
            name
            for name, spec in self.fields.items()
            if spec.derive is None and [self.layout.source(c).column for c in spec.columns(name)] == [column]
        ]
        return list(dict.fromkeys([*named, *made]))

    def _any(self, column: str) -> str:
        made = self._made_of(column)
        if not made:
            hint = f"{did_you_mean(column, self.fields)} Declare one, or map it with `columns=`.".lstrip()
            raise NoCounterpartError(f"no field of the draft is the column '{column}'. {hint}")
        return made[0]

    def _pair(self, a: str, b: str, fits: Callable[[object], bool]) -> tuple[str, str] | None:
        """A field that is A's column and one that is B's, and both fit."""
        found = [[name for name in self._made_of(c) if fits(self.fields[name])] for c in (a, b)]
        self._any(a), self._any(b)
        return (found[0][0], found[1][0]) if all(found) else None

    def _filters(self, a: str, b: str, need: str) -> tuple[str, str]:
        names = self._pair(a, b, lambda spec: isinstance(getattr(spec, "encoder", None), Bloom))
        if names is None:
            column = next(c for c in (a, b) if not any(_is_filter(self.fields[n]) for n in self._made_of(c)))
            mend = f'declare a text field from = "{column}" with a Bloom filter'
            raise NoCounterpartError(f"no field of '{column}' can be compared so: {need}; {mend}.")
        return names


def _is_filter(spec: object) -> bool:
    return isinstance(getattr(spec, "encoder", None), Bloom)


def _is_exact(spec: object) -> bool:
    return not _is_filter(spec)


def _named(names: tuple[str, str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _sides(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    """A's column and B's."""
    of = {_SIDES[side]: column for column, side in (one, other)}
    if len(of) < 2:
        raise NoCounterpartError("columns of the same record are compared; a rule compares A's with B's.")
    return of[Side.A], of[Side.B]


def _amount(number: str) -> Fraction:
    try:
        found = short(number)
    except ValueError:
        raise NoCounterpartError(f"'{number}' is not a number.") from None
    if not 0 <= found <= _MOST:
        raise NoCounterpartError(f"{number} is below 0 or above {_MOST:,}.")
    return found


def _settle(rule: Rule) -> Rule:
    """The rule without parts that always or never hold, and with 'A's is missing or B's is' as `missing`."""
    match rule:
        case Not(part) if part in (ALWAYS, NEVER):
            return ALWAYS if part == NEVER else NEVER
        case And(parts) if NEVER in parts:
            return NEVER
        case Or(parts) if ALWAYS in parts:
            return ALWAYS
        case And(parts) | Or(parts) if len(parts) == 1:
            return parts[0]
        case Or(parts):
            return _unite(list(dict.fromkeys(parts)))
        case _:
            return rule


def _unite(parts: list[Rule]) -> Rule:
    for part in list(parts):
        sides = [Missing(part.field, side) for side in Side] if isinstance(part, Missing) else []
        if sides and all(side in parts for side in sides):
            parts[parts.index(sides[0])] = Missing(sides[0].field)
            parts.remove(sides[1])
    return join(Or, parts) if parts else NEVER


def _plain(sql: str) -> str:
    """The condition in one line, without what only says how a cell is written."""
    text = re.sub(r'["`]', "", " ".join(sql.split()))
    text = re.sub(r" ?(>=|<=|<>|!=|(?<![<>!])=|(?<!-)>(?!=)|<(?![=>])) ?", r" \1 ", text)
    before = ""
    while before != text:
        before = text
        for wrapper in _WRAPPED:
            text = wrapper.sub(r"\1", text)
    return _bare(text)


def _bare(sql: str) -> str:
    """Without brackets around all of it."""
    sql = sql.strip()
    while sql.startswith("(") and _closing(sql) == len(sql) - 1:
        sql = sql[1:-1].strip()
    return sql


def _closing(sql: str) -> int:
    """Where the bracket closes that the text begins with."""
    depth = 0
    for place, sign in enumerate(sql):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place
    return -1


def _split(sql: str, word: str) -> list[str]:
    """The parts between a word that stands in no bracket."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(rf"[()]|\b{word}\b", sql, re.I):
        if found[0] in "()":
            depth += 1 if found[0] == "(" else -1
        elif depth == 0:
            parts.append(sql[start : found.start()])
            start = found.end()
    return [_bare(part) for part in (*parts, sql[start:])]
