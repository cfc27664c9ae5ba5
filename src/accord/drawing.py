"""How a result shows itself in a notebook: by a page of `accord.report`, found when it is shown.

Pages know of results, and lie above all of them; a result that imported its page would turn that round. So it
names the function that draws it. Who asks for no picture loads nothing of it.
"""

from __future__ import annotations

from importlib import import_module


def draw(function: str, result: object) -> str:
    """The result as HTML, drawn by this function of `accord.report.notebook`."""
    drawn = getattr(import_module("accord.report.notebook"), function)(result)
    return str(drawn)
