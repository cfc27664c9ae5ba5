"""Drafts, learned weights and generated tables, made once in a process of tests.

A draft learns weights and makes plans, which takes a second or more. Tests share what several of them need.

    prepared.shape("people")              a small table of each `SHAPES`, its types, draft and layout
    prepared.draft("given birth", (9, 9)) the draft for columns of these types
    prepared.people(300, seed=5)          generated tables and their truth; `products` likewise
    prepared.learned(text, "labels")      what `accord.learn` gives for the text of an agreement
    prepared.share_drafts(monkeypatch)    `accord.draft` and `accord init` draft equal answers once
    prepared.search_briefly(monkeypatch)  plans look for keys from two starts, ten times as fast

Every value is immutable: change a copy (`replace`, `model_copy`, `Table.set_column`). Call these in tests and
fixtures, never at import: the session sets how many synthetic records are learned from. A value that was made
from other numbers of records is another value, so a test that sets them itself gets its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
import pytest

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.drafting import draft as drafting
from accord.drafting import made_up
from accord.drafting.answers import Answers, in_order, name_fields
from accord.drafting.draft import MadeDraft
from accord.drafting.kinds import read_kind
from accord.learning import evidence
from accord.learning.learn import Learnt
from accord.planning import keys
from accord.planning import made_up as synthetic
from accord.planning import plan as planning
from accord.preparing.draft import Draft
from accord.table.layout import Layout

P = ParamSpec("P")
T = TypeVar("T")

SALT = "0123456789abcdef"
PARTIES = ("north", "south")
_KNOWN: dict[str, Any] = {}
_ROUTES: dict[str, Any] = {}
_TABLES: dict[Any, Any] = {}
_PAIRS: dict[Any, Any] = {}
"""What a brief search made and found."""


def once(make: Callable[P, T]) -> Callable[P, T]:
    """A builder whose values are known by its arguments, by the numbers of synthetic records and by how long
    keys are looked for."""

    @wraps(make)
    def known(*args: P.args, **given: P.kwargs) -> T:
        sizes = made_up.RECORDS, evidence._MADE_UP, evidence._MOST_PAIRS, keys._STARTS
        key = repr((make.__qualname__, sizes, args, sorted(given.items())))
        if key not in _KNOWN:
            _KNOWN[key] = make(*args, **given)
        value: T = _KNOWN[key]
        return value

    return known


# -- tables -------------------------------------------------------------------------------------------------


@cache
def people(records: int, overlap: float | None = None, seed: int = 5) -> Generated:
    """Generated people, with their usual errors."""
    return generate_people(records, overlap, seed)


@cache
def products(records: int, overlap: float | None = None, seed: int = 1, sparse: bool = False) -> Generated:
    """Generated products."""
    return generate_products(records, overlap, seed, sparse)


def true_pairs(made: Generated) -> pa.Table:
    """The truth without its errors: labels for `learn`, and what scores are measured by."""
    names = pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")])
    return made.truth.select(["id_a", "id_b"]).cast(names)


# -- drafts -------------------------------------------------------------------------------------------------


def answers(typed: str, records: tuple[int, int], **others: Any) -> Answers:
    """The answers of an owner whose columns have these types."""
    return Answers(in_order(name_fields([read_kind(one) for one in typed.split()])), records, **others)


@once
def draft(typed: str, records: tuple[int, int], **others: Any) -> MadeDraft:
    """The draft for these answers."""
    return _draft(answers(typed, records, **others))


@once
def _draft(answers: Answers) -> MadeDraft:
    return drafting.make_draft(answers, SALT)


def make_shared(answers: Answers, salt: str) -> MadeDraft:
    """`make_draft`, which settles equal answers once: no draft follows from its salt."""
    made = _draft(answers)
    text = made.text.replace(SALT, salt, 1)
    return replace(made, text=text, agreement=parse_agreement(text, "The draft"))


def share_drafts(patch: pytest.MonkeyPatch) -> None:
    """Let `accord.draft` and `accord init --from` draft equal answers once in a process."""
    patch.setattr("accord.preparing.draft.make_draft", make_shared)


def search_briefly(patch: pytest.MonkeyPatch) -> None:
    """Look for keys from two starts instead of 24, on fewer synthetic records. The passes of a plan are
    sound, and hardly worse."""
    patch.setattr(keys, "_STARTS", 2)
    patch.setattr(planning, "_routes", _ROUTES)
    patch.setattr(planning, "_ROUTED_PAIRS", 1_500)
    patch.setattr(planning, "_MOST_COUNTED", 1 << 12)
    patch.setattr(synthetic, "_FEWEST", 2_000)
    patch.setattr(synthetic, "_MOST_TABLES", 3)
    patch.setattr(synthetic, "_MOST_KEPT", 64)
    patch.setattr(synthetic, "_tables", _TABLES)
    patch.setattr(synthetic, "_made", _PAIRS)
    patch.setattr(synthetic.make_up_pairs, "__defaults__", (500,))


# -- small tables of each shape -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A small table, what its owner says of its columns, the draft for it, and its layout."""

    table: pa.Table
    types: Mapping[str, str]
    draft: Draft
    layout: Layout

    @property
    def agreement(self) -> Agreement:
        return self.draft.agreement


_COLUMNS: Mapping[str, Mapping[str, tuple[str | None, ...]]] = {
    "people": {
        "Nr": ("id", "1", "2", "3"),
        "Vorname": ("given", "Jürgen", "Anna", "Lena"),
        "Name": ("surname", "Müller", "Groß", None),
        "Geburtsdatum": ("birth", "31.12.1980", "01.02.1975", "17.03.1999"),
        "Geschlecht": ("sex", "m", "w", "w"),
        "PLZ": ("postcode", "10115", "80331", "20095"),
    },
    "shop": {
        "sku": ("id", "s1", "s2", "s3"),
        "title": ("text:title", "Sony Turntable PSLX350H", "Bose Acoustimass 5", "Bose Wave radio"),
        "maker": ("category:brand", "Sony", "Bose", "Bose"),
        "price": ("price", "149.00", "399 EUR", "unknown"),
        "phone": ("skip", "0301234567", "0301234568", None),
    },
    "places": {
        "id": ("id", "p1", "p2", "p3"),
        "title": ("text:title", "Old mill", "Blue bridge", "Town hall"),
        "lat": ("latitude", "52.5200", "48.1371", "53.5511"),
        "lng": ("longitude", "13.4050", "11.5755", "9.9937"),
    },
    "export": {
        "RECORD_ID": ("id", "1001", "1002", "1003"),
        "PRIMARY_NAME_LAST": ("surname", "Smith", "Jones", "Brown"),
        "PRIMARY_NAME_FIRST": ("given", "Bob", "Mary", "Ann"),
        "DATE_OF_BIRTH": ("birth", "12/11/1978", "11/25/1978", "1/2/1990"),
        "ADDR_CITY": ("city", "Las Vegas", "Reno", "Elko"),
        "HOME_PHONE": ("phone", "702-919-1300", "702-555-1111", "-"),
        "Remarks": ("skip", "called twice", "no answer", "pays later"),
    },
}
"""By column its type, which the table suggests, and its cells."""
SHAPES = tuple(_COLUMNS)


def table(name: str) -> pa.Table:
    """The small table of a shape."""
    return pa.table({column: cells for column, (_, *cells) in _COLUMNS[name].items()})


def types(name: str) -> dict[str, str]:
    """What its owner says of its columns."""
    return {column: str(kind) for column, (kind, *_) in _COLUMNS[name].items()}


@once
def shape(name: str) -> Shape:
    """The table with its draft for a hundred records on each side, and the layout by which it fits."""
    proposal = accord.propose(table(name))
    disclose = ["brand"] if name == "shop" else []
    confirmed = proposal.confirm(types=types(name), parties=PARTIES, records=(100, 100), disclose=disclose)
    made = accord.draft(confirmed)
    return Shape(table(name), MappingProxyType(types(name)), made, proposal.fit(made).layout)


# -- learned weights ----------------------------------------------------------------------------------------


@once
def learned(text: str, way: str = "made up", rows: int = 200, seed: int = 3, **others: Any) -> Learnt:
    """What is learned for an agreement's text: from made-up people, or from two generated tables of so many
    rows by `labels` or by their `looks` alone."""
    agreed = parse_agreement(text)
    if way == "made up":
        return accord.learn(agreed, **others)
    made = people(rows, seed=seed)
    labels = true_pairs(made) if way == "labels" else None
    return accord.learn(agreed, made.a, other=made.b, labels=labels, learnt_from="public", **others)
