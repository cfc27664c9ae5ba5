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
    Chapter("Start", ("can-it", "demo", "start")),
    Chapter(
        "How to",
        (
            *("prepare", "agree", "epsilon", "judge", "learning", "count", "monthly", "resume"),
            *("notebooks", "databases", "cores", "operate"),
        ),
    ),
    Chapter("Understand", ("security", "privacy", "threat-model", "blocking", "compliance", "compare")),
    Chapter(
        "Reference",
        (
            *("reference/commands", "reference/agreement", "reference/python"),
            *("rules", "fields", "exit-codes", "glossary"),
        ),
    ),
    Chapter(
        "Science",
        (
            *("maths", "protocols/index", "engines", "wire", "evaluation", "reproduction"),
            *("quality", "audit"),
        ),
    ),
    Chapter("The project", ("contributing", "reporting", "changelog")),
)

INSIDE = {
    "protocols/index": ("protocols/laplace", "protocols/routed", "protocols/all-pairs", "protocols/psi")
}
"""Pages that stand under another page, in this order."""

TITLES = {
    "can-it": "Can it …?",
    "demo": "Install, and the demo",
    "start": "Your table in fifteen minutes",
    "prepare": "Prepare a table",
    "agree": "Agree with the partner",
    "epsilon": "Choose ε and a way to run",
    "judge": "Judge quality",
    "learning": "Learn weights",
    "count": "Only count",
    "monthly": "Link every month",
    "resume": "Resume after a cut",
    "notebooks": "From Python",
    "databases": "Tables in databases",
    "cores": "Use more cores",
    "operate": "Run it as a service",
    "security": "What the partner learns",
    "privacy": "The guarantee",
    "threat-model": "The threat model",
    "blocking": "Bins and routing",
    "compliance": "For the data protection officer",
    "compare": "Which tool to take",
    "rules": "Rules",
    "fields": "Fields",
    "exit-codes": "Exit codes",
    "engines": "Engines",
    "wire": "The wire",
    "evaluation": "The evaluation",
    "reproduction": "Reproducing the evaluation",
    "quality": "Quality next to other tools",
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
    """The chapters with the pages that are there; whatever has no place is in the last.

    A page in the folder of another, `reference/commands/link`, stands under that one.
    """
    there = set(pages) - {"index"}
    placed = {page for chapter in CHAPTERS for page in chapter.pages}
    placed |= {page for inner in INSIDE.values() for page in inner}
    placed |= {page for page in there if str(PurePosixPath(page).parent) in placed}
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
