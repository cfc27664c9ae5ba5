"""`accord check`: is the agreement sound, does my data fit it, and what will the partner learn?"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.check_typed import (
    ColumnPairs,
    DateFormats,
    Delimiter,
    Encoding,
    IdColumn,
    ListFiles,
    MakeIds,
    PersonColumn,
    Typed,
)
from accord.cli.options import Json
from accord.cli.places import TABLE, find_table, find_table_or_none, shown
from accord.cli.terminal import say
from accord.cli.words import as_options
from accord.errors import FaultyError, UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.check_layout import FileCheck, Known
    from accord.side import Side
    from accord.table.sources.opening import Place

_DRAWN = "which are left out of that pass is drawn for each run"
_REFUSED = 'a run is refused (over = "refuse")'


def check(
    context: typer.Context,
    agreement: Annotated[
        Path | None, typer.Argument(metavar="AGREEMENT", help="The agreement, a TOML file.")
    ] = None,
    table: Annotated[
        str | None, typer.Argument(metavar="DATA", help=f"Your table: {TABLE}", path_type=str)
    ] = None,
    party: Annotated[str | None, typer.Option(help="Whose data it is: A, B or the party's name.")] = None,
    layout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where it is written how your table is laid out; default: DATA.layout.toml.",
            show_default=False,
        ),
    ] = None,
    column: ColumnPairs = None,
    id: IdColumn = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    person: PersonColumn = None,
    date: DateFormats = None,
    make_ids: MakeIds = False,
    lists: ListFiles = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin a new layout file, whatever the old one says.")
    ] = False,
    columns_of: Annotated[
        str | None,
        typer.Option(help="List the names of this table's columns, and nothing else.", path_type=str),
    ] = None,
    digest_of: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Print the digest of a list of frequencies, a file or a built-in one."
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD", help="Show ten of its values before and after, to you alone; repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List all faults in an agreement and in your data.

    Says what the partner will learn, finds out how your file is written, and writes that down with what you
    say of it here, for all other commands.
    """
    from accord.agreement.file import read_agreement
    from accord.cli.check_layout import list_columns, read_known

    typed = Typed(
        columns=tuple(column or ()),
        id=id,
        make_ids=make_ids,
        dates=tuple(date or ()),
        lists=tuple(lists or ()),
        person=person,
        encoding=encoding,
        delimiter=delimiter,
    )
    if columns_of is not None:
        list_columns(find_table(columns_of), layout, typed, as_json)
        return
    if digest_of is not None:
        from accord.cli.check_lists import print_digest

        print_digest(digest_of, as_json)
        return
    data = find_table_or_none(table)
    if agreement is None:
        raise UsageError(problem="Name the agreement: accord check AGREEMENT [DATA].")
    if show and data is None:
        raise UsageError(problem="Values can be shown only with data: accord check AGREEMENT DATA.")
    _require_no_input(layout, agreement, data)
    try:
        found = read_agreement(agreement)
        side = side_of(found, party) if party is not None else None
        known = read_known(found, data, layout, typed, force)
        facts, file = _judge(found, data, side, known, show or [])
        _add_outlook(facts, found, side, file)
    except FaultyError as error:
        if as_json:
            typer.echo(_json_faults(error))
        raise
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
    else:
        say(_words(agreement, data, facts))
    if file is not None:
        file.keep(known, agreement, force)
        file.tell_ids()
    if as_json:
        return
    if data is not None and side is None and (unchecked := _unchecked(found, known.layout.person)):
        say(f"Name your side with --party to check {unchecked}, too.", err=True)


def _require_no_input(layout: Path | None, agreement: Path, data: Place | None) -> None:
    """Raise before any work if the layout would be written over what is read."""
    from accord.table.sinks.files import require_no_input
    from accord.table.sources.opening import input_files

    if layout is not None:
        require_no_input(layout, [agreement, *input_files(data)], "layout")


def _json_faults(error: FaultyError) -> str:
    """The faults, as the command line says them."""
    faults = [
        asdict(replace(f, problem=as_options(f.problem), mend=as_options(f.mend))) for f in error.faults
    ]
    mend = {"mend": as_options(error.mend)} if error.mend else {}
    return json.dumps({"faults": faults, **mend}, ensure_ascii=False)


def _judge(
    agreement: Agreement, data: Place | None, side: Side | None, known: Known, show: list[str]
) -> tuple[dict[str, Any], FileCheck | None]:
    """The facts about the agreement and the data; raises all faults."""
    facts, file = facts_of(agreement), None
    if agreement.lists:
        from accord.cli.check_lists import facts_of_lists

        facts["lists"] = facts_of_lists(agreement, known.layout, data)
    if data is not None:
        from accord.cli.check_layout import check_file
        from accord.fields.columns import tell_unlisted

        file = check_file(agreement, data, side, known.layout, known.named)
        facts |= file.facts
        facts |= {"shown": file.show(agreement, show)} if show else {}
        if file.tally.counts_rows and not agreement.output.answers:
            facts["advice"].append(tell_counting(file.layout.id))
        facts["advice"] += tell_unlisted(file.tally.unlisted)
        if side is not None:
            from accord.agreement.disclosure import tell_shown_ids
            from accord.protocols.parts.answers import tell_unfit

            facts["advice"] += tell_unfit(agreement.output, side, file.read)
            facts["advice"] += tell_shown_ids(agreement, side, file.layout)
    facts["advice"] += _warnings(agreement, side, file.records if file is not None else None)
    return facts, file


def tell_counting(column: str) -> str:
    """A word to the owner whose ids follow the order of a file."""
    return (
        f"The ids in '{column}' go up by one from row to row, and the partner sees those of matches. If they "
        "number the rows of a sorted file, they tell of other rows, too: leave the column out, and have "
        "random ones made with --make-ids."
    )


def _unchecked(agreement: Agreement, person: str | None) -> str:
    """What depends on whose data it is."""
    from accord.side import Side

    several = any((agreement.protocol.records_per_person(side) or 1) > 1 for side in Side)
    columns = "the columns that you disclose" if agreement.disclose.A + agreement.disclose.B else ""
    if any(agreement.output.columns(side) for side in Side):
        columns = "the columns that the answer is made of"
    people = "how many records each person has" if several or person else ""
    refused = agreement.protocol.refuses_full or agreement.output.learner is not None
    table = "whether your table is refused" if refused else ""
    return " and ".join(filter(None, (columns, people, table)))


def _warnings(agreement: Agreement, side: Side | None, records: int | None) -> list[str]:
    """Whether ε is small enough, and δ for a table of this size."""
    from accord.side import Side

    told = [agreement.leakage(s) for s in ([side] if side is not None else Side)]
    return list(dict.fromkeys(warning for one in told for warning in one.warnings(records)))


def _add_outlook(
    facts: dict[str, Any], agreement: Agreement, side: Side | None, file: FileCheck | None
) -> None:
    """What a run is expected to take, where sizes are known; its warning comes before all advice."""
    from accord.forecast.expected import look_ahead

    records = file.read if file is not None else None
    found = look_ahead(agreement, side, records)
    if found is None:
        return
    whose = "yours" if records is not None else "A's"
    facts["expected"] = found.to_json() | {"words": found.describe(whose)}
    facts["advice"] += found.notes


def side_of(agreement: Agreement, party: str) -> Side:
    """The side that A, B or a party's name means."""
    from accord.side import Side

    for side in Side:
        if party in (side.value, side.value.lower(), agreement.party(side)):
            return side
    names = f"A ({agreement.parties.A}) and B ({agreement.parties.B})"
    raise UsageError(problem=f"'{party}' is not a party to this agreement; the parties are {names}.")


def facts_of(agreement: Agreement) -> dict[str, Any]:
    """What an agreement says, and what each side learns under it."""
    from accord.agreement.cheaper import cheaper_thresholds
    from accord.agreement.disclosure import CONDITION, advice, finds_all, learned_about
    from accord.side import Side

    plan = agreement.plan
    return {
        "digest": agreement.digest,
        "parties": {side.value: agreement.party(side) for side in Side},
        "rule": str(agreement.rule),
        "bins": plan.bins if agreement.protocol.lists_bins else 0,
        "passes": len(plan.passes),
        "bins_per_record": {side.value: plan.per_record(side) for side in Side},
        "complete": finds_all(agreement),
        "protocol": agreement.protocol.name,
        "answer": _facts_of_answer(agreement),
        "condition": CONDITION,
        "learned_about": {side.value: learned_about(agreement, side) for side in Side},
        "advice": [*advice(agreement), *cheaper_thresholds(agreement)],
    }


def _facts_of_answer(agreement: Agreement) -> dict[str, Any] | None:
    """What is asked instead of the pairs, how near the answer comes to the truth, and what a run spends."""
    from accord.agreement.disclosure import tell_answer
    from accord.exact import text

    output = agreement.output
    if not output.answers:
        return None
    spends = (
        "" if output.epsilon is None else f"; each run spends ε = {text(output.epsilon)} for every record"
    )
    return {
        "asked": output.answer,
        "within": agreement.protocol.widths(agreement.task),
        "words": tell_answer(agreement) + spends,
    }


def _words(path: Path, data: Place | None, facts: dict[str, Any]) -> str:
    from accord.cli.check_layout import describe_layout

    recall = "no match is missed" if facts["complete"] else "matches may be missed"
    lines = [
        f"{path} is sound.",
        f"Digest     {facts['digest']}",
        f"Match      {facts['rule']}",
        f"Blocking   {_blocking(facts['bins'], facts['passes'])}; {recall}",
        f"Protocol   {facts['protocol']}",
    ]
    if facts["answer"] is not None:
        lines.append(f"Answer     {facts['answer']['words']}")
    lines += [line for one in facts.get("lists", []) for line in _describe_list(one)]
    if data is not None:
        read = facts["data"]
        skipped = f", {read['left_out']:,} of them left out" if read["left_out"] else ""
        lines.append(f"Data       {shown(data)} fits: {counted(read['records'], 'record')}{skipped}")
        lines += _tell_owner(read, "bin" if facts["bins"] else "key")
        lines += [f"File       {words}"] if (words := describe_layout(facts["layout"])) else []
        lines += [line for name, shown in facts.get("shown", {}).items() for line in _show(name, shown)]
    if "expected" in facts:
        lines += _expected(facts["expected"])
    return "\n".join([*lines, *describe_learned(facts)])


def _describe_list(facts: dict[str, Any]) -> list[str]:
    if facts["classes"] is None:
        return [f"List       {facts['list']} does not ship: --list {facts['list']}=FILE checks your copy"]
    classes = ", ".join(f"{count:,} in class {number}" for number, count in enumerate(facts["classes"]))
    return [f"List       {facts['list']} for {facts['field']}: {classes}; others are as rare as the last"]


def _expected(facts: dict[str, Any]) -> list[str]:
    """What a run takes, and the one warning that matters most."""
    warning = facts["warning"]
    told = [f"Warning    {warning['text']}"] if warning is not None else []
    return [f"Expected   {facts['words']}", *told]


def _blocking(bins: int, passes: int) -> str:
    """How much there is of it; routing has keys and no bins."""
    if not bins:
        return "keys" if passes == 1 else f"keys of {passes} passes"
    return f"{counted(bins, 'bin')} of {passes} passes" if passes > 1 else counted(bins, "bin")


def _tell_owner(read: dict[str, Any], by: str) -> list[str]:
    """Why rows were left out, which are never compared, and how many people there are: for the owner, since
    no partner learns it. `by`: what a row is compared by, a bin or a key."""
    lines = [
        f"Left out   {_rows(one['rows'])}: '{one['field']}' is {one['reason']}" for one in read["left_out_by"]
    ]
    lines += [
        f"Unread     {_rows(one['rows'])}: '{one['column']}' {one['reason']}, and counts as empty"
        for one in read["unread"]
    ]
    if read["in_no_bin"]:
        each = [f"{_rows(rows)} in none of '{name}'" for name, rows in read["in_no_bin_of"].items() if rows]
        of = f" ({', '.join(each)})" if len(read["in_no_bin_of"]) > 1 else ""
        lines.append(f"No {by}     {_rows(read['in_no_bin'])} without a value to compare by{of}")
    elif any(read["in_no_bin_of"].values()):
        lacks, has = ("in no bin", "is in some bin") if by == "bin" else ("without a key", "has some key")
        each = [f"{_rows(rows)} {lacks} of '{name}'" for name, rows in read["in_no_bin_of"].items() if rows]
        lines.append(f"No {by}     {', '.join(each)}; every row {has}")
    lines += [
        f"Over cap   {_rows(one['rows'])} of '{one['pass']}' without a place: more share a key than the cap, "
        f"{one['cap']}; {_REFUSED if one['refused'] else _DRAWN}"
        for one in read.get("over_cap", ())
    ]
    for name, listed in read.get("listed", {}).items():
        lines.append(
            f"Listed     {listed:,} of {_rows(read['records'])} have a value of '{name}' in its list"
        )
    if "people" in read:
        most = read["most_records_of_a_person"]
        people = "person" if read["people"] == 1 else "people"
        lines.append(f"People     {read['people']:,} {people}; at most {counted(most, 'record')} each")
    return lines


def _show(name: str, shown: dict[str, Any]) -> list[str]:
    """Values before and after, a line each."""
    from accord.cli.link import plain

    lines = ["", f"{name}, made of {' and '.join(shown['from'])}; it becomes {shown['encoded']}:"]
    for one in shown["values"]:
        before = " + ".join("(empty)" if cell is None else f"'{cell}'" for cell in one["before"])
        after = "missing" if one["after"] is None else f"'{one['after']}'"
        lines.append(plain(f"  {before} → {after}"))
    return lines


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def describe_learned(facts: dict[str, Any]) -> list[str]:
    """The lines that say who learns what, and what is worth knowing."""
    lines, names = [], facts["parties"]
    for side, other in (("A", "B"), ("B", "A")):
        lines += ["", f"What {names[other]} ({other}) will learn about the table of {names[side]} ({side}):"]
        lines += [f"  - {line}" for line in facts["learned_about"][side]]
    lines += ["", facts["condition"]]
    if facts["advice"]:
        lines += ["", "Worth knowing:", *(f"  - {line}" for line in facts["advice"])]
    return lines
