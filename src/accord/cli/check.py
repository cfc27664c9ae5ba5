"""`accord check`: is the agreement sound, does my data fit it, and what will the partner learn?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.options import (
    ColumnPairs,
    Delimiter,
    Encoding,
    IdColumn,
    Json,
    LayoutFile,
    PersonColumn,
    read_own_layout,
)
from accord.errors import FaultyError, UsageError

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.side import Side


def check(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    data: Annotated[Path | None, typer.Argument(help="Your table: csv, parquet or arrow.")] = None,
    party: Annotated[str | None, typer.Option(help="Whose data it is: A, B or the party's name.")] = None,
    columns: LayoutFile = None,
    column: ColumnPairs = None,
    id: IdColumn = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    person: PersonColumn = None,
    as_json: Json = False,
) -> None:
    """List all faults of an agreement and of your data, and say what the partner will learn."""
    try:
        own = columns, column, id, encoding, delimiter, person
        found, facts, side = _judge(agreement, data, party, own)
    except FaultyError as error:
        if as_json:
            typer.echo(json.dumps({"faults": [asdict(fault) for fault in error.faults]}, ensure_ascii=False))
        raise
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    typer.echo(_words(agreement, data, facts))
    if data is not None and side is None and (unchecked := _unchecked(found, person)):
        typer.echo(f"Name your side with --party to check {unchecked}, too.", err=True)


def _judge(
    agreement: Path, data: Path | None, party: str | None, own: tuple[Any, ...]
) -> tuple[Agreement, dict[str, Any], Side | None]:
    """The agreement and the facts about it and the data; raises all faults."""
    from accord.agreement.file import read_agreement

    found = read_agreement(agreement)
    side = side_of(found, party) if party is not None else None
    facts, size = facts_of(found), None
    if data is not None:
        from accord.records.load import load_records

        shown = found.disclosed(side) if side is not None else ()
        per_person = found.protocol.records_per_person(side) if side is not None else None
        layout = read_own_layout(found, *own)
        records = load_records(data, found.fields, found.salt, shown, layout, per_person)
        facts["data"] = {"records": records.size, "left_out": records.left_out}
        size = records.size
    facts["advice"] += _warnings(found, side, size)
    return found, facts, side


def _unchecked(agreement: Agreement, person: str | None) -> str:
    """What depends on whose data it is."""
    from accord.side import Side

    several = any((agreement.protocol.records_per_person(side) or 1) > 1 for side in Side)
    columns = "the columns that you disclose" if agreement.disclose.A + agreement.disclose.B else ""
    people = "how many records each person has" if several or person else ""
    return " and ".join(filter(None, (columns, people)))


def _warnings(agreement: Agreement, side: Side | None, records: int | None) -> list[str]:
    """Whether ε is small enough, and δ for a table of this size."""
    from accord.side import Side

    told = [agreement.leakage(s) for s in ([side] if side is not None else Side)]
    return list(dict.fromkeys(warning for one in told for warning in one.warnings(records)))


def side_of(agreement: Agreement, party: str) -> Side:
    """The side that A, B or a party's name means."""
    from accord.side import Side

    for side in Side:
        if party in (side.value, side.value.lower(), agreement.party(side)):
            return side
    names = f"A ({agreement.parties.A}) and B ({agreement.parties.B})"
    raise UsageError(problem=f"'{party}' is no party of this agreement; the parties are {names}.")


def facts_of(agreement: Agreement) -> dict[str, Any]:
    """What an agreement says, and what each side learns under it."""
    from accord.agreement.disclosure import advice, learned_about
    from accord.side import Side

    plan = agreement.plan
    return {
        "digest": agreement.digest,
        "parties": {side.value: agreement.party(side) for side in Side},
        "rule": str(agreement.rule),
        "bins": plan.bins,
        "bins_per_record": {side.value: plan.per_record(side) for side in Side},
        "complete": not plan.losses(agreement.rule),
        "protocol": agreement.protocol.name,
        "learned_about": {side.value: learned_about(agreement, side) for side in Side},
        "advice": advice(agreement),
    }


def _words(path: Path, data: Path | None, facts: dict[str, Any]) -> str:
    recall = "no match is missed" if facts["complete"] else "matches may be missed"
    lines = [
        f"{path} is sound.",
        f"Digest     {facts['digest']}",
        f"Match      {facts['rule']}",
        f"Blocking   {facts['bins']:,} {'bin' if facts['bins'] == 1 else 'bins'}; {recall}",
        f"Protocol   {facts['protocol']}",
    ]
    if data is not None:
        read = facts["data"]
        skipped = f", {read['left_out']:,} of them left out" if read["left_out"] else ""
        lines.append(f"Data       {data} fits: {read['records']:,} records{skipped}")
    return "\n".join([*lines, *describe_learned(facts)])


def describe_learned(facts: dict[str, Any]) -> list[str]:
    """The lines that say who learns what, and what is worth knowing."""
    lines, names = [], facts["parties"]
    for side, other in (("A", "B"), ("B", "A")):
        lines += ["", f"What {names[other]} ({other}) will learn about the table of {names[side]} ({side}):"]
        lines += [f"  - {line}" for line in facts["learned_about"][side]]
    if facts["advice"]:
        lines += ["", "Worth knowing:", *(f"  - {line}" for line in facts["advice"])]
    return lines
