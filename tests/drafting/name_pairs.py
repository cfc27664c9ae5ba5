"""Pairs of names as two organisations write them, true and false ones, and how well scores tell them apart.

`names.toml` has the words and the kinds of pairs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jellyfish
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.fields.load import load_records
from accord.learning.drafts import score_of
from accord.rules.evaluate import Tables, scores

Rng = np.random.Generator
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
_EACH = 150
"""Pairs of each kind."""


@dataclass(frozen=True)
class Pairs:
    """Names by columns on both sides, and which rows are of one person or organisation."""

    columns: tuple[str, ...]
    a: list[list[str]]
    b: list[list[str]]
    true: NDArray[np.bool_]

    @classmethod
    def draw(cls, columns: str, words: Callable[[Rng], dict[str, str]], kinds: dict[str, Any]) -> Pairs:
        rng, true, false = np.random.default_rng(64), kinds["true"], kinds["false"]
        rows: tuple[list[list[str]], list[list[str]]] = ([], [])
        for kind in (*true, *false):
            for _ in range(_EACH):
                drawn = words(rng)
                for side, template in zip(rows, kind, strict=True):
                    cells = template.format_map(drawn).split("|")
                    side.append([" ".join(cell.split()) for cell in cells])
        return cls(tuple(columns.split()), *rows, np.arange(len(rows[0])) < _EACH * len(true))

    def auc(self, values: NDArray[np.float64]) -> float:
        """The chance that a true pair has more than a false one. A tie counts half."""
        of_true, of_false = np.sort(values[self.true]), np.sort(values[~self.true])
        below = np.searchsorted(of_false, of_true, "left") + np.searchsorted(of_false, of_true, "right")
        return float(below.mean() / 2 / len(of_false))

    def auc_of_edits(self) -> float:
        """By plain edit distance of the whole names, relative to the longer one."""
        texts = [[" ".join(filter(None, row)).casefold() for row in rows] for rows in (self.a, self.b)]
        far = [
            jellyfish.levenshtein_distance(x, y) / max(len(x), len(y)) for x, y in zip(*texts, strict=True)
        ]
        return self.auc(-np.array(far))

    def auc_of(self, agreement: Agreement) -> float:
        """By the weights of the levels of a rule."""
        fields, salt = agreement.fields, agreement.salt
        a, b = (load_records(self._table(rows), fields, salt) for rows in (self.a, self.b))
        tables, rows = Tables(fields, a.columns, b.columns), np.arange(len(self.true))
        return self.auc(scores(score_of(agreement.rule).comparisons, tables, rows, rows).astype(float))

    def _table(self, rows: list[list[str]]) -> pa.Table:
        cells = zip(self.columns, zip(*rows, strict=True), strict=True)
        table = {name: [cell or None for cell in column] for name, column in cells}
        return pa.table({"id": [str(row) for row in range(len(rows))], **table})


def _two(rng: Rng, words: Sequence[str]) -> tuple[str, str]:
    """Two different words."""
    first, second = rng.choice(len(words), 2, replace=False)
    return words[first], words[second]


def _mistype(rng: Rng, text: str) -> str:
    at = int(rng.integers(1, len(text) - 1))
    slips = text[at + 1 :], text[at + 1] + text[at] + text[at + 2 :], "aeinrst"[at % 7] + text[at + 1 :]
    return text[:at] + slips[int(rng.integers(3))]


def organisations() -> Pairs:
    """Names of organisations."""
    kinds = WORDS["organisations"]

    def draw(rng: Rng) -> dict[str, str]:
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

    return Pairs.draw("company", draw, kinds)


def persons() -> Pairs:
    """Names of people."""
    kinds = WORDS["persons"]

    def draw(rng: Rng) -> dict[str, str]:
        (given, nick), (other, _) = (one.split("=") for one in _two(rng, kinds["givens"]))
        second, third = (one.partition("=")[0] for one in _two(rng, kinds["givens"]))
        surname, family = _two(rng, kinds["families"])
        return {
            "given": given, "nick": nick, "other": other, "second": second, "initial": second[0],
            "third": third, "middle": second if rng.random() < 0.4 else "", "surname": surname,
            "family": family, "slip": _mistype(rng, surname), "slipped": _mistype(rng, given),
            "alike": given[:3] + other[3:], "ending": family[:4] + surname[-3:],
        }  # fmt: skip

    return Pairs.draw("given middle surname", draw, kinds)
