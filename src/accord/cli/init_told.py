"""What `accord init --from` is told on its command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.wording import did_you_mean

if TYPE_CHECKING:
    from accord.drafting.answers import Answers
    from accord.drafting.proposing import Suggestion
    from accord.preparing.seen import SeenTable
    from accord.table.sources.opening import Place

_WORDS = ("values", "range", "within", "missing", "missing_values", "cardinality", "often_empty")

_TRUTH = {"yes": True, "no": False}


@dataclass(frozen=True)
class Told:
    """The command line, as it was typed."""

    table: Place
    typed: str
    """The table, as it stood there."""
    yes: bool = False
    types: tuple[str, ...] = ()
    records: tuple[int, int] | None = None
    parties: tuple[str, str] | None = None
    disclose: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """What is said of fields: FIELD.WORD=VALUE."""
    copies: tuple[int, int] | None = None
    absent: tuple[str, ...] = ()
    """Agreed fields that the table has not."""
    allow_unplaced: bool = False
    allow_unreadable: bool = False
    """Cells that cannot be read count as empty."""
    suggested: Suggestion | None = None
    """What the table suggests where nothing is said."""
    count_epsilon: str | None = None
    """Of a count, where only that is asked for."""
    overlap: float | None = None
    precision: float | None = None
    max_time: float | None = None
    make_ids: bool = False
    dates: tuple[str, ...] = ()
    as_of: date | None = None
    """The day that ages are of."""
    layout: Path | None = None
    encoding: str | None = None
    state: Path | None = None

    @property
    def agreed(self) -> list[str]:
        """The options that say what is written into an agreement."""
        given = {
            "--records": self.records,
            "--copies": self.copies,
            "--allow-unplaced": self.allow_unplaced,
            "--parties": self.parties,
            "--disclose": self.disclose,
            "--field": self.fields,
            "--answer": self.count_epsilon,
            "--overlap": self.overlap,
            "--precision": self.precision,
            "--max-time": self.max_time,
        }
        return [option for option, value in given.items() if value]

    @property
    def asks(self) -> bool:
        """Whether somebody is there to answer."""
        return sys.stdin.isatty() and not self.yes


def answers_of(seen: SeenTable, told: Told) -> Answers:
    """What a draft is made of; sizes that nobody has said yet are 1. Raises what cannot be drafted."""
    from accord.drafting.answers import Answers, in_order
    from accord.drafting.confirming import find_fields
    from accord.drafting.proposing import Suggestion

    said = said_of_fields(told.fields)
    fields = in_order([one.is_ for one in find_fields(seen.columns, told.as_of)])
    usual = (told.suggested or Suggestion()).of(one.name for one in fields)
    empty = {**dict.fromkeys(usual.often_empty, True), **_flags(said["often_empty"])}
    adds = usual.adds_to(said["cardinality"], said["range"], said["often_empty"])
    return Answers(
        fields=fields,
        records=told.records or (1, 1),
        parties=told.parties or Answers.parties,
        disclose=told.disclose,
        values=_lists(said["values"]),
        ranges=usual.ranges | {name: _range(text) for name, text in said["range"].items()},
        cardinality={**usual.cardinality, **said["cardinality"]},  # type: ignore[dict-item]
        often_empty=tuple(name for name, flag in empty.items() if flag),
        copies=told.copies or (usual.copies, 1),
        within=said["within"],
        missing=said["missing"],
        missing_values=_lists(said["missing_values"]),
        count_epsilon=told.count_epsilon,
        overlap=told.overlap,
        precision=told.precision,
        max_time=told.max_time,
        as_guessed=not told.asks
        and (adds or told.copies is None or any(one.guessed for one in seen.columns)),
    )


def said_of_fields(pairs: Iterable[str]) -> dict[str, dict[str, str]]:
    """What was said of fields: for each word, the value by field."""
    found: dict[str, dict[str, str]] = {word: {} for word in _WORDS}
    for pair in pairs:
        place, equals, value = (part.strip() for part in pair.partition("="))
        name, dot, word = place.rpartition(".")
        if not (name and dot and equals and value):
            raise UsageError(problem=f"--field is FIELD.WORD=VALUE, such as sex.values=f,m, not '{pair}'.")
        if word not in found:
            hint = did_you_mean(word, _WORDS, f"Known are: {', '.join(_WORDS)}.")
            raise UsageError(problem=f"--field knows no word '{word}'. {hint}")
        found[word][name] = value
    return found


def _lists(said: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(one.strip() for one in text.split(",") if one.strip()) for name, text in said.items()}


def _flags(said: Mapping[str, str]) -> dict[str, bool]:
    for name, text in said.items():
        if text not in _TRUTH:
            raise UsageError(problem=f"--field {name}.often_empty is yes or no, not '{text}'.")
    return {name: _TRUTH[text] for name, text in said.items()}


def _range(text: str) -> tuple[str, str]:
    low, _, high = text.partition("..")
    return low.strip(), high.strip()


def read_day(text: str) -> date:
    """A day as it is typed."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(problem=f"A day is written 2024-06-30, not '{text}'.") from None
