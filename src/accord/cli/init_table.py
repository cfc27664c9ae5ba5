"""`accord init --from`: look at a table, let its owner confirm, draft, and try the draft on the table.

Nothing is written before the table has been read under the draft: what is written passes `accord check`. How
the file is laid out goes into a file of its own, which stays with the owner.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.check_layout import check_file, write_layout
from accord.cli.init_told import NO_SERIES, Seen, Told, answers_of
from accord.cli.places import layout_of, shown
from accord.cli.terminal import say
from accord.errors import DataError, Fault, FaultyError, LayoutOutputError, OutputError, UsageError
from accord.table.field_source import OF_NAMES
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.check_layout import FileCheck
    from accord.drafting.draft import Draft
    from accord.drafting.fitting import Fitted
    from accord.table.layout import Layout


def draft_from(told: Told, out: Path, force: bool) -> None:
    """Write a draft for this table, and how the table is laid out."""
    from accord.drafting.confirming import find_id
    from accord.drafting.draft import make_draft
    from accord.table.sinks.files import require_target, write_file
    from accord.table.sources.opening import input_files

    beside = layout_of(told.table)
    require_target(out, input_files(told.table), force, endings=())
    _require_layout(beside, [*input_files(told.table), out], force)
    seen = _look(told)
    if told.asks:
        from accord.cli.init_questions import ask_all

        seen, told = ask_all(seen, told)
    else:
        _tell_left_out(seen, told)
    _require_answers(seen, told)
    answers = answers_of(seen, told)
    _require_id(seen, told)
    if told.monthly and not find_id(seen.columns):
        raise UsageError(problem=NO_SERIES)
    say("Learning weights from made-up records: this takes some seconds.", err=True)
    draft = make_draft(answers, secrets.token_hex(16))
    check = _try(draft.agreement, seen, told)
    _tell_owner(check, draft.agreement)
    write_file(out, draft.text.encode(), replace=force)
    write_layout(check.layout, told.table, beside, may_replace=True)
    _tell(told, draft, seen, out, beside)
    _tell_own_cost(draft.agreement, check)
    check.tell_ids()


def lay_out_for(agreement: Path, told: Told, force: bool) -> None:
    """Write how a table fits an agreement that is there."""
    from accord.agreement.file import read_agreement
    from accord.table.sources.opening import input_files

    if told.agreed:
        fixed = (f"{option} is part of the agreement, which --for does not change." for option in told.agreed)
        raise UsageError(problem="\n".join(fixed))
    agreed, beside = read_agreement(agreement), layout_of(told.table)
    _require_layout(beside, [*input_files(told.table), agreement], force)
    seen = _look(told, agreed.names)
    if told.asks:
        from accord.cli.init_questions import ask_as_of, ask_types

        seen = replace(seen, columns=ask_types(seen, told.as_of))
        told = ask_as_of(seen, told)
        before: list[Fault] = []
        # Whoever leaves the same fault twice has no answer to it: it is absent, or a fault below.
        while (lacking := _no_columns(_fit(agreed, seen, told).lacking)) and lacking != before:
            say("\n".join(map(str, lacking)), err=True)
            seen, before = replace(seen, columns=ask_types(seen, told.as_of)), lacking
    elif not told.yes:
        raise UsageError(problem=_nobody([_types_wanted(seen)]))
    elif _fit(agreed, seen, told).lacking:
        _tell_left_out(seen, told)
    check = _try(agreed, seen, told, fixed=True)
    _tell_owner(check, agreed)
    write_layout(check.layout, told.table, beside, may_replace=True)
    say(f"{shown(told.table)} fits {agreement}: {counted(check.records, 'record')}.", err=True)
    _tell_layout(told, beside)
    check.tell_ids()


def _require_layout(beside: Path, inputs: Iterable[Path], force: bool) -> None:
    """The layout has its place beside the table: no option names another."""
    from accord.table.sinks.files import require_target

    try:
        require_target(beside, inputs, force, endings=())
    except OutputError as error:
        raise LayoutOutputError(path=beside, reason=error.reason) from error


def _tell_layout(told: Told, beside: Path) -> None:
    what = "file" if isinstance(told.table, Path) else "table"
    say(f"Wrote {beside}: how your {what} is laid out. It stays with you.", err=True)


def _look(told: Told, agreed: Sequence[str] = ()) -> Seen:
    """The table, with guesses and with what the command line says of its columns. What is agreed is wanted,
    however few cells have it."""
    from accord.drafting.confirming import change, find_id, take_guesses, without_id
    from accord.drafting.guessing import guess_kinds
    from accord.drafting.sampling import look_at
    from accord.table.layout import Layout, named_in, read_layout
    from accord.table.sniffing import sniff_text

    known = read_layout(told.layout) if told.layout is not None else Layout()
    named = named_in(told.layout) if told.layout is not None else frozenset()
    layout = sniff_text(told.table, known, named, ())
    look = look_at(told.table, layout)
    for number in look.nameless:
        say(f"Column {number} has neither a name nor cells: it is left out.", err=True)
    columns = take_guesses(guess_kinds(look.samples, keep_sparse=bool(agreed)))
    if told.make_ids or known.make_ids:
        columns = without_id(columns)
    columns = change(columns, [*([f"{known.id}=id"] if "id" in named else []), *told.types])
    if told.make_ids and find_id(columns) is not None:
        raise UsageError(problem="Name the column of ids or have ids made, --make-ids, not both.")
    return Seen(look, layout, columns)


def _tell_left_out(seen: Seen, told: Told) -> None:
    """Where nobody is asked, each column that is left out, and why."""
    from accord.cli.link import plain
    from accord.drafting.confirming import explain

    for one in explain(seen.columns, told.as_of):
        if one.note:
            say(plain(one.tell()), err=True)


def _require_answers(seen: Seen, told: Told) -> None:
    """In a script, what only its owner can say stands on the command line."""
    wanted = []
    if not (told.asks or told.yes) and len(told.types) < len(seen.columns):
        wanted.append(_types_wanted(seen))
    if told.records is None:
        wanted.append("--records A B: about how many records each side expects, such as --records 2000 3000.")
    if wanted:
        raise UsageError(problem=_nobody(wanted))


def _types_wanted(seen: Seen) -> str:
    from accord.cli.link import plain

    looks = plain(", ".join(f"{one.name}={one.is_.kind}" for one in seen.columns))
    return f"--yes accepts the guessed types ({looks}); --type COLUMN=TYPE says otherwise."


def _nobody(wanted: Iterable[str]) -> str:
    return "\n".join(
        ["Nobody is at a terminal to answer. Say on the command line:", *(f"  {w}" for w in wanted)]
    )


def _try(agreement: Agreement, seen: Seen, told: Told, fixed: bool = False) -> FileCheck:
    """Read the table under an agreement, as `accord check` does; raises all that does not fit. What is
    `fixed` is not changed by other answers."""
    from accord.drafting.confirming import find_id
    from accord.table.field_source import Source

    id_column, fitted = find_id(seen.columns), _fit(agreement, seen, told, is_own=not fixed)
    absent = fitted.absent(agreement.fields)
    lacking = [name for name in fitted.lacking if name not in absent]
    if faults := [*_lacks_id(seen, told), *_no_columns(lacking)]:
        raise DataError(shown(told.table), faults, _tell_lacking(agreement, lacking) if lacking else "")
    if told.asks:
        from accord.cli.init_questions import ask_spellings

        ask_spellings(fitted, agreement)
    columns = {name: source for name, source in fitted.sources.items() if source != Source(column=name)}
    columns |= dict.fromkeys(absent, Source(absent=True))
    # What its owner wrote in a layout file is right.
    columns |= {name: seen.layout.source(name) for name in seen.layout.columns}
    layout = replace(seen.layout, id=id_column or "id", make_ids=id_column is None, columns=columns)
    layout = layout.map_dates(told.dates)
    layout.require_known(agreement.names, agreement.lists)
    _tell_fitted(fitted, absent, layout)
    if fixed:
        _tell_unused(seen, layout, agreement.names)
    try:
        found = check_file(agreement, told.table, None, layout, _WRITTEN)
        many = _find_unread(agreement, found)
        # More than slips: told row by row, as if they were faults.
        return check_file(_strict(agreement, many), told.table, None, layout, _WRITTEN) if many else found
    except FaultyError as error:
        error.add_note(_tell_agreeing(error, layout) if fixed else _MENDS)
        raise


def _find_unread(agreement: Agreement, found: FileCheck) -> set[str]:
    """The fields of which more than a few cells cannot be read; of a list of values that is told apart."""
    from accord.fields.schema import CategoryField

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


def _tell_owner(found: FileCheck, agreed: Agreement) -> None:
    """What counts as empty; and that ids may number rows."""
    from accord.cli.check import tell_counting
    from accord.cli.link import plain

    for (column, reason), rows in found.tally.unread.items():
        say(plain(f"{counted(rows, 'cell')} of '{column}': {reason}, and so counts as empty."), err=True)
    if found.tally.counts_rows and not agreed.output.answers:
        say(plain(tell_counting(found.layout.id)), err=True)


def _tell_agreeing(error: FaultyError, layout: Layout) -> str:
    """What to do where cells do not fit an agreement that both have."""
    places = {layout.place([name]): name for name in layout.columns}
    named = [name for place, name in places.items() if any(f"'{place}'" in f.place for f in error.faults)]
    name = (named or ["NAME"])[0]
    return (
        f"Nothing was written. Fix the cells; or say in a layout file, --layout FILE, which of them count as "
        f'empty: `{name} = {{ column = "…", missing = ["unknown"] }}` under `[columns]`.'
    )


def _lacks_id(seen: Seen, told: Told) -> list[Fault]:
    from accord.drafting.confirming import find_id

    if told.make_ids or seen.layout.make_ids or find_id(seen.columns):
        return []
    fault = _NO_ID if isinstance(told.table, Path) else replace(_NO_ID, mend=_NAME_ID)
    can = [f"'{sample.column}'" for sample in seen.look.samples if sample.names_rows]
    differ = f" All cells are filled and different in {', '.join(can)}." if can else ""
    return [replace(fault, problem=fault.problem + differ)]


def _require_id(seen: Seen, told: Told) -> None:
    """Before anything that takes a while."""
    if faults := _lacks_id(seen, told):
        raise DataError(shown(told.table), faults)


_FEW_UNREAD = 0.05
_SAY_VALUES = 'say what they mean with values = { THEIRS = "AGREED" } in your layout file.'
_CROWDED = 2.0
"""How many times as much as expected is worth a word."""
_WRITTEN = ("encoding", "delimiter", "quote")
"""Found out when the table was looked at."""
_NAME_ID = "Name one with --type COLUMN=id; a query can make one of other columns."
_NO_ID = Fault(
    "",
    "No column names the records.",
    "Name one with --type COLUMN=id; --make-ids makes random ids, and keeps them next to the file.",
)
_MENDS = (
    "Nothing was written. Fix the cells; or answer in another way: --field FIELD.missing_values=unknown says "
    "what counts as empty, --field FIELD.range=MIN..MAX which values there are, --type COLUMN=skip leaves "
    "a column out."
)


def _fit(agreement: Agreement, seen: Seen, told: Told, is_own: bool = False) -> Fitted:
    """Where the agreed names are found in the table."""
    from accord.drafting.fitting import fit

    return fit(seen.columns, seen.look.samples, agreement.names, agreement.fields, told.as_of, is_own)


def _tell_fitted(fitted: Fitted, absent: Iterable[str], layout: Layout) -> None:
    """How columns are read, which a layout says from here on; nobody else is told."""
    from accord.cli.link import plain

    for line in _fitted_lines(fitted, absent, layout):
        say(plain(line), err=True)


def _fitted_lines(fitted: Fitted, absent: Iterable[str], layout: Layout) -> Iterator[str]:
    for column, reading in fitted.readings.items():
        if words := reading.tell():
            yield f"'{column}': {words}."
        if reading.unknown:
            cells = counted(reading.unknown_cells, "cell")
            yield f"'{column}': {cells} mean none of the agreed values; {_SAY_VALUES}"
        if reading.lone:
            yield f"'{column}': however a cell is spelt, it means {reading.lone}; {_SAY_VALUES}"
    for name, column in fitted.alone.items():
        typed = shlex.quote(f"{column}=skip")
        yield f"'{column}' is taken for {name}, as the only one of its type; --type {typed} if not."
    for name in absent:
        why = f" ({fitted.why[name]})" if fitted.why[name] else ""
        yield f"Your table has no {name}: every record counts as having none{why}."
    for name, source in layout.columns.items():
        assert not isinstance(source, str)
        if source.part in OF_NAMES:
            yield f"{name} is the {source.part} name in '{source.column}', as {source.order}."


def _tell_unused(seen: Seen, layout: Layout, names: Iterable[str]) -> None:
    from accord.cli.link import plain

    used = {layout.id_column, *layout.own_columns(names)}
    if unused := [f"'{one.name}'" for one in seen.columns if one.name not in used]:
        say(plain(f"Not used, for want of an agreed field: {', '.join(unused)}."), err=True)


def _tell_lacking(agreement: Agreement, lacking: Sequence[str]) -> str:
    """Why what a table does not have is not simply missing."""
    must = [name for name, spec in agreement.fields.items() if {*spec.columns(name)} & {*lacking}]
    strict = [name for name in must if agreement.fields[name].missing != "differs"]
    if strict:
        return f'The agreement says that no {strict[0]} may be missing: only missing = "differs" allows that.'
    return "Most of the agreed fields have no column: is it the right table?"


def _no_columns(lacking: list[str]) -> list[Fault]:
    return [
        Fault(f"field '{name}'", "has no column.", f"Say which: --type COLUMN={_as_type(name)}.")
        for name in lacking
    ]


def _as_type(name: str) -> str:
    from accord.drafting.kinds import ColumnKind

    return name if name in list(ColumnKind) else f"TYPE:{name}"


def _tell_own_cost(agreed: Agreement, check: FileCheck) -> None:
    """A word where one's own records crowd in few bins: nobody else is told, and the draft does not know."""
    from accord.forecast.expected import look_ahead
    from accord.side import Side

    if not agreed.passes:
        return
    usual, own = look_ahead(agreed, None, None), look_ahead(agreed, Side.A, check.read)
    if usual is None or own is None:
        return
    if own.plan.agreed.comparisons.expected > _CROWDED * usual.plan.agreed.comparisons.expected:
        say(
            f"For your eyes: with a partner's table like yours it takes {own.describe()}. Your records lie "
            "in few of the bins: narrower ranges (--field NAME.range=MIN..MAX), or keys with more values, "
            "help.",
            err=True,
        )


def _tell_met(draft: Draft) -> str:
    """What share of the pairs meets, and what more would cost."""
    told = f"Of the pairs that the rule accepts among made-up records, {draft.met:.1%} meet in these passes"
    if draft.more is None:
        return f"{told}."
    return (
        f"{told}; with one more, by {draft.more.key}, {draft.more.met:.1%} would, "
        f"with {draft.more.times:.1f} times the comparisons."
    )


def _tell_promise(agreed: Agreement) -> tuple[str, str]:
    """ε and δ of a run, which are the same for both sides in a draft; and as limits of an account."""
    from accord.exact import text
    from accord.side import Side

    promised = agreed.leakage(Side.A)
    epsilon, delta = (text(one or Fraction(0)) for one in (promised.epsilon, promised.delta))
    words = f"ε = {epsilon}, δ = {delta} on both sides" if promised.epsilon else "ε = 0"
    return words, f"--epsilon {epsilon} --delta {delta}"


def _tell(told: Told, draft: Draft, seen: Seen, out: Path, beside: Path) -> None:
    from accord.agreement.disclosure import accuracy, alone
    from accord.forecast.expected import look_ahead
    from accord.planning.variants import tell_blocking

    agreed = draft.agreement
    say(
        f"Among made-up records with these fields, the rule finds {draft.rule.recall:.1%} of all pairs; "
        f"{draft.rule.precision:.1%} of what it finds is right.",
        err=True,
    )
    for note in alone(agreed):
        say(f"Worth knowing: {note}", err=True)
    promise, limit = _tell_promise(agreed)
    way = f"{tell_blocking(agreed)}; {promise}" if agreed.passes else f"all pairs, {promise}"
    if draft.too_slow:
        say("No way to compare them is that quick: the draft is as if no time had been said.", err=True)
    say(f"Records are compared by: {way}.", err=True)
    if agreed.passes:
        say(_tell_met(draft), err=True)
    if outlook := look_ahead(agreed, None, None):
        say(f"Expected: {outlook.describe()}.", err=True)
    if told_of := accuracy(agreed):
        say(f"The answer: {told_of}.", err=True)
    say(f"Wrote {out}, a draft for both of you: read it, and change what you like.", err=True)
    _tell_layout(told, beside)
    names = shlex.quote(str(out)), shlex.quote(told.typed)
    limited = "" if told.max_time is None or draft.too_slow else f" --max-time {told.max_time:g}"
    plan = f"`accord plan {names[0]}{limited}`"
    say(f"Next: `accord check {names[0]} {names[1]}`, and other ways: {plan}.", err=True)
    often = "for all months together, linked with --series" if agreed.series else "for one run"
    if told.monthly and not agreed.series:
        often = "for every month"
    if agreed.output.answers:
        often = "for one answer"
    say(f"An account that allows it, {often}: `accord ledger budget NAME {limit}`.", err=True)
