"""The program: help, imports, exit codes, and small mistakes by which nothing is made, shown or lost."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import typer

from accord.cli import app
from accord.cli.words import as_options
from accord.errors import UsageError
from accord.run import offer
from accord.workers.resources import count_cores
from tests.cli.terminal import accord


def commands(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group with the words that call it."""
    yield words, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *words, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with generated products and their starter agreement."""
    folder = tmp_path_factory.mktemp("shop")
    assert accord(folder, "generate", "products", "--records", "60", "--seed", "3").returncode == 0
    assert accord(folder, "init", "--template", "products").returncode == 0
    return folder


def shown_example(words: tuple[str, ...]) -> list[str]:
    """The example that the help of a command ends with, in words."""
    help = typer.Context(COMMANDS[words], info_name="accord").get_help()
    assert not re.search(r"<bool>|default: no-|(?<!\[ARGS\])\.\.\.$|-$", help, re.M), help
    assert max(map(len, help.splitlines())) <= 80
    return shlex.split(help.partition("  Example:\n")[2].replace("\\\n", ""))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_tidy_and_ends_with_an_example_that_can_be_typed(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name, *typed = shown_example(words)
    assert name == "accord"
    assert tuple(typed[: len(words)]) == words
    called = max((known for known in COMMANDS if tuple(typed[: len(known)]) == known), key=len)
    COMMANDS[called].make_context(name, typed[len(called) :])


def test_the_command_line_imports_nothing_heavy() -> None:
    probe = (
        "import sys; from accord.cli import app\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_commands_multiply_matrices_in_one_thread(given: dict[str, str], threads: int) -> None:
    program = (
        "import os, sys, contextlib\n"
        "from accord.cli import main\n"
        "sys.argv = ['accord', '--version']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "import numpy\n"
        "numpy.ones((500, 500)) @ numpy.ones((500, 500))\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=plain | given, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) == min(threads, count_cores())


@pytest.mark.skipif(find_spec("pandas") is None, reason="needs pandas")
def test_commands_import_no_pandas(shop: Path) -> None:
    """pyarrow would, to convert a list. Afterwards it is found again. What is simulated is checked, too."""
    program = (
        "import sys, contextlib\n"
        "from accord.cli import main\n"
        "typed = 'simulate a.csv b.csv --agreement agreement.toml --engine ideal'\n"
        "sys.argv = ['accord', *typed.split()]\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas, pyarrow\n"
        "assert pyarrow.table({'a': [1]}).to_pandas().a[0] == 1\n"
    )
    # Without the stand-in for pandas that other tests have.
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    subprocess.run([sys.executable, "-c", program], cwd=shop, env=environment, check=True)


@pytest.mark.parametrize(("what", "code"), [("RuntimeError('SECRET')", 1), ("SystemExit(7)", 7)])
def test_a_process_ends_with_its_code_and_shows_no_value(what: str, code: int, tmp_path: Path) -> None:
    script = (
        f"import accord.cli, sys\ndef broken(*_, **__): raise {what}\n"
        "accord.cli.app = broken\naccord.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert ("RuntimeError" in done.stderr) == (code == 1)
    assert "SECRET" not in done.stderr


def test_arguments_are_said_as_options() -> None:
    said = as_options("`force=True`, `columns=`, `reach=accord.Reach(wait=…)`, `accord resume x=1`, a == b")
    assert re.findall(r"--[a-z]+", said) == ["--force", "--column", "--wait"]
    assert said.endswith("`accord resume x=1`, a == b")


READING = (
    *("ledger", "ledger remove x", "runs", "partner list", "partner remove x", "receipt x", "forget x"),
    *("state check", "state backup x", "resume x --listen :1"),
)


@pytest.mark.parametrize("words", READING)
def test_a_command_that_only_reads_makes_no_state_folder(words: str, tmp_path: Path) -> None:
    assert accord(tmp_path, "--state", "mistyped", *words.split()).returncode == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "typed",
    [
        "check agreement.toml a.csv --layout {}.toml",
        "simulate a.csv b.csv --agreement agreement.toml --out {}.csv",
        "--state s identity --name a --out {}.card",
        "init --template products --out {}.toml",
        "generate products --records 5 --out {}",
    ],
)
def test_names_that_no_file_can_have(typed: str, shop: Path) -> None:
    for name in ("x" * 300, "a.csv/such"):
        assert accord(shop, *typed.format(name).split()).returncode == 5


def test_asking_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offer, "describe", lambda _: "")
    monkeypatch.setattr(offer, "require", lambda *_: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("Y \n"))
    assert offer.ask(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        offer.ask(None)  # type: ignore[arg-type]


def test_a_simulation_writes_pairs_as_they_are_or_safe_for_spreadsheets(shop: Path, tmp_path: Path) -> None:
    text = (shop / "a.csv").read_text().replace('"A', '"=\x1b[31mA')
    (tmp_path / "odd.csv").write_text(text)
    tables = ("simulate", "odd.csv", str(shop / "b.csv"), "--agreement", str(shop / "agreement.toml"))
    for options, mark in (((), "'=\x1b[31mA"), (("--raw",), "=\x1b[31mA")):
        done = accord(tmp_path, *tables, "--out", "pairs.csv", "--force", *options)
        assert "\x1b" not in done.stdout, "ids do not steer the terminal"
        rows = (tmp_path / "pairs.csv").read_text().splitlines()[1:]
        assert rows
        assert all(row.startswith(f'"{mark}') for row in rows)


def test_facts_of_a_simulation(shop: Path) -> None:
    typed = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--seed", "1", "--json")
    done = accord(shop, *typed, "--truth", "truth.csv", "--out", "pairs.parquet")
    facts = json.loads(done.stdout)
    assert {"candidate_pairs", "comparisons", "seconds", "peak_mib"} <= facts.keys()
    assert facts["recall"] == facts["precision"] == 1.0
    assert pyarrow.parquet.read_table(shop / "pairs.parquet").num_rows == facts["matches"] > 10
    people = json.loads(accord(shop, *typed, "--set", "records_per_person=3").stdout)
    assert people["runs"][0]["dummies_a"] > 2.5 * facts["runs"][0]["dummies_a"]
    assert people["epsilon"] == facts["epsilon"]
