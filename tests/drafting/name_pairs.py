"""How well a score tells names apart, as two organisations write them. `names.toml` has the words and the
kinds of true and false pairs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from accord.agreement.document import Agreement
from accord.fields.load import load_records
from accord.learning.drafts import score_of
from accord.rules.evaluate import Tables, scores

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
_EACH = 80
"""Pairs of each kind."""


def separation(names: str, agreement: Agreement) -> float:
    """The chance that a true pair of `organisations` or `persons` has a higher score than a false one (AUC).
    A tie counts half."""
    kinds = WORDS[names]
    words, columns = _DRAWN[names]
    sides: tuple[list[list[str | None]], list[list[str | None]]] = ([], [])
    for place, kind in enumerate((*kinds["true"], *kinds["false"])):
        for number in range(_EACH):
            drawn = words(kinds, _EACH * place + number)
            for side, template in zip(sides, kind, strict=True):
                side.append(
                    [" ".join(cell.split()) or None for cell in template.format_map(drawn).split("|")]
                )
    rows = np.arange(len(sides[0]))
    tables = (
        pa.table([rows.astype(str), *map(pa.array, zip(*side, strict=True))], ["id", *columns])
        for side in sides
    )
    a, b = (load_records(table, agreement.fields, agreement.salt).columns for table in tables)
    values = scores(score_of(agreement.rule).comparisons, Tables(agreement.fields, a, b), rows, rows)
    true, false = np.split(values, [_EACH * len(kinds["true"])])
    return float((np.mean(true[:, None] > false) + np.mean(true[:, None] >= false)) / 2)


def _pick(words: list[str], number: int) -> tuple[str, str]:
    """Two words that are not the same."""
    count = len(words)
    return words[number % count], words[(number + 1 + number // count % (count - 1)) % count]


def _mistype(text: str, number: int) -> str:
    at = 1 + number % (len(text) - 2)
    slips = text[at + 1 :], text[at + 1] + text[at] + text[at + 2 :], "aeinrst"[at % 7] + text[at + 1 :]
    return text[:at] + slips[number % 3]


def _organisation(kinds: dict[str, Any], number: int) -> dict[str, str]:
    own, other = _pick(kinds["owns"], number)
    more = f" {kinds['owns'][-number % 40]}" if number % 5 < 2 else ""
    (sector, _, short), (trade, _, _) = (one.partition("=") for one in _pick(kinds["sectors"], number))
    city, town = _pick(kinds["cities"], number)
    form, _, spelt = kinds["forms"][number % len(kinds["forms"])].partition("|")
    tens, ones = 1 + number % 9, 1 + (number + 4) % 9
    return {
        "own": own + more, "other": other, "mistyped": _mistype(own, number) + more, "sector": sector,
        "short": short or sector, "trade": trade, "city": city, "town": town, "form": form,
        "spelt": spelt, "number": f"{tens}{ones}", "turned": f"{ones}{tens}",
    }  # fmt: skip


def _person(kinds: dict[str, Any], number: int) -> dict[str, str]:
    (given, nick), (other, _) = (one.split("=") for one in _pick(kinds["givens"], number))
    second, third = (one.partition("=")[0] for one in _pick(kinds["givens"], number // 3))
    surname, family = _pick(kinds["families"], number)
    return {
        "given": given, "nick": nick, "other": other, "second": second, "initial": second[0],
        "third": third, "middle": second if number % 5 < 2 else "", "surname": surname, "family": family,
        "slip": _mistype(surname, number), "slipped": _mistype(given, number),
        "alike": given[:3] + other[3:], "ending": family[:4] + surname[-3:],
    }  # fmt: skip


_DRAWN = {"organisations": (_organisation, ["company"]), "persons": (_person, ["given", "middle", "surname"])}
