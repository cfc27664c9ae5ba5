"""The site, built once for all tests as `make docs` builds it, and its pages."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from bs4 import BeautifulSoup


ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Site:
    """A built site."""

    folder: Path

    @cached_property
    def pages(self) -> dict[str, BeautifulSoup]:
        """All pages, by their path."""
        from bs4 import BeautifulSoup

        found = sorted(self.folder.rglob("*.html"))
        return {str(p.relative_to(self.folder)): BeautifulSoup(p.read_text(), "html.parser") for p in found}

    def read(self, path: Path) -> BeautifulSoup:
        """A page, or another file of markup."""
        from bs4 import BeautifulSoup

        page = self.pages.get(str(path.relative_to(self.folder)))
        return page or BeautifulSoup(path.read_text(), "html.parser")

    def links(self, page: str, within: str = "article") -> Iterator[str]:
        """Where the links of a page's text lead, inside of the site: `path#anchor`."""
        for part in self.pages[page].select(within):
            for link in part.select("a[href]"):
                where = urlsplit(str(link["href"]))
                if not where.scheme:
                    path = os.path.normpath(Path(page).parent / unquote(where.path)) if where.path else page
                    yield f"{path}#{unquote(where.fragment)}"


def build(shared: Path) -> Site:
    """Built by the first that asks; processes of tests that run beside each other share a folder."""
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "searchindex.js").exists():
            where = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
            command = [sys.executable, "-m", "handbook", "build", str(folder)]
            done = subprocess.run(command, cwd=ROOT, env=where, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    return Site(folder)
