"""`accord report`: a run as one HTML file, for its owner or, with --share, for others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.completion import complete_run
from accord.cli.options import named_state
from accord.cli.pages import require_page, write_page
from accord.cli.terminal import say


def report(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="As `accord runs` names it.", autocompletion=complete_run),
    ],
    out: Annotated[Path, typer.Option(help="Where to write it: FILE.html.")],
    share: Annotated[
        bool, typer.Option("--share", help="For others: from the agreement and the receipt alone.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Describe a run on one page for a browser.

    What was agreed, who learned what, what it cost. The page loads nothing from anywhere; without --share
    it is for your own eyes.
    """
    from accord.errors import UsageError
    from accord.report.receipt_page import share as share_run
    from accord.report.run_page import describe_forgotten, describe_run
    from accord.run.remembered import Forgotten, no_receipt, remember
    from accord.state.folder import open_state

    require_page(out, (), force, "out")
    found = remember(open_state(named_state(context), os.environ, new=False), run)
    if isinstance(found, Forgotten):
        if share:
            raise UsageError(
                problem=f"The run {run} was forgotten; a shared report is made from its receipt."
            )
        content = describe_forgotten(found)
    elif not share:
        content = describe_run(found)
    elif found.receipt is None:
        raise UsageError(
            problem=f"A shared report of the run {run} is made from its receipt. {no_receipt(found.ended)}"
        )
    else:
        content = share_run(found.agreement, found.receipt)
    write_page(out, content, force, "out", private=not share)
    say("It may be shown to others." if share else "It is for your own eyes.")
