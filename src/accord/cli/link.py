"""`accord link`: link one's own table with the partner's; `accord resume`: go on after a cut."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.options import LayoutFile, Raw, named_state, read_own_layout
from accord.cli.places import PAIRS, TABLE, find_table, find_table_or_none, layout_beside
from accord.cli.terminal import plain, say
from accord.cli.waiting import resume_or_link, wanted
from accord.cli.words import as_options
from accord.errors import UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.peer.connection import Reach
    from accord.run.link import Linked
    from accord.run.offer import Offer
    from accord.side import Side
    from accord.state.runs import StoredRun
    from accord.table.sinks.targets import Target

Listen = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Where to wait for the partner.", show_default=False)
]
Connect = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Where the partner listens.", show_default=False)
]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help=f"Write the matching pairs: {PAIRS}; default: print them as CSV.",
        show_default=False,
        path_type=str,
    ),
]
Events = Annotated[bool, typer.Option("--json", help="Print events, one JSON object per line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress; only the result and errors.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file of --out.")]
_DAY = 86_400
Wait = Annotated[float, typer.Option(min=1, max=30 * _DAY, help="Seconds to wait for the partner to appear.")]
Silence = Annotated[
    float, typer.Option("--timeout", min=5, max=_DAY, help="Seconds that the partner may stay silent.")
]

Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N|ray|ray://HOST:PORT",
        help="Processes that share the comparisons, from 1 to 256; default: 1, or one for each core "
        "where one process would take 20 seconds. The side that wants fewer decides. Or workers on "
        "your Ray cluster; 8@ray is at most eight of them.",
        show_default=False,
    ),
]
TrustCluster = Annotated[
    bool,
    typer.Option("--trust-cluster", help="Use a Ray cluster without TLS and tokens: nobody else reaches it."),
]


def link(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help=f"Your table: {TABLE}", show_default=False, path_type=str),
    ],
    agreement: Annotated[Path, typer.Option(help="The agreement that both hold.", show_default=False)],
    partner: Annotated[
        str,
        typer.Option(
            help="The other party, as the agreement names it.",
            show_default=False,
        ),
    ],
    out: Out = None,
    listen: Listen = "",
    connect: Connect = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree to what is spent and shown; for scripts.")
    ] = False,
    resume_first: Annotated[
        bool,
        typer.Option(
            "--resume-first",
            help="For timers: if a run of this agreement and partner waits, continue it instead.",
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="The account in the ledger; default: the only one.",
            show_default=False,
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="This is the table as of NAME, such as 2026-11: its noise is drawn and paid for once.",
            show_default=False,
        ),
    ] = None,
    uncovered: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Your own limit: the share of your records that the promise may not cover, since too many "
            "others have the same key. Above it the run does not start. Default: 1%.",
            show_default=False,
        ),
    ] = None,
    layout: LayoutFile = None,
    wait: Wait = 600,
    timeout: Silence = 60,
    force: Force = False,
    as_json: Events = False,
    quiet: Quiet = False,
    raw: Raw = False,
    workers: Workers = None,
    trust_cluster: TrustCluster = False,
) -> None:
    """Link your table with the partner's.

    Both learn the matching pairs, and of all other records no more than you agreed on. You are asked before
    anything leaves.
    """
    from accord.agreement.disclosure import tell_shown_ids
    from accord.agreement.file import read_agreement
    from accord.cli.account import choose_account
    from accord.cli.progress import Display
    from accord.run.compiling import compiling_beside
    from accord.run.link import own_side
    from accord.run.output import output_names
    from accord.run.verbs import link as run
    from accord.run.verbs import resume as resume_run
    from accord.table.sinks.targets import as_target_or_none, require_free
    from accord.table.sources.opening import input_places

    agreed, table, state = read_agreement(agreement), find_table(data), named_state(context)
    laid_out = read_own_layout(agreed, layout, table)
    target, side = as_target_or_none("out", out), own_side(agreed, partner)
    _require_file(target, agreed, side, as_json)
    runs = wanted(state, agreed, partner, dataset) if resume_first else None
    # What a run that waits has written, it may replace: that is judged when it is resumed.
    if target is not None and not (runs and runs.find()):
        read = [*input_places(table), agreement, layout or layout_beside(table)]
        names = output_names(agreed, side)
        require_free(target, [place for place in read if place is not None], names, force=force)
    with Display(as_json, quiet) as display, compiling_beside(agreed):
        account = choose_account(dataset, state, asking=not yes)
        how: dict[str, Any] = {
            "listen": listen,
            "connect": connect,
            "out": target,
            "force": force,
            "state": state,
            "tell": display.tell,
            "reach": _reach(wait, timeout),
            "workers": _number_or_name(workers),
            "trust_cluster": trust_cluster,
        }
        start = partial(
            run,
            table,
            agreed,
            partner=partner,
            dataset=account,
            snapshot=snapshot,
            layout=laid_out,
            confirm=_confirm(yes, yes and (quiet or as_json), tell_shown_ids(agreed, side, laid_out)),
            raw=raw,
            uncovered=uncovered,
            **how,
        )
        go_on = partial(resume_run, data=table, **how)
        linked = start() if runs is None else resume_or_link(runs, start, go_on)
    _show(linked, as_json, raw)


def resume(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Default: the latest unfinished run.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="The same table, if it has moved.", show_default=False, path_type=str),
    ] = None,
    out: Out = None,
    listen: Listen = "",
    connect: Connect = "",
    wait: Wait = 600,
    timeout: Silence = 60,
    force: Force = False,
    as_json: Events = False,
    quiet: Quiet = False,
    workers: Workers = None,
    trust_cluster: TrustCluster = False,
) -> None:
    """Continue an interrupted run. Nothing is spent again; either side may listen."""
    from accord.cli.progress import Display
    from accord.run.answered import agreement_of
    from accord.run.output import require_learner
    from accord.run.verbs import resume as go_on
    from accord.side import Side
    from accord.table.sinks.targets import as_target_or_none

    table, state = find_table_or_none(data), named_state(context)
    name = run or _latest(state)
    kept = _stored(name, state)
    known, asked = kept.manifest, kept.manifest.request
    if run is None and not (as_json or quiet):
        began = known.began[:16].replace("T", " ")
        say(f"Resuming the latest, {name}: with {known.partner}, begun {began}.", err=True)
    target = as_target_or_none("out", out) or asked.target
    _require_file(target, agreement_of(known), Side(known.side), as_json)
    if out is not None:
        require_learner(agreement_of(known), Side(known.side))
    if known.done and not as_json:
        say(
            f"The run {name} is finished here, and its receipt is kept. It waits for {known.partner}, which "
            "may have been interrupted before it had the receipt.",
            err=True,
        )
    if known.state == "most_matches" and not as_json:
        say(
            f"The run {name} ended because more records match than the agreement lets a side show "
            "(most_matches). It would end there again; agree on another bound, then both run `accord link`.",
            err=True,
        )
    with Display(as_json, quiet) as display:
        linked = go_on(
            name,
            data=table,
            listen=listen,
            connect=connect,
            out=out,
            state=state,
            force=force,
            tell=display.tell,
            reach=_reach(wait, timeout),
            workers=_number_or_name(workers),
            trust_cluster=trust_cluster,
        )
    _show(linked, as_json, asked.raw)


def _number_or_name(workers: str | None) -> int | str | None:
    return int(workers) if workers is not None and re.fullmatch(r"-?\d{1,9}", workers) else workers


def _stored(run: str, state: Path | None) -> StoredRun:
    """What is known of the run, the file that it was to write among it."""
    from accord.state.folder import open_state
    from accord.state.runs import open_run

    return open_run(open_state(state, os.environ, new=False), run)


def _reach(wait: float, silence: float) -> Reach:
    from accord.peer.channel import Patience
    from accord.peer.connection import Reach

    return Reach(wait=wait, patience=Patience(silence=silence))


def _latest(state: Path | None) -> str:
    from accord.state.folder import open_state
    from accord.state.runs import find_last_done, find_waiting

    opened = open_state(state, os.environ, new=False)
    if waiting := find_waiting(opened):
        return waiting[0].run
    done = find_last_done(opened)
    if done is None:
        raise UsageError(problem="No run waits to be resumed. `accord runs` lists all.")
    raise UsageError(
        problem=f"No run waits to be resumed; your side of the last, {done.run}, is done. If {done.partner} "
        f"was cut off before it had the receipt, help it: `accord resume {done.run}`, on both sides."
    )


def _require_file(out: Target | None, agreement: Agreement, side: Side, as_json: bool) -> None:
    """Raise where pairs would get lost among events; an answer is in one of them."""
    output = agreement.output
    if out is None and as_json and not output.answers and output.learner is not side.other:
        raise UsageError(problem="With --json the pairs need a file or a table: name it with --out.")


def _confirm(yes: bool, silent: bool, warnings: Sequence[str]) -> Callable[[Offer], bool]:
    from accord.run.offer import describe

    def ask(offer: Offer) -> bool:
        if not silent:
            say(as_options(describe(offer)), err=True)
            for warning in warnings:
                say(f"Warning: {warning}", err=True)
        if yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError(problem="Nobody can answer here: read what is spent, then add --yes.")
        try:
            return typer.confirm("Continue?", err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None

    return ask


def _show(linked: Linked, as_json: bool, raw: bool) -> None:
    """The result on stdout: where it was written, or the pairs themselves."""
    if as_json:
        return
    if not linked.learns and linked.answer is None:
        say("Done. The agreement gives the pairs to the other side alone.")
        return
    if linked.answer is not None and (linked.out is not None or sys.stdout.isatty()):
        for line in linked.answer.describe():
            say(line)
        return
    if linked.out is None:
        from accord.table.sinks.files import csv_pieces

        for piece in csv_pieces(linked.result, raw=raw):
            text = str(piece, "utf-8")
            # What the partner wrote into its columns must not reach a terminal as commands to it.
            typer.echo(plain(text) if sys.stdout.isatty() else text, nl=False)
        return
    dropped = "" if linked.matches_found is None else f", kept one to one of {linked.matches_found:,} found"
    say(f"{counted(len(linked.found), 'matching pair')} in {linked.out}{dropped}.")
