"""The command line: arguments, terminal, exit codes; one small file a command.

stdout carries the result, stderr the rest. Commands import what they need inside the function, so that
`accord --help` answers at once. Every `AccordError` ends as its own sentence on stderr and its exit code.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Annotated

import typer

from accord.cli import audit, forget, identity, ledger, link, state
from accord.cli.check import check
from accord.cli.demo import demo
from accord.cli.generate import generate
from accord.cli.init import init
from accord.cli.learn import learn
from accord.cli.options import StateFolder, example
from accord.cli.plan import plan
from accord.cli.receipt import receipt
from accord.cli.report import report
from accord.cli.runs import runs
from accord.cli.simulate import simulate
from accord.cli.steps import Stepwise
from accord.cli.terminal import SayingHandler, say
from accord.cli.words import as_options
from accord.errors import INTERRUPTED, AccordError
from accord.kernel import spare_blas
from accord.version import __version__

app = typer.Typer(
    name="accord",
    cls=Stepwise,
    help="Private record linkage between two organisations, without a third party.",
    epilog=example("accord demo"),
    no_args_is_help=True,
    # Plain help, in which flags read as flags and names of options are never cut.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=example("accord demo products --records 1000"))(demo)
app.command(epilog=example("accord generate people --records 1000 --overlap 0.3"))(generate)
app.command(epilog=example("accord init --from my.csv"))(init)
app.command(
    epilog=example("accord learn draft.toml a.csv --other b.csv --learnt-from both", "--out agreement.toml")
)(learn)
app.command(epilog=example("accord check agreement.toml a.csv --party A"))(check)
app.command(epilog=example("accord plan agreement.toml --records 5000 5000"))(plan)
app.command(epilog=example("accord identity --name north-shop"))(identity.identity)
app.command(
    epilog=example(
        "accord link a.csv --agreement agreement.toml --partner south-shop",
        "--listen :7000 --snapshot 2026-11 --out pairs.csv",
    )
)(link.link)
app.command(epilog=example("accord resume --listen :7000"))(link.resume)
app.command(epilog=example("accord runs"))(runs)
app.command(epilog=example("accord report 64b0dc2671d70861 --out report.html"))(report)
app.command(epilog=example("accord simulate a.csv b.csv --agreement agreement.toml"))(simulate)
app.add_typer(identity.partner, name="partner")
app.add_typer(audit.app, name="audit")
app.command(epilog=example("accord receipt 64b0dc2671d70861 --out pairs.csv"))(receipt)
app.add_typer(ledger.app, name="ledger")
app.add_typer(state.app, name="state")
app.command(epilog=example("accord forget 64b0dc2671d70861"))(forget.forget)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"accord {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    state: StateFolder = None,
) -> None:
    """What stands before a command."""


def main(program: str | None = None) -> None:
    """Run one command and end with its exit code; `program` is what was typed before it."""
    spare_blas()
    _limit_blas_threads()
    hook = _WithoutPandas()
    sys.meta_path.insert(0, hook)
    # What is imported stays: to look through it again and again for garbage takes a tenth of every start.
    gc.set_threshold(50_000)
    _show_log()
    # `systemctl stop` is no cut: the partner hears that this side was stopped, as with Ctrl-C.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(prog_name=program)
    except AccordError as error:
        if error.exit_code == INTERRUPTED:
            _end_line()
        for line in (f"accord: {error}", *getattr(error, "__notes__", ())):
            say(as_options(line), err=True)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        _end_line()
        say("accord: stopped.", err=True)
        raise SystemExit(INTERRUPTED) from None
    except SystemExit as end:
        # Typer ends by itself, and silently, where somebody stops a command.
        if end.code == INTERRUPTED:
            _end_line()
            say("accord: stopped.", err=True)
        raise
    except Exception as error:
        _report(error)
        for line in getattr(error, "__notes__", ()):
            say(as_options(line), err=True)
        raise SystemExit(1) from None
    finally:
        sys.meta_path.remove(hook)


class _WithoutPandas:
    """An import hook that hides pandas.

    pyarrow imports pandas, if it is installed, with the first Python object that it converts, to recognise
    objects of pandas. Commands have none, and the import takes as long as a short command.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _limit_blas_threads() -> None:
    """Use one thread for matrices, unless the environment says otherwise. Those of `learn` and `init` are
    small: more threads wait for each other, and take twice the processor time.

    *Requires*: numpy is not imported yet.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
            os.environ.setdefault(name, "1")


def _end_line() -> None:
    """A terminal shows the keys that stopped a command where its cursor was."""
    if sys.stderr.isatty():
        typer.echo(err=True)


def _show_log() -> None:
    """What Accord itself has to say goes to stderr; other libraries stay quiet unless they warn."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("accord")
    logger.handlers[:] = [SayingHandler()]
    logger.setLevel(logging.INFO)


def _report(error: Exception) -> None:
    """Where an unexpected error happened, without its text, which may quote a record."""
    frames = traceback.extract_tb(error.__traceback__)
    say(f"accord: something unexpected went wrong ({type(error).__name__}). Please report:", err=True)
    for frame in frames[-8:]:
        say(f"  {Path(frame.filename).name}:{frame.lineno} in {frame.name}", err=True)
