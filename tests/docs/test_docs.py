"""The examples in README and docs are run as they are written; every link leads somewhere.

The one thing that is changed is the ports, since a test cannot own a number.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests.cli.terminal import environment, free_port

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
MORE = [ROOT / "CONTRIBUTING.md", ROOT / "reproduction" / "README.md", ROOT / "examples" / "README.md"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def scripts(page: Path) -> list[str]:
    """What a page types in a shell."""
    ports: dict[str, str] = defaultdict(lambda: str(free_port()))
    return [re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: ports[port[0]], s) for s in blocks(page, "sh")]


# The example of a resumed run needs one that lasts; with workers
# there are six processes; every month has two linkages; a count learns a rule; plans measure the machine;
# files and databases of every kind have two dozen commands, fields and learning one of each sort, and all of
# them their own tests. Whether commands and options of every page are there, test_blocks.py says each time.
LONG = {
    *("agree.md", "cores.md", "count.md", "databases.md", "epsilon.md", "fields.md", "judge.md"),
    *("learning.md", "monthly.md", "prepare.md", "resume.md"),
}
EXAMPLES = [pytest.param(p, marks=pytest.mark.slow) if p.name in LONG else p for p in PAGES]


@pytest.mark.whole
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples_run_as_written(page: Path, tmp_path: Path) -> None:
    typed = environment(tmp_path)
    for script in scripts(page):
        done = subprocess.run(
            ["bash", "-eu", "-c", script],
            cwd=tmp_path,
            env=typed,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{script}\n{done.stderr}"
    # The mathematics also name the laboratory, which a checkout has.
    typed["PYTHONPATH"] = f"{typed.get('PYTHONPATH', '')}{os.pathsep}{ROOT}"
    for program in blocks(page, "python"):
        (tmp_path / "example.txt").write_text(program)
        run = ["-m", "doctest", "example.txt"] if program.startswith(">>>") else ["example.txt"]
        subprocess.run([sys.executable, *run], cwd=tmp_path, env=typed, check=True, timeout=120)
    for example in blocks(page, "toml"):
        tomllib.loads(example)


@pytest.mark.parametrize("page", [*PAGES, *MORE], ids=lambda page: page.name)
def test_links_and_files_that_are_named_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_source_files_that_are_named_exist() -> None:
    known = [
        f"/{path.relative_to(ROOT)}"
        for folder in ("src", "tests", "reproduction", "handbook", "release")
        for path in (ROOT / folder).rglob("*.py")
    ]
    naming = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = {
        (str(text.relative_to(ROOT)), name)
        for text in naming
        for name in re.findall(r"`([\w/]+\.py)`", text.read_text())
    }
    assert len(named) > 100
    assert [one for one in named if not any(path.endswith(f"/{one[1]}") for path in known)] == []


def test_numbers_are_per_record_and_not_a_record() -> None:
    a_side = re.compile(
        r"(?<!many )\b(?:records|pairs|bytes|bins|dummies|slots|buckets|comparisons|[µm]s) a "
        r"(?:side|record|pair|party|comparison|bin|pass)\b"
    )
    assert a_side.search("5,000 records a side")
    assert {page.name: found for page in PAGES if (found := a_side.findall(page.read_text()))} == {}


def test_every_citation_of_the_mathematics_has_its_section() -> None:
    known = set(re.findall(r"^##+ (\d+(?:\.\d+)*) ", (ROOT / "docs" / "maths.md").read_text(), re.M))
    cited = {
        (path.name, section)
        for folder in ("src", "tests", "reproduction", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for line in re.findall(r"MATHS((?:,?\s+§[\d.]*\d)+)", path.read_text())
        for section in re.findall(r"§([\d.]*\d)", line)
    }
    assert len(cited) > 20
    assert {section for _, section in cited} <= known, sorted(c for c in cited if c[1] not in known)
