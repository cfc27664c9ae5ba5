"""`propose`: what the columns of one's own table look like; `confirm`: what their owner says that they are.

A proposal has seen the table and holds some of its cells. It shows them to whoever asks with `show`, and
nowhere else: a `repr` ends in logs, and a notebook is passed on with what it showed last. A `repr` has no
name of a column either, since of a file without a header these are somebody's cells. What its owner confirms
is a `Confirmation`, which holds names of columns, their types and what the owner typed, and no cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from accord.agreement.document import Agreement
from accord.arguments import require, require_flag, require_text, wrong
from accord.drafting.answers import Answers, in_order
from accord.drafting.confirming import find_fields, find_id
from accord.drawing import draw
from accord.errors import UsageError
from accord.preparing.confirmation import Confirmation
from accord.preparing.draft import Draft
from accord.preparing.fit import Fit, fit_table, place_fields
from accord.preparing.seen import ProposedColumn, SeenTable, confirmed, look
from accord.preparing.suggesting import suggest_answers
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, require_table
from accord.wording import counted

_PAIRS, _COUNT = "pairs", "count"
_TYPES = "a dictionary of your columns with their types, such as {'phone': 'skip'}"
_DATES = "a dictionary of fields with formats of dates, such as {'birth': '%d.%m.%Y'}"
_SIZES = "two whole numbers, about how many records A and B expect"
_COPIES = "two whole numbers, the most records of one person in the tables of A and B"
_NAMES = "two texts, the names of A and of B"
_SHOWN_CELLS = 3
_LONGEST = 24


@dataclass(frozen=True)
class ShownColumns:
    """Columns to be shown, with some cells or without: as a table in a notebook or a terminal."""

    columns: tuple[ProposedColumn, ...]

    def __repr__(self) -> str:
        names = ("", "column", "type", "such as", "note")
        rows = [names, *(self.row(number, one) for number, one in enumerate(self.columns, 1))]
        widths = [max(len(row[place]) for row in rows) for place in range(len(names))]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return draw("show_columns", self)

    @staticmethod
    def row(number: int, one: ProposedColumn) -> tuple[str, ...]:
        """Its number, name, type, some cells and a note."""
        cells = (cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 1]}…" for cell in one.cells)
        return tuple(
            _printable(part) for part in (str(number), one.name, one.type, " | ".join(cells), one.note)
        )


@dataclass(frozen=True, repr=False)
class Proposal(SeenTable):
    """What each column of your table looks like. Change what is wrong with `types=` of `confirm`.

    `repr` has neither cells nor names of columns; a notebook shows names and types; `show` a few cells of
    each as well, for your eyes: a notebook keeps what it shows, so clear its outputs before you pass it on.
    """

    @property
    def types(self) -> dict[str, str]:
        """By column, its type, as `types=` takes it: to be changed and confirmed."""
        return {one.name: one.is_.typed for one in self.columns}

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.look.rows

    def show(self, cells: int = _SHOWN_CELLS) -> ShownColumns:
        """The columns with some of their cells, and how these would be read: for your eyes."""
        require("cells", cells, "a whole number of at least 0", int)
        return ShownColumns(self.proposed(max(0, cells)))

    def confirm(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
        self,
        *,
        types: Mapping[str, str] | None = None,
        records: Sequence[int],
        parties: Sequence[str] = Answers.parties,
        disclose: Sequence[str] = (),
        values: Mapping[str, Sequence[str]] | None = None,
        ranges: Mapping[str, Sequence[str | float]] | None = None,
        within: Mapping[str, str | float] | None = None,
        missing: Mapping[str, str] | None = None,
        missing_values: Mapping[str, Sequence[str]] | None = None,
        cardinality: Mapping[str, str] | None = None,
        often_empty: Sequence[str] | None = None,
        copies: Sequence[int] | None = None,
        answer: str = _PAIRS,
        answer_epsilon: str | float | None = None,
        overlap: float | None = None,
        precision: float | None = None,
        max_time: float | None = None,
        make_ids: bool = False,
        dates: Mapping[str, str] | None = None,
        as_of: date | None = None,
    ) -> Confirmation:
        """Confirm what the columns are, and answer what no table may decide: all that a draft is made of.

        `types` has other types than proposed, by column: `skip` leaves one out, `id` names the records, and
        some can be named, as in `category:brand`. Types that you do not name are taken as guessed, and the
        draft says so. `records` are about how many A and B expect: they are written into the agreement, so
        round them. `disclose` names the fields that a match shows besides its id.

        By field: `values` of a category or of sex, `ranges` (from, to) of dates and numbers, `within` how far
        apart matching prices, dates or places may be, `missing` what an empty cell means ("differs", "skip"
        or "error"), `missing_values` what counts as empty, `cardinality` how many different values there are
        ("few", "hundreds", "thousands" or "unique"). `often_empty` names fields without a value in many
        records. `copies` are the most records that one person or thing usually has in the tables of A and B.
        What you do not say of ranges, cardinality, empty fields and copies follows from your table, and the
        draft says so. With `answer="count"` only how many match comes
        out, with noise of `answer_epsilon`. `overlap` is the share of the smaller table that is expected to
        match, `precision` the least share of matches that should be right, `max_time` the seconds that a run
        may take. `make_ids` has ids made for a file
        without a column of them, `dates` are formats by field, `as_of` is the day that ages are of.
        """
        require_flag("make_ids", make_ids)
        seen = self.typed(_pairs("types", types, _TYPES), make_ids)
        fields = in_order([one.is_ for one in find_fields(seen.columns, as_of)])
        usual = suggest_answers(seen, as_of, date.today()).of(one.name for one in fields)
        said = {name: str(declared) for name, declared in _by_field("cardinality", cardinality)}
        limits = {name: _range(ends) for name, ends in _by_field("ranges", ranges)}
        answers = Answers(
            fields=fields,
            records=_sizes("records", records, _SIZES),
            parties=_two_names(parties),
            disclose=_texts("disclose", disclose),
            values={name: _texts("values", listed) for name, listed in _by_field("values", values)},
            ranges=usual.ranges | limits,
            cardinality=usual.cardinality | said,  # type: ignore[arg-type]
            often_empty=usual.often_empty if often_empty is None else _texts("often_empty", often_empty),
            copies=(usual.copies, 1) if copies is None else _sizes("copies", copies, _COPIES),
            within={name: str(far) for name, far in _by_field("within", within)},
            missing={name: str(policy) for name, policy in _by_field("missing", missing)},
            missing_values={
                name: _texts("missing_values", listed)
                for name, listed in _by_field("missing_values", missing_values)
            },
            overlap=_number_or_none("overlap", overlap),
            precision=_number_or_none("precision", precision),
            max_time=_number_or_none("max_time", max_time),
            count_epsilon=_epsilon(answer, answer_epsilon),
            as_guessed=copies is None
            or usual.adds_to(said, limits, usual.often_empty if often_empty is not None else ())
            or any(one.guessed for one in seen.columns),
        )
        _pairs("dates", dates, _DATES)
        return confirmed(seen, answers, make_ids, dates, _day(as_of))

    def fit(
        self,
        agreement: Agreement | Draft,
        *,
        types: Mapping[str, str] | None = None,
        make_ids: bool = False,
        dates: Mapping[str, str] | None = None,
        as_of: date | None = None,
        absent: Sequence[str] = (),
    ) -> Fit:
        """Find the agreed fields in your table: under your own draft, or under the agreement of a partner.

        The table is read that way; raises all its faults, and agreed fields without a column, but for those
        that you declare `absent`. What you confirmed for a draft is taken from there; for an agreement say
        it here, as for `confirm`.
        """
        require("agreement", agreement, "an Agreement or a Draft", Agreement, Draft)
        lacking = _texts("absent", absent)
        require_flag("make_ids", make_ids)
        pairs, day = _pairs("types", types, _TYPES), _day(as_of)
        formats = _pairs("dates", dates, _DATES)
        if isinstance(agreement, Draft):
            said = agreement.confirmation
            seen: SeenTable = replace(self, columns=said.columns)
            make_ids, day = said.make_ids, said.as_of
            formats = [*_pairs("dates", said.dates, _DATES), *formats]
            placed = place_fields(agreement.agreement, seen, make_ids, day, is_own=True)
            return fit_table(placed, formats, is_own=True)
        seen = self.sought().typed(pairs, make_ids)
        placed = place_fields(agreement, seen, make_ids, day, is_own=False, declared=lacking)
        return fit_table(placed, formats, is_own=False)

    def __repr__(self) -> str:
        fields = [one.is_.kind.value for one in find_fields(self.columns)]
        named = "an id" if find_id(self.columns) else "no id"
        size = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"
        return f"<Proposal: {size}: {', '.join(fields) or 'nothing to compare'}; {named}>"

    def _repr_html_(self) -> str:
        """For notebooks: names and types, no cells."""
        return draw("show_proposal", self)


def propose(table: TableLike, *, layout: Layout | None = None) -> Proposal:
    """Look at your own table, and propose what each of its columns is. Nothing leaves or is written.

    The table is a file, an address, or what Python has of one, and is read to its end. `layout` says how it
    is written, where you know. Then `confirm` what the columns are and `draft`; or `fit` them to the
    agreement of a partner.
    """
    require_table("table", table)
    if layout is not None:
        require("layout", layout, "a Layout", Layout)
    known = layout or Layout()
    seen = look(table, known, known.said)
    return Proposal(seen.table, seen.look, seen.layout, seen.said, seen.columns)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _pairs(argument: str, given: object, expected: str) -> list[str]:
    """What was said by name, as NAME=VALUE."""
    if given is None:
        return []
    require(argument, given, expected, Mapping)
    assert isinstance(given, Mapping)
    if not all(isinstance(one, str) for pair in given.items() for one in pair):
        raise UsageError(problem=f"`{argument}=` is {expected}: names and values are texts.")
    return [f"{name}={value}" for name, value in given.items()]


def _by_field(argument: str, given: object) -> list[tuple[str, object]]:
    if given is None:
        return []
    require(argument, given, "a dictionary by field", Mapping)
    assert isinstance(given, Mapping)
    return [(str(name), value) for name, value in given.items()]


def _texts(argument: str, given: object) -> tuple[str, ...]:
    """Several texts; one text would be taken for its letters."""
    require(argument, given, "a list of texts", list, tuple)
    assert isinstance(given, list | tuple)
    for one in given:
        require(argument, one, "a list of texts", str)
    return tuple(given)


def _range(given: object) -> tuple[str, str]:
    expected = "a dictionary by field of two limits, such as {'birth': ('1900-01-01', '2029-12-31')}"
    require("ranges", given, expected, list, tuple)
    assert isinstance(given, list | tuple)
    if len(given) != 2:
        raise UsageError(problem=f"`ranges=` is {expected}.")
    return str(given[0]), str(given[1])


def _sizes(argument: str, given: object, expected: str) -> tuple[int, int]:
    require(argument, given, expected, list, tuple)
    assert isinstance(given, list | tuple)
    if len(given) != 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in given):
        raise wrong(argument, given, expected)
    return given[0], given[1]


def _two_names(given: object) -> tuple[str, str]:
    require("parties", given, _NAMES, list, tuple)
    assert isinstance(given, list | tuple)
    if len(given) != 2 or not all(isinstance(name, str) for name in given):
        raise wrong("parties", given, _NAMES)
    return given[0], given[1]


def _number_or_none(argument: str, given: object) -> float | None:
    if given is None:
        return None
    require(argument, given, "a number", int, float)
    assert isinstance(given, int | float)
    return float(given)


def _epsilon(answer: object, epsilon: object) -> str | None:
    """ε of a count, where that is asked for."""
    require_text("answer", answer, _COUNT)
    if answer not in (_PAIRS, _COUNT):
        raise UsageError(problem=f"`answer=` is '{_PAIRS}' or '{_COUNT}'.")
    if epsilon is not None:
        require("answer_epsilon", epsilon, "a number, or a text such as '1/2'", int, float, str)
    if answer == _PAIRS and epsilon is not None:
        raise UsageError(problem="`answer_epsilon=` is for answer='count': pairs come without noise.")
    return None if answer == _PAIRS else str(1 if epsilon is None else epsilon)


def _day(given: object) -> date | None:
    if given is not None:
        require("as_of", given, "a day, such as datetime.date(2024, 6, 30)", date)
    assert given is None or isinstance(given, date)
    return given
