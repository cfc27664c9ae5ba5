"""Pages as a reader's browser shows them: headless Chromium looks at HTML files and lists what is wrong.

`complain` looks at every file as a phone, as a desk, in the dark and on paper, and lists errors on the
console, requests to anywhere but the page and what it may load, whatever axe-core objects to, a page that has
to be scrolled sideways, and labels of a drawing that are cut off, too small or on top of each other. Pages
have most of what they show in common, so colours are judged once for each kind of element, wherever it first
stands. axe is given to the page by the debugger, so that the page's own content security policy is as it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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
_LABELS, _SHORTEN = (
    (Path(__file__).parent / f"browser_{name}.js").read_text() for name in ("labels", "shorten")
)
"""What is wrong with labels of drawings; and what leaves one element of each kind that was not met before: of
each tag, class and style of an element and of the two around it."""


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
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="accord-browser-") as folder, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=_humble(found, Path(folder)), args=["--disable-gpu"], timeout=PATIENCE
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
    browser: Browser, files: Iterable[Path], looks: Sequence[Look] = LOOKS, within: Path | None = None
) -> list[str]:
    """What is wrong with these files, each line with its file; nothing where all is well.

    A page may load itself and, with `within`, what is in that folder.
    """
    found, met = list[str](), list[str]()
    with _opened(browser) as page:
        heard, asked = _listen(page)
        for file in files:
            name = file.name if within is None else file.relative_to(within)
            page.goto(file.resolve().as_uri(), wait_until="load")
            lines = _judge(page, looks, met)
            lines += [*heard, *(f"asks for {url}" for url in asked if not _is_allowed(url, file, within))]
            found += [f"{name}: {line}" for line in lines]
            heard.clear()
            asked.clear()
    return found


@contextmanager
def _opened(browser: Browser) -> Iterator[Page]:
    """An empty page without a network."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


def _listen(page: Page) -> tuple[list[str], list[str]]:
    """Lists that grow: of what goes wrong with a page, and of what it asks for."""
    heard, asked = list[str](), list[str]()
    page.on("console", lambda said: heard.append(f"console: {said.text}") if said.type in _LOUD else None)
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("request", lambda request: asked.append(request.url))
    return heard, asked


def _is_allowed(url: str, file: Path, within: Path | None) -> bool:
    if within is None:
        return url == file.resolve().as_uri()
    return url.startswith(within.resolve().as_uri() + "/")


def _turn(page: Page, look: Look) -> None:
    page.set_viewport_size({"width": look.width, "height": 900})
    page.emulate_media(media=look.media, color_scheme=look.scheme)


def _judge(page: Page, looks: Sequence[Look], met: list[str]) -> list[str]:
    """Layout at every width, structure once; then colours in every look, of what was not met before."""
    found = list[str]()
    # The dark moves nothing.
    for look in {(look.width, look.media): look for look in reversed(looks)}.values():
        _turn(page, look)
        found += [f"{look.name}: {line}" for line in _measure(page)]
    found += _ask_axe(page, {"rules": {rule: {"enabled": False} for rule in _COLOURS}})
    if fresh := page.evaluate(_SHORTEN, met):
        met += fresh
        for look in looks:
            _turn(page, look)
            found += [f"{look.name}: {line}" for line in _ask_axe(page, {"runOnly": _COLOURS})]
    return found


_LOUD = ("error", "warning")
_COLOURS = ["color-contrast", "link-in-text-block"]
"""What axe judges by colours: of text on what is behind it, and of links beside the words around them."""
_AXE = {"resultTypes": ["violations"], "preload": False}
"""It would ask for style sheets again to read them, which a page from a file may not."""
PATIENCE = 180_000.0
"""Milliseconds."""


def _measure(page: Page) -> list[str]:
    """What is wrong with the layout of the page, with everything unfolded."""
    page.evaluate(_OPEN)
    beyond = page.evaluate(_SIDEWAYS)
    found = [f"has to be scrolled sideways by {beyond} pixels"] if beyond > 0 else []
    return found + page.evaluate(_LABELS)


def _ask_axe(page: Page, rules: dict[str, Any]) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        from axe_playwright_python.base import AXE_SCRIPT

        page.evaluate(AXE_SCRIPT)
    asked = "options => axe.run(document, options).then(found => found.violations)"
    violations: list[dict[str, Any]] = page.evaluate(asked, _AXE | rules)
    return [
        f"axe: {one['id']}: {one['help']} ({'; '.join(str(node['target'][0]) for node in one['nodes'][:3])})"
        for one in violations
    ]
