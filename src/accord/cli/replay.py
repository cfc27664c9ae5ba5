"""`accord replay`: did a side follow the protocol in an accountable run, with this table?"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.completion import complete_run
from accord.cli.options import Json, named_state
from accord.cli.terminal import say
from accord.errors import UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.replay.one_side import Replayed
    from accord.replay.series import Earlier
    from accord.state.folder import State
    from accord.table.layout import Layout


def replay(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="As `accord runs` names it.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The table; default: where it was. An auditor takes it from its source."),
    ] = None,
    layout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How the table is laid out; default: as in the run.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="The partner's evidence of what you signed.", show_default=False),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            help="Where to write what the partner signed, for its replay; nothing is replayed.",
            show_default=False,
        ),
    ] = None,
    partner_state: Annotated[
        Path | None,
        typer.Option(
            help="The partner's state folder: both sides are replayed, and no stored message is needed.",
            show_default=False,
        ),
    ] = None,
    partner_data: Annotated[
        Path | None, typer.Option(help="The partner's table; default: where it was.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay your side of an accountable run.

    From your table, your seed and what you received. Says that you followed the protocol with this table, or
    names the first message that differs.
    """
    from accord.cli.link import plain
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ, new=False)
    if partner_data is not None and partner_state is None:
        raise UsageError(problem="The partner's table needs --partner-state, which has its seed.")
    if against is not None and partner_state is not None:
        raise UsageError(
            problem="--against is not for --partner-state: both folders have the signatures of both."
        )
    if evidence is not None:
        _write_evidence(opened, run, evidence)
        return
    laid_out = _read_layout(layout)
    if partner_state is None:
        found = [_replay_one(opened, run, data, laid_out, against)]
    else:
        found = _replay_two(
            opened, open_state(partner_state, os.environ, new=False), run, data, laid_out, partner_data
        )
    if as_json:
        typer.echo(json.dumps({"replayed": [asdict(one) for one in found]}, ensure_ascii=False))
        return
    for one in found:
        sent, signed = counted(one.messages, "message"), counted(one.signatures, "signature")
        tries = counted(one.attempts, "attempt")
        say(f"{one.party} followed the protocol with this table: {sent} in {tries}, {signed}.")
        if one.earlier is not None:
            say(_tell_earlier(one.earlier))
        say(plain(f"Read from its columns: {', '.join(map(_tell_column, one.columns.items()))}."))


def _tell_earlier(earlier: Earlier) -> str:
    """Whether the run goes on from the runs before it."""
    if not earlier.opened and not earlier.missing:
        return "It is the first run of its series."
    told = f"It goes on from what was pledged in {counted(earlier.opened, 'earlier run')} of its series"
    if not earlier.missing:
        return f"{told}, and there are no others. Replay each with the table of its day."
    return f"{told}; {counted(earlier.missing, 'other')} cannot be opened: forgotten, or not accountable."


def _tell_column(pair: tuple[str, str]) -> str:
    name, column = pair
    return name if name == column else f"{name} ({column})"


def _read_layout(file: Path | None) -> Layout | None:
    from accord.table.layout import read_layout

    return None if file is None else read_layout(file)


def _replay_one(
    state: State, run: str, data: Path | None, layout: Layout | None, against: Path | None
) -> Replayed:
    from accord.replay.evidence import read_evidence
    from accord.replay.one_side import replay_side
    from accord.replay.pledged import open_pledged_side

    found = None if against is None else read_evidence(against)
    return replay_side(open_pledged_side(state, run, data, layout), found)


def _replay_two(
    state: State, partner: State, run: str, data: Path | None, layout: Layout | None, other: Path | None
) -> list[Replayed]:
    from accord.replay.both_sides import replay_both
    from accord.replay.pledged import open_pledged_side

    cases = (open_pledged_side(state, run, data, layout), open_pledged_side(partner, run, other))
    return list(replay_both({case.side: case for case in cases}).values())


def _write_evidence(state: State, run: str, path: Path) -> None:
    from accord.replay.evidence import encode_evidence
    from accord.replay.one_side import make_evidence

    found = make_evidence(state, run)
    content = encode_evidence(found)
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        from accord.errors import OutputError

        raise OutputError(path=path, reason=error.strerror, option="evidence") from None
    seals = sum(len(said.seals) for each in found.meetings.values() for said in each.values())
    say(f"{counted(seals, 'signature')} in {path}: hashes and signatures, no data.")
