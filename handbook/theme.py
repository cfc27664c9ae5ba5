"""What the site does beyond its theme.

Drawings stand in the page itself, so that they follow its switch between light and dark. What may scroll
sideways on a narrow screen can be reached with the keyboard.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_DRAWN = ("diagrams/", "pictures/")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("doctree-read", _inline_drawings)
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("html-page-context", _reach_scrolling)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline_drawings(app: Sphinx, tree: nodes.document) -> None:
    for image in list(tree.findall(nodes.image)):
        uri = image["uri"]
        if uri.startswith(_DRAWN) and uri.endswith(".svg"):
            drawn = (Path(app.srcdir) / uri).read_text()
            frame = nodes.raw(
                "", f'<figure class="drawing">{_unique(drawn, Path(uri).stem)}</figure>', format="html"
            )
            image.parent.replace(image, frame)
            app.env.images.pop(uri, None)


def _reach_scrolling(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    body = context.get("body", "").replace(
        '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
    )
    context["body"] = body.replace("<pre>", '<pre tabindex="0">')


def _escape_bars(
    _app: Sphinx, _what: str, _name: str, _of: object, _options: object, lines: list[str]
) -> None:
    """Docstrings are plain text: |a| is a size in them, and not markup."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def _unique(drawn: str, name: str) -> str:
    """Without its declaration, and with ids that no other drawing of a page has."""
    body = re.sub(r"^<\?xml.*?\?>\s*", "", drawn)
    body = re.sub(r'(\bid="|url\(#|aria-(?:labelledby|describedby)=")([\w-]+)', rf"\1{name}-\2", body)
    return body
