"""Where the agreed fields are found in one's own table, as its layout says then; and the table read that way.

For whoever drafted an agreement and for the partner alike. What is told of it may quote cells that count as
empty or mean an agreed value: it is for the table's owner, as the layout is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from accord.agreement.disclosure import needed_columns
from accord.agreement.document import Agreement
from accord.arguments import as_path_or_none, require_flag
from accord.drafting.confirming import find_id
from accord.drafting.fitting import Fitted, fit, type_of
from accord.drafting.kinds import ColumnKind
from accord.drawing import draw
from accord.errors import ContradictionError, DataError, Fault, FaultyError, UsageError
from accord.exact import text
from accord.fields.schema import CategoryField
from accord.forecast.expected import look_ahead
from accord.preparing.facts import tell_counting
from accord.preparing.own_table import Reading, TableCheck, check_table, write_layout
from accord.preparing.seen import SeenTable
from accord.privacy.budget import UNCOVERED
from accord.rules.rule import Score, fields_of, scores_of
from accord.side import Side
from accord.table.field_source import OF_NAMES, Source
from accord.table.layout import Layout
from accord.table.sinks.files import require_target
from accord.table.sources.opening import TableLike, find_place, input_files, layout_file, name_of
from accord.wording import counted, did_you_mean, tell_share

_FILE = "table.layout.toml"
_CROWDED = 2.0
"""How many times as much as expected is worth a word."""
_FEW_UNREAD = 0.25
_ANSWER = (
    "Fix the cells; or confirm another answer: `missing_values=` says what counts as empty, `ranges=` which "
    'values there are, `types=` COLUMN=skip leaves a column out, a layout with unreadable = "empty" counts '
    "all such cells as empty."
)
_LAY_OUT = (
    "Fix the cells; or say in a layout, `layout=`, which of them count as empty: "
    'columns={"NAME": {"column": "…", "missing": ["unknown"]}}, or unreadable="empty" for all of them.'
)
_SAY_VALUES = 'say what they mean with values = { THEIRS = "AGREED" } in your layout file.'
_HEAVY = 3
"""A column with more than this part of the threshold is missed."""
_CORE = ("given", "surname", "name", "birth")
_MANY_WORDS, _OFTEN = 3, 0.3
_WRITTEN = ("encoding", "delimiter", "quote", "header")
"""Found out when the table was looked at."""


@dataclass(frozen=True)
class Placed:
    """Where agreed fields are found in a table, and which of them it does not have."""

    seen: SeenTable
    agreement: Agreement
    fitted: Fitted
    absent: tuple[str, ...]

    def lay_out(self, dates: Iterable[str] = ()) -> Layout:
        """The layout that says so; `dates` are FIELD=FORMAT. What its owner wrote in a layout is right.
        Raises for codes that mean one thing in one language, and another in another."""
        if faults := [*self._find_unsure()]:
            raise DataError(name_of(self.seen.table), faults)
        said = self.seen.layout
        columns = {n: source for n, source in self.fitted.sources.items() if source != Source(column=n)}
        columns |= dict.fromkeys(self.absent, Source(absent=True))
        columns |= {name: said.source(name) for name in said.columns}
        own = find_id(self.seen.columns)
        layout = replace(said, id=own or "id", make_ids=own is None, columns=columns).map_dates(dates)
        layout.require_known(self.agreement.names)
        return layout

    def _find_unsure(self) -> Iterator[Fault]:
        """Letters of sexes that nobody but the table's owner can read."""
        for name, source in self.fitted.sources.items():
            column = source.column or ""
            reading = self.fitted.readings.get(column)
            if reading is None or not reading.unsure:
                continue
            letters = " and ".join(reading.unsure)
            written = ", ".join(f'{letter.casefold()} = "…"' for letter in reading.unsure)
            yield Fault(
                f"column '{column}'",
                f"has the codes {letters}. They mean one sex in Spanish and another in Dutch.",
                "Say which in a layout, `layout=`, under `[columns]`: "
                f'{name} = {{ column = "{column}", values = {{ {written} }} }}.',
            )

    def tell(self, layout: Layout) -> Iterator[str]:
        """How columns are read, which a layout says from here on; nobody but its owner is told."""
        for column, reading in self.fitted.readings.items():
            if words := reading.tell():
                yield f"'{column}': {words}."
            if reading.unknown:
                cells = counted(reading.unknown_cells, "cell")
                yield f"'{column}': {cells} mean none of the agreed values; {_SAY_VALUES}"
            if reading.lone:
                yield f"'{column}': however a cell is spelt, it means {reading.lone}; {_SAY_VALUES}"
        for name, column in self.fitted.alone.items():
            typed = shlex.quote(f"{column}=skip")
            yield f"'{column}' is taken for {name}, by its type and place alone; `types=` {typed} if not."
        for name in self.absent:
            why = f" ({self.fitted.why[name]})" if self.fitted.why[name] else ""
            lost = " Without it many pairs are lost." if name in _CORE else ""
            yield f"No column is taken for {name}: every record counts as having none{why}.{lost}"
        yield from self._tell_idle_passes()
        for name, source in layout.columns.items():
            assert not isinstance(source, str)
            if source.part in OF_NAMES:
                is_two = layout.source(ColumnKind.SURNAME_2).column == source.column
                yield f"{name} is the {_part_of_name(name, source, is_two)}."
        yield from self._tell_long_names(layout)

    def _tell_idle_passes(self) -> Iterator[str]:
        """Passes in which no record of this table has a key."""
        needed = needed_columns(self.agreement)
        idle = [columns & {*self.absent} for columns in needed if columns & {*self.absent}]
        if idle:
            lacking = ", ".join(sorted(set().union(*idle)))
            passes = f"{counted(len(idle), 'pass', 'passes')} of {len(needed)}"
            mend = "Agree on a draft without it, which has other passes."
            yield f"{passes} can compare none of your records without {lacking}. {mend}"

    def _tell_long_names(self, layout: Layout) -> Iterator[str]:
        """Whole names that cannot be taken apart for sure: nobody sees which words are the family's."""
        split = {layout.source(n).column for n in layout.columns if layout.source(n).part in OF_NAMES}
        for sample in self.seen.look.samples:
            long = [cell for cell in sample.telling if len(cell.split()) >= _MANY_WORDS]
            if sample.column in split and len(long) > _OFTEN * len(sample.telling):
                yield (
                    f"Many names in '{sample.column}' have three words or more, and a family name may be two "
                    "of them. Whole names find more pairs: let whoever has them in one column draft."
                )

    def tell_unused(self, layout: Layout) -> Iterator[str]:
        """The columns that an agreement has no use for."""
        used = {layout.id_column, *layout.own_columns(self.agreement.names)}
        if unused := [f"'{one.name}'" for one in self.seen.columns if one.name not in used]:
            yield f"Not used, for want of an agreed field: {', '.join(unused)}."


def lacking_columns(
    agreement: Agreement, seen: SeenTable, as_of: date | None, declared: Sequence[str] = ()
) -> list[Fault]:
    """The agreed names that are found nowhere and weigh something, each as a fault."""
    fitted = _fit(agreement, seen, as_of, absent=declared)
    return _no_columns(agreement, fitted, _required(agreement, fitted, declared))


def _required(agreement: Agreement, fitted: Fitted, declared: Sequence[str]) -> list[str]:
    """The lacking names that may not be missing: none of much weight goes missing without its owner's
    word."""
    heavy = {name for name in fitted.lacking if _is_heavy(agreement, name)}
    spared = fitted.may_lack(agreement.fields, declared)
    may = {name for name in spared if name in declared or name not in heavy}
    return [name for name in fitted.lacking if name not in may]


def _is_heavy(agreement: Agreement, column: str) -> bool:
    """Whether a column decides by much: beside scores, or with a third of what a match needs."""
    reading = {name for name, spec in agreement.fields.items() if column in spec.columns(name)}
    found = scores_of(agreement.rule)
    scored = [
        each for score in found for each in score.comparisons if reading & {*fields_of(Score((each,), 1))}
    ]
    weight = sum(max(each.weights) for each in scored)
    least = min((score.least for score in found), default=0)
    return bool(reading & {*fields_of(agreement.rule)}) and (not scored or _HEAVY * weight >= least)


def place_fields(
    agreement: Agreement,
    seen: SeenTable,
    make_ids: bool,
    as_of: date | None,
    is_own: bool,
    declared: Sequence[str] = (),
) -> Placed:
    """Where the agreed fields are found; raises for those that may not be missing. `is_own` says that the
    agreement is drafted from this table; `declared` are names that its owner says it has not."""
    for name in declared:
        if name not in agreement.names:
            hint = did_you_mean(name, agreement.names, f"Agreed are: {', '.join(agreement.names)}.")
            raise UsageError(problem=f"`absent=` {name} is no agreed field. {hint}")
    fitted = _fit(agreement, seen, as_of, is_own, declared)
    lacking = _required(agreement, fitted, declared)
    absent = [name for name in fitted.lacking if name not in lacking]
    if faults := [*seen.lacks_id(make_ids), *_no_columns(agreement, fitted, lacking)]:
        raise DataError(
            name_of(seen.table), faults, _tell_lacking(agreement, fitted, lacking) if lacking else ""
        )
    return Placed(seen, agreement, fitted, tuple(absent))


def _fit(
    agreement: Agreement,
    seen: SeenTable,
    as_of: date | None,
    is_own: bool = False,
    absent: Sequence[str] = (),
) -> Fitted:
    names = [name for name in agreement.names if name not in seen.layout.columns]
    return fit(seen.columns, seen.look.samples, names, agreement.fields, as_of, is_own, absent)


def _no_columns(agreement: Agreement, fitted: Fitted, lacking: Sequence[str]) -> list[Fault]:
    return [
        Fault(
            f"field '{name}'",
            f"has no column.{_tell_candidates(fitted.candidates.get(name, ()))}",
            f"Say which: `types=` COLUMN={type_of(name, agreement.fields)}.",
        )
        for name in lacking
    ]


def _part_of_name(name: str, source: Source, is_two: bool) -> str:
    if is_two:
        part = "rest" if name == ColumnKind.SURNAME_2 else "first family name"
        return f"{part} of '{source.column}'"
    kind = "given name" if source.part == "given" else "family name"
    return f"{kind} in '{source.column}', as {source.order}"


def _tell_candidates(columns: Sequence[str]) -> str:
    quoted = [f"'{one}'" for one in columns]
    return f" It may be {' or '.join(quoted)}." if quoted else ""


def _tell_lacking(agreement: Agreement, fitted: Fitted, lacking: Sequence[str]) -> str:
    """Why what a table does not have is not simply missing."""
    must = [name for name, spec in agreement.fields.items() if {*spec.columns(name)} & {*lacking}]
    strict = [name for name in must if agreement.fields[name].missing != "differs"]
    if strict:
        return f'The agreement says that no {strict[0]} may be missing: only missing = "differs" allows that.'
    if fitted.are_few and not any(fitted.candidates.values()):
        return "Most of the agreed fields have no column: is it the right table?"
    return f"If your table has none of these, declare it: `absent=` {','.join(lacking)}."


def try_on(placed: Placed, how: Reading) -> TableCheck:
    """Read the table as it was placed; raises all that does not fit, more than a few unread cells included,
    which are told row by row, as if they were faults."""
    agreement, how = placed.agreement, replace(how, named=_WRITTEN)
    found = check_table(agreement, placed.seen.table, None, how)
    many = _find_unread(agreement, found) if found.layout.unreadable == "refuse" else set()
    return check_table(_strict(agreement, many), placed.seen.table, None, how) if many else found


def _find_unread(agreement: Agreement, found: TableCheck) -> set[str]:
    """The fields of which more than a few cells cannot be read; of a list of values that is told apart."""
    most, layout = _FEW_UNREAD * found.records, found.layout
    many = {column for (column, _), rows in found.tally.unread.items() if rows > most}
    return {
        name
        for name, spec in agreement.fields.items()
        if not isinstance(spec, CategoryField) and layout.place(spec.columns(name)) in many
    }


def _strict(agreement: Agreement, names: Iterable[str]) -> Agreement:
    """The agreement with these fields, whose cells must all be read."""
    specs = {name: agreement.fields[name].model_copy(update={"other": "error"}) for name in names}
    return agreement.model_copy(update={"fields": {**agreement.fields, **specs}})


def tell_read(agreement: Agreement, found: TableCheck) -> Iterator[str]:
    """To the owner of a table that was read: what counts as empty, and that ids may number rows."""
    for (column, reason), rows in found.tally.unread.items():
        yield f"'{column}': {rows:,} of {found.records:,} cells count as empty. Each {reason}."
    if found.tally.counts_rows and not agreement.output.answers:
        yield tell_counting(found.layout.id)


def tell_meeting(agreement: Agreement, found: TableCheck) -> str:
    """How the records of a table meet others and miss them, in a line; empty where all pairs are compared."""
    if not agreement.passes:
        return ""
    count, where = len(found.read), "key" if found.coverage.passes else "bin"
    parts = [f"{found.placed:.1%} of your {count:,} records find a place in some pass"]
    if found.in_no_bin:
        parts.append(f"{found.in_no_bin:,} have no {where}")
    if over := sum(one.left_out for one in found.coverage.passes):
        parts.append(f"{over:,} places are missing in full keys")
    if found.coverage.count:
        parts.append(f"the promise does not cover {tell_share(found.coverage.count, count)}")
    told = f"{', '.join(parts)}."
    if found.coverage.count > UNCOVERED * count:
        crowded = max(found.coverage.passes, key=lambda one: one.uncovered)
        told += (
            f" A run does not start above {text(100 * UNCOVERED)} %: a larger `cap` in the agreement helps, "
            f"of '{crowded.name}' above all, or another pass; or allow more (`uncovered=`)."
        )
    return told


def tell_crowded(agreed: Agreement, check: TableCheck) -> str:
    """A word where one's own records crowd in few bins, or none: nobody else is told, and the draft does not
    know."""
    if not agreed.passes or not agreed.protocol.lists_bins:
        return ""
    usual, own = look_ahead(agreed, None, None), look_ahead(agreed, Side.A, check.read)
    if usual is None or own is None:
        return ""
    if own.plan.agreed.comparisons.expected <= _CROWDED * usual.plan.agreed.comparisons.expected:
        return ""
    return (
        f"For your eyes: with a partner's table like yours it takes {own.describe()}. Your records lie in "
        "few of the bins: narrower ranges (`ranges=`), or keys with more values, help."
    )


@dataclass(frozen=True, repr=False)
class Fit:
    """How one's own table is read under an agreement: the table was read so, and has no faults."""

    agreement: Agreement
    layout: Layout
    """For `check`, `simulate`, `plan` and `link`. It stays with you."""
    records: int
    told: tuple[str, ...]
    """What was found out about your columns, for your eyes: it may quote cells that count as empty."""
    table: TableLike

    def write(self, folder: Path | str | None = None, force: bool = False) -> Path:
        """Write the layout, and return where: beside the table, or into a folder; `read_layout` reads it. A
        table that is no file needs the folder. What is there is replaced only with `force`."""
        require_flag("force", force)
        place, chosen = find_place(self.table), as_path_or_none("folder", folder)
        if place is None and chosen is None:
            raise UsageError(problem="The table is no file that a layout could lie beside: name a `folder=`.")
        beside = layout_file(place) if place is not None else Path(_FILE)
        path = beside if chosen is None else chosen / beside.name
        require_target(path, input_files(self.table), force, "folder", ())
        write_layout(self.layout, self.table, path, may_replace=force)
        return path

    def __repr__(self) -> str:
        names = f"{self.agreement.parties.A} and {self.agreement.parties.B}"
        return f"<Fit: {counted(self.records, 'record')} fit the agreement of {names}>"

    def __str__(self) -> str:
        """With what was found out about the columns."""
        return "\n".join([f"{name_of(self.table)} fits: {counted(self.records, 'record')}.", *self.told])

    def _repr_html_(self) -> str:
        """For notebooks: where each agreed field is found. Without cells; `print` tells those that count as
        empty or mean something else."""
        return draw("show_fit", self)


def fit_table(placed: Placed, dates: Iterable[str], is_own: bool) -> Fit:
    """The fit of a table whose fields have a place; raises all that cannot be read."""
    layout = placed.lay_out(dates)
    told = [*placed.tell(layout), *(() if is_own else placed.tell_unused(layout))]
    try:
        found = try_on(placed, Reading(layout))
    except ContradictionError:
        raise
    except FaultyError as error:
        error.add_note(_ANSWER if is_own else _LAY_OUT)
        raise
    told += [*tell_read(placed.agreement, found), *[tell_crowded(placed.agreement, found)] * is_own]
    seen = placed.seen.table
    return Fit(placed.agreement, found.layout, found.records, tuple(filter(None, told)), seen)
