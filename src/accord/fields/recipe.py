"""How the value of a field is made from the cells of its row: words of the agreement, under its digest.

    columns → folded → `missing_values` taken out → joined → `clean`, step by step → `derive` → the value

Everything is a function of the cells of one row, so that no row decides how another is read. What is at its
default is not written into the canonical bytes: agreements from before there were recipes keep their digests.

The words of a step never change their meaning. Another list of titles would need another name; the digest
that the parties compare (see vectors.py) would tell two meanings apart.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    StringConstraints,
    model_serializer,
    model_validator,
)

from accord.spec import Spec
from accord.wording import did_you_mean

StepName = Literal[
    "accents",
    "punctuation",
    "digits only",
    "letters only",
    "spaces",
    "leading zeros",
    "titles",
    "suffixes",
    "brackets",
]
DateWord = Literal["year", "month", "day"]
SoundWord = Literal["soundex", "metaphone", "nysiis"]
DeriveName = Literal[
    "initial", "code", "soundex", "metaphone", "nysiis", "year", "month", "day", "swapped", "log"
]
STEPS: tuple[str, ...] = get_args(StepName)
DATE_WORDS: tuple[str, ...] = get_args(DateWord)
SOUNDS: tuple[str, ...] = get_args(SoundWord)
_DERIVED: tuple[str, ...] = get_args(DeriveName)
ISO_DAY = r"\d{4}-\d{2}-\d{2}"
_LONGEST_CUT = 64
_LONGEST_WORD = 32

ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class Drop(Spec):
    """A cleaning step that removes whole words; dots in them and commas after them are ignored."""

    drop: tuple[str, ...] = Field(min_length=1, max_length=256)
    """The words to remove."""


class Prefix(Spec):
    """The first characters of the cleaned text."""

    prefix: StrictInt = Field(ge=1, le=_LONGEST_CUT)
    """How many characters."""


class Suffix(Spec):
    """The last characters of the cleaned text."""

    suffix: StrictInt = Field(ge=1, le=_LONGEST_CUT)
    """How many characters."""


def _read_step(given: Any) -> Any:
    if isinstance(given, Drop):
        return given
    if isinstance(given, dict) and list(given) == ["drop"]:
        return Drop(drop=_read_words(given["drop"]))
    if not isinstance(given, str):
        raise ValueError('a step is a word such as "accents", or a table such as { drop = ["mr", "mrs"] }')
    if given not in STEPS:
        known = f"Known are: {', '.join(STEPS)}, and a table with drop"
        raise ValueError(f"'{given}' is not a cleaning step. {did_you_mean(given, STEPS, known)}")
    return given


def _read_words(given: Any) -> tuple[str, ...]:
    # Imported here: reading an agreement's shape needs no Arrow.
    from accord.fields.folding import fold_list

    if not isinstance(given, list | tuple) or not given or not all(isinstance(word, str) for word in given):
        raise ValueError('drop is a list of words, such as ["mr", "mrs"]')
    for word, folded in zip(given, fold_list(given), strict=True):
        if folded is None or " " in folded or len(folded) > _LONGEST_WORD or not folded.strip(".,"):
            raise ValueError(f"drop takes single words of up to {_LONGEST_WORD} letters; '{word}' is not one")
    return tuple(given)


def _read_derive(given: Any) -> Any:
    if isinstance(given, Prefix | Suffix):
        return given
    if isinstance(given, dict) and len(given) == 1 and (kind := next(iter(given))) in ("prefix", "suffix"):
        length = given[kind]
        if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= _LONGEST_CUT:
            raise ValueError(f"{kind} takes a whole number of characters, 1 to {_LONGEST_CUT}")
        return Prefix(prefix=length) if kind == "prefix" else Suffix(suffix=length)
    if not isinstance(given, str):
        raise ValueError('must be a word such as "soundex", or { prefix = 3 }, or { suffix = 4 }')
    if given in ("prefix", "suffix"):
        raise ValueError(f"must say how many characters: {{ {given} = 3 }}")
    if given not in _DERIVED:
        known = f"Known are: {', '.join(_DERIVED)}, {{ prefix = 3 }}, {{ suffix = 4 }}"
        raise ValueError(
            f"'{given}' is not something that can be derived. {did_you_mean(given, _DERIVED, known)}"
        )
    return given


def _read_columns(given: Any) -> Any:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError('must name a column, or a list of them, such as ["given", "surname"]')
    if not names:
        raise ValueError("must name a column; without it the column has the field's own name")
    if len(set(names)) < len(names):
        raise ValueError("must name each column once")
    return tuple(names)


def _read_missing(given: Any) -> Any:
    from accord.fields.folding import fold_list

    if not isinstance(given, list | tuple) or not all(isinstance(value, str) for value in given):
        raise ValueError('must be a list of texts, each in quotes, such as ["unknown", "1900-01-01"]')
    if None in fold_list(given):
        raise ValueError("must not hold an empty text; an empty cell is missing anyway")
    return tuple(given)


Step = Annotated[StepName | Drop, BeforeValidator(_read_step, json_schema_input_type=StepName | Drop)]
Derive = Annotated[
    DeriveName | Prefix | Suffix,
    BeforeValidator(_read_derive, json_schema_input_type=DeriveName | Prefix | Suffix),
]
Sources = Annotated[
    tuple[ColumnName, ...],
    Field(max_length=16),
    BeforeValidator(
        _read_columns,
        json_schema_input_type=ColumnName | Annotated[tuple[ColumnName, ...], Field(max_length=16)],
    ),
]
Values = Annotated[
    tuple[str, ...],
    Field(max_length=1000),
    BeforeValidator(_read_missing, json_schema_input_type=Annotated[tuple[str, ...], Field(max_length=1000)]),
]


class Recipe(Spec):
    """What every field can say of how its value is made."""

    sources: Sources = Field(default=(), alias="from")
    """The agreed column, by default the one with the field's own name. Several, for texts and
    categories, are joined by a space; empty ones are left out, and the value is missing if all are."""
    clean: tuple[Step, ...] = Field(default=(), max_length=16)
    """What is done to the folded text, in this order; not for dates, which are read by the format of their
    column."""
    missing_values: Values = ()
    """Cells that hold one of these count as empty, for this field. Each column is compared by itself, before
    it is cleaned: texts as they are folded, days such as `1900-01-01` and numbers as such."""
    derive: Derive | None = None
    """What is taken from the cleaned text, from the day or from the number, instead of it."""

    later: ClassVar[tuple[str, ...]] = ("clean", "missing_values", "derive")
    """Options that came after the first agreements were signed."""
    derives: ClassVar[tuple[str, ...]] = ()
    """What can be derived for this type of field."""
    joins: ClassVar[bool] = False
    """Whether several columns can be joined."""
    cleans: ClassVar[bool] = True
    """Whether texts stand behind it, that can be cleaned."""

    def columns(self, name: str) -> tuple[str, ...]:
        """The agreed columns that the field of this name is made of."""
        return self.sources or (name,)

    @property
    def reads_days(self) -> bool:
        """Whether its column holds dates."""
        return self.derive in DATE_WORDS

    @model_validator(mode="after")
    def _has_sound_recipe(self) -> Recipe:
        kind = getattr(self, "type", "")
        if self.derive is not None and (word := _word(self.derive)) not in self.derives:
            known = f"it can be: {', '.join(self.derives)}" if self.derives else "remove derive"
            raise ValueError(f"a {kind} cannot be derived by '{word}'; {known}")
        if len(self.sources) > 1 and (not self.joins or self.reads_days):
            what = "one date" if self.reads_days else f"a {kind}"
            raise ValueError(f"{what} comes from one column; only texts and categories join several")
        if self.clean and (not self.cleans or self.reads_days):
            raise ValueError("dates are read by the format of their column and not cleaned; remove clean")
        if self.reads_days and (wrong := [v for v in self.missing_values if _looks_like_day(v)]):
            problem = f"'{wrong[0]}' among missing_values is not a date that both sides read alike"
            raise ValueError(f"{problem}; write days as YYYY-MM-DD, however a column writes them")
        if self.derive == "swapped" and getattr(self, "missing", "") != "differs":
            raise ValueError(
                'most days have no other day to swap to: a swapped date needs missing = "differs"'
            )
        return self

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is at its default is not written: agreements of before keep their bytes and digests."""
        written: dict[str, Any] = write(self)
        sources = list(written.pop("sources", None) or written.pop("from", ()))
        for option in self.later:
            if getattr(self, option) == type(self).model_fields[option].default:
                written.pop(option, None)
        if sources:
            written["from"] = sources[0] if len(sources) == 1 else sources
        return written


def _word(derive: str | Prefix | Suffix) -> str:
    if isinstance(derive, str):
        return derive
    return "prefix" if isinstance(derive, Prefix) else "suffix"


def _looks_like_day(value: str) -> bool:
    """Numbers with signs between them, as days are written, but not year, month and day."""
    return bool(re.fullmatch(r"\s*\d+[./ -]\d+[./ -]\d+\s*", value)) and not re.fullmatch(ISO_DAY, value)
