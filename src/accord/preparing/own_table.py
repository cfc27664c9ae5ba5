"""One's own table, read under an agreement: how it is written is found out, and then all its faults.

What its layout says is taken as it is; encoding, delimiter, quote and the formats of dates are found out
where nobody says them. Where dates can be read in several ways only their owner can choose. Whoever links
gives the layout that comes out of this: nothing is found out then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accord.agreement.by_pass import count_unplaced
from accord.agreement.document import Agreement
from accord.errors import ContradictionError, DataError, Fault, FaultyError, UsageError
from accord.fields.columns import Records
from accord.fields.date_formats import Dates, sniff_dates
from accord.fields.load import Loading, Tally, Watch, load_records
from accord.fields.schema import (
    Bloom,
    CategoryField,
    FieldSpec,
    Letters,
    TextField,
    agreed_columns,
)
from accord.fields.showing import show_values
from accord.preparing.contradictions import contradictions
from accord.protocols.base import Coverage
from accord.side import Side
from accord.table.layout import Layout
from accord.table.sinks.files import require_writable, write_file
from accord.table.sniffing import is_guess, sniff_text
from accord.table.sources.opening import TableLike, find_place, kind_of, name_of
from accord.table.sources.xlsx import sheet_names

OURS = "written by Accord."
"""How the comment ends that stands above a layout of ours."""
Choose = Callable[[Dates], str | None]
"""Which of several formats a column has, as its owner says; None if nobody is there to say it."""
_MANY_UNREAD = 'Is it the right column? A layout with unreadable = "empty" counts such cells as empty.'
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def ask_nobody(dates: Dates) -> str | None:
    """No format: what is open is a fault then."""
    return None


def watch_nothing(rows: int) -> None:
    """Nobody is told how many rows were read."""


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: what is said of it, and who is asked and told meanwhile."""

    layout: Layout
    named: Iterable[str] = ()
    """What of encoding, delimiter and quote is said, and not found out."""
    choose: Choose = ask_nobody
    watch: Watch = watch_nothing


def find_layout(agreement: Agreement, data: TableLike, how: Reading, side: Side | None) -> Layout:
    """The layout with all that was found out about the table; what is named is taken as it is."""
    layout = how.layout
    shown = agreement.kept_columns(side) if side is not None else ()
    wanted = layout.own_columns(agreed_columns(agreement.fields, shown))
    wanted += ([] if layout.make_ids else [layout.id]) + ([layout.person] if layout.person else [])
    found = sniff_text(data, layout, how.named, wanted)
    return _settle_dates(found, sniff_dates(data, found, agreement.fields), data, how.choose)


def _settle_dates(layout: Layout, found: Mapping[str, Dates], data: TableLike, choose: Choose) -> Layout:
    """The layout with the formats of dates; the owner chooses where a column has several."""
    formats, faults = {}, []
    for name, dates in found.items():
        chosen = dates.best if not dates.fits else dates.fits[0]
        if len(dates.fits) > 1:
            chosen = choose(dates)
            if chosen is None:
                faults.append(_open_question(name, dates))
                continue
        if chosen not in (None, "%Y-%m-%d"):
            formats[name] = str(chosen)
    if faults:
        raise DataError(name_of(data), faults)
    return layout.read_dates(formats)


def _open_question(name: str, dates: Dates) -> Fault:
    ways = " or ".join(dates.fits)
    mend = f"Say which it is, such as `dates=` {name}='{dates.fits[0]}'."
    return Fault(f"column '{dates.column}'", f"has dates that can be read as {ways}.", mend)


def facts_of_layout(data: TableLike, layout: Layout) -> dict[str, Any]:
    """How a table is read, for people and machines."""
    facts: dict[str, Any] = {"id": None if layout.make_ids else layout.id, "make_ids": layout.make_ids}
    place, kind = find_place(data), kind_of(data)
    if kind == "csv":
        facts |= {"encoding": layout.encoding, "delimiter": layout.delimiter, "quote": layout.quote}
    if kind == "xlsx" and isinstance(place, Path):
        facts["sheet"] = layout.sheet or sheet_names(place)[0]
    facts |= {"header": layout.header} if layout.header > 1 else {}
    formats = {name: layout.source(name).format for name in layout.columns}
    facts["dates"] = {name: how for name, how in formats.items() if how}
    return facts


def describe_layout(facts: Mapping[str, Any]) -> str:
    """The same in a line; empty if there is nothing to say."""
    parts = []
    if "encoding" in facts:
        mark = " with a byte order mark" if facts["encoding"] in ("utf-8-sig", "utf-16", "utf-32") else ""
        guess = " (a guess; `encoding=` names another)" if is_guess(facts["encoding"]) else ""
        delimiter = _NAMES.get(facts["delimiter"], facts["delimiter"])
        quote = "no quotes" if facts["quote"] == "none" else f"quotes {facts['quote']}"
        parts = [f"{facts['encoding']}{mark}{guess}", f"delimiter {delimiter}", quote]
    if "sheet" in facts:
        parts.append(f"sheet '{facts['sheet']}'")
    if "header" in facts:
        parts.append(f"header in {'row' if 'sheet' in facts else 'line'} {facts['header']}")
    if facts["make_ids"]:
        parts.append("ids are made")
    parts += [f"dates of {name} {how}" for name, how in facts["dates"].items()]
    return ", ".join(parts)


@dataclass(frozen=True)
class TableCheck:
    """A table that fits its agreement, and how it is read."""

    data: TableLike
    records: int
    left_out: int
    tally: Tally
    in_no_bin: int
    in_no_bin_of: Mapping[str, int]
    """By pass."""
    coverage: Coverage
    layout: Layout
    read: Records

    @property
    def placed(self) -> float:
        """The share of records that can meet others: that have a key or bin, and a place in it."""
        there = max(1, len(self.read))
        return 1 - self.in_no_bin / there if self.coverage.placed is None else self.coverage.placed

    @property
    def facts(self) -> dict[str, Any]:
        reasons, unread = (
            [{kind: name, "reason": reason, "rows": rows} for (name, reason), rows in found.items()]
            for kind, found in (("field", self.tally.left_out), ("column", self.tally.unread))
        )
        people = {"people": self.tally.people, "most_records_of_a_person": self.tally.most_of_one}
        read = {"records": self.records, "left_out": self.left_out, "left_out_by": reasons}
        read |= {"unread": unread}
        read |= {"in_no_bin": self.in_no_bin, "in_no_bin_of": dict(self.in_no_bin_of)}
        passes = self.coverage.passes
        read |= {"placed": round(self.placed, 4)}
        read |= {
            "uncovered": self.coverage.count,
            "uncovered_of": {one.name: one.uncovered for one in passes},
        }
        over = [{"pass": one.name, "cap": one.cap, "rows": one.left_out} for one in passes if one.left_out]
        read |= {"over_cap": over} if over else {}
        read |= people if self.tally.people is not None else {}
        return {"data": read, "layout": facts_of_layout(self.data, self.layout)}

    def show(self, agreement: Agreement, names: list[str]) -> dict[str, Any]:
        """Some values of these fields before and after, for their owner who asks for them."""
        found: dict[str, Any] = {}
        for name in names:
            values = show_values(self.data, name, agreement.fields, self.layout)
            spec = agreement.fields[name]
            columns = self.layout.own_columns(spec.columns(name))
            found[name] = {
                "from": columns,
                "encoded": _encoded(spec),
                "values": [asdict(one) for one in values],
            }
        return found


def _encoded(spec: FieldSpec) -> str:
    """What a value becomes in the end, in words."""
    if isinstance(spec, TextField) and isinstance(spec.encoder, Letters):
        return f"up to {spec.encoder.length} letters of {spec.encoder.bits} bits"
    if isinstance(spec, TextField):
        return f"{'a filter' if isinstance(spec.encoder, Bloom) else 'a hash'} of {spec.bits:,} bits"
    return "its place in the agreed list" if isinstance(spec, CategoryField) else "its steps from min"


def check_table(agreement: Agreement, data: TableLike, side: Side | None, how: Reading) -> TableCheck:
    """Find out how the table is written, and read it; raises all its faults. *Requires* that it can be read
    more than once."""
    found, tally = find_layout(agreement, data, how, side), Tally()
    shown = agreement.kept_columns(side) if side is not None else ()
    per_person = agreement.protocol.records_per_person(agreement.task, side) if side is not None else None
    try:
        loading = Loading(tally, watch=how.watch)
        records = load_records(data, agreement.fields, agreement.salt, shown, found, per_person, loading)
    except FaultyError as error:
        if told := describe_layout(facts_of_layout(data, found)):
            error.add_note(f"It was read as {told}.")
        raise
    if found.unreadable == "refuse":
        _require_read(data, tally, records.size)
    if side is not None:
        agreement.protocol.refuse_records(agreement.task, side, records)
    if faults := [*contradictions(agreement, side, records)]:
        raise ContradictionError(name_of(data), faults)
    # Where records of the two sides fall differs, but not whether they fall anywhere.
    bins = count_unplaced(agreement, side or Side.A, records)
    both = (agreement.protocol.coverage(agreement.task, s, records) for s in ([side] if side else Side))
    coverage = max(both, key=lambda one: one.count)
    return TableCheck(data, records.size, records.left_out, tally, *bins, coverage, found, records)


def _require_read(data: TableLike, tally: Tally, rows: int) -> None:
    """Raise if most cells of a column cannot be read."""
    faults = [
        Fault(f"column '{column}'", f"in {many:,} of {rows:,} rows it {reason}.")
        for (column, reason), many in tally.unread.items()
        if 2 * many > rows
    ]
    if faults:
        raise DataError(name_of(data), faults, _MANY_UNREAD)


def write_layout(layout: Layout, data: TableLike, path: Path, may_replace: bool) -> None:
    """Write a layout file; one that is there stays, unless it may be replaced."""
    require_writable(path, "layout", ())
    if path.exists() and not may_replace:
        raise UsageError(
            problem=f"{path} already exists and says something else. Change it there, or `force=True` "
            "replaces it; `layout=` names another place."
        )
    place = find_place(data)
    name = place.name if isinstance(place, Path) else name_of(data)
    text = f"# How {name} is laid out, {OURS}\n{layout.to_toml(isinstance(place, Path))}"
    write_file(path, text.encode(), "layout", replace=may_replace)
