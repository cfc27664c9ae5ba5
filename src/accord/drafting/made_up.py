"""Records of nobody with the columns of a draft: what its weights are learnt from, and its passes chosen by.

People come from the generator of people; all else, and what people have besides, from that of things. Which
columns there are follows from the confirmed types and their names, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.datasets import things
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people, whole_names
from accord.datasets.people_errors import FIELDS as OF_PEOPLE
from accord.datasets.people_world import VARIED, Variety, variety_of
from accord.datasets.values import EVEN, SKEWED, draw_values, rank_values
from accord.drafting.answers import about_people, title_of
from accord.drafting.kinds import ColumnKind, Confirmed
from accord.fields.cardinality import FILLED_SHARE, Cardinality, count_values, is_coarser
from accord.fields.census import census_names

RECORDS = 1_500
OVERLAP = 0.5
_SEED = 21
_SORTING = frozenset({"genre", "keywords", "topic", "category", "type"})
"""Names of texts that many things share."""
_BY_PEOPLE = frozenset({"author", "actor", "director", "writer", "artist", "contact"})
"""Names of texts in which people are named."""
_SOLD = (ColumnKind.PRICE, ColumnKind.IDENTIFIER)
"""What has one of these is a product."""
_CALLED = (ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME)
_SPARSE, _KNOWN = 0.2, 0.3
"""Of how many little is known, and what is known of these."""
_UNNUMBERED = 0.5
"""Of people a number is often known to one side alone: where other fields can do without it, they must."""
_TELL_APART = frozenset(
    {ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR, ColumnKind.STREET, ColumnKind.PHONE, ColumnKind.EMAIL}
)
_TURNED, _ANOTHER = 0.5, 0.4
_REGION, _PLACE, _OF_TOWN = "region", 10_007, 3
_NESTED = frozenset({ColumnKind.CITY, ColumnKind.POSTCODE})
"""Types of which one follows from the other, as a region does: ranks of one turn are nested."""
_HERE = frozenset({ColumnKind.STREET, ColumnKind.CITY, ColumnKind.POSTCODE})
_MOVED = 0.06
_SECOND_NAMES = 997
_INITIALS = 0.4
_DEGREES = 0.0003
_TOWN = 0.3

_BY_TYPE: dict[ColumnKind, Cardinality] = {
    ColumnKind.SEX: "few",
    ColumnKind.YESNO: "few",
    ColumnKind.GIVEN: "thousands",
    ColumnKind.MIDDLE: "hundreds",
    ColumnKind.SURNAME: "thousands",
    ColumnKind.SURNAME_2: "thousands",
    ColumnKind.CITY: "thousands",
    ColumnKind.POSTCODE: "thousands",
    ColumnKind.CATEGORY: "hundreds",
    ColumnKind.BIRTH_YEAR: "hundreds",
    ColumnKind.YEAR: "hundreds",
    ColumnKind.PRICE: "hundreds",
    ColumnKind.NUMBER: "hundreds",
}
"""By type, how many different values synthetic cells have anyway: all others are unique."""
_DRAWN_BY_CLASS = frozenset({ColumnKind.CATEGORY, ColumnKind.COMPANY, ColumnKind.TEXT, ColumnKind.IDENTIFIER})
"""Types whose cells are words that mean nothing, if they are not unique."""
_SPREAD = frozenset({ColumnKind.DATE, ColumnKind.YEAR, ColumnKind.PRICE, ColumnKind.NUMBER})
"""Types whose values are spread evenly."""
Range = tuple[str, str]
Classes = tuple[tuple[str, Cardinality], ...]


@cache
def make_up(
    fields: tuple[Confirmed, ...],
    map_: tuple[Range, Range],
    classes: Classes = (),
    often_empty: tuple[str, ...] = (),
) -> Generated:
    """Two tables with these fields as columns, and who is who in them; places lie within the `map_`. Fields
    have as many different values as their `classes` say."""
    people = about_people(fields)
    counted = dict(classes)
    made = generate_people(RECORDS, OVERLAP, _SEED, variety=variety_of(counted) if people else Variety())
    whose = _whose(made)
    rng = np.random.default_rng(_SEED)
    world = things.draw_things(rng, int(max(rows.max() for rows in whose)) + 1)
    title, products = title_of(fields), any(one.kind in _SOLD for one in fields)
    lacking = _lacking(rng, fields, world.count)
    for name in often_empty:
        lacking[name] |= rng.random(world.count) >= FILLED_SHARE
    tables = []
    for number, (cells, rows) in enumerate(zip((made.a, made.b), whose, strict=True)):
        table = _Table(cells, made.a, world, rows, number == 1, people, map_, rng)
        columns = {"id": cells["id"]}
        for turn, one in enumerate(fields):
            declared = counted.get(one.name)
            here = table.moved() if one.kind in _HERE and not people else table
            if declared is not None and _is_drawn(one, declared, people):
                values = here.draw(one, declared, turn, title)
            else:
                values = here.column(one, title, products)
            lacks = pa.array(lacking[one.name][rows])
            columns[one.name] = pc.if_else(lacks, pa.scalar(None, values.type), values)
        tables.append(pa.table(columns))
    return Generated(tables[0], tables[1], made.truth.select(["id_a", "id_b"]))


def _is_drawn(one: Confirmed, declared: Cardinality, people: bool) -> bool:
    """Whether cells are drawn by class: the usual ones have more values, or would be those of a category."""
    if people and one.kind in VARIED:
        return False
    if one.kind in _DRAWN_BY_CLASS:
        return declared != "unique"
    return is_coarser(declared, usual_class(one.kind))


def usual_class(kind: ColumnKind) -> Cardinality:
    """How many different values a field of this type has, where its owner does not say."""
    return _BY_TYPE.get(kind, "unique")


def _lacking(rng: things.Random, fields: tuple[Confirmed, ...], count: int) -> dict[str, NDArray[np.bool_]]:
    """By field, of whom nobody knows it. Of some there is a name and little else: people are known by theirs,
    things by a title, and in a table that has both a record may have either."""
    sparse, called = rng.random(count) < _SPARSE, rng.random(count) < 0.5
    title = title_of(fields)
    lacks = {one.name: sparse & (rng.random(count) >= _KNOWN) for one in fields}
    if _can_do_without_numbers({one.kind for one in fields}):
        numbered = [one.name for one in fields if one.kind is ColumnKind.IDENTIFIER]
        lacks |= {name: rng.random(count) < _UNNUMBERED for name in numbered}
    names = [one.name for one in fields if one.kind in _CALLED]
    for name in names:
        lacks[name] = sparse & ~called if title else np.zeros(count, np.bool_)
    if title:
        lacks[title] = sparse & called if names else np.zeros(count, np.bool_)
    return lacks


def _can_do_without_numbers(kinds: Set[ColumnKind]) -> bool:
    """Whether names, and something that tells those apart who share one, are there besides."""
    called = {ColumnKind.GIVEN, ColumnKind.SURNAME} <= kinds or ColumnKind.NAME in kinds
    return called and bool(_TELL_APART & kinds)


def _whose(made: Generated) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By row of both tables, a number for whom or what it is about."""
    a, b = (np.arange(table.num_rows) + start for table, start in ((made.a, 0), (made.b, made.a.num_rows)))
    left, right = (
        np.asarray(pc.index_in(made.truth[name], value_set=table["id"].combine_chunks()))
        for name, table in (("id_a", made.a), ("id_b", made.b))
    )
    b[right] = a[left]
    return a, b


@dataclass(frozen=True)
class _Table:
    """One of the two tables: its people, the things that are in their place, row by row, and the dice."""

    people: pa.Table
    first: pa.Table
    """The people of the first table, out of whose values both tables draw."""
    world: things.Things
    whose: NDArray[np.int64]
    other: bool
    """Whether it is the second, which says things in other words."""
    about_people: bool
    map_: tuple[Range, Range]
    rng: things.Random

    def moved(self) -> _Table:
        """Where things are: some have moved by the second table."""
        if not self.other:
            return self
        gone = self.whose * 2_654_435_761 % 1_009 < _MOVED * 1_009
        return replace(self, whose=np.where(gone, (self.whose * 7_919 + 13) % self.world.count, self.whose))

    def draw(self, one: Confirmed, declared: Cardinality, turn: int, title: str | None) -> pa.Array:
        """Cells with as many different values as declared: those of a few things, or of a few people."""
        count = count_values(declared, RECORDS)
        if one.kind is ColumnKind.DATE:
            # One day follows another: far more of them are near each other than are equal.
            return things.draw_day(self.rng, self.world, self.whose, self.other, count)
        is_region = one.name.rstrip("_0123456789") == _REGION
        if is_region and self.about_people:
            return _regions(self, count, turn)
        if is_region:
            self = self.moved()
        if is_region or one.kind in _NESTED:
            turn = _PLACE
        if one.kind is ColumnKind.CATEGORY:
            return draw_values(self.rng, self.whose, count, self.other, turn)
        if one.kind in _DRAWN or one.kind is ColumnKind.TEXT:
            skew = EVEN if one.kind in _SPREAD else SKEWED
            few = replace(self, whose=rank_values(self.whose, count, turn, skew), about_people=False)
            return few.column(one, title, False)
        cells = replace(self, people=self.first, other=False).column(one, None, False)
        pool = np.array(pc.unique(pc.drop_null(cells)).to_pylist(), dtype=np.str_)
        pool = np.random.default_rng(turn).permutation(np.sort(pool))
        return draw_values(self.rng, self.whose, count, self.other, turn, pool)

    def column(self, one: Confirmed, title: str | None, products: bool) -> pa.Array | pa.ChunkedArray:
        """The cells of a field."""
        if one.kind in _OWN:
            return _OWN[one.kind](self)
        if one.kind in OF_PEOPLE and (self.about_people or one.kind not in _PLACED):
            return self.people[one.kind]
        given, word = (self.rng, self.world, self.whose, self.other), one.name.rstrip("_0123456789")
        if one.kind in _DRAWN:
            return _DRAWN[one.kind](*given)
        if word in _BY_PEOPLE:
            return _names_of_some(self)
        if word in _SORTING:
            return things.draw_category(*given)
        return things.name_things(*given, products) if one.name == title else things.describe_things(*given)


def _whole_names(table: _Table) -> pa.Array:
    return whole_names(table.people)


def _names_of_some(table: _Table) -> pa.Array:
    """Of those who made a thing: the other table may have the surname first, or name another of them."""
    plain = _whole_names(table)
    if not table.other:
        return plain
    surname_first = pc.binary_join_element_wise(
        table.people["surname"], table.people["given"], ", ", null_handling="skip"
    ).combine_chunks()
    named = pc.if_else(pa.array(table.rng.random(len(plain)) < _TURNED), surname_first, plain)
    rows = np.arange(len(named))
    other = table.rng.random(len(named)) < _ANOTHER
    rows[other] = table.rng.integers(0, len(named), int(other.sum()))
    return named.take(pa.array(rows))


def _second_names(table: _Table) -> pa.Array:
    """Most have none; the second is a name like others, and now and then left out."""
    known = [*census_names("surname")][:_SECOND_NAMES]
    names = pa.array(known).take(pa.array((table.whose * 7919) % _SECOND_NAMES))
    lacks = (table.whose % 3 > 0) | (table.rng.random(len(names)) < (0.1 if table.other else 0.02))
    return pc.if_else(pa.array(lacks), pa.scalar(None, pa.string()), names)


def _regions(table: _Table, count: int, turn: int) -> pa.Array:
    """Those of the towns, which the first digits of a postcode name."""
    towns = pc.utf8_slice_codeunits(table.people["postcode"].combine_chunks(), 0, _OF_TOWN)
    figures = pc.fill_null(pc.replace_substring_regex(towns, r"\D|^$", "0"), "0")
    ranks = np.asarray(figures.cast(pa.int64())) % count
    names = pa.array(things.draw_words(count, turn)[ranks])
    return pc.if_else(pc.is_valid(towns), names, pa.scalar(None, pa.string()))


def _middle_names(table: _Table) -> pa.Array:
    """The other table has only the first letter of some."""
    names = table.people["middle"]
    short = pa.array(table.rng.random(len(names)) < (_INITIALS if table.other else 0.0))
    return pc.if_else(short, pc.utf8_slice_codeunits(names, 0, 1), names)


def _degrees(table: _Table, kind: ColumnKind) -> pa.Array:
    """Somewhere; places lie together in towns."""
    north = kind is ColumnKind.LATITUDE
    low, high = map(float, table.map_[0 if north else 1])
    town, street = (table.whose * 7919) % 97 / 97, (table.whose * 104_729 * (1 + north)) % 9_973 / 9_973
    wide = high - low
    degrees = low + wide * (0.2 + 0.5 * town) + min(_TOWN, 0.2 * wide) * street
    moved = table.rng.normal(0, _DEGREES / 2, len(degrees)) if table.other else 0.0
    return pa.array(np.char.mod("%.6f", degrees + moved))


_OWN: dict[ColumnKind, Callable[[_Table], pa.Array]] = {
    ColumnKind.NAME: _whole_names,
    ColumnKind.MIDDLE: _middle_names,
    ColumnKind.SURNAME_2: _second_names,
    ColumnKind.BIRTH_YEAR: lambda table: pc.utf8_slice_codeunits(table.people["birth"], 0, 4),
    ColumnKind.LATITUDE: partial(_degrees, kind=ColumnKind.LATITUDE),
    ColumnKind.LONGITUDE: partial(_degrees, kind=ColumnKind.LONGITUDE),
}
_PLACED: dict[ColumnKind, Callable[..., pa.Array]] = {
    ColumnKind.STREET: partial(things.draw_place, which="street"),
    ColumnKind.CITY: partial(things.draw_place, which="city"),
    ColumnKind.POSTCODE: partial(things.draw_place, which="postcode"),
    ColumnKind.PHONE: partial(things.draw_place, which="line"),
    ColumnKind.EMAIL: things.draw_email,
}
"""Things do not live together, and seldom move."""
_DRAWN: dict[ColumnKind, Callable[..., pa.Array]] = {
    **_PLACED,
    ColumnKind.COMPANY: things.name_companies,
    ColumnKind.IDENTIFIER: things.draw_code,
    ColumnKind.CATEGORY: things.draw_category,
    ColumnKind.YESNO: things.draw_flag,
    ColumnKind.DATE: things.draw_day,
    ColumnKind.YEAR: things.draw_year,
    ColumnKind.PRICE: things.draw_price,
    ColumnKind.NUMBER: things.draw_number,
}
