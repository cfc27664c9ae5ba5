"""Small mistakes at the command line: nothing is made or lost by them, and the message says what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from accord.cli.words import as_options
from accord.errors import UsageError
from tests.cli.terminal import accord

READING = [
    ["ledger"],
    ["ledger", "remove", "x"],
    ["runs"],
    ["partner", "list"],
    ["partner", "remove", "x"],
    ["receipt", "x"],
    ["forget", "x"],
    ["state", "check"],
    ["state", "backup", "x"],
    ["resume", "x", "--listen", ":1"],
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_command_that_only_reads_makes_no_state_folder(words: list[str], tmp_path: Path) -> None:
    done = accord(tmp_path, "--state", "mistyped", *words)
    assert done.returncode == 2, done.stderr
    assert "There is no state folder mistyped, and none was made. Check --state." in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_removed_is_not_to_be_made(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir(mode=0o700)
    for words in (["ledger", "remove", "fooo"], ["partner", "remove", "fooo"]):
        done = accord(tmp_path, "--state", "s", *words)
        assert done.returncode == 2, done.stderr
        assert "budget" not in done.stderr
        assert "partner add" not in done.stderr


def test_your_own_card_is_no_partners(tmp_path: Path) -> None:
    accord(tmp_path, "--state", "s", "identity", "--name", "north")
    done = accord(tmp_path, "--state", "s", "partner", "add", "south", "north.card")
    assert done.returncode == 2
    assert "you are 'north'" in done.stderr


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8bno gzip at all", gzip.compress(b"id,name\n" * 9999)[:50]],
    ids=["no gzip", "cut"],
)
def test_a_damaged_gz_is_a_file_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    accord(tmp_path, "init", "--template", "products")
    (tmp_path / "a.csv.gz").write_bytes(content)
    done = accord(tmp_path, "check", "agreement.toml", "a.csv.gz")
    assert done.returncode == 4, done.stderr
    assert "cannot be read" in done.stderr


def test_a_page_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("mine")
    accord(tmp_path, "init", "--template", "products")
    planning = ("plan", "agreement.toml", "--records", "100", "100", "--html", "x.html")
    done = accord(tmp_path, *planning)
    assert done.returncode == 5, done.stderr
    assert "Name another place with --html" in done.stderr
    assert (tmp_path / "x.html").read_text() == "mine"
    assert accord(tmp_path, *planning, "--force").returncode == 0
    assert "<svg" in (tmp_path / "x.html").read_text()


@pytest.mark.parametrize("name", ["x" * 300, "no/such"])
def test_odd_names_are_told_like_others(name: str, tmp_path: Path) -> None:
    """Not as something unexpected."""
    accord(tmp_path, "init", "--template", "products")
    accord(tmp_path, "generate", "products", "--records", "10")
    commands = [
        ["check", "agreement.toml", "a.csv", "--layout", f"{name}.toml"],
        ["simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--out", f"{name}.csv"],
        ["--state", "s", "identity", "--name", "a", "--out", f"{name}.card"],
        ["init", "--template", "products", "--out", f"{name}.toml"],
    ]
    for words in commands:
        done = accord(tmp_path, *words)
        assert done.returncode == 5, done.stderr
    assert accord(tmp_path, "--state", "s", "receipt", name).returncode == 2
    assert accord(tmp_path, "generate", "products", "--out", "x" * 300).returncode == 5


def test_ids_do_not_steer_the_terminal(tmp_path: Path) -> None:
    accord(tmp_path, "init", "--template", "products")
    accord(tmp_path, "generate", "products", "--records", "10", "--overlap", "1")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    lines[1:] = [line.replace('"A', '"\x1b[31mA', 1) for line in lines[1:]]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    done = accord(tmp_path, "simulate", "a.csv", "b.csv", "--agreement", "agreement.toml")
    assert done.returncode == 0, done.stderr
    assert "The first pairs" in done.stdout
    assert "\x1b" not in done.stdout


def test_how_long_to_wait_is_named_as_it_is_given() -> None:
    assert as_options("with `reach=accord.Reach(wait=…)`.") == "with --wait."


def test_asking_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from accord.run import offer

    def nobody(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    monkeypatch.setattr(offer, "describe", lambda _: "")
    monkeypatch.setattr(offer, "require", lambda *_: None)
    with pytest.raises(UsageError, match="Nobody can answer here"):
        offer.ask(None)  # type: ignore[arg-type]
