"""All pages of the site in one folder, as Sphinx reads them.

Pages are written for a code host: a link names a file of the repository. Here each link leads to the
page that the file has become, or to the file beside it; a link to anything that is not on the site (a
source file) leaves its words. Of code blocks only their first lines are read: a word that says whose
terminal a block belongs to becomes its caption.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from handbook.agreement import agreement_overview, agreement_pages
from handbook.commands import command_pages, commands_overview
from handbook.contents import ELSEWHERE, INSIDE, arrange, toctree
from handbook.python import python_reference

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?P<bang>!?)\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```$)", re.M | re.S)
_NAMED = re.compile(r"^```(?P<language>sh|text) (?P<name>[\w-]+)$", re.M)


def stage(folder: Path, root: Path = ROOT) -> None:
    """Fill an empty folder with all pages of a repository."""
    shutil.copytree(root / "docs", folder, dirs_exist_ok=True)
    for source, page in _sources(root).items():
        target = folder / f"{page}.md"
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_text(caption(relink(source, (root / source).read_text(), root)))
    codes = (root / "docs" / "exit-codes.md").read_text()
    _refer(folder / "reference" / "commands.md", commands_overview(), command_pages(codes))
    _refer(folder / "reference" / "agreement.md", agreement_overview(), agreement_pages())
    _refer(folder / "reference" / "python.md", python_reference(), {})
    list_notebooks(folder, root)
    _add_contents(folder)


def _refer(overview: Path, text: str, pages: dict[str, str]) -> None:
    """Continue a page with what is generated; the pages that belong to it are in a folder of its name."""
    inner = overview.with_suffix("")
    tree = toctree((f"{inner.name}/{name}" for name in pages), None, overview.name) if pages else ""
    overview.write_text(f"{overview.read_text()}\n{text}{tree}")
    for name, page in pages.items():
        inner.mkdir(exist_ok=True)
        (inner / f"{name}.md").write_text(page)


def _sources(root: Path) -> dict[str, str]:
    """The files of a repository that are pages, and which page each is."""
    found = {
        f"docs/{path.relative_to(root / 'docs').as_posix()}": path.relative_to(root / "docs")
        for path in sorted((root / "docs").rglob("*.md"))
    }
    pages = {source: str(PurePosixPath(path).with_suffix("")) for source, path in found.items()}
    return pages | {source: page for source, page in ELSEWHERE.items() if page != "index"}


def relink(source: str, text: str, root: Path) -> str:
    """The text of a page with its links as they are on the site; `source` is its path in the repository."""
    pages = _sources(root) | ELSEWHERE
    here = posixpath.dirname(pages[source])

    def moved(link: re.Match[str]) -> str:
        to, _, anchor = link["to"].partition("#")
        if not to or ":" in to:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), to))
        if target in pages:
            where = posixpath.relpath(f"{pages[target]}.md", here or ".")
        elif target.startswith("docs/"):
            where = posixpath.relpath(target.removeprefix("docs/"), here or ".")
        else:
            return link["words"]
        return f"{link['bang']}[{link['words']}]({where}{'#' if anchor else ''}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)


def caption(text: str) -> str:
    """The text of a page in which a block marked ```sh NAME or ```text NAME shows that name above it.

    ```text python is a program.
    """

    def named(fence: re.Match[str]) -> str:
        language = "python" if fence["name"] == "python" else fence["language"]
        return f"```{{code-block}} {language}\n:caption: {fence['name']}\n"

    return _NAMED.sub(named, text)


def list_notebooks(folder: Path, root: Path) -> None:
    """List the notebooks of `examples/`, each with its title and its first sentences, to be downloaded.

    They stand in the order of the folder's own page.
    """
    page = root / "examples" / "README.md"
    told = page.read_text() if page.exists() else ""
    found = sorted((root / "examples").glob("*.ipynb"), key=lambda path: (_place(path, told), path.name))
    lines = [line for path in found for line in _told(path, folder)]
    page = folder / "notebooks.md"
    page.write_text(page.read_text() + "\n" + "\n".join(lines or ["There are none yet."]) + "\n")


def _place(path: Path, told: str) -> int:
    """Where a page first links a notebook; at its end if it does not."""
    return place if (place := told.find(f"({path.name})")) >= 0 else len(told)


def _told(path: Path, folder: Path) -> Iterator[str]:
    cells = json.loads(path.read_text())["cells"]
    words = next(("".join(c["source"]) for c in cells if c["cell_type"] == "markdown"), "")
    title, _, rest = words.strip().partition("\n")
    first = rest.strip().partition("\n\n")[0].replace("\n", " ")
    shutil.copy(path, folder / path.name)
    # Links in a notebook are its own; here they would lead nowhere.
    yield f"## {title.lstrip('# ') or path.stem}\n"
    yield f"{_LINK.sub(lambda link: link['words'], first)}\n"
    yield f"[{path.name}]({path.name})\n"


def _add_contents(folder: Path) -> None:
    pages = [str(path.relative_to(folder).with_suffix("")) for path in sorted(folder.rglob("*.md"))]
    chapters = [toctree(chapter.pages, chapter.name, "index") for chapter in arrange(pages) if chapter.pages]
    inner = {page: [toctree(under, None, page)] for page, under in INSIDE.items()}
    for page, trees in {"index": chapters, **inner}.items():
        path = folder / f"{page}.md"
        path.write_text(path.read_text() + "".join(trees))
