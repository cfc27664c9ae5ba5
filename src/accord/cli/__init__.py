"""The command line: arguments, terminal, exit codes; one small file a command.

stdout carries the result, stderr the rest. Commands import what they need inside the function, so that
`accord --help` answers at once. Every `AccordError` ends as its own sentence on stderr and its exit code.
"""

from __future__ import annotations

import logging
import sys

import typer

from accord.cli import audit, forget, ledger
from accord.errors import AccordError

app = typer.Typer(
    name="accord",
    help="Private record linkage between two organisations, without a third party.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audit.app, name="audit")
app.add_typer(ledger.app, name="ledger")
app.command()(forget.forget)


def main() -> None:
    """Run one command and end with its exit code."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    try:
        app()
    except AccordError as error:
        typer.echo(f"accord: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        typer.echo("accord: stopped.", err=True)
        raise SystemExit(130) from None
