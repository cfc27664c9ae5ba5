"""Figures as files: the name's ending says how, and whether one can be written is asked before any work."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.table.sinks.files import require_target, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def require_format(path: Path) -> None:
    """Raise unless the name's ending says how to draw."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(problem=f"A figure ends in one of {', '.join(FORMATS)}.")


def require_place(path: Path, inputs: Iterable[Path], force: bool, option: str = "draw") -> None:
    """Raise before any work unless a figure can be drawn there; `option` is the argument that named it."""
    require_format(path)
    require_target(path, inputs, force, option, FORMATS)


def save_figure(figure: Figure, path: Path, option: str = "draw", *, replace: bool = True) -> None:
    """Write any figure, if the name's ending is known and the place can be written."""
    require_format(path)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.lower().removeprefix("."), dpi=150)
    write_file(path, drawn.getvalue(), option, replace=replace)
