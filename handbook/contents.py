"""The order of the site: what stands in its side bar, and under which heading.

A page of `docs/` that is not named here still becomes one, under the last heading: nothing written is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Chapter:
    """A heading of the side bar, and the pages under it by their names without `.md`."""

    name: str
    pages: tuple[str, ...]


CHAPTERS = (
    Chapter("Start", ("install", "quickstart", "tutorial", "own-table", "notebooks")),
    Chapter(
        "Choose", ("choosing", "planning", "rules", "blocking", "fields", "learning", "quality", "compare")
    ),
    Chapter(
        "Be sure",
        ("security", "privacy", "threat-model", "compliance", "audit", "replay", "maths", "privacy-library"),
    ),
    Chapter(
        "Run", ("data", "databases", "again", "series", "resume", "state", "scale", "cluster", "operate")
    ),
    Chapter("How it works", ("protocols/index", "engines", "wire", "evaluation", "reproduction")),
    Chapter(
        "Look up",
        ("cli", "reference/commands", "agreement", "reference/agreement", "reference/python", "glossary"),
    ),
    Chapter("The project", ("contributing", "reporting", "changelog")),
)

INSIDE = {
    "protocols/index": (
        *("protocols/laplace", "protocols/all-pairs", "protocols/psi", "protocols/psi-expand"),
        *("protocols/local-dp", "protocols/leaky"),
    )
}
"""Pages that stand under another page."""

TITLES = {
    "own-table": "Your own tables",
    "planning": "Planning: what it costs",
    "fields": "Fields",
    "learning": "Learning weights",
    "quality": "Quality next to other tools",
    "compare": "Which tool to take",
    "security": "Who learns what",
    "privacy": "Privacy: what is protected",
    "privacy-library": "A library for one's own proofs",
    "threat-model": "The threat model",
    "databases": "Databases",
    "scale": "Scale: more cores",
    "cluster": "Scale: a Ray cluster",
    "operate": "In an organisation",
    "engines": "Engines",
    "wire": "The wire",
    "evaluation": "The evaluation",
    "replay": "Accountable runs and replay",
    "reproduction": "Reproducing the evaluation",
    "reporting": "Reporting a vulnerability",
}
"""Short names for the side bar, where a page's own title is a sentence."""

ELSEWHERE = {
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "reporting",
    "CHANGELOG.md": "changelog",
    "reproduction/README.md": "reproduction",
    "README.md": "index",
}
"""Files of the repository that are pages of the site, too; the README is told by the home page."""


def arrange(pages: Iterable[str]) -> list[Chapter]:
    """The chapters with the pages that are there; whatever has no place is in the last."""
    there = set(pages) - {"index"}
    placed = {page for chapter in CHAPTERS for page in chapter.pages}
    placed |= {page for inner in INSIDE.values() for page in inner}
    chapters = [Chapter(chapter.name, tuple(p for p in chapter.pages if p in there)) for chapter in CHAPTERS]
    last = Chapter(chapters[-1].name, (*chapters[-1].pages, *sorted(there - placed)))
    return [*chapters[:-1], last]


def toctree(pages: Iterable[str], caption: str | None, beside: str) -> str:
    """A directive that puts pages into the side bar, as it is written in the folder of a page."""
    folder = PurePosixPath(beside).parent
    paths = {page: str(PurePosixPath(page).relative_to(folder)) for page in pages}
    names = [f"{TITLES[page]} <{path}>" if page in TITLES else path for page, path in paths.items()]
    head = f":caption: {caption}\n" if caption else ""
    return "\n".join(["", "```{toctree}", f"{head}:hidden:", "", *names, "```", ""])
