"""Every block of code in README and docs is run by some test, or stands here with the reason why not.

How a block is run follows from the word after its fence:

    sh, python           typed as they are                                     test_docs.py
    sh NAME, text NAME   typed in the terminal NAME, and what it shows         test_start.py
    text python          the other side of a linkage is there                  test_start.py
    console              typed, and answered as printed                        test_audit.py, test_privacy.py
    toml                 part of an agreement, or of a layout                  here
    none                 a drawing, or commands that are listed below          here

Commands between the lines (`accord link --partner NAME`, `make test`, `python -m benchmarks.plan`) are not
run, but what they name must be there.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.file_shape import shape_faults
from accord.datasets.starter import starter_text
from accord.table.layout import read_layout
from reproduction.__main__ import _names
from tests.cli.test_cli import COMMANDS
from tests.docs import test_audit, test_docs, test_privacy, test_start

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "reproduction/README.md")),
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
SET_UP = "sets up a checkout, as this one was; what is started is looked up in the Makefile"
DRAWING = "a drawing"
CLUSTER = "typed on two machines, as their administrator; tests/workers/test_ray.py has such a cluster"
NOT_RUN = {
    ("README.md", "make demo"): f"{SET_UP}; `accord demo` is run by tests/cli/test_demo.py",
    ("docs/demo.md", "make demo"): f"{SET_UP}; `accord demo` is run by tests/cli/test_demo.py",
    ("docs/demo.md", "python3 -m venv"): f"{SET_UP}; tests/test_wheel.py installs the package",
    ("CONTRIBUTING.md", "reproduction/    the paper's evaluation"): DRAWING,
    ("reproduction/README.md", "make reproduce"): "takes hours; the names are looked up, and each is run "
    "small by tests/reproduction",
    ("reproduction/README.md", "python -m reproduction accord"): "needs two machines; "
    "tests/reproduction/test_sessions.py runs two processes",
    ("reproduction/README.md", "python -m reproduction.taxi_files"): "needs a public file of some gigabytes; "
    "tests/reproduction/test_taxi_files.py makes small ones",
    ("reproduction/README.md", "python -m reproduction audit"): "hundreds of linkages; "
    "tests/reproduction/audit has its own",
    ("reproduction/README.md", "leaky: unshuffled"): "the answer of the command above",
    ("examples/README.md", "python3 -m venv"): f"{SET_UP}; the notebooks are run by test_notebooks.py",
    ("docs/quality.md", "make quality"): "takes hours, and packages of peers",
    ("docs/databases.md", "# ~/.pg_service.conf"): "a file of libpq's that names the reader's own server; "
    "tests/test_postgres.py connects through one",
    (
        "docs/privacy.md",
        "accord link patients.csv …",
    ): "a part of a command that docs/start.md has whole",
    ("docs/operate.md", "ssh -N"): "needs a third host; tests/deploy/test_tunnel.py types these very lines",
    (
        "docs/operate.md",
        "Match User tunnel",
    ): "a part of sshd's settings; tests/deploy/test_tunnel.py has them",
    ("docs/operate.md", "python3 -m venv"): "typed as administrator, by tests/deploy/test_image.py",
    ("docs/operate.md", "useradd"): "typed as administrator, by tests/deploy/test_image.py",
    ("docs/operate.md", "make release"): f"{SET_UP}; tests/deploy/test_image.py runs the image's steps",
    ("docs/cores.md", "pip install 'accord[ray]'"): CLUSTER,
    ("docs/cores.md", "umask 077"): CLUSTER,
    ("docs/cores.md", "export RAY_AUTH_MODE"): CLUSTER,
    ("docs/cores.md", "ray start --head"): CLUSTER,
    ("docs/cores.md", "accord link a.csv"): CLUSTER,
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fenced(page: Path) -> list[tuple[str, str]]:
    """All blocks of a page, with the words after their fences."""
    return re.findall(r"^ *```([^\n]*)\n(.*?)^ *```$", page.read_text(), re.M | re.S)


def runner(page: Path, mark: str) -> object:
    """What runs such a block of such a page; None if nothing does."""
    kind, _, terminal = mark.partition(" ")
    if kind in ("sh", "text") and terminal:
        typed = terminal in test_start.PAGES.get(page, ())
        return test_start if typed or (page, terminal) == (test_start.FROM_PYTHON, "python") else None
    if kind in ("sh", "python"):
        return test_docs if page in test_docs.PAGES else None
    if kind == "console":
        answered = {test_privacy.PAGE: test_privacy}
        return (answered | {test_audit.PAGE: test_audit}).get(page)
    return test_toml_is_understood if kind == "toml" else None


def test_every_block_is_run_or_listed_with_its_reason() -> None:
    used, missing = set(), []
    for page in PAGES:
        for mark, block in fenced(page):
            first = block.strip().split("\n")[0]
            key = (
                name_of(page),
                next((s for p, s in NOT_RUN if p == name_of(page) and first.startswith(s)), ""),
            )
            if key in NOT_RUN:
                used.add(key)
            elif runner(page, mark) is None:
                missing.append((name_of(page), mark, first))
    assert missing == []
    assert used == set(NOT_RUN), "what is listed is there"


def test_a_block_that_nothing_runs_would_be_noticed() -> None:
    assert runner(ROOT / "docs" / "rules.md", "console") is None
    assert runner(ROOT / "docs" / "rules.md", "") is None
    assert runner(ROOT / "docs" / "rules.md", "sh north-shop") is None
    assert runner(ROOT / "CONTRIBUTING.md", "sh") is None


# -- parts of agreements and layouts ------------------------------------------------------------------------

TOML = [(page, block) for page in PAGES for mark, block in fenced(page) if mark == "toml"]
LAYOUTS = ("id = ", "[lists]")


@pytest.mark.parametrize(
    ("page", "block"), TOML, ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(TOML)]
)
def test_toml_is_understood(page: Path, block: str, tmp_path: Path) -> None:
    """Put into an agreement that is sound, it has no fault of shape: no unknown word, no value of a wrong
    kind. Whether its fields go together is not judged, since a part does not have them all."""
    if block.startswith(LAYOUTS):
        (tmp_path / "layout.toml").write_text(block)
        read_layout(tmp_path / "layout.toml")
        return
    part, whole = tomllib.loads(block), tomllib.loads(starter_text("products", "00000000"))
    assert list(shape_faults(whole)) == []
    assert list(shape_faults(merged(whole, part))) == []


def merged(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The part in place of what it says anew; a protocol that is named has its own options only."""
    changed = dict(whole)
    for name, value in part.items():
        old = whole.get(name)
        deep = isinstance(old, dict) and isinstance(value, dict) and "name" not in value
        changed[name] = merged(old, value) if deep and isinstance(old, dict) else value
    return changed


def test_a_wrong_word_would_be_noticed() -> None:
    whole = tomllib.loads(starter_text("products", "00000000"))
    for part in ({"most_match": {"A": 5}}, {"protocol": {"A": {"epsilom": 1}}}, {"expected": {"A": "365"}}):
        assert list(shape_faults(merged(whole, part)))


# -- commands between the lines -----------------------------------------------------------------------------

SPANS = [(page, span) for page in PAGES for span in re.findall(r"`([^`\n]+)`", page.read_text())]

DOMAIN = re.compile(r"accord [a-z ]+ \d(\\n)?")
"""Tags of byte formats begin like commands."""


def option_names(words: tuple[str, ...]) -> set[str]:
    return {name for one in COMMANDS[words].params for name in (*one.opts, *one.secondary_opts)} | {"--help"}


def test_commands_and_options_between_the_lines_exist() -> None:
    spans = [(name_of(p), s) for p, s in SPANS if s.startswith("accord ") and not DOMAIN.fullmatch(s)]
    assert len(spans) > 100
    wrong = []
    for page, span in spans:
        words = tuple(re.split(r"[\s\\|/]", span)[1:])
        called = max((known for known in COMMANDS if words[: len(known)] == known), key=len)
        options = set(re.findall(r"(?<![\w-])--[a-z-]+", span))
        if not called and words[0].islower() and words[0].isalpha():
            wrong.append((page, span, "no such command"))
        elif unknown := options - option_names(called) - option_names(()):
            wrong.append((page, span, f"no option {sorted(unknown)}"))
    assert wrong == []


def test_targets_modules_and_experiments_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
    blocks = [(page, line) for page in PAGES for _, block in fenced(page) for line in block.splitlines()]
    for page, text in [*SPANS, *blocks]:
        for target in re.findall(r"^make ([a-z]+)", text):
            assert target in targets, (page, target)
        for module in re.findall(r"^python -m ((?:benchmarks|reproduction|accord)[\w.]*)", text):
            assert find_spec(module) is not None, (page, module)
        for name in re.findall(r"^python -m reproduction ([a-z][\w-]*)", text):
            assert name in (*_names(), "list", "accord"), (page, name)


def test_commands_can_be_split_into_words() -> None:
    for page in PAGES:
        for mark, block in fenced(page):
            if mark.split(" ")[0] in ("sh", "bash"):
                shlex.split(block, comments=True)
