"""The questions of `accord init --from`, at a terminal: a table of guesses, then what no table may decide.

Each question has an answer that Enter takes. What was answered is a command line in the end, and is shown as
one, so that the next draft can be a script. Nothing here is written anywhere but by its owner's word.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from accord.cli.table import lay_out
from accord.cli.terminal import say, width_of
from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.cli.init_told import Seen, Told
    from accord.drafting.confirming import Columns
    from accord.drafting.kinds import Confirmed, Kind

_LONGEST = 24


def ask_all(seen: Seen, told: Told) -> tuple[Seen, Told]:
    """What the columns are, then all that the command line has not said yet."""
    from accord.drafting.confirming import fields_by_column, find_id

    seen = replace(seen, columns=ask_types(seen))
    fields = [*fields_by_column(seen.columns).values()]
    if not fields:
        raise UsageError(problem="No column is left to compare. Give some a type other than id and skip.")
    if find_id(seen.columns) is None:
        told = replace(told, id_row=True)
    types = tuple(f"{one.name}={_typed(one.is_)}" for one in seen.columns)
    told = replace(told, types=types)
    if told.parties is None:
        told = replace(told, parties=(_ask("Your organisation", "party-a"), _ask("Your partner", "party-b")))
    if told.records is None:
        told = replace(told, records=_ask_records(seen.look.rows))
    told = replace(
        told,
        values=(*told.values, *_ask_values(fields, told)),
        ranges=(*told.ranges, *_ask_ranges(fields, told)),
        within=(*told.within, *_ask_within(fields, told)),
    )
    if not told.disclose:
        told = replace(told, disclose=_ask_disclosed([one.name for one in fields]))
    say(f"\nThe same without questions: `{command_line(told)}`", err=True)
    return seen, told


def ask_types(seen: Seen) -> Columns:
    """Show the guesses and let their owner change them, until nothing is to be changed."""
    from accord.drafting.confirming import change, find_id

    columns = seen.columns
    while True:
        _show(seen, columns)
        answer = _ask(
            "Press Enter if this is right, or type changes such as 3=phone 5=skip (? for types)", ""
        )
        if answer == "?":
            _show_types()
        elif answer:
            columns = _try(change, columns, answer.split()) or columns
        elif find_id(columns) is None and (number := _ask_id()):
            columns = _try(change, columns, [f"{number}=id"]) or columns
        else:
            return columns


def _try(
    change: Callable[[Columns, list[str]], Columns], columns: Columns, pairs: list[str]
) -> Columns | None:
    """The columns after an answer; None, and what is wrong with it is said."""
    try:
        return change(columns, pairs)
    except UsageError as error:
        say(str(error), err=True)
        return None


def _show(seen: Seen, columns: Columns) -> None:
    from accord.cli.link import plain

    cells = {sample.column: sample.filled for sample in seen.look.samples}
    rows = [
        [str(number), plain(one.name), _typed(one.is_), plain(_short(cells.get(one.name, ()))), one.note]
        for number, one in enumerate(columns, 1)
    ]
    title = "\nWhat your columns look like; the cells are shown to you alone:"
    say(lay_out(title, ("", "column", "type", "such as", "note"), rows, width_of(sys.stderr)), err=True)


def _short(cells: tuple[str, ...]) -> str:
    first = cells[0] if cells else ""
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"


def _typed(one: Confirmed) -> str:
    return f"{one.kind}:{one.name}" if one.name else one.kind.value


def _show_types() -> None:
    from accord.drafting.kinds import MEANINGS, SEVERAL

    for kind, meaning in MEANINGS.items():
        say(f"  {kind.value:<12}{meaning}", err=True)
    say(f"  With a name of your own: {', '.join(sorted(SEVERAL))}, such as category:brand.", err=True)


def _ask_id() -> str:
    return _ask("No column looks like an id. Which one is it? Its number, or Enter to use row numbers", "")


def _ask_records(rows: int) -> tuple[int, int]:
    """Both sizes; what Enter takes is rounded, since it is written into the agreement."""
    usual = round_up(rows)
    say(
        "About how many records does each side have? The number goes into the agreement, so round it.",
        err=True,
    )
    return _ask_number("Yours", usual), _ask_number("Your partner's", usual)


def round_up(rows: int) -> int:
    """The next of 10, 20, 50, 100, 200, …"""
    power = 10
    while True:
        for times in (1, 2, 5):
            if rows <= times * power:
                return times * power
        power *= 10


def _ask_number(question: str, usual: int) -> int:
    while True:
        answer = _ask(question, str(usual)).replace(",", "").replace("_", "")
        if answer.isdecimal() and int(answer) > 0:
            return int(answer)
        say("A whole number of at least 1, such as 2000.", err=True)


def _ask_values(fields: list[Confirmed], told: Told) -> Iterator[str]:
    from accord.drafting.kinds import Kind

    for one in _open(fields, told.values, (Kind.SEX, Kind.CATEGORY)):
        if one.kind is Kind.SEX:
            yield f"{one.name}={_ask('sex: the letters or digits that both sides write', 'f,m')}"
        elif listed := _ask(
            f"{one.name}: the agreed values, with commas; Enter for any (they are hashed)", ""
        ):
            yield f"{one.name}={listed}"


def _ask_ranges(fields: list[Confirmed], told: Told) -> Iterator[str]:
    from accord.drafting.answers import RANGED

    for one in _open(fields, told.ranges, RANGED):
        usual = "..".join(RANGED[one.kind])
        if (given := _ask(f"{one.name}: from .. to", usual)) != usual:
            yield f"{one.name}={given}"


def _ask_within(fields: list[Confirmed], told: Told) -> Iterator[str]:
    from accord.drafting.answers import APART
    from accord.drafting.kinds import OF_PEOPLE, Kind

    if any(one.kind in OF_PEOPLE for one in fields):
        return
    units = {Kind.DATE: "days", Kind.PRICE: "as prices", Kind.LATITUDE: "degrees, of places"}
    for one in _open(fields, told.within, APART):
        usual = APART[one.kind]
        if (
            given := _ask(f"{one.name}: how far apart two matching values may be ({units[one.kind]})", usual)
        ) != usual:
            yield f"{one.name}={given}"


def _open(fields: list[Confirmed], told: tuple[str, ...], kinds: Container[Kind]) -> Iterator[Confirmed]:
    """Fields of these types of which the command line says nothing."""
    known = {pair.partition("=")[0].strip() for pair in told}
    return (one for one in fields if one.kind in kinds and one.name not in known)


def _ask_disclosed(names: list[str]) -> tuple[str, ...]:
    listed = ", ".join(names)
    answer = _ask(
        f"What does a match show the other side besides its id? Choose from {listed}; Enter for nothing", ""
    )
    return tuple(answer.replace(",", " ").split())


def _ask(question: str, usual: str) -> str:
    try:
        answer = typer.prompt(question, default=usual, show_default=bool(usual), err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    return str(answer).strip()


def command_line(told: Told) -> str:
    """The command that gives the same answers."""
    words = ["accord", "init", "--from", *told.typed, "--yes"]
    options = (
        ("--type", told.types),
        ("--disclose", told.disclose),
        ("--values", told.values),
        ("--range", told.ranges),
        ("--within", told.within),
        ("--missing", told.missing),
        ("--missing-values", told.missing_values),
        ("--date", told.dates),
    )
    words += [word for option, given in options for one in given for word in (option, one)]
    words += ["--parties", *told.parties] if told.parties else []
    words += ["--records", *map(str, told.records)] if told.records else []
    words += ["--id-row"] * told.id_row + ["--rarity"] * told.rarity
    single = (("--encoding", told.encoding), ("--delimiter", told.delimiter))
    words += [word for option, one in single if one for word in (option, one)]
    return shlex.join(words)
