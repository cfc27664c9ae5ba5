"""Every block of code in README and docs is typed as it is written, or stands here with the reason why not.

How a block is run follows from the word after its fence:

    sh, python           typed as they are, page by page
    sh NAME, text NAME   typed in the terminal NAME, and what it shows; the sections of a page are its steps
    text python          the other side of a linkage is there
    console              typed, and answered as printed, by tests/cli/test_transcripts.py
    toml                 part of an agreement, or of a layout
    none                 a drawing, or commands that are listed below

Ports are changed, since a test cannot own a number. At a terminal every question is answered with yes, and
those of `accord init --from` as ANSWERS says.
"""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyarrow.csv import write_csv

import accord
from accord.agreement.file_shape import shape_faults
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.table.layout import read_layout
from tests.cli import test_transcripts
from tests.cli.terminal import environment, free_port
from tests.docs.pages import DOCS, MORE, PAGES, ROOT, blocks, fenced, name_of
from tests.run.worlds import in_threads

SHOPS, REGISTERS = ("north-shop", "south-shop"), ("north-register", "south-register")
START, FROM_PYTHON = DOCS / "start.md", DOCS / "notebooks.md"
TERMINALS = {ROOT / "README.md": SHOPS, START: REGISTERS}
# Types, both names, both sizes; copies twice, how many values, which share, how long, sexes, dates
# of birth, what is shown.
ANSWERS = {"north-register": ["", *REGISTERS, "300", "300", *[""] * 8], "south-register": [""]}
SET_UP = "sets up a checkout, as this one was"
DRAWING = "a drawing"
HOURS = "takes hours; tests/reproduction has it small"
ROOT_ONLY = "typed as administrator"
CLUSTER = "typed on two machines; tests/workers has such a cluster"
NOT_RUN = {
    ("README.md", "make demo"): SET_UP,
    ("docs/demo.md", "make demo"): SET_UP,
    ("docs/demo.md", "python3 -m venv"): SET_UP,
    ("CONTRIBUTING.md", "reproduction/    the paper's evaluation"): DRAWING,
    ("reproduction/README.md", "make reproduce"): HOURS,
    (
        "reproduction/README.md",
        "python -m reproduction accord",
    ): "needs two machines; tests/reproduction has two",
    ("reproduction/README.md", "python -m reproduction.taxi_files"): "needs a public file of some gigabytes",
    ("reproduction/README.md", "python -m reproduction audit"): HOURS,
    ("reproduction/README.md", "leaky: unshuffled"): "the answer of the command above",
    ("examples/README.md", "python3 -m venv"): SET_UP,
    ("docs/quality.md", "make quality"): HOURS,
    ("docs/databases.md", "# ~/.pg_service.conf"): "a file of libpq's that names the reader's own server",
    ("docs/privacy.md", "accord link patients.csv …"): "a part of a command that docs/start.md has whole",
    ("docs/operate.md", "ssh -N"): "needs a third host; tests/deploy/test_deploy.py types these very lines",
    ("docs/operate.md", "Match User tunnel"): "settings of sshd, which tests/deploy/test_deploy.py has",
    ("docs/operate.md", "python3 -m venv"): ROOT_ONLY,
    ("docs/operate.md", "useradd"): ROOT_ONLY,
    ("docs/operate.md", "make release"): SET_UP,
    ("docs/cores.md", "pip install 'accord[ray]'"): CLUSTER,
    ("docs/cores.md", "umask 077"): CLUSTER,
    ("docs/cores.md", "export RAY_AUTH_MODE"): CLUSTER,
    ("docs/cores.md", "ray start --head"): CLUSTER,
    ("docs/cores.md", "accord link a.csv"): CLUSTER,
}


def is_run(page: Path, mark: str) -> bool:
    """Whether some test types such a block of such a page."""
    kind, _, terminal = mark.partition(" ")
    if terminal:
        return terminal in TERMINALS.get(page, ()) or (page, mark) == (FROM_PYTHON, "text python")
    if kind == "console":
        return page.parent == DOCS and page.stem in test_transcripts.PAGES
    return kind == "toml" or (kind in ("sh", "python") and page in PAGES)


def test_every_block_is_run_or_listed_with_its_reason() -> None:
    used, missing = set(), []
    for page in [*PAGES, *MORE]:
        for mark, block in fenced(page):
            listed = [key for key in NOT_RUN if key[0] == name_of(page) and block.strip().startswith(key[1])]
            used |= {*listed}
            if not listed and not is_run(page, mark):
                missing.append((name_of(page), mark, block.strip().split("\n")[0]))
    assert missing == []
    assert used == NOT_RUN.keys(), "what is listed is there"
    assert not any(is_run(DOCS / "rules.md", mark) for mark in ("console", "", "sh north-shop"))


# -- parts of agreements and layouts -----------------------------------------------------------------------


def merged(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The part in place of what it says anew; a protocol that is named has its own options only."""
    changed = dict(whole)
    for name, value in part.items():
        old = whole.get(name)
        deep = isinstance(old, dict) and isinstance(value, dict) and "name" not in value
        changed[name] = merged(old, value) if deep and isinstance(old, dict) else value
    return changed


def test_parts_of_agreements_and_layouts_are_understood(tmp_path: Path) -> None:
    """In a sound agreement they have no fault of shape; whether fields go together, a part does not tell."""
    whole = tomllib.loads(starter_text("products", "00000000"))
    for part in (block for page in PAGES for block in blocks(page, "toml")):
        if part.startswith(("id = ", "[lists]")):
            (tmp_path / "layout.toml").write_text(part)
            read_layout(tmp_path / "layout.toml")
        else:
            assert list(shape_faults(merged(whole, tomllib.loads(part)))) == [], part
    for wrong in ({"most_match": {"A": 5}}, {"protocol": {"A": {"epsilom": 1}}}, {"expected": {"A": "365"}}):
        assert list(shape_faults(merged(whole, wrong)))


# -- page by page ------------------------------------------------------------------------------------------

LONG = {
    *("agree.md", "cores.md", "count.md", "databases.md", "epsilon.md", "fields.md", "judge.md"),
    *("learning.md", "monthly.md", "prepare.md", "resume.md"),
}
"""Their examples need runs that last, workers, several linkages, or dozens of commands."""
EXAMPLES = [page for page in PAGES if blocks(page, "sh", "python")]


@pytest.mark.whole
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page for page in EXAMPLES],
    ids=lambda page: page.name,
)
def test_examples_run_as_written(page: Path, tmp_path: Path) -> None:
    """The mathematics also name the laboratory, which a checkout has."""
    typed, ports = environment(tmp_path), defaultdict[str, str](lambda: str(free_port()))
    typed["PYTHONPATH"] = f"{typed.get('PYTHONPATH', '')}{os.pathsep}{ROOT}"
    scripts = [re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: ports[port[0]], s) for s in blocks(page, "sh")]
    commands = [["bash", "-eu", "-c", script] for script in scripts]
    for number, program in enumerate(blocks(page, "python")):
        (tmp_path / f"{number}.txt").write_text(program)
        run = ["-m", "doctest"] if program.startswith(">>>") else []
        commands.append([sys.executable, *run, f"{number}.txt"])
    for command in commands:
        done = subprocess.run(command, cwd=tmp_path, env=typed, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"


# -- in two terminals --------------------------------------------------------------------------------------


def steps(page: Path, terminal: str) -> list[str]:
    """What is typed in a terminal, section by section."""
    sections = re.split(r"^## ", page.read_text(), flags=re.M)
    mark = rf"^```sh {terminal}\n(.*?)^```"
    return ["".join(re.findall(mark, section, re.M | re.S)) for section in sections]


def typed(folder: Path, page: Path, terminal: str, port: int) -> tuple[subprocess.Popen[bytes], int]:
    """A shell at a terminal with answers typed in advance; after each step it waits for the other."""
    (other,) = {*TERMINALS[page]} - {terminal}
    parts = []
    for number, step in enumerate(steps(page, terminal)):
        parts.append(step.replace(":7000", f":{port}"))
        parts.append(f"touch '{folder}/.{terminal}.{number}'\n")
        parts.append(f"until [ -e '{folder}/.{other}.{number}' ]; do sleep 0.05; done\n")
    home = folder / f".home-{terminal}"
    home.mkdir()
    user, system = pty.openpty()
    os.write(user, "\n".join([*ANSWERS.get(terminal, []), "y", "y\n"]).encode())
    with (folder / f".{terminal}.out").open("wb") as out:
        shell = subprocess.Popen(
            ["bash", "-eu", "-c", "".join(parts)],
            cwd=folder,
            env=environment(home),
            stdin=system,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    os.close(system)
    return shell, user


def type_page(page: Path, folder: Path) -> dict[str, str]:
    """Type a page in its two terminals; what each has shown."""
    terminals, port = TERMINALS[page], free_port()
    opened = [typed(folder, page, terminal, port) for terminal in terminals]
    shells, until = [shell for shell, _ in opened], time.monotonic() + 300
    try:
        while any(shell.poll() is None for shell in shells) and time.monotonic() < until:
            if any(shell.poll() for shell in shells):
                break
            time.sleep(0.05)
    finally:
        for shell, user in opened:
            if shell.poll() is None:
                os.killpg(shell.pid, 9)
            shell.wait()
            os.close(user)
    shown = {name: (folder / f".{name}.out").read_text() for name in terminals}
    assert [shell.returncode for shell in shells] == [0, 0], shown
    outputs = [(folder / name / "pairs.csv").read_bytes() for name in terminals]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") > 1
    return shown


def require_screen(printed: str, shown: str) -> None:
    """All that is printed is shown; and where consent is asked, all that is shown is printed, in that order.

    An ellipsis in what is printed stands for anything.
    """
    lines = [line.strip() for line in shown.replace("\r", "\n").splitlines()]
    for pattern in patterns(printed):
        assert any(pattern.search(line) for line in lines), pattern.pattern
    wanted = iter(patterns(consent(printed)))
    for line in consent("\n".join(lines)).splitlines() if printed else []:
        assert not line or any(pattern.fullmatch(line) for pattern in wanted), line


def consent(screen: str) -> str:
    """What stands between who one is and the question."""
    return screen.partition("You are")[2].partition("Continue?")[0].partition("\n")[2]


def patterns(printed: str) -> list[re.Pattern[str]]:
    known = [line.strip() for line in printed.splitlines() if line.strip()]
    return [re.compile(".*".join(map(re.escape, line.split("…")))) for line in known]


def test_a_screen_that_differs_from_the_page_is_noticed() -> None:
    page = "You are      north\nRecords      …\nExpected     … MB\nContinue?"
    lines = ["You are      north", "Records      1,000", "Expected     3 MB", "Continue? [y/N]: y"]
    require_screen(page, "\n".join(lines))
    for wrong in (
        [lines[0], lines[2], lines[1], lines[3]],
        [*lines[:3], "Warning: more", lines[3]],
        lines[:2],
    ):
        with pytest.raises(AssertionError):
            require_screen(page, "\n".join(wrong))


def pairs_of(path: Path) -> set[tuple[str, ...]]:
    with path.open() as file:
        return {tuple(row[:2]) for row in islice(csv.reader(file), 1, None)}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.whole if page == START else pytest.mark.slow)
        for page in TERMINALS
    ],
    ids=lambda page: page.name,
)
def test_two_terminals_link_as_written(page: Path, tmp_path: Path) -> None:
    shown = type_page(page, tmp_path)
    for name, screen in shown.items():
        require_screen("".join(blocks(page, f"text {name}")), screen)
    if page == START:
        # What a newcomer finds is true, and what is true is found.
        folder = tmp_path / "north-register"
        pairs, truth = pairs_of(folder / "pairs.csv"), pairs_of(folder / "made" / "truth.csv")
        assert len(pairs & truth) >= 0.95 * max(len(truth), len(pairs))
        questions = page.read_text().partition("| question |")[2]
        explained = re.findall(r"^\| ([^|]+) \|", questions, re.M)
        assert [question for question in explained if question not in shown["north-register"]] == []


@pytest.mark.whole
def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block marked ```text python, as north-shop; south-shop is another thread."""
    port, (program,) = free_port(), blocks(FROM_PYTHON, "text python")
    north, south = tmp_path / "north", tmp_path / "south"
    north.mkdir()
    made, agreed = generate_products(300, None, 0), starter("products")
    write_csv(made.a, north / "a.csv")
    (north / "agreement.toml").write_text(agreed.to_toml())
    accord.identity("south-shop", out=north / "south-shop.card", state=south)
    accord.set_budget("products", epsilon=2, delta="1e-9", state=south)
    monkeypatch.chdir(north)
    monkeypatch.setenv("XDG_STATE_HOME", str(north / "state"))
    monkeypatch.setattr("builtins.input", lambda question: "y")

    def link_south() -> accord.Linked:
        card = north / "north-shop.card"
        while not card.exists() or not card.read_bytes().endswith(b"-----END CERTIFICATE-----\n"):
            time.sleep(0.05)
        accord.trust("north-shop", card, state=south)
        partner: dict[str, Any] = {"partner": "north-shop", "connect": f"localhost:{port}", "state": south}
        return accord.link(made.b, agreed, snapshot="2026-11", confirm=accord.agree, **partner)

    names: dict[str, Any] = {}
    ends = in_threads(lambda: exec(program.replace(":7000", f":{port}"), names), link_south)
    assert not isinstance(ends[0], BaseException), ends[0]
    assert isinstance(ends[1], accord.Linked), ends[1]
    assert names["linked"].pairs.equals(ends[1].pairs)
    assert names["linked"].matches > 50


# -- notebooks ---------------------------------------------------------------------------------------------

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
TOGETHER = ("hospital", "registry")
RUN = [TOGETHER, *((path.stem,) for path in NOTEBOOKS if path.stem not in TOGETHER)]


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in kept if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_imports_what_is_installed_with_it(path: Path) -> None:
    """By `pip install '.[notebooks]'` alone; the laboratory is in the copy of the repository."""
    code = cells(path, "code")
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["notebooks"]
    there = {"accord", "reproduction", *sys.stdlib_module_names}
    there |= {re.split(r"[^\w-]", line)[0] for line in wanted}
    text = "\n".join("".join(cell["source"]) for cell in code)
    assert {"accord"} <= set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.M)) <= there


async def run_together(folder: Path, names: tuple[str, ...], port: int) -> list[str]:
    """All cells of notebooks, each in a kernel of its own; what each printed to stderr. If one fails, the
    others do not wait for it."""
    import asyncio

    import nbformat
    from nbclient import NotebookClient

    running = []
    for name in names:
        text = (ROOT / "examples" / f"{name}.ipynb").read_text().replace(":7000", f":{port}")
        home = folder / f"home-{name}"
        home.mkdir()
        place = {"metadata": {"path": str(folder)}}
        # With what readers of notebooks have installed: pandas, too.
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        client = NotebookClient(nbformat.reads(text, 4), timeout=900, startup_timeout=900, resources=place)
        running.append((client, client.async_execute(env=environment(home) | {"PYTHONPATH": path})))
    async with asyncio.TaskGroup() as group:
        for _, task in running:
            group.create_task(task)
    outputs = [[o for c in client.nb.cells for o in c.get("outputs", ())] for client, _ in running]
    said = ["".join(o["text"] for o in each if o.get("name") == "stderr") for each in outputs]
    # In a home that it does not know, matplotlib says so if it takes longer than some seconds.
    return [re.sub(r"Matplotlib is building the font cache.*\n", "", text) for text in said]


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("names", RUN, ids="-".join)
def test_notebooks_run(names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / ".jupyter" / name.lower()))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    said = asyncio.run(run_together(tmp_path, names, free_port()))
    if names != TOGETHER:
        assert said == [""]
        return
    pairs = [(tmp_path / f"{name}-pairs.csv").read_bytes() for name in names]
    assert pairs[0] == pairs[1]
    assert pairs[0].count(b"\n") > 50
    for name in names:
        assert (tmp_path / f"{name}-state" / "state.sqlite").exists()
        assert not (tmp_path / f"home-{name}" / "state").exists(), "each has a state folder of its own"
