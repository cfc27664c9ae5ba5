"""`accord report`: a run as one HTML file, for its owner or, with --share, for others.

With --dpia it is a Markdown file, which a data protection officer goes on writing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.options import named_state
from accord.cli.pages import require_page, write_page
from accord.cli.terminal import say
from accord.wording import counted

_SHOWN = "It may be shown to others."


def report(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="As `accord runs` names it; with --dpia also an agreement, FILE.toml, before any run.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to write it: FILE.html, or FILE.md with --dpia.")],
    share: Annotated[
        bool, typer.Option("--share", help="For others: from the agreement and the receipt alone.")
    ] = False,
    dpia: Annotated[
        bool,
        typer.Option(
            "--dpia", help="The skeleton of a data protection impact assessment, from the same two alone."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Describe a run on one page for a browser.

    What was agreed, who learned what, what it cost. The page loads nothing from anywhere; without --share
    it is for your own eyes. With --dpia it is a file to go on writing, for your data protection officer.
    """
    from accord.agreement.file import read_agreement
    from accord.errors import UsageError
    from accord.report.dpia import assess
    from accord.report.receipt_page import share as share_run
    from accord.report.run_page import describe_forgotten, describe_run
    from accord.run.remembered import Forgotten, no_receipt, remember
    from accord.state.folder import open_state

    require_page(out, (), force, "out", ".md" if dpia else ".html")
    if dpia and run.endswith(".toml"):
        _write_dpia(assess(read_agreement(Path(run))), out, force)
        return
    found = remember(open_state(named_state(context), os.environ, new=False), run)
    if isinstance(found, Forgotten):
        if share or dpia:
            made = "a shared report is made from its receipt" if share else "its agreement is not kept"
            raise UsageError(problem=f"The run {run} was forgotten; {made}.")
        content = describe_forgotten(found)
    elif dpia:
        _write_dpia(assess(found.agreement, found.receipt), out, force)
        return
    elif not share:
        content = describe_run(found)
    elif found.receipt is None:
        raise UsageError(
            problem=f"A shared report of the run {run} is made from its receipt. {no_receipt(found.ended)}"
        )
    else:
        content = share_run(found.agreement, found.receipt)
    write_page(out, content, force, "out", private=not share)
    say(_SHOWN if share else "It is for your own eyes.")


def _write_dpia(content: str, out: Path, force: bool) -> None:
    from accord.report.dpia_risks import OPEN

    write_page(out, content, force, "out", private=False)
    open_points = counted(content.count(OPEN), "point is", "points are")
    say(f"{open_points} open, marked '{OPEN} by …]'. It is no legal advice.")
    say(_SHOWN)
