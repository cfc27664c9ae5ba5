"""How well a score tells names apart, as two organisations write them. `names.toml` has the words and the
kinds of true and false pairs."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from accord.agreement.document import Agreement
from accord.fields.load import load_records
from accord.learning.drafts import score_of
from accord.rules.evaluate import Tables, scores

Rng = np.random.Generator
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
_EACH = 80
"""Pairs of each kind."""


def separation(names: str, agreement: Agreement) -> float:
    """The chance that a true pair of `organisations` or `persons` has a higher score than a false one (AUC).
    A tie counts half."""
    kinds, rng = WORDS[names], np.random.default_rng(64)
    words, columns = _DRAWN[names]
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    for kind in (*kinds["true"], *kinds["false"]):
        for _ in range(_EACH):
            drawn = words(rng, kinds)
            for side, template in zip(sides, kind, strict=True):
                side.append(
                    [" ".join(cell.split()) or None for cell in template.format_map(drawn).split("|")]
                )
    rows = np.arange(len(sides[0]))
    a, b = (
        load_records(
            pa.table([rows.astype(str), *map(pa.array, zip(*side, strict=True))], ["id", *columns]),
            agreement.fields,
            agreement.salt,
        )
        for side in sides
    )
    tables = Tables(agreement.fields, a.columns, b.columns)
    values = scores(score_of(agreement.rule).comparisons, tables, rows, rows)
    true, false = np.split(values, [_EACH * len(kinds["true"])])
    return float((np.mean(true[:, None] > false) + np.mean(true[:, None] >= false)) / 2)


def _two(rng: Rng, words: Sequence[str]) -> tuple[str, str]:
    """Two different words."""
    first, second = rng.choice(len(words), 2, replace=False)
    return words[first], words[second]


def _mistype(rng: Rng, text: str) -> str:
    at = int(rng.integers(1, len(text) - 1))
    slips = text[at + 1 :], text[at + 1] + text[at] + text[at + 2 :], "aeinrst"[at % 7] + text[at + 1 :]
    return text[:at] + slips[int(rng.integers(3))]


def _organisation(rng: Rng, kinds: dict[str, Any]) -> dict[str, str]:
    own, other = _two(rng, kinds["owns"])
    more = f" {_two(rng, kinds['owns'])[0]}" if rng.random() < 0.4 else ""
    (sector, _, short), (trade, _, _) = (one.partition("=") for one in _two(rng, kinds["sectors"]))
    city, town = _two(rng, kinds["cities"])
    form, _, spelt = _two(rng, kinds["forms"])[0].partition("|")
    tens, ones = rng.choice(9, 2, replace=False) + 1
    return {
        "own": own + more, "other": other, "mistyped": _mistype(rng, own) + more, "sector": sector,
        "short": short or sector, "trade": trade, "city": city, "town": town, "form": form,
        "spelt": spelt, "number": f"{tens}{ones}", "turned": f"{ones}{tens}",
    }  # fmt: skip


def _person(rng: Rng, kinds: dict[str, Any]) -> dict[str, str]:
    (given, nick), (other, _) = (one.split("=") for one in _two(rng, kinds["givens"]))
    second, third = (one.partition("=")[0] for one in _two(rng, kinds["givens"]))
    surname, family = _two(rng, kinds["families"])
    return {
        "given": given, "nick": nick, "other": other, "second": second, "initial": second[0],
        "third": third, "middle": second if rng.random() < 0.4 else "", "surname": surname,
        "family": family, "slip": _mistype(rng, surname), "slipped": _mistype(rng, given),
        "alike": given[:3] + other[3:], "ending": family[:4] + surname[-3:],
    }  # fmt: skip


_DRAWN = {
    "organisations": (_organisation, ["company"]),
    "persons": (_person, ["given", "middle", "surname"]),
}
