"""Pages as a reader's browser shows them: headless Chromium looks at HTML files and lists what is wrong.

`complain` opens every file as a phone, as a desk, in the dark and on paper, and lists errors on the console,
requests to anywhere but the page and what it may load, whatever axe-core objects to, a page that has to be
scrolled sideways, and labels of a drawing that are cut off, too small or on top of each other. axe is given
to the page by the debugger, so that the page's own content security policy stays as it is. What was seen is
kept as pictures.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    name: str
    width: int
    scheme: Literal["light", "dark"] = "light"
    media: Literal["screen", "print"] = "screen"


LOOKS = (
    Look("phone", 390),
    Look("desk", 1280),
    Look("phone-dark", 390, "dark"),
    Look("desk-dark", 1280, "dark"),
    Look("paper", 794, media="print"),
)

_SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
_OPEN = "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"
_LABELS = """() => {
  const found = [], shown = [];
  for (const text of document.querySelectorAll('svg text')) {
    const box = text.getBoundingClientRect(), said = text.textContent;
    if (!box.width) continue;
    if (box.left < -1 || box.right > document.documentElement.clientWidth + 1)
      found.push(`the label '${said}' is cut off`);
    if (box.height < 11) found.push(`the label '${said}' is too small`);
    shown.push([said, box, text.ownerSVGElement]);
  }
  for (const [i, [said, a, of]] of shown.entries())
    for (const [other, b, from] of shown.slice(i + 1))
      if (of === from && a.left < b.right - 1 && b.left < a.right - 1
          && a.top < b.bottom - 4 && b.top < a.bottom - 4)
        found.push(`the labels '${said}' and '${other}' overlap`);
  return found;
}"""


def program() -> str | None:
    """Where the distribution's Chromium is."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def running() -> Iterator[Browser]:
    """A browser that is gone at the end; the test is skipped where there is none, unless all are required."""
    found = program()
    if found is None:
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail("Chromium is required but is not here")
        pytest.skip("no Chromium is here: `apt-get install chromium`")
    with tempfile.TemporaryDirectory(prefix="accord-browser-") as folder, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=_humble(found, Path(folder)), args=["--disable-gpu"], timeout=_PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


def _humble(found: str, folder: Path) -> str:
    """Chromium without the right to raise its own priority: started by root it takes it, above whatever else
    the machine is doing, and above the one that the tests were given."""
    limit = shutil.which("setpriv")
    if os.geteuid() != 0 or limit is None:
        return found
    script = folder / "chromium"
    script.write_text(f'#!/bin/sh\nexec {limit} --bounding-set -sys_nice {found} "$@"\n')
    script.chmod(0o700)
    return str(script)


def complain(
    browser: Browser,
    files: Iterable[Path],
    pictures: Path,
    looks: Iterable[Look] = LOOKS,
    within: Path | None = None,
) -> list[str]:
    """What is wrong with these files, each line with its file and look; nothing where all is well.

    A page may load itself and, with `within`, what is in that folder.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    chosen, found = tuple(looks), []
    for file in files:
        for look in chosen:
            found += [
                f"{file.name}, {look.name}: {line}" for line in _look(browser, file, look, pictures, within)
            ]
    return found


def _look(browser: Browser, file: Path, look: Look, pictures: Path, within: Path | None) -> list[str]:
    context = browser.new_context(
        viewport={"width": look.width, "height": 900}, color_scheme=look.scheme, offline=True
    )
    context.set_default_timeout(_PATIENCE)
    page, found = context.new_page(), list[str]()
    allowed = file.resolve().as_uri() if within is None else within.resolve().as_uri() + "/"

    def asked(url: str) -> None:
        if not (url == allowed if within is None else url.startswith(allowed)):
            found.append(f"asks for {url}")

    page.on("console", lambda said: found.append(f"console: {said.text}") if said.type in _LOUD else None)
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("request", lambda request: asked(request.url))
    try:
        page.emulate_media(media=look.media, color_scheme=look.scheme)
        page.goto(file.resolve().as_uri(), wait_until="load")
        page.screenshot(path=pictures / f"{file.stem}-{look.name}.png", full_page=True)
        return found + _judge(page)
    finally:
        context.close()


_LOUD = ("error", "warning")
_AXE = {"resultTypes": ["violations"], "preload": False}
"""It would ask for style sheets again to read them, which a page from a file may not."""
_PATIENCE = 180_000.0
"""Milliseconds."""


def _judge(page: Page) -> list[str]:
    """What is wrong with the page as it is laid out, with everything unfolded."""
    page.evaluate(_OPEN)
    found = []
    if (beyond := page.evaluate(_SIDEWAYS)) > 0:
        found.append(f"has to be scrolled sideways by {beyond} pixels")
    found += page.evaluate(_LABELS)
    violations: list[dict[str, Any]] = Axe().run(page, options=_AXE).response["violations"]
    for one in violations:
        where = "; ".join(str(node["target"][0]) for node in one["nodes"][:3])
        found.append(f"axe: {one['id']}: {one['help']} ({where})")
    return found
