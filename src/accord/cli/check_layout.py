"""What `accord check` does for a file: find out how it is written, ask where that is open, write it down.

What is written keeps all that the layout file said before, also of other agreements: only what was typed is
changed, and what it did not say is added. One with comments of its owner's is not written over, nor one that
says something else, where nothing was typed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from accord.cli.places import layout_beside, layout_of, shown
from accord.cli.terminal import Counter, say
from accord.errors import DataError, Fault, FaultyError, UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.agreement.document import Agreement
    from accord.cli.check_typed import Typed
    from accord.fields.columns import Records
    from accord.fields.date_formats import Dates
    from accord.fields.load import Tally
    from accord.fields.schema import FieldSpec
    from accord.side import Side
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place

_OURS = "written by Accord."
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_WORDS = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year (two digits)"}


@dataclass(frozen=True)
class Known:
    """What is known of a table's layout before the table is looked at."""

    path: Path | None
    """Where it is written; None without a table."""
    wanted: bool
    """Whether its owner named that place, where nothing is yet."""
    stored: Layout | None
    """All that is written there; None if there is nothing, or it is to be replaced."""
    before: Layout
    """What of it is about the agreement."""
    typed: Typed
    layout: Layout
    """The same with what was typed."""
    named: frozenset[str]
    """What is taken as it is, and not found out."""

    def complete(self, found: Layout) -> Layout:
        """The layout that was found, with what is written of other agreements."""
        if self.stored is None:
            return found
        columns, lists = {**self.stored.columns, **found.columns}, {**self.stored.lists, **found.lists}
        return replace(found, columns=columns, lists=lists)


def read_known(
    agreement: Agreement, data: Place | None, named: Path | None, typed: Typed, force: bool
) -> Known:
    """What the command line says of a layout, and the layout file, unless that is to be replaced."""
    from accord.table.layout import Layout, named_in, read_layout

    path = named or (layout_of(data) if data is not None else None)
    wanted = named is not None and data is not None and not os.path.exists(named)  # whatever its name is
    words, stored, before = typed.named, None, Layout()
    if path is not None and not wanted and not force and (named is not None or path.is_file()):
        stored = before = read_layout(path)
        words |= named_in(path)
        if named is None and data is not None:
            before = stored.about(agreement.names, agreement.lists)
            say(f"Reading {shown(data)} as {path} says.", err=True)
    layout = typed.onto(before)
    layout.require_known(agreement.names, agreement.lists)
    return Known(path, wanted, stored, before, typed, layout, words)


def find_layout(
    agreement: Agreement, data: Place, layout: Layout, named: Iterable[str], side: Side | None
) -> Layout:
    """The layout with all that was found out about the file; what is named is taken as it is."""
    from accord.fields.date_formats import sniff_dates
    from accord.fields.schema import agreed_columns
    from accord.table.sniffing import sniff_text

    shown = agreement.kept_columns(side) if side is not None else ()
    wanted = layout.own_columns(agreed_columns(agreement.fields, shown))
    wanted += ([] if layout.make_ids else [layout.id]) + ([layout.person] if layout.person else [])
    found = sniff_text(data, layout, named, wanted)
    return _settle_dates(found, sniff_dates(data, found, agreement.fields), data)


def _settle_dates(layout: Layout, found: Mapping[str, Dates], data: Place) -> Layout:
    """The layout with the formats of dates; the owner is asked where a column has several."""
    formats, faults = {}, []
    for name, dates in found.items():
        chosen = dates.best if not dates.fits else dates.fits[0]
        if len(dates.fits) > 1:
            if not sys.stdin.isatty():
                faults.append(_open_question(name, dates))
                continue
            chosen = _ask(dates)
        if chosen not in (None, "%Y-%m-%d"):
            formats[name] = str(chosen)
    if faults:
        raise DataError(shown(data), faults)
    return layout.read_dates(formats)


def _open_question(name: str, dates: Dates) -> Fault:
    ways = " or ".join(dates.fits)
    mend = f"Say which it is, such as --date {name}='{dates.fits[0]}'."
    return Fault(f"column '{dates.column}'", f"has dates that can be read as {ways}.", mend)


def _ask(dates: Dates) -> str:
    say(f"The dates of column '{dates.column}' can be read in several ways:", err=True)
    for number, how in enumerate(dates.fits, 1):
        say(f"  {number}  {how}   {in_words(how)}", err=True)
    try:
        answer = 0
        while not 1 <= answer <= len(dates.fits):
            answer = typer.prompt("Which is it? Its number", type=int, err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    return dates.fits[answer - 1]


def in_words(how: str) -> str:
    """A format as people say it: day, month, year."""
    parts = sorted((how.index(sign), word) for sign, word in _WORDS.items() if sign in how)
    return ", ".join(word for _, word in parts)


def facts_of_layout(data: Place, layout: Layout) -> dict[str, Any]:
    """How a file is read, for people and machines."""
    from accord.table.sources.opening import kind_of

    facts: dict[str, Any] = {"id": None if layout.make_ids else layout.id, "make_ids": layout.make_ids}
    if kind_of(data) == "csv":
        facts |= {"encoding": layout.encoding, "delimiter": layout.delimiter, "quote": layout.quote}
    if kind_of(data) == "xlsx" and isinstance(data, Path):
        from accord.table.sources.xlsx import sheet_names

        facts["sheet"] = layout.sheet or sheet_names(data)[0]
    formats = {name: layout.source(name).format for name in layout.columns}
    facts["dates"] = {name: how for name, how in formats.items() if how}
    return facts


def describe_layout(facts: Mapping[str, Any]) -> str:
    """The same in a line; empty if there is nothing to say."""
    from accord.table.sniffing import is_guess

    parts = []
    if "encoding" in facts:
        mark = " with a byte order mark" if facts["encoding"] in ("utf-8-sig", "utf-16", "utf-32") else ""
        guess = " (a guess; --encoding names another)" if is_guess(facts["encoding"]) else ""
        delimiter = _NAMES.get(facts["delimiter"], facts["delimiter"])
        quote = "no quotes" if facts["quote"] == "none" else f"quotes {facts['quote']}"
        parts = [f"{facts['encoding']}{mark}{guess}", f"delimiter {delimiter}", quote]
    if "sheet" in facts:
        parts.append(f"sheet '{facts['sheet']}'")
    if facts["make_ids"]:
        parts.append("ids are made")
    parts += [f"dates of {name} {how}" for name, how in facts["dates"].items()]
    return ", ".join(parts)


@dataclass(frozen=True)
class FileCheck:
    """A file that fits its agreement, and how it is read."""

    data: Place
    records: int
    left_out: int
    tally: Tally
    in_no_bin: int
    in_no_bin_of: Mapping[str, int]
    """By pass."""
    over_cap: tuple[tuple[str, int, int], ...]
    """Pass, cap, and how many records are over it."""
    refused: bool
    """Whether a run is refused if there are any."""
    layout: Layout
    read: Records

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
        over = [
            {"pass": name, "cap": cap, "rows": rows, "refused": self.refused}
            for name, cap, rows in self.over_cap
            if rows
        ]
        read |= {"over_cap": over} if over else {}
        read |= {"listed": dict(self.tally.listed)} if self.tally.listed else {}
        read |= people if self.tally.people is not None else {}
        return {"data": read, "layout": facts_of_layout(self.data, self.layout)}

    def show(self, agreement: Agreement, names: list[str]) -> dict[str, Any]:
        """Some values of these fields before and after."""
        from accord.fields.showing import show_values

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

    def keep(self, known: Known, agreement: Path, force: bool) -> None:
        """Write the layout where its owner says, else beside the data; nothing where a linkage reads the file
        as it is, or as is written there already."""
        from accord.table.sinks.files import require_no_input
        from accord.table.sources.opening import input_files

        path = known.path
        assert path is not None
        if not (known.wanted or self.layout != known.before or (force and path.exists())):
            return
        require_no_input(path, [agreement, *input_files(self.data)], "layout")
        may_replace = force or (bool(known.typed) and not _has_comments(path))
        write_layout(known.complete(self.layout), self.data, path, may_replace)
        # Beside the table it is found.
        how = "" if path == layout_of(self.data) else f": link with --layout {path}"
        say(f"Wrote {path}{how}.", err=True)

    def tell_ids(self) -> None:
        """Say where the ids are that were made for rows of the file, and what they are good for."""
        from accord.table.sources.opening import ids_file

        if self.tally.new_ids and isinstance(self.data, Path):
            say(
                f"Wrote {ids_file(self.data)}: random ids for {counted(self.tally.new_ids, 'row')}. Pairs "
                "name your records by these; its columns row and id say which row each is. It stays with "
                "you: keep it next to your table, and rows keep their ids.",
                err=True,
            )


def _encoded(spec: FieldSpec) -> str:
    """What a value becomes in the end, in words."""
    from accord.fields.schema import Bloom, CategoryField, FrequencyField, Letters, TextField

    if isinstance(spec, FrequencyField):
        return f"its class, 0 (common) to {spec.high} (rarest)"
    if isinstance(spec, TextField) and isinstance(spec.encoder, Letters):
        return f"up to {spec.encoder.length} letters of {spec.encoder.bits} bits"
    if isinstance(spec, TextField):
        return f"{'a filter' if isinstance(spec.encoder, Bloom) else 'a hash'} of {spec.bits:,} bits"
    return "its place in the agreed list" if isinstance(spec, CategoryField) else "its steps from min"


def check_file(
    agreement: Agreement, data: Place, side: Side | None, layout: Layout, named: Iterable[str]
) -> FileCheck:
    """Find out how the file is written, and read it; raises all its faults."""
    from accord.agreement.by_pass import count_unplaced
    from accord.fields.load import Loading, Tally, load_records
    from accord.side import Side

    found, tally = find_layout(agreement, data, layout, named, side), Tally()
    shown = agreement.kept_columns(side) if side is not None else ()
    per_person = agreement.protocol.records_per_person(side) if side is not None else None
    try:
        with closing(Counter()) as watch:
            how = Loading(tally, watch=watch)
            records = load_records(data, agreement.fields, agreement.salt, shown, found, per_person, how)
    except FaultyError as error:
        if told := describe_layout(facts_of_layout(data, found)):
            error.add_note(f"It was read as {told}.")
        raise
    if side is not None:
        agreement.protocol.refuse_records(agreement.task, side, records)
    # Where records of the two sides fall differs, but not whether they fall anywhere.
    bins = count_unplaced(agreement, side or Side.A, records)
    over = tuple(agreement.protocol.over_cap(agreement.task, side or Side.A, records))
    refused = agreement.protocol.refuses_full
    return FileCheck(data, records.size, records.left_out, tally, *bins, over, refused, found, records)


def write_layout(layout: Layout, data: Place, path: Path, may_replace: bool) -> None:
    """Write a layout file; one that is there stays, unless it may be replaced."""
    from accord.table.sinks.files import require_writable, write_file

    require_writable(path, "layout", ())
    if path.exists() and not may_replace:
        raise UsageError(
            problem=f"{path} already exists and says something else. Change it there, or --force replaces "
            "it; --layout names another place."
        )
    name = data.name if isinstance(data, Path) else shown(data)
    text = f"# How {name} is laid out, {_OURS}\n{layout.to_toml(isinstance(data, Path))}"
    write_file(path, text.encode(), "layout", replace=may_replace)


def _has_comments(path: Path) -> bool:
    """Whether a layout file has comments of its owner's, which would be lost."""
    if not path.exists():
        return False
    lines = path.read_text(encoding="utf-8").splitlines()
    return any("#" in line for line in lines if not (line.startswith("# How ") and line.endswith(_OURS)))


def list_columns(file: Place, named: Path | None, typed: Typed, as_json: bool) -> None:
    """Print the names of a file's columns, one a line, for its owner, who asks for them."""
    from accord.cli.link import plain
    from accord.table.layout import Layout, named_in, read_layout
    from accord.table.sniffing import sniff_text
    from accord.table.sources.opening import column_names

    path = named or layout_beside(file)
    layout = read_layout(path) if path is not None else Layout()
    words = typed.named | (named_in(path) if path is not None else frozenset())
    names = column_names(file, sniff_text(file, typed.onto(layout), words, ()))
    typer.echo(json.dumps(names) if as_json else "\n".join(plain(name) for name in names))
