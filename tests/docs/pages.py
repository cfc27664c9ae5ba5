"""The pages of the documentation as tests read them: blocks of code, tables, numbers."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))]
MORE = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md")]
MORE += [ROOT / name / "README.md" for name in ("reproduction", "examples")]
Cells = list[str]
Result = dict[str, str]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fenced(page: Path) -> list[tuple[str, str]]:
    """All blocks of a page, with the words after their fences."""
    return re.findall(r"^ *```([^\n]*)\n(.*?)^ *```$", page.read_text(), re.M | re.S)


def blocks(page: Path, *marks: str) -> list[str]:
    """Those with one of these marks."""
    return [block for mark, block in fenced(page) if mark in marks]


def table(page: Path, head: str) -> list[Cells]:
    """The rows of the table whose head begins like this, with the head; code is shown without its marks."""
    text = page.read_text()
    lines = text[text.index(f"\n| {head}") + 1 :].split("\n\n")[0].splitlines()
    rows = [re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|")) for line in lines]
    return [[re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in row] for row in (rows[0], *rows[2:])]


@cache
def numbers(page: Path) -> list[tuple[float, float]]:
    """All numbers with two digits or more, and by how much each may be off."""
    text = page.read_text().replace("−", "-")
    found = []
    for digits, power in re.findall(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:e(-?\d+))?", text):
        unit = 10.0 ** -len(digits.partition(".")[2]) * 10.0 ** int(power or 0)
        value = float(digits.replace(",", "")) * 10.0 ** int(power or 0)
        if len(re.sub(r"\D", "", digits).lstrip("0")) > 1:
            found.append((value, 0.51 * unit))
    return found


def stands(page: Path, value: float) -> bool:
    """Whether a number stands on a page, to the digits that are written there."""
    return any(abs(value - said) <= off for said, off in numbers(page))


def near(said: str, value: float) -> str:
    """The number as it is written, if this is it."""
    off = 0.51 * 10.0 ** -len(said.partition(".")[2])
    return said if abs(float(said.replace(",", "")) - value) <= off else f"{value:,}"


def results(name: str) -> list[Result]:
    """Lines that were measured and committed."""
    with (DOCS / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
