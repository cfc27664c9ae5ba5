"""Pairs of names as two organisations write them, true and false ones, and how well a score tells them apart.

The words stand here and are those of no vocabulary of Accord. False pairs are the hard ones: families, chains
and neighbours, whose names share most words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jellyfish
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import rankdata

from accord.drafting.answers import Answers, in_order, name_fields
from accord.drafting.draft import make_draft
from accord.drafting.kinds import read_kind
from accord.fields.load import load_records
from accord.learning.drafts import score_of
from accord.rules.evaluate import Tables, scores

Rng = np.random.Generator
Row = dict[str, str]
_EACH = 150
"""Pairs of each kind."""


@dataclass(frozen=True)
class Pairs:
    """Two rows each, and which are of one person or organisation."""

    a: Sequence[Row]
    b: Sequence[Row]
    true: NDArray[np.bool_]

    @classmethod
    def draw(
        cls, true: Sequence[Callable[[Rng], tuple[Row, Row]]], false: Sequence[Callable[..., tuple[Row, Row]]]
    ) -> Pairs:
        rng = np.random.default_rng(64)
        pairs = [make(rng) for make in (*true, *false) for _ in range(_EACH)]
        truth = np.arange(len(pairs)) < _EACH * len(true)
        return cls([a for a, _ in pairs], [b for _, b in pairs], truth)

    def auc(self, values: NDArray[np.float64]) -> float:
        """The chance that a true pair has more than a false one; a tie counts half."""
        ranks, count = rankdata(values), int(self.true.sum())
        least = count * (count + 1) / 2
        return float((ranks[self.true].sum() - least) / (count * (len(ranks) - count)))

    def auc_of_edits(self) -> float:
        """By plain edit distance of the whole names, relative to the longer one."""
        texts = [
            [" ".join(filter(None, row.values())).casefold() for row in rows] for rows in (self.a, self.b)
        ]
        far = [
            jellyfish.levenshtein_distance(x, y) / max(len(x), len(y)) for x, y in zip(*texts, strict=True)
        ]
        return self.auc(-np.array(far))

    def auc_of_draft(self, *kinds: str) -> float:
        """By the weights of the levels of a draft with these types, each named as the rows name it."""
        fields = in_order(name_fields([read_kind(kind) for kind in kinds]))
        agreement = make_draft(Answers(fields, (200, 200)), "0123456789abcdef").agreement
        sides = [
            load_records(self._table(rows, [one.name for one in fields]), agreement.fields, agreement.salt)
            for rows in (self.a, self.b)
        ]
        tables = Tables(agreement.fields, sides[0].columns, sides[1].columns)
        rows = np.arange(len(self.true))
        return self.auc(scores(score_of(agreement.rule).comparisons, tables, rows, rows).astype(float))

    def _table(self, rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
        table = {name: [row.get(name) or None for row in rows] for name in names}
        return pa.table({"id": [str(row) for row in range(len(rows))], **table})


# -- organisations ------------------------------------------------------------------------------------------

_OWN, _CITIES = (
    words.split()
    for words in (
        """
        Adler Brandt Lindqvist Kowalczyk Moreau Delacroix Rossetti Benedetti Hargreaves Whitfield Okonkwo
        Svensson Virtanen Halvorsen Petrescu Horvat Nemeth Dvorak Pereira Almeida Montoya Quintana Vermeulen
        Dijkstra Northgate Silverline Bluepeak Meridian Polaris Vantage Zenith Aurelia Cascadia Lumina Novatek
        Stratos Greenfield Oakwood Riverside Castello Mirabelle Sonnenhof Bergmann Falkenberg Tarantino
        """,
        "Leeds Bristol Hamburg Dresden Lyon Nantes Torino Bologna Utrecht Gent Malmo Bergen Brno Gdansk",
    )
)
_SECTORS, _FORMS = (
    words.split(", ")
    for words in (
        "Bakery, Transport, Consulting, Software, Foods, Pharmacy, Construction, Logistics, Engineering, "
        "Holding, Autohaus, Hotel, Elektrotechnik, Immobilien, Maschinenbau, Boulangerie, Assurances, Bygg, "
        "Costruzioni, Installatiebedrijf, Trading International, Medical Services, Brothers Manufacturing",
        "Ltd|Limited|Ltd., GmbH|G.m.b.H.|Gesellschaft mbH, GmbH & Co. KG|GmbH & Co KG, AG|A.G., B.V.|BV, "
        "SA|S.A., S.p.A.|SpA, S.r.l.|SRL, SARL|S.A.R.L., Inc|Inc.|Incorporated, LLC|L.L.C., AB, Oy, ApS, "
        "Corp|Corp.|Corporation, A/S|AS, sp. z o.o.|Sp. z o.o., Kft.|Kft, s.r.o.|sro, e.V.|eV, PLC|plc, "
        "N.V.|NV, d.o.o.|doo",
    )
)
_SHORT = {
    "International": "Intl", "Brothers": "Bros.", "Manufacturing": "Mfg", "Services": "Svcs",
    "Construction": "Constr.", "Engineering": "Eng.", "Immobilien": "Immob.", "Consulting": "Cons.",
    "Software": "SW", "Transport": "Transp.", "Maschinenbau": "Masch.bau", "Assurances": "Ass.",
}  # fmt: skip


def organisations() -> Pairs:
    """Names of organisations in a column `company`."""
    true = [_as_another_form, _without_form, _abbreviated, _turned, _mistyped_firm, _without_city]
    return Pairs.draw(true, [_another_number, _another_city, _another_owner, _another_sector, _strangers])


def _pick(rng: Rng, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]


def _other(rng: Rng, words: Sequence[str], but: str) -> str:
    return _pick(rng, [word for word in words if word != but])


def _own(rng: Rng) -> str:
    return " ".join(_pick(rng, _OWN) for _ in range(1 + int(rng.random() < 0.4)))


def _form(rng: Rng) -> str:
    return _pick(rng, _pick(rng, _FORMS).split("|"))


def _firm(*parts: str) -> Row:
    return {"company": " ".join(filter(None, parts))}


def _as_another_form(rng: Rng) -> tuple[Row, Row]:
    own, sector, spelt = _own(rng), _pick(rng, _SECTORS), _pick(rng, _FORMS).split("|")
    return _firm(own, sector, spelt[0]), _firm(own, sector, spelt[-1] if len(spelt) > 1 else "")


def _without_form(rng: Rng) -> tuple[Row, Row]:
    own, sector = _own(rng), _pick(rng, _SECTORS)
    return _firm(own, sector, _form(rng)), _firm(own, sector)


def _abbreviated(rng: Rng) -> tuple[Row, Row]:
    sector = _pick(rng, [one for one in _SECTORS if one.split()[-1] in _SHORT])
    own, short = _own(rng), " ".join(_SHORT.get(word, word) for word in sector.split())
    return _firm(own, sector, _form(rng)), _firm(own, short, _form(rng) if rng.random() < 0.5 else "")


def _turned(rng: Rng) -> tuple[Row, Row]:
    own, sector, form = _own(rng), _pick(rng, _SECTORS), _form(rng)
    return _firm(own, sector, form), _firm(sector, own, form)


def _mistyped_firm(rng: Rng) -> tuple[Row, Row]:
    own, rest = _own(rng), (_pick(rng, _SECTORS), _form(rng))
    return _firm(own, *rest), _firm(_mistype(rng, own), *rest)


def _without_city(rng: Rng) -> tuple[Row, Row]:
    own, sector, form = _own(rng), _pick(rng, _SECTORS), _form(rng)
    return _firm(own, sector, _pick(rng, _CITIES), form), _firm(own, sector, form)


def _another_number(rng: Rng) -> tuple[Row, Row]:
    own, sector, number = _own(rng), _pick(rng, _SECTORS), str(rng.integers(10, 99))
    numbers = number, number[::-1] if number != number[::-1] else number[0] + str((int(number[1]) + 1) % 10)
    return _firm(own, sector, numbers[0]), _firm(own, sector, numbers[1])


def _another_city(rng: Rng) -> tuple[Row, Row]:
    own, sector, form, city = _own(rng), _pick(rng, _SECTORS), _form(rng), _pick(rng, _CITIES)
    return _firm(own, sector, city, form), _firm(own, sector, _other(rng, _CITIES, city), form)


def _another_owner(rng: Rng) -> tuple[Row, Row]:
    own, rest = _pick(rng, _OWN), (_pick(rng, _SECTORS), _pick(rng, _CITIES), _form(rng))
    return _firm(own, *rest), _firm(_other(rng, _OWN, own), *rest)


def _another_sector(rng: Rng) -> tuple[Row, Row]:
    own, sector, form = _pick(rng, _OWN), _pick(rng, _SECTORS), _form(rng)
    return _firm(own, sector, form), _firm(own, _other(rng, _SECTORS, sector), form)


def _strangers(rng: Rng) -> tuple[Row, Row]:
    own, form = _pick(rng, _OWN), _form(rng)
    return _firm(own, _pick(rng, _SECTORS), form), _firm(_other(rng, _OWN, own), _pick(rng, _SECTORS), form)


# -- persons ------------------------------------------------------------------------------------------------

_GIVEN, _FAMILIES = (
    words.split()
    for words in (
        """
        Katharina Joseph William Elisabeth Margaret Alexander Giovanni Francesca Marie Antoine Joaquin Beatriz
        Willem Annelies Zofia Tomasz Ingrid Mikael Astrid Laszlo Ilona Radek Milena Henrik Matti Ioana Marek
        """,
        """
        Fischer Hoffmann Thompson Richardson Moretti Ferrari Lefebvre Rousseau Navarro Castillo Oliveira
        Teixeira Vandenberg Jansen Nowakowski Zielinski Andersson Lindgren Kovacs Szabo Novotny Cernak Eriksen
        Korhonen Popescu Kovacevic Okafor Haddad Nguyen Papadakis
        """,
    )
)
_NICKNAMES = {
    "Katharina": "Kathi", "Joseph": "Joe", "William": "Bill", "Elisabeth": "Liz", "Margaret": "Maggie",
    "Alexander": "Alex", "Giovanni": "Gianni", "Francesca": "Franca", "Antoine": "Toni", "Joaquin": "Quino",
    "Beatriz": "Bea", "Willem": "Wim", "Tomasz": "Tomek", "Ilona": "Ili",
}  # fmt: skip


def persons() -> Pairs:
    """Names of people in `given`, `middle` and `surname`."""
    true = [_mistyped_person, _nicknamed, _hyphenated, _without_second_name, _with_initial]
    return Pairs.draw(true, [_sibling, _namesake, _lookalike, _two_people])


def _person(rng: Rng) -> Row:
    middle = _pick(rng, _GIVEN) if rng.random() < 0.4 else ""
    return {"given": _pick(rng, _GIVEN), "middle": middle, "surname": _pick(rng, _FAMILIES)}


def _mistyped_person(rng: Rng) -> tuple[Row, Row]:
    row, part = _person(rng), _pick(rng, ("given", "surname"))
    return row, row | {part: _mistype(rng, row[part])}


def _nicknamed(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng) | {"given": _pick(rng, [*_NICKNAMES])}
    return row, row | {"given": _NICKNAMES[row["given"]]}


def _hyphenated(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    return row, row | {"surname": f"{row['surname']}-{_other(rng, _FAMILIES, row['surname'])}"}


def _without_second_name(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    row["middle"] = row["middle"] or _pick(rng, _GIVEN)
    return row, row | {"middle": ""}


def _with_initial(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    row["middle"] = row["middle"] or _pick(rng, _GIVEN)
    return row, row | {"middle": row["middle"][0]}


def _sibling(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    return row, _person(rng) | {"given": _other(rng, _GIVEN, row["given"]), "surname": row["surname"]}


def _namesake(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    return row, _person(rng) | {"given": row["given"], "surname": _other(rng, _FAMILIES, row["surname"])}


def _lookalike(rng: Rng) -> tuple[Row, Row]:
    """A family name with the same end, and a given name with the same start."""
    row = _person(rng)
    return row, {
        "given": row["given"][:3] + _other(rng, _GIVEN, row["given"])[3:],
        "middle": "",
        "surname": _other(rng, _FAMILIES, row["surname"])[:4] + row["surname"][-3:],
    }


def _two_people(rng: Rng) -> tuple[Row, Row]:
    row = _person(rng)
    return row, _person(rng) | {"given": _other(rng, _GIVEN, row["given"])}


def _mistype(rng: Rng, text: str) -> str:
    at = int(rng.integers(1, len(text) - 1))
    match int(rng.integers(3)):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        case _:
            return text[:at] + _pick(rng, "aeinrst") + text[at + 1 :]
