"""HTML files: whether one can be written is asked before any work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.terminal import say

HtmlFile = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page for a browser: FILE.html.")
]


def require_page(
    path: Path, inputs: Iterable[Path | None], force: bool, option: str = "html", ending: str = ".html"
) -> None:
    """Raise before any work unless a page can be written there; `option` is the argument that named it."""
    from accord.table.sinks.files import require_target

    require_target(path, [given for given in inputs if given is not None], force, option, (ending,))


def write_page(path: Path, content: str, force: bool, option: str = "html", *, private: bool) -> None:
    """Write it, and say so; what is `private` can be read by its owner alone."""
    from accord.table.sinks.files import write_file

    write_file(path, content.encode(), option, replace=force, private=private)
    say(f"Wrote {path}.", err=True)
