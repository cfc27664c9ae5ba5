"""What the site does beyond its theme.

Drawings stand in the page itself, so that they follow its switch between light and dark. What may scroll
sideways on a narrow screen can be reached with the keyboard. The texts of all sections are kept in one
script, from which the search shows some words of whatever it found (static/summaries.js).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from accord.cli.steps import STEPS

_DRAWN = ("diagrams/", "pictures/")
_WANTED = {
    # Whatever may have to be scrolled can be reached with the keyboard.
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    "<pre>": '<pre tabindex="0">',
    # Two side bars need two names; and a heading of no level is none.
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<p class="caption" role="heading">': '<p class="caption">',
    # A column without a name has no heading.
    '<th class="head"><p></p></th>': '<td class="head"></td>',
}
"""What the theme writes, and what a screen reader and a keyboard need instead."""


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("doctree-read", _inline_drawings)
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("build-finished", _tidy)
    app.connect("build-finished", _keep_texts)
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


def _tidy(app: Sphinx, failure: Exception | None) -> None:
    for path in [] if failure else sorted(Path(app.outdir).rglob("*.html")):
        page = path.read_text()
        for written, wanted in _WANTED.items():
            page = page.replace(written, wanted)
        path.write_text(_FIRST.sub(_under_its_step, _PARAMETERS.sub(_as_lines, page)))


_STEPS = {names[0]: title for title, names in STEPS.items()}
_FIRST = re.compile(rf'<li class="toctree-l2[^>]*><a [^>]*>accord ({"|".join(_STEPS)})</a>')


def _under_its_step(found: re.Match[str]) -> str:
    """The first command of a step in the side bar, below the step's name: as `accord --help` groups them."""
    return f'<li class="step">{_STEPS[found[1]]}</li>{found[0]}'


_PARAMETERS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.S)


def _as_lines(found: re.Match[str]) -> str:
    """Parameters that stand one below the other: Sphinx writes definitions of nothing."""
    lines = found[1].replace("<dd>", '<span class="parameter">').replace("</dd>", "</span>")
    return f'<span class="parameters">{lines}</span>'


def _keep_texts(app: Sphinx, failure: Exception | None) -> None:
    """Write `searchtexts.js`: of each page its sections, each with its anchor and its own words."""
    if not failure:
        found = {name: list(_sections(app.env.get_doctree(name))) for name in sorted(app.env.found_docs)}
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "searchtexts.js").write_text(f"const SEARCH_TEXTS = {text};\n")


_NOT_ITS_WORDS = (nodes.section, nodes.title, nodes.raw)


def _sections(tree: nodes.document) -> Iterator[tuple[str, str]]:
    for section in tree.findall(nodes.section):
        own = [part for part in section.children if not isinstance(part, _NOT_ITS_WORDS)]
        yield section["ids"][0], " ".join(" ".join(map(_words, own)).split())


def _words(part: nodes.Node) -> str:
    """Without drawings, which are markup to Sphinx and stand within paragraphs."""
    copied = part.deepcopy()
    for drawn in list(copied.findall(nodes.raw)):
        drawn.parent.remove(drawn)
    return copied.astext()


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
