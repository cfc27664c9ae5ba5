"""The agreed fields: what each one means and how it becomes numbers.

A field is part of the agreement, so it holds public facts only: ranges, lists, filter sizes. Both parties
encode with the same field and therefore compare like with like. Every field of integers maps its values to
codes 0..`high`; a text maps to a string of bits: of a filter, of a hash, or of its letters. How a value is
made from cells is its recipe (recipe.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StrictInt,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from accord.exact import short, text
from accord.fields.cardinality import Cardinality
from accord.fields.recipe import DATE_WORDS, SOUNDS, Recipe
from accord.spec import Spec as Spec

Exact = Annotated[
    Fraction,
    BeforeValidator(short),
    PlainSerializer(text, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE/^*+-]+$"}]}),
]
"""A number of the agreement: `0.001`, `1e-9`, `"2^-40"`, `"1/3"`."""
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
HASH_BITS = 80
_OF_TEXTS = ("prefix", "suffix", "initial", "code", *SOUNDS, *DATE_WORDS)
PAPER_BLOOM = {"kind": "bloom", "bits": 50, "hashes": 1, "grams": 3}


class Bloom(Spec):
    """A Bloom filter of the text's q-grams; see `accord.fields.siphash`."""

    kind: Literal["bloom"]
    bits: StrictInt = Field(ge=8, le=8192)
    """How long the filter is."""
    hashes: StrictInt = Field(ge=1, le=100)
    """How many bits each q-gram sets."""
    grams: StrictInt = Field(ge=1, le=8)
    """How many letters a q-gram has."""


class Hash(Spec):
    """A hash of the whole text, for `same()`: two texts collide with probability 2^−80."""

    kind: Literal["hash"]


LONGEST_TEXT = 24
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "


class Letters(Spec):
    """The text itself, of at most `length` letters of an agreed alphabet: for `edit()` and `mismatches()`.

    A letter has a number from 1, its place in the alphabet; places after the last letter have 0.
    """

    kind: Literal["letters"]
    length: StrictInt = Field(ge=1, le=LONGEST_TEXT)
    """The most letters."""
    alphabet: str = Field(default=ALPHABET, min_length=1, max_length=63)
    """The letters that count, in their order."""

    @model_validator(mode="after")
    def _fits(self) -> Letters:
        # Imported here: reading an agreement's shape needs no Arrow.
        from accord.fields.folding import fold_list

        if len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError("a letter appears twice in the alphabet")
        # A blank at the end of a text would be trimmed; between letters it stays.
        folded = fold_list([f"x{letter}x" for letter in self.alphabet])
        never = [c for c, text in zip(self.alphabet, folded, strict=True) if text != f"x{c}x"]
        if never:
            raise ValueError(
                f"no folded text holds {' or '.join(map(repr, never))}: texts are compared in lower case, "
                "composed, with single spaces; write the alphabet like that"
            )
        return self

    @property
    def bits(self) -> int:
        """Of one letter."""
        return len(self.alphabet).bit_length()


def _preset(value: Any) -> Any:
    presets = {"hash": {"kind": "hash"}, "paper": PAPER_BLOOM}
    if isinstance(value, str) and value not in presets:
        raise ValueError(
            'must be "hash", "paper" (50 bits, 1 hash, trigrams) or a table with kind = "bloom" or "letters"'
        )
    return presets[value] if isinstance(value, str) else value


class _Field(Recipe):
    later: ClassVar = (*Recipe.later, "cardinality", "often_empty")
    cardinality: Cardinality | None = None
    """How many different values the field has: about 5, hundreds, thousands, or nearly as many as records.
    Synthetic records follow it, and each party's table is checked against it."""
    often_empty: bool = False
    """Whether many records have no value: synthetic records follow it, too."""
    missing: Literal["error", "differs", "skip"] = "error"
    """What an empty cell means: a fault; a value that agrees with nothing; a record to leave out, which
    matches nothing and still counts in the announced size."""


class TextField(_Field):
    """Free text, folded (NFKC, lower case, single spaces) and then turned into bits."""

    later: ClassVar = (*_Field.later, "other")
    derives: ClassVar = _OF_TEXTS
    joins: ClassVar = True

    type: Literal["text"]
    encoder: Annotated[
        Annotated[Bloom | Hash | Letters, Field(discriminator="kind")],
        BeforeValidator(_preset, json_schema_input_type=Literal["hash", "paper"] | Bloom | Hash | Letters),
    ]
    """What becomes of the text: a hash, a filter, or its letters."""

    other: Literal["error", "skip", "missing"] = "error"
    """What a text means that the letters cannot spell, too long or with a foreign letter: a fault, a record
    to leave out, or, as for every text, a value that is missing."""

    @model_validator(mode="after")
    def _fits(self) -> TextField:
        if self.other == "skip" and not isinstance(self.encoder, Letters):
            raise ValueError('"skip" is for texts with kind = "letters"; every text has a hash: leave it out')
        return self

    @property
    def bits(self) -> int:
        match self.encoder:
            case Bloom(bits=bits):
                return bits
            case Letters(length=length):
                return length * self.encoder.bits
            case Hash():
                return HASH_BITS


class _Ranged(_Field):
    other: Literal["error", "skip", "missing"] = "error"
    """What a value outside the range means: a fault, a record to leave out, or a value that is missing."""


class NumberField(_Ranged):
    """A number kept as a whole multiple of `step`, from `min` to `max`."""

    derives: ClassVar = ("prefix", "suffix", "log", *DATE_WORDS)

    type: Literal["number"]
    min: Exact
    """The least value."""
    max: Exact
    """The largest value."""
    step: Exact
    """Values are whole multiples of it, from `min`."""

    @model_validator(mode="after")
    def _fits(self) -> NumberField:
        if self.step <= 0:
            raise ValueError("step must be above 0")
        if self.max < self.min:
            raise ValueError("max must not be below min")
        if (self.min / self.step).denominator != 1 or (self.max / self.step).denominator != 1:
            raise ValueError(f"min and max must be multiples of step {text(self.step)}")
        if max(abs(self.min), abs(self.max)) / self.step > 2**52 or self.high >= 2**40:
            raise ValueError("the range holds too many steps; take a larger step or a smaller range")
        return self

    @property
    def first(self) -> int:
        """`min` in steps: the multiple that becomes code 0."""
        return int(self.min / self.step)

    @property
    def high(self) -> int:
        return int((self.max - self.min) / self.step)

    @property
    def is_log(self) -> bool:
        """Whether values are decimal logarithms: equal differences are equal ratios of amounts."""
        return self.derive == "log"


class LatitudeField(NumberField):
    """Degrees north, to six decimals (about 11 cm) unless the agreement says otherwise."""

    derives: ClassVar = ()

    type: Literal["latitude"]  # type: ignore[assignment]
    min: Exact = Field(default=Fraction(-90), ge=-90)
    max: Exact = Field(default=Fraction(90), le=90)
    step: Exact = Fraction(1, 10**6)


class LongitudeField(NumberField):
    """Degrees east; a range does not wrap around at 180."""

    derives: ClassVar = ()

    type: Literal["longitude"]  # type: ignore[assignment]
    min: Exact = Field(default=Fraction(-180), ge=-180)
    max: Exact = Field(default=Fraction(180), le=180)
    step: Exact = Fraction(1, 10**6)


class CategoryField(_Field):
    """One of a public list of values, folded as texts are: letter case and surrounding spaces are ignored."""

    derives: ClassVar = _OF_TEXTS
    joins: ClassVar = True

    type: Literal["category"]
    values: tuple[str, ...] = Field(min_length=1, max_length=1_000_000)
    """The public list."""
    other: Literal["error", "bin", "skip", "missing"] = "error"
    """What a value outside the list means: a fault; one more value, 'other'; a record to leave out; a value
    that is missing."""

    @model_validator(mode="after")
    def _fits(self) -> CategoryField:
        folded = self.compared()
        if None in folded:
            raise ValueError("values must not hold an empty text; an empty cell is a missing value")
        if len(set(folded)) < len(folded):
            raise ValueError("values must differ from each other, whatever their letter case")
        return self

    def compared(self) -> list[str | None]:
        """The values as cells are compared with them: cleaned as these are, or as they are derived."""
        # Imported here: reading an agreement's shape needs no Arrow.
        from accord.fields.cleaning import clean_list

        return clean_list(self.values, () if self.derive is not None else self.clean)

    @property
    def high(self) -> int:
        return len(self.values) - (self.other != "bin")


class DateField(_Ranged):
    """A calendar day from `min` to `max`, counted in days."""

    derives: ClassVar = ("swapped",)
    cleans: ClassVar = False

    type: Literal["date"]
    min: date
    """The first day."""
    max: date
    """The last day."""

    @model_validator(mode="after")
    def _fits(self) -> DateField:
        if self.max < self.min:
            raise ValueError("max must not be before min")
        return self

    @property
    def high(self) -> int:
        return (self.max - self.min).days

    @property
    def reads_days(self) -> bool:
        return True


FieldSpec = Annotated[
    TextField | NumberField | LatitudeField | LongitudeField | CategoryField | DateField,
    Field(discriminator="type"),
]


def is_made(name: str, fields: Mapping[str, FieldSpec]) -> bool:
    """Whether this is the name of a field and of no column: the field is made of others."""
    return name in fields and name not in fields[name].columns(name)


def is_shown(name: str, disclosed: Sequence[str], fields: Mapping[str, FieldSpec]) -> bool:
    """Whether the value of a field is disclosed: by itself, or with the columns that it is made of."""
    if name in disclosed and (name not in fields or is_made(name, fields)):
        return True
    columns = fields[name].columns(name) if name in fields else (name,)
    return all(column in disclosed for column in columns)


def dated_columns(fields: Mapping[str, FieldSpec]) -> dict[str, date]:
    """The columns that some field reads as dates, each with the last agreed day: to every other field they
    are days, too."""
    found: dict[str, date] = {}
    for name, spec in fields.items():
        for column in spec.columns(name) if spec.reads_days else ():
            found[column] = min(found.get(column, date.max), _last_day(spec))
    return found


def _last_day(spec: FieldSpec) -> date:
    if isinstance(spec, DateField):
        return spec.max
    if isinstance(spec, NumberField) and spec.derive == "year" and 1 <= spec.max < date.max.year:
        return date(int(spec.max), 12, 31)
    return date.max


def agreed_columns(fields: Mapping[str, FieldSpec], disclosed: Iterable[str] = ()) -> tuple[str, ...]:
    """The columns that a table must have, by their agreed names: what a layout may map."""
    read = [column for name, spec in fields.items() for column in spec.columns(name)]
    return tuple(dict.fromkeys([*read, *(name for name in disclosed if not is_made(name, fields))]))
