"""Pairs of names as two organisations write them, true and false ones, and how well scores tell them apart.

The words are in no vocabulary of Accord. False pairs are the hard ones: families, chains and neighbours,
whose names share most words. A kind of pairs is two templates, filled from one draw of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jellyfish
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.fields.load import load_records
from accord.learning.drafts import score_of
from accord.rules.evaluate import Tables, scores

Rng = np.random.Generator
Templates = Sequence[tuple[str, str]]
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
    def draw(
        cls, columns: str, words: Callable[[Rng], dict[str, str]], true: Templates, false: Templates
    ) -> Pairs:
        rng = np.random.default_rng(64)
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


def _words(text: str, sign: str | None = None) -> list[str]:
    return [word.strip() for word in text.split(sign)]


def _two(rng: Rng, words: Sequence[str]) -> tuple[str, str]:
    """Two different words."""
    first, second = rng.choice(len(words), 2, replace=False)
    return words[first], words[second]


def _mistype(rng: Rng, text: str) -> str:
    at = int(rng.integers(1, len(text) - 1))
    slips = text[at + 1 :], text[at + 1] + text[at] + text[at + 2 :], "aeinrst"[at % 7] + text[at + 1 :]
    return text[:at] + slips[int(rng.integers(3))]


# -- organisations ------------------------------------------------------------------------------------------

_OWN = _words(
    """
    Adler Brandt Lindqvist Kowalczyk Moreau Delacroix Rossetti Benedetti Hargreaves Whitfield Okonkwo
    Svensson Virtanen Halvorsen Petrescu Horvat Nemeth Dvorak Pereira Almeida Montoya Quintana Vermeulen
    Dijkstra Northgate Silverline Bluepeak Meridian Polaris Vantage Zenith Aurelia Cascadia Lumina
    Novatek Stratos Greenfield Oakwood Riverside Castello Mirabelle Sonnenhof Bergmann Falkenberg
    Tarantino
    """
)
_CITIES = _words("Leeds Bristol Hamburg Dresden Lyon Nantes Torino Bologna Utrecht Gent Malmo Bergen Brno")
_SECTORS = _words(
    """
    Bakery|Foods|Pharmacy|Logistics|Holding|Autohaus|Hotel|Elektrotechnik|Boulangerie|Bygg|Costruzioni|
    Installatiebedrijf|Trading International=Trading Intl|Medical Services=Medical Svcs|Transport=Transp.|
    Brothers Manufacturing=Brothers Mfg|Construction=Constr.|Engineering=Eng.|Immobilien=Immob.|Software=SW|
    Consulting=Cons.|Maschinenbau=Masch.bau|Assurances=Ass.
    """,
    "|",
)
_FORMS = _words(
    """
    Ltd|Limited, GmbH|G.m.b.H., GmbH|Gesellschaft mbH, GmbH & Co. KG|GmbH & Co KG, AG|A.G., B.V.|BV, SA|S.A.,
    S.p.A.|SpA, S.r.l.|SRL, SARL|S.A.R.L., Inc|Incorporated, LLC|L.L.C., AB|, Oy|, ApS|, Corp|Corporation,
    A/S|AS, sp. z o.o.|Sp. z o.o., Kft.|Kft, s.r.o.|sro, e.V.|eV, PLC|plc, N.V.|NV, d.o.o.|doo
    """,
    ",",
)


def _firm(rng: Rng) -> dict[str, str]:
    own, other = _two(rng, _OWN)
    more = f" {_two(rng, _OWN)[0]}" if rng.random() < 0.4 else ""
    (sector, _, short), (trade, _, _) = (one.partition("=") for one in _two(rng, _SECTORS))
    city, town = _two(rng, _CITIES)
    form, _, spelt = _two(rng, _FORMS)[0].partition("|")
    tens, ones = rng.choice(9, 2, replace=False) + 1
    return {
        "own": own + more, "other": other, "mistyped": _mistype(rng, own) + more, "sector": sector,
        "short": short or sector, "trade": trade, "city": city, "town": town, "form": form, "spelt": spelt,
        "number": f"{tens}{ones}", "turned": f"{ones}{tens}",
    }  # fmt: skip


def organisations() -> Pairs:
    """Names of organisations."""
    true = (
        ("{own} {sector} {form}", "{own} {sector} {spelt}"),
        ("{own} {sector} {form}", "{own} {sector}"),
        ("{own} {sector} {form}", "{own} {short} {form}"),
        ("{own} {sector} {form}", "{sector} {own} {form}"),
        ("{own} {sector} {form}", "{mistyped} {sector} {form}"),
        ("{own} {sector} {city} {form}", "{own} {sector} {form}"),
    )
    false = (
        ("{own} {sector} {number}", "{own} {sector} {turned}"),
        ("{own} {sector} {city} {form}", "{own} {sector} {town} {form}"),
        ("{own} {sector} {city} {form}", "{other} {sector} {city} {form}"),
        ("{own} {sector} {form}", "{own} {trade} {form}"),
        ("{own} {sector} {form}", "{other} {trade} {form}"),
    )
    return Pairs.draw("company", _firm, true, false)


# -- persons ------------------------------------------------------------------------------------------------

_GIVEN = _words(
    """
    Katharina=Kathi Joseph=Joe William=Bill Elisabeth=Liz Margaret=Maggie Alexander=Alex Giovanni=Gianni
    Francesca=Franca Antoine=Toni Joaquin=Quino Beatriz=Bea Willem=Wim Tomasz=Tomek Ilona=Ili Marie=Mimi
    Annelies=Anne Zofia=Zosia Ingrid=Inga Mikael=Micke Astrid=Asta Laszlo=Laci Radek=Rada Milena=Mila
    Henrik=Henke Matti=Mattias Ioana=Oana Marek=Mareczek
    """
)
_FAMILIES = _words(
    """
    Fischer Hoffmann Thompson Richardson Moretti Ferrari Lefebvre Rousseau Navarro Castillo Oliveira
    Teixeira Vandenberg Jansen Nowakowski Zielinski Andersson Lindgren Kovacs Szabo Novotny Cernak
    Eriksen Korhonen Popescu Kovacevic Okafor Haddad Nguyen Papadakis
    """
)


def _person(rng: Rng) -> dict[str, str]:
    (given, nick), (other, _) = (one.split("=") for one in _two(rng, _GIVEN))
    second, third = (one.partition("=")[0] for one in _two(rng, _GIVEN))
    surname, family = _two(rng, _FAMILIES)
    return {
        "given": given, "nick": nick, "other": other, "second": second, "initial": second[0], "third": third,
        "middle": second if rng.random() < 0.4 else "", "surname": surname, "family": family,
        "slip": _mistype(rng, surname), "slipped": _mistype(rng, given),
        "alike": given[:3] + other[3:], "ending": family[:4] + surname[-3:],
    }  # fmt: skip


def persons() -> Pairs:
    """Names of people."""
    true = (
        ("{given}|{middle}|{surname}", "{given}|{middle}|{slip}"),
        ("{given}|{middle}|{surname}", "{slipped}|{middle}|{surname}"),
        ("{given}|{middle}|{surname}", "{nick}|{middle}|{surname}"),
        ("{given}|{middle}|{surname}", "{given}|{middle}|{surname}-{family}"),
        ("{given}|{second}|{surname}", "{given}||{surname}"),
        ("{given}|{second}|{surname}", "{given}|{initial}|{surname}"),
    )
    false = (
        ("{given}|{middle}|{surname}", "{other}|{third}|{surname}"),
        ("{given}|{middle}|{surname}", "{given}|{third}|{family}"),
        ("{given}|{middle}|{surname}", "{alike}||{ending}"),
        ("{given}|{middle}|{surname}", "{other}||{family}"),
    )
    return Pairs.draw("given middle surname", _person, true, false)
