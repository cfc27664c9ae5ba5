"""The questions of `accord init --from`, at a terminal: a table of guesses, then what no table may decide.

Each question has an answer that Enter takes. An answer of which no draft can be made is refused at once, and
the question asked again. What was answered is a command line in the end, and is shown as one, so that the
next draft can be a script. Nothing here is written anywhere but by its owner's word.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import typer

from accord.cli.init_told import answers_of, read_day, said_of_fields
from accord.cli.table import lay_out
from accord.cli.terminal import say, width_of
from accord.cli.words import as_own_options
from accord.errors import FaultyError, UsageError

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.init_told import Told
    from accord.drafting.confirming import Columns
    from accord.drafting.fitting import Fitted
    from accord.drafting.kinds import ColumnKind, Confirmed
    from accord.preparing.seen import SeenTable

_LONGEST = 24
_EMPTY = {"empty": "yes", "filled": "no"}
_CLASSES_RIGHT = "Press Enter if this is right, or type changes such as city=hundreds phone=empty"


def ask_all(seen: SeenTable, told: Told) -> tuple[SeenTable, Told]:
    """What the columns are, then all that the command line has not said yet."""
    from accord.drafting.confirming import find_fields, find_id
    from accord.drafting.draft import require_sound
    from accord.preparing.suggesting import suggest_answers

    seen, told = _ask_fields(seen, told)
    fields = [one.is_ for one in find_fields(seen.columns, told.as_of)]
    if find_id(seen.columns) is None:
        told = replace(told, make_ids=True)
    types = tuple(f"{one.name}={one.is_.typed}" for one in seen.columns)
    told = replace(told, types=types, suggested=suggest_answers(seen, told.as_of, date.today()))
    # No answer mends what the command line says.
    require_sound(answers_of(seen, told))
    if told.parties is None:
        told = _ask_parties(seen, told)
    if told.records is None:
        told = _ask_records(seen, told)
    if told.copies is None:
        told = _ask_copies(seen, told)
    told = _ask_cardinality(seen, told)
    shown = told.count_epsilon is None
    if told.overlap is None and shown:
        told = _ask_overlap(seen, told)
    if told.max_time is None:
        told = _ask_time(seen, told)
    told = _ask_values(seen, fields, told)
    told = _ask_ranges(seen, fields, told)
    told = _ask_within(seen, fields, told)
    if not told.disclose and shown:
        told = _ask_disclosed(seen, fields, told)
    say(f"\nThe same without questions: `{command_line(told)}`", err=True)
    return seen, told


def ask_lacking(agreement: Agreement, seen: SeenTable, told: Told) -> tuple[SeenTable, Told]:
    """Columns of agreed fields that have none yet, or the owner's word that the table has none. Enter leaves
    the fault to be raised."""
    from accord.drafting.confirming import change
    from accord.preparing.fit import lacking_columns

    while lacking := lacking_columns(agreement, seen, told.as_of, told.absent):
        say(as_own_options("\n".join(map(str, lacking))), err=True)
        question = "Type columns such as 3=phone, or names of fields that your table has not; Enter to stop"
        words = _ask(question, "").replace(",", " ").split()
        if not words:
            break
        pairs, absent = [word for word in words if "=" in word], [word for word in words if "=" not in word]
        seen = replace(seen, columns=_try(change, seen.columns, pairs) or seen.columns)
        told = replace(told, absent=tuple(dict.fromkeys([*told.absent, *absent])))
    return seen, told


def ask_names(seen: SeenTable) -> SeenTable:
    """A public name of each field that has none, by which the partner finds its own column."""
    from accord.cli.terminal import plain
    from accord.drafting.confirming import change, find_fields
    from accord.drafting.fitting import needs_name

    columns = seen.columns
    for field in find_fields(columns):
        if not needs_name(field):
            continue
        own, kind = field.own[0], field.is_.kind
        question = (
            f"'{plain(own)}' is a {kind}. Its public name, such as description; Enter for {field.is_.name}"
        )
        while name := _ask(question, ""):
            if (named := _try(change, columns, [f"{own}={kind}:{name}"])) is not None:
                columns = named
                break
    return replace(seen, columns=columns)


def _ask_fields(seen: SeenTable, told: Told) -> tuple[SeenTable, Told]:
    """The columns, once they are fields of which a draft can be made."""
    from accord.drafting.answers import Answers, in_order
    from accord.drafting.confirming import find_fields

    while True:
        seen = ask_names(replace(seen, columns=ask_types(seen, told.as_of)))
        told = ask_as_of(seen, told)
        try:
            Answers(in_order([one.is_ for one in find_fields(seen.columns, told.as_of)]), (1, 1))
        except FaultyError as error:
            say("\n".join(map(str, error.faults)), err=True)
        else:
            return seen, told


def ask_as_of(seen: SeenTable, told: Told) -> Told:
    """The day that ages are of, where a year of birth can be made of them."""
    from accord.drafting.confirming import explain
    from accord.drafting.kinds import ColumnKind

    notes = {one.is_.kind: one.note for one in explain(seen.columns, told.as_of)}
    while "--as-of" in notes.get(ColumnKind.AGE, ""):
        answer = _ask("Of which day are the ages, such as 2024-06-30? Enter leaves them out", "")
        try:
            return replace(told, as_of=read_day(answer)) if answer else told
        except UsageError as error:
            say(str(error), err=True)
    return told


def ask_types(seen: SeenTable, as_of: date | None) -> Columns:
    """Show the guesses and let their owner change them, until nothing is to be changed."""
    from accord.drafting.confirming import change, find_id

    columns = seen.columns
    while True:
        _show(replace(seen, columns=columns), as_of)
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


def _show(seen: SeenTable, as_of: date | None) -> None:
    from accord.cli.terminal import plain

    rows = [
        [str(number), plain(one.name), one.type, plain(_short(one.cells)), plain(one.note)]
        for number, one in enumerate(seen.proposed(1, as_of), 1)
    ]
    title = "\nWhat your columns look like; the cells are shown to you alone:"
    say(lay_out(title, ("", "column", "type", "such as", "note"), rows, width_of(sys.stderr)), err=True)


def _short(cells: tuple[str, ...]) -> str:
    first = cells[0] if cells else ""
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"


def ask_spellings(fitted: Fitted, agreement: Agreement) -> None:
    """What spellings mean that are none of the agreed values: one of them, or that nothing is known."""
    from accord.cli.terminal import plain

    for name, source in fitted.sources.items():
        reading = fitted.readings.get(source.column or "")
        spec = agreement.fields.get(name)
        values = getattr(spec, "values", ())
        if reading is None or not reading.unknown or not values:
            continue
        said, missing, listed = dict(source.values), [*source.missing], plain(", ".join(values))
        for cell in reading.unknown:
            where = f"'{plain(cell)}' in '{plain(str(source.column))}'"
            question = f"{where} means {listed}? Enter if nothing is known"
            while (answer := _ask(question, "")) and answer not in values:
                say(f"One of {listed}, or Enter.", err=True)
            if answer:
                said[cell] = answer
            else:
                missing.append(cell)
        fitted.sources[name] = source.model_copy(update={"values": said, "missing": tuple(missing)})
        fitted.readings[str(source.column)] = replace(reading, unknown=(), unsure=())


def _show_types() -> None:
    from accord.drafting.kinds import MEANINGS, SEVERAL

    for kind, meaning in MEANINGS.items():
        say(f"  {kind.value:<12}{meaning}", err=True)
    say(f"  With a name of your own: {', '.join(sorted(SEVERAL))}, such as category:brand.", err=True)


def _ask_id() -> str:
    return _ask("No column looks like an id. Which one is it? Its number, or Enter for random ids", "")


def _ask_parties(seen: SeenTable, told: Told) -> Told:
    from accord.drafting.answers import Answers

    def take_own(name: str) -> Told:
        other = next(one for one in Answers.parties if one != name)
        return replace(told, parties=(name, other))

    own, _ = _settle(seen, "Your organisation", "party-a", take_own).parties or Answers.parties
    return _settle(seen, "Your partner", "party-b", lambda name: replace(told, parties=(own, name)))


def _ask_records(seen: SeenTable, told: Told) -> Told:
    """Both sizes; what Enter takes is rounded, since it is written into the agreement."""
    usual = str(round_up(seen.look.rows))
    say(
        "About how many records does each side have? The number goes into the agreement, so round it.",
        err=True,
    )

    def take_own(typed: str) -> Told:
        return replace(told, records=(_number(typed), 1))

    own, _ = _settle(seen, "Yours", usual, take_own).records or (1, 1)
    return _settle(seen, "Your partner's", usual, lambda typed: replace(told, records=(own, _number(typed))))


def _ask_copies(seen: SeenTable, told: Told) -> Told:
    """The most records of one person or thing on each side."""
    assert told.suggested is not None
    say("How many records may one person or thing have in each table, at the most?", err=True)

    def take_own(typed: str) -> Told:
        return replace(told, copies=(_number(typed), 1))

    own, _ = _settle(seen, "In yours", str(told.suggested.copies), take_own).copies or (1, 1)
    return _settle(seen, "In your partner's", "1", lambda typed: replace(told, copies=(own, _number(typed))))


def _ask_cardinality(seen: SeenTable, told: Told) -> Told:
    """The class of each field: as the table suggests, or as its owner says."""
    from accord.drafting.answers import Answers
    from accord.fields.cardinality import MEANINGS

    answers: Answers = answers_of(seen, told)
    if not answers.cardinality:
        return told
    say("How many different values do the fields have? The agreement says it in these words:", err=True)
    for name, declared in answers.cardinality.items():
        empty = ", often empty" * (name in answers.often_empty)
        say(f"  {name}: {declared}{empty} ({MEANINGS[declared]})", err=True)

    def take(typed: str) -> Told:
        pairs = [(name, value) for name, _, value in (one.partition("=") for one in typed.split())]
        empty = dict.fromkeys(answers.often_empty, "yes")
        empty |= {name: _EMPTY[value] for name, value in pairs if value in _EMPTY}
        classes = {**answers.cardinality, **{name: value for name, value in pairs if value not in _EMPTY}}
        said = [f"{name}.cardinality={declared}" for name, declared in classes.items()]
        said += [f"{name}.often_empty={flag}" for name, flag in empty.items()]
        return replace(told, fields=(*told.fields, *said))

    return _settle(seen, _CLASSES_RIGHT, "", take)


def _ask_overlap(seen: SeenTable, told: Told) -> Told:
    """Twice as much will be the most that a run shows."""

    def take(answer: str) -> Told:
        return replace(told, overlap=_share(answer) if answer else None)

    question = "About which share of the smaller table do both have, such as 30%? Enter if nobody knows"
    return _settle(seen, question, "", take)


def _share(typed: str) -> float:
    try:
        return float(typed[:-1]) / 100 if typed.endswith("%") else float(typed)
    except ValueError:
        raise UsageError(problem="A share, such as 30% or 0.3.") from None


def _minutes(typed: str) -> float:
    if not (typed.isdecimal() and int(typed) > 0):
        raise UsageError(problem="A whole number of minutes, such as 30.")
    return 60.0 * int(typed)


def _ask_time(seen: SeenTable, told: Told) -> Told:
    def take(answer: str) -> Told:
        return replace(told, max_time=_minutes(answer) if answer else None)

    question = "How many minutes may a run take? Enter for what is usual: ten with ε = 0, else up to a day"
    return _settle(seen, question, "", take)


def round_up(rows: int) -> int:
    """The next of 10, 20, 50, 100, 200, …"""
    power = 10
    while True:
        for times in (1, 2, 5):
            if rows <= times * power:
                return times * power
        power *= 10


def _number(typed: str) -> int:
    plain = typed.replace(",", "").replace("_", "")
    if not (plain.isdecimal() and int(plain) > 0):
        raise UsageError(problem="A whole number of at least 1, such as 2000.")
    return int(plain)


def _ask_values(seen: SeenTable, fields: list[Confirmed], told: Told) -> Told:
    from accord.drafting.kinds import ColumnKind

    for one in _open(fields, told, "values", (ColumnKind.SEX, ColumnKind.CATEGORY)):
        question, usual = f"{one.name}: the agreed values, with commas; Enter for any (they are hashed)", ""
        if one.kind is ColumnKind.SEX:
            question, usual = "sex: the letters or digits that both sides write", "f,m"
        told = _settle(seen, question, usual, partial(_add, told, "values", one.name, usual))
    return told


def _ask_ranges(seen: SeenTable, fields: list[Confirmed], told: Told) -> Told:
    from accord.drafting.answers import RANGED

    for one in _open(fields, told, "range", RANGED):
        assert told.suggested is not None
        limits = told.suggested.ranges.get(one.name, RANGED[one.kind])
        usual = "..".join(limits)
        told = _settle(seen, f"{one.name}: from .. to", usual, partial(_add, told, "range", one.name, ""))
    return told


def _ask_within(seen: SeenTable, fields: list[Confirmed], told: Told) -> Told:
    from accord.drafting.answers import APART
    from accord.drafting.kinds import OF_PEOPLE, ColumnKind

    if any(one.kind in OF_PEOPLE for one in fields):
        return told
    units = {
        ColumnKind.DATE: "days",
        ColumnKind.YEAR: "years",
        ColumnKind.NUMBER: "as numbers",
        ColumnKind.LATITUDE: "degrees, of places",
    }
    for one in _open(fields, told, "within", APART):
        usual = APART[one.kind]
        question = f"{one.name}: how far apart two matching values may be ({units[one.kind]})"
        told = _settle(seen, question, usual, partial(_add, told, "within", one.name, usual))
    return told


def _add(told: Told, word: str, field: str, usual: str, answer: str) -> Told:
    """With an answer about a field; what is usual need not be said."""
    if answer == usual:
        return told
    return replace(told, fields=(*told.fields, f"{field}.{word}={answer}"))


def _open(
    fields: list[Confirmed], told: Told, word: str, kinds: Container[ColumnKind]
) -> Iterator[Confirmed]:
    """Fields of these types of which the command line does not say that."""
    known = said_of_fields(told.fields)[word]
    return (one for one in fields if one.kind in kinds and one.name not in known)


def _ask_disclosed(seen: SeenTable, fields: list[Confirmed], told: Told) -> Told:
    listed = ", ".join(one.name for one in fields)
    return _settle(
        seen,
        f"What does a match show the other side besides its id? Choose from {listed}; Enter for nothing",
        "",
        lambda answer: replace(told, disclose=tuple(answer.replace(",", " ").split())),
    )


def _settle(seen: SeenTable, question: str, usual: str, take: Callable[[str], Told]) -> Told:
    """Ask until a draft can be made of what follows from the answer."""
    from accord.drafting.draft import require_sound

    while True:
        answer = _ask(question, usual)
        try:
            told = take(answer)
            require_sound(answers_of(seen, told))
        except FaultyError as error:
            # One answer may be the same fault of several fields.
            faults = dict.fromkeys(str(replace(fault, place=f"'{answer}'")) for fault in error.faults)
            say("\n".join(faults), err=True)
        except UsageError as error:
            say(str(error), err=True)
        else:
            return told


def _ask(question: str, usual: str) -> str:
    try:
        answer = typer.prompt(question, default=usual, show_default=bool(usual), err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    return str(answer).strip() or usual


def command_line(told: Told) -> str:
    """The command that gives the same answers."""
    words = ["accord", "init", "--from", told.typed, "--yes"]
    options = (
        ("--type", told.types),
        ("--disclose", told.disclose),
        ("--field", told.fields),
        ("--date", told.dates),
    )
    words += [word for option, given in options for one in given for word in (option, one)]
    words += ["--parties", *told.parties] if told.parties else []
    words += ["--records", *map(str, told.records)] if told.records else []
    words += ["--copies", *map(str, told.copies)] if told.copies else []
    if told.count_epsilon is not None:
        words += ["--answer", "count", "--answer-epsilon", told.count_epsilon]
    words += ["--overlap", f"{told.overlap:g}"] if told.overlap is not None else []
    words += ["--precision", f"{told.precision:g}"] if told.precision is not None else []
    words += ["--max-time", f"{told.max_time:g}"] if told.max_time is not None else []
    words += ["--make-ids"] * told.make_ids
    words += ["--as-of", told.as_of.isoformat()] if told.as_of else []
    words += ["--allow-unreadable"] * told.allow_unreadable
    words += ["--layout", str(told.layout)] if told.layout else []
    return shlex.join(words)
