"""The command line as people use it: results on stdout, one clear message and the documented exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import typer

from accord import __version__
from accord.cli import app
from accord.cli.steps import STEPS
from accord.table.layout import Layout, read_layout
from accord.workers.resources import count_cores
from reproduction.places import places_text
from tests.cli.terminal import accord, accord_process


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with generated products and their starter agreement."""
    folder = tmp_path_factory.mktemp("shop")
    assert accord(folder, "generate", "products", "--records", "400", "--seed", "3").returncode == 0
    assert accord(folder, "init", "--template", "products").returncode == 0
    return folder


def test_help_names_every_command_and_imports_nothing_heavy(tmp_path: Path) -> None:
    shown = accord_process(tmp_path, "--help")
    assert shown.returncode == 0
    for command in ("demo", "generate", "init", "check", "simulate"):
        assert command in shown.stdout
    probe = (
        "import sys; from accord.cli import app\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


def commands(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group with the words that call it."""
    yield words, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *words, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


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


@pytest.mark.slow
def test_examples_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    order = (
        "generate, init, check, simulate, identity, partner add, partner list, partner remove, "
        "ledger budget, ledger, runs, state check, audit"
    )
    for words in order.split(", "):
        if words == "partner add":
            accord(tmp_path, "--state", "theirs", "identity", "--name", "south-shop")
        done = accord(tmp_path, *shown_example(tuple(words.split()))[1:])
        assert done.returncode == 0, done.stderr


def test_help_goes_the_way_of_a_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    help = typer.Context(COMMANDS[()], info_name="accord").get_help()
    sections = re.findall(r"^(\w[^\n]*):\n((?:  [a-z]+ .*\n)+)", help, re.M)
    shown = {title: re.findall(r"^  ([a-z]+) ", lines, re.M) for title, lines in sections}
    assert shown == {title: [*names] for title, names in STEPS.items()}
    commands = [name for names in STEPS.values() for name in names]
    assert sorted(commands) == sorted(words[0] for words in COMMANDS if len(words) == 1), "each once"
    way = ["demo", "init", "check", "plan", "identity", "partner", "ledger", "link", "report"]
    assert [name for name in commands if name in way] == way


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(
    ("given", "threads"),
    [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2), ({"OMP_NUM_THREADS": "2"}, 2)],
)
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
@pytest.mark.parametrize(
    "typed",
    [
        "generate people --records 40 --out more",
        "check agreement.toml a.csv --party A",
        "plan agreement.toml --records 400 400",
        "simulate a.csv b.csv --agreement agreement.toml --engine ideal",
    ],
)
def test_commands_import_no_pandas(typed: str, shop: Path, tmp_path: Path) -> None:
    """pyarrow would, to convert a list. Afterwards it is found again."""
    program = (
        "import sys, contextlib\n"
        "from accord.cli import main\n"
        f"sys.argv = ['accord', *{typed.split()!r}]\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas, pyarrow\n"
        "assert pyarrow.table({'a': [1]}).to_pandas().a[0] == 1\n"
    )
    folder = shutil.copytree(shop, tmp_path / "shop")
    # Without the stand-in for pandas that other tests have.
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True)


def test_version(tmp_path: Path) -> None:
    assert accord_process(tmp_path, "--version").stdout == f"accord {__version__}\n"


def test_generate_init_check_simulate(shop: Path) -> None:
    checked = accord_process(shop, "check", "agreement.toml", "a.csv", "--party", "north-shop")
    assert checked.returncode == 0, checked.stderr
    assert "agreement.toml is sound" in checked.stdout
    assert "a.csv fits: 400 records" in checked.stdout
    assert "What south-shop (B) will learn about the table of north-shop (A)" in checked.stdout
    run = accord(
        shop, "simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--json",
        "--out", "pairs.parquet", "--truth", "truth.csv",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)
    keys = {"matches", "candidate_pairs", "comparisons", "recall", "precision", "seconds", "peak_mib"}
    assert keys <= facts.keys()
    assert facts["recall"] == facts["precision"] == 1.0
    assert pyarrow.parquet.read_table(shop / "pairs.parquet").num_rows == facts["matches"] > 50
    plain = accord(shop, "simulate", "a.csv", "b.csv", "--agreement", "agreement.toml")
    assert f"{facts['matches']:,} of {facts['all_matches']:,}" in plain.stdout


def test_check_warns_when_delta_is_large_for_the_table(shop: Path, tmp_path: Path) -> None:
    text = (shop / "agreement.toml").read_text().replace('delta = "2^-40"', "delta = 0.01")
    (tmp_path / "loose.toml").write_text(text)
    done = accord(tmp_path, "check", "loose.toml", str(shop / "a.csv"), "--party", "A")
    assert "is more than 1/n = 1/400" in done.stdout


def test_check_as_json(shop: Path) -> None:
    facts = json.loads(accord(shop, "check", "agreement.toml", "a.csv", "--json").stdout)
    assert len(facts["digest"]) == 64
    assert facts["complete"] is True
    read = {
        "records": 400,
        "left_out": 0,
        "left_out_by": [],
        "unread": [],
        "uncovered": 0,
        "uncovered_of": {},
    }
    assert facts["data"] == read | {"in_no_bin": 0, "in_no_bin_of": {"pass 1": 0}, "placed": 1.0}


def test_own_columns_are_mapped(shop: Path, tmp_path: Path) -> None:
    text = (shop / "a.csv").read_text().replace('"id","name"', '"sku","title"', 1)
    (tmp_path / "mine.csv").write_text(text.replace(",", ";"))
    arguments = ["check", str(shop / "agreement.toml"), "mine.csv", "--delimiter", ";"]
    done = accord(tmp_path, *arguments, "--id", "sku", "--column", "name=title")
    assert done.returncode == 0, done.stderr
    (tmp_path / "columns.toml").write_text('id = "sku"\n[columns]\nname = "title"\n')
    assert accord(tmp_path, *arguments, "--layout", "columns.toml").returncode == 0
    # What was typed is written next to the table: nobody types it again.
    assert "Wrote mine.csv.layout.toml." in done.stderr
    tables = ("simulate", "mine.csv", str(shop / "b.csv"), "--agreement", str(shop / "agreement.toml"))
    linked = accord(tmp_path, *tables)
    assert linked.returncode == 0, linked.stderr
    assert "Reading mine.csv as mine.csv.layout.toml says." in linked.stderr
    (tmp_path / "mine.csv.layout.toml").unlink()
    refused = accord(tmp_path, *arguments)
    assert refused.returncode == 4
    assert "column 'id': was not found" in refused.stderr
    slip = accord(tmp_path, *arguments, "--id", "sku", "--column", "nmae=title")
    assert slip.returncode == 2
    assert "Did you mean 'name'" in slip.stderr
    (tmp_path / "b.csv").write_bytes((shop / "b.csv").read_bytes())
    (tmp_path / "columns.toml").write_text('id = "sku"\ndelimiter = ";"\n[columns]\nname = "title"\n')
    linked = accord(
        tmp_path, "simulate", "mine.csv", "b.csv", "--agreement", str(shop / "agreement.toml"),
        "--layout-a", "columns.toml",
    )  # fmt: skip
    assert linked.returncode == 0, linked.stderr


def refused(folder: Path, code: int, message: str, *arguments: str) -> None:
    done = accord(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_bad_input_gives_one_message_and_its_exit_code(shop: Path, tmp_path: Path) -> None:
    agreed = str(shop / "agreement.toml")
    header, first, second, *_ = (shop / "a.csv").read_text().splitlines()
    cases = {
        "latin.csv": ((header + "\n" + first).replace("A1", "Ä1").encode("latin-1"), "not utf-8 text"),
        "column.csv": (header.replace("name", "nom").encode() + b"\n", "column 'name': was not found"),
        "twice.csv": (f"{header}\n{first}\n{first}\n".encode(), "repeats the id of another row"),
        "date.csv": (
            f"{header}\n{first}\n{second.replace('2026-', '2026/')}\n".encode(),
            "row 2, column 'day'",
        ),
        "header.csv": (header.encode() + b"\n", "no records below the header"),
        "zero.csv": (b"", "it is empty (0 bytes)"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        refused(tmp_path, 4, message, "check", agreed, name, "--encoding", "utf-8")
    (tmp_path / "folder.csv").mkdir()
    refused(tmp_path, 4, "it is a folder", "check", agreed, "folder.csv")
    refused(tmp_path, 4, "no such file", "check", agreed, "none.csv")
    refused(tmp_path, 4, "no such file", "check", "none.toml")


def test_simulate_says_what_to_tell_check(shop: Path, tmp_path: Path) -> None:
    good = str(shop / "a.csv")
    header, first, *_ = (shop / "a.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text(f"{header.replace('name', 'nom')}\n{first}\n")
    (tmp_path / "twice.csv").write_text(f"{header}\n{first}\n{first}\n")
    agreed = ("--agreement", str(shop / "agreement.toml"))
    mapped = (
        "or map each with --column FIELD=COLUMN of `accord check`, the id with --id of `accord check`, or"
    )
    refused(tmp_path, 4, mapped, "simulate", "other.csv", good, *agreed)
    refused(tmp_path, 4, mapped, "simulate", good, "other.csv", *agreed)
    rows = "take another with --id of `accord check`, or have some made with --make-ids of `accord check`."
    refused(tmp_path, 4, rows, "simulate", good, "twice.csv", *agreed)


def test_pairs_in_a_csv_hold_no_formulas_unless_raw(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text((shop / "a.csv").read_text().replace('"A', '"=A'))
    tables = ("simulate", "odd.csv", str(shop / "b.csv"), "--agreement", str(shop / "agreement.toml"))
    for option, mark in (((), "'=A"), (("--raw",), "=A")):
        assert accord(tmp_path, *tables, "--out", "pairs.csv", "--force", *option).returncode == 0
        rows = (tmp_path / "pairs.csv").read_text().splitlines()[1:]
        assert rows
        assert all(row.startswith(f'"{mark}') for row in rows)


def test_a_linkage_finds_out_nothing_and_says_who_does(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text((shop / "a.csv").read_text().replace(",", ";"))
    tables = ("simulate", "a.csv", str(shop / "b.csv"), "--agreement", str(shop / "agreement.toml"))
    refused(tmp_path, 4, "`accord check` finds out how a file is written", *tables)
    assert accord(tmp_path, "check", str(shop / "agreement.toml"), "a.csv").returncode == 0
    assert accord(tmp_path, *tables, "--layout-a", "a.csv.layout.toml").returncode == 0


def test_bad_places(tmp_path: Path) -> None:
    (tmp_path / "agreement.toml").write_text(places_text())
    (tmp_path / "p.csv").write_text("id,lat,lon,hour\n1,95.0,-74,3\n2,nan,-74,3\n3,40.75,-74,24\n")
    done = accord(tmp_path, "check", "agreement.toml", "p.csv")
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for message in (
        "row 1, column 'lat': is outside the agreed range",
        "row 2, column 'lat': is not a number",
        "row 3, column 'hour': is outside the agreed range 0 to 23",
    ):
        assert message in done.stderr
    assert "95" not in done.stderr


def test_bad_agreement_and_bad_words(shop: Path, tmp_path: Path) -> None:
    text = (shop / "agreement.toml").read_text()
    (tmp_path / "typo.toml").write_text(text.replace("hamming(", "haming("))
    refused(tmp_path, 3, "did you mean 'hamming'", "check", "typo.toml")
    (tmp_path / "category.toml").write_text(text.replace('other = "bin"', 'other = "error"'))
    refused(tmp_path, 4, "is not in the agreed list", "check", "category.toml", str(shop / "a.csv"))
    refused(shop, 2, "not a party to this agreement", "check", "agreement.toml", "--party", "C")
    refused(shop, 2, "field=column", "check", "agreement.toml", "a.csv", "--column", "name")
    assert accord(shop, "simulate", "a.csv").returncode == 2
    assert accord(shop, "generate", "boats").returncode == 2


def test_nothing_is_overwritten_or_half_written(shop: Path, tmp_path: Path) -> None:
    refused(shop, 5, "the file already exists", "init", "--template", "products")
    refused(shop, 5, "the file already exists", "generate", "products")
    arguments = ["simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--out"]
    refused(shop, 5, "ending must be", *arguments, "pairs.doc")
    refused(shop, 5, "no folder", *arguments, str(tmp_path / "none" / "pairs.csv"))
    assert accord(tmp_path, "generate", "products", "--records", "5", "--out", "new/folder").returncode == 0
    assert (
        accord(
            tmp_path, "generate", "products", "--records", "6", "--out", "new/folder", "--force"
        ).returncode
        == 0
    )


def test_faults_as_json(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text((shop / "a.csv").read_text().replace("2026-03-01", "1 March"))
    done = accord(tmp_path, "check", str(shop / "agreement.toml"), "bad.csv", "--json")
    assert done.returncode == 4
    (fault,) = json.loads(done.stdout)["faults"]
    assert fault["count"] == 400
    assert fault["place"].endswith("column 'day'")


def test_an_unexpected_error_shows_no_value(tmp_path: Path) -> None:
    script = (
        "import accord.cli, sys\n"
        "def broken(*_, **__): raise RuntimeError('SECRET')\n"
        "accord.cli.app = broken\n"
        "accord.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "something unexpected went wrong (RuntimeError)" in done.stderr
    assert "SECRET" not in done.stderr


def test_check_counts_the_records_of_each_person(shop: Path, tmp_path: Path) -> None:
    text = (shop / "agreement.toml").read_text()
    (tmp_path / "people.toml").write_text(
        text.replace("[protocol.A]", "[protocol.A]\nrecords_per_person = 2", 1)
    )
    header, *rows = (shop / "a.csv").read_text().splitlines()
    lines = [f"{header},who", *(f"{row},{i // 2}" for i, row in enumerate(rows))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    check = ("check", "people.toml", "a.csv", "--party")
    refused(tmp_path, 2, "Name that column with --person", *check, "A")
    done = accord(tmp_path, *check, "A", "--person", "who")
    assert done.returncode == 0, done.stderr
    assert "for each person with up to 2 records, none of which matches anything" in done.stdout
    (tmp_path / "columns.toml").write_text('person = "who"\n')
    assert accord(tmp_path, *check, "A", "--layout", "columns.toml").returncode == 0
    refused(tmp_path, 4, "rows 1, 2, 3, 4, 5 and 395 more, column 'who'", *check, "B", "--person", "who")
    (tmp_path / "a.csv.layout.toml").unlink()
    assert accord(tmp_path, *check, "B").returncode == 0
    nobody = accord(tmp_path, *check[:-1], "--person", "who")
    assert nobody.returncode == 0
    assert "Name your side with --party to check" in nobody.stderr
    assert "how many records each person has, too" in nobody.stderr


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("epsilno=1", "Did you mean 'epsilon'?"),
        ("epsilon", "--set OPTION=VALUE"),
        ("prune=many", "--set prune is a whole number"),
        ("greedy=maybe", "--set greedy is true or false"),
        ("cap=3", "laplace has no option cap"),
    ],
)
def test_slips_in_what_is_set(typed: str, message: str, shop: Path) -> None:
    refused(shop, 2, message, "simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--set", typed)


def test_simulate_for_people(shop: Path) -> None:
    typed = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--seed", "1", "--json")
    plain, people = (
        json.loads(accord(shop, *typed, *more).stdout) for more in ((), ("--set", "records_per_person=3"))
    )
    assert people["runs"][0]["dummies_a"] > 2.5 * plain["runs"][0]["dummies_a"]
    assert people["epsilon"] == plain["epsilon"]
    done = accord(shop, *typed, "--set", "protocol=all-pairs", "--set", "records_per_person=3")
    assert "all-pairs has no option records_per_person" in done.stderr


def test_people_have_errors_and_dates_with_dots_where_asked(tmp_path: Path) -> None:
    some = ("generate", "people", "--records", "60", "--overlap", "0.5")
    assert accord(tmp_path, *some, "--out", "plain").returncode == 0
    assert (tmp_path / "plain" / "truth.csv").read_text().count('"A') == 30
    assert "keyboard" in (tmp_path / "plain" / "truth.csv").read_text()
    assert not (tmp_path / "plain" / "b.csv.layout.toml").exists()
    told = accord(tmp_path, *some, "--dotted-dates", "--out", "dotted")
    assert "Wrote dotted/b.csv.layout.toml: how b.csv is written" in told.stderr
    layout = read_layout(tmp_path / "dotted" / "b.csv.layout.toml")
    assert layout == Layout().read_dates({"birth": "%d.%m.%Y"})
    refused(tmp_path, 2, "is for people", "generate", "products", "--dotted-dates")
    refused(tmp_path, 5, "the file already exists", *some, "--out", "plain")


def test_people_with_dotted_dates_fit_the_agreement_for_people(tmp_path: Path) -> None:
    assert accord(tmp_path, "generate", "people", "--records", "40", "--dotted-dates").returncode == 0
    assert accord(tmp_path, "init", "--template", "people").returncode == 0
    # The layout beside b.csv says how its dates are written.
    tables = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml")
    done = accord(tmp_path, *tables, "--truth", "truth.csv", "--set", "epsilon=20", "--json")
    facts = json.loads(done.stdout)
    assert facts["true_pairs"] == 20
    assert facts["truth_recall"] >= 0.8
    assert facts["truth_precision"] == 1
