"""`accord init --from`: look at a table, let its owner confirm, draft, and try the draft on the table.

Nothing is written before the table has been read under the draft: what is written passes `accord check`. How
the file is laid out goes into a file of its own, which stays with the owner.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord.cli.check_layout import ask_format, tell_ids
from accord.cli.init_card import card_of, own_card, require_cards, write_cards, write_own_card
from accord.cli.init_told import Told, answers_of
from accord.cli.places import layout_of, shown
from accord.cli.terminal import Counter, say
from accord.cli.words import as_own_options
from accord.errors import ContradictionError, FaultyError, LayoutOutputError, OutputError, UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.preparing.draft import Draft
    from accord.preparing.fit import Placed
    from accord.preparing.own_table import TableCheck
    from accord.preparing.seen import SeenTable
    from accord.table.layout import Layout


def draft_from(told: Told, out: Path, force: bool) -> None:
    """Write a draft for this table, and how the table is laid out."""
    from accord.preparing.draft import draft
    from accord.preparing.fit import tell_crowded, tell_meeting
    from accord.preparing.own_table import write_layout
    from accord.preparing.seen import confirmed
    from accord.preparing.suggesting import suggest_answers
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
        told = replace(told, suggested=suggest_answers(seen, told.as_of, date.today()))
        _tell_own(_tell_fields(seen, told))
        _tell_left_out(seen, told)
    _require_answers(seen, told)
    answers = confirmed(seen, answers_of(seen, told), told.make_ids)
    require_cards(
        [card_of(out, one) for one in answers.answers.parties], [*input_files(told.table), out], force
    )
    say("Learning weights from made-up records: this takes some seconds.", err=True)
    made = draft(answers)
    check = _try(made.agreement, seen, told)
    _tell_own(tell_meeting(made.agreement, check))
    _require_places(told, check)
    write_file(out, made.text.encode(), replace=force)
    write_layout(check.layout, told.table, beside, may_replace=True)
    _tell(told, made, out, beside)
    if crowded := tell_crowded(made.agreement, check):
        _tell_own(crowded)
    tell_ids(check)
    write_cards(made.agreement, out, told.typed, check.layout, made.expected)


def lay_out_for(agreement: Path, told: Told, force: bool) -> None:
    """Write how a table fits an agreement that is there."""
    from accord.agreement.file import read_agreement
    from accord.preparing.fit import lacking_columns, tell_meeting
    from accord.preparing.own_table import write_layout
    from accord.table.sources.opening import input_files

    if told.agreed:
        fixed = (f"{option} is part of the agreement, which --for does not change." for option in told.agreed)
        raise UsageError(problem="\n".join(fixed))
    agreed, beside = read_agreement(agreement), layout_of(told.table)
    _require_layout(beside, [*input_files(told.table), agreement], force)
    require_cards([own_card(beside)], [*input_files(told.table), agreement], force)
    seen = _look(told, is_agreed=True)
    if told.asks:
        from accord.cli.init_questions import ask_as_of, ask_lacking, ask_types

        seen = replace(seen, columns=ask_types(seen, told.as_of))
        told = ask_as_of(seen, told)
        seen, told = ask_lacking(agreed, seen, told)
    elif not told.yes:
        raise UsageError(problem=_nobody([_types_wanted(seen)]))
    elif lacking_columns(agreed, seen, told.as_of, told.absent):
        _tell_left_out(seen, told)
    check = _fit_other(agreed, seen, told)
    _tell_own(tell_meeting(agreed, check))
    write_layout(check.layout, told.table, beside, may_replace=True)
    say(f"{shown(told.table)} fits {agreement}: {counted(check.records, 'record')}.", err=True)
    _tell_layout(told, beside)
    tell_ids(check)
    write_own_card(agreed, agreement, beside, told, check.layout)


def _fit_other(agreed: Agreement, seen: SeenTable, told: Told) -> TableCheck:
    """Read the table under an agreement. Where the table contradicts it, ask for other columns."""
    while True:
        try:
            return _try(agreed, seen, told, fixed=True)
        except ContradictionError as error:
            if not told.asks:
                raise
            from accord.cli.init_questions import ask_types

            say(as_own_options("\n".join(map(str, error.faults))), err=True)
            say("Is another column the right one? Press Enter if not.", err=True)
            columns = ask_types(seen, told.as_of)
            if columns == seen.columns:
                raise
            seen = replace(seen, columns=columns)


def _require_places(told: Told, check: TableCheck) -> None:
    """Refuse a draft under which many of one's own records can meet no other, unless the owner allows it."""
    if check.placed >= _PLACED or told.allow_unplaced:
        return
    if told.asks and typer.confirm("Few records can meet. Write the draft all the same?", err=True):
        return
    problem = f"Only {check.placed:.0%} of your records find a place in some pass. The others match nothing."
    mend = "Name more columns with --type, or correct --copies and the cardinality of fields (--field)."
    raise UsageError(problem=f"{problem} {mend} --allow-unplaced writes the draft all the same.")


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


def _look(told: Told, is_agreed: bool = False) -> SeenTable:
    """The table, with guesses and with what the command line says of its columns."""
    from accord.preparing.seen import look
    from accord.table.layout import Layout, named_in, read_layout
    from accord.table.sniffing import is_guess

    known = read_layout(told.layout) if told.layout is not None else Layout()
    named = named_in(told.layout) if told.layout is not None else frozenset()
    if told.encoding is not None:
        known, named = replace(known, encoding=told.encoding), named | {"encoding"}
    if told.allow_unreadable:
        known = replace(known, unreadable="empty")
    seen = look(told.table, known, named)
    if "encoding" not in named and is_guess(seen.layout.encoding):
        say(f"Read as {seen.layout.encoding}: a guess by its letters; --encoding names another.", err=True)
    for number in seen.look.nameless:
        say(f"Column {number} has neither a name nor cells: it is left out.", err=True)
    return (seen.sought() if is_agreed else seen).typed(told.types, told.make_ids)


def _tell_fields(seen: SeenTable, told: Told) -> str:
    """Where nobody is asked, which fields the columns are."""
    from accord.drafting.confirming import find_fields

    fields = [(one.is_.name, " + ".join(one.own)) for one in find_fields(seen.columns, told.as_of)]
    return "Fields: " + ", ".join(f"{name} ('{column}')" for name, column in fields) + "."


def _tell_left_out(seen: SeenTable, told: Told) -> None:
    """Where nobody is asked, each column that is left out, and why."""
    from accord.drafting.confirming import explain

    for one in explain(seen.columns, told.as_of):
        if one.note:
            _tell_own(one.tell())


def _require_answers(seen: SeenTable, told: Told) -> None:
    """In a script, what only its owner can say stands on the command line."""
    wanted = []
    if not (told.asks or told.yes) and len(told.types) < len(seen.columns):
        wanted.append(_types_wanted(seen))
    if told.records is None:
        wanted.append("--records A B: about how many records each side expects, such as --records 2000 3000.")
    if wanted:
        raise UsageError(problem=_nobody(wanted))


def _types_wanted(seen: SeenTable) -> str:
    from accord.cli.terminal import plain

    looks = plain(", ".join(f"{one.name}={one.is_.kind}" for one in seen.columns))
    return f"--yes accepts the guessed types ({looks}); --type COLUMN=TYPE says otherwise."


def _nobody(wanted: Iterable[str]) -> str:
    return "\n".join(
        ["Nobody is at a terminal to answer. Say on the command line:", *(f"  {w}" for w in wanted)]
    )


def _try(agreement: Agreement, seen: SeenTable, told: Told, fixed: bool = False) -> TableCheck:
    """Read the table under an agreement, as `accord check` does, and tell its owner how; raises all that does
    not fit. What is `fixed` is not changed by other answers."""
    from accord.preparing.fit import place_fields, tell_read, try_on
    from accord.preparing.own_table import Reading

    placed = place_fields(agreement, seen, told.make_ids, told.as_of, is_own=not fixed, declared=told.absent)
    if told.asks:
        from accord.cli.init_questions import ask_spellings

        ask_spellings(placed.fitted, agreement)
    layout = placed.lay_out(told.dates)
    for line in (*placed.tell(layout), *(placed.tell_unused(layout) if fixed else ())):
        _tell_own(line)
    try:
        with closing(Counter()) as watch:
            found = try_on(placed, Reading(layout, choose=ask_format, watch=watch))
    except ContradictionError:
        raise
    except FaultyError as error:
        error.add_note(_tell_agreeing(error, layout) if fixed else _MENDS)
        if not told.asks or told.allow_unreadable:
            raise
        found = _forgive(error, placed, layout)
    for line in tell_read(agreement, found):
        _tell_own(line)
    return found


def _forgive(error: FaultyError, placed: Placed, layout: Layout) -> TableCheck:
    """Count all cells that cannot be read as empty, if that mends the fault and the owner agrees."""
    from accord.preparing.fit import try_on
    from accord.preparing.own_table import Reading

    try:
        found = try_on(placed, Reading(replace(layout, unreadable="empty"), choose=ask_format))
    except FaultyError:
        raise error from None
    say(as_own_options("\n".join(map(str, error.faults))), err=True)
    if not typer.confirm("Count all such cells as empty?", err=True):
        raise error
    return found


def _tell_own(line: str) -> None:
    """Say what was found out about a table, whose cells may be quoted."""
    from accord.cli.terminal import plain

    if line:
        say(plain(as_own_options(line)), err=True)


def _tell_agreeing(error: FaultyError, layout: Layout) -> str:
    """What to do where cells do not fit an agreement that both have."""
    places = {layout.place([name]): name for name in layout.columns}
    named = [name for place, name in places.items() if any(f"'{place}'" in f.place for f in error.faults)]
    name = (named or ["NAME"])[0]
    return (
        f"Nothing was written. Fix the cells; or say in a layout file, --layout FILE, which of them count as "
        f'empty: `{name} = {{ column = "…", missing = ["unknown"] }}` under `[columns]`; or count all that '
        "cannot be read as empty: --allow-unreadable."
    )


_PLACED = 0.9
"""The least share of one's own records that must find a place."""
_MENDS = (
    "Nothing was written. Fix the cells; or answer in another way: --field FIELD.missing_values=unknown says "
    "what counts as empty, --field FIELD.range=MIN..MAX which values there are, --type COLUMN=skip leaves "
    "a column out, --allow-unreadable counts all cells that cannot be read as empty."
)


def _tell(told: Told, draft: Draft, out: Path, beside: Path) -> None:
    from accord.preparing.draft import tell_draft, tell_promise

    agreed = draft.agreement
    for line in tell_draft(draft):
        say(as_own_options(line), err=True)
    say(f"Wrote {out}, a draft for both of you: read it, and change what you like.", err=True)
    _tell_layout(told, beside)
    names = shlex.quote(str(out)), shlex.quote(told.typed)
    limited = "" if told.max_time is None or draft.made.too_slow else f" --max-time {told.max_time:g}"
    plan = f"`accord plan {names[0]}{limited}`"
    say(f"Next: `accord check {names[0]} {names[1]}`, and other ways: {plan}.", err=True)
    often = "for one answer" if agreed.output.answers else "for one run"
    _, spent = tell_promise(agreed)
    limit = " ".join(f"--{name} {value}" for name, value in spent.items())
    say(f"An account that allows it, {often}: `accord ledger budget NAME {limit}`.", err=True)
