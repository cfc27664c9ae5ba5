"""What shells complete: names from the state folder, which stays as it is, and never an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

import accord
from accord.cli import app
from accord.cli.completion import (
    complete_account,
    complete_finished_run,
    complete_partner,
    complete_run,
    complete_waiting_run,
)
from accord.peer.identity import make_identity
from accord.peer.partners import add_partner
from accord.state.folder import State
from accord.state.register import RunBegun, RunDone
from tests.cli import terminal


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with two partners, two accounts and two runs."""
    state = tmp_path_factory.mktemp("completion") / "accord"
    card = make_identity(State(state), "us", datetime.now(UTC))
    for partner in ("south-shop", "Hospital A"):
        add_partner(State(state), partner, card)
    for account in ("products", "my data"):
        accord.set_budget(account, unlimited=True, state=state)
    for run, done in (("64b0dc2671d70861", True), ("0c2c3a72522b789d", False)):
        with State(state).database.writing() as opened:
            opened.add((RunDone if done else RunBegun)(run, {}, {}))
    return state


def context(state: Path) -> typer.Context:
    """A line that names this state folder before its subcommand."""
    group = typer.main.get_command(app)
    parent = typer.Context(group)
    parent.params["state"] = state
    return typer.Context(group, parent=parent)


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


def test_names_come_from_the_state_folder_which_stays_as_it_is(state: Path) -> None:
    before = snapshot(state)
    assert complete_partner(context(state)) == ["Hospital A", "south-shop"]
    assert complete_account(context(state)) == ["my data", "products"]
    assert complete_run(context(state)) == ["0c2c3a72522b789d", "64b0dc2671d70861"]
    assert complete_waiting_run(context(state)) == ["0c2c3a72522b789d"]
    assert complete_finished_run(context(state)) == ["64b0dc2671d70861"]
    assert snapshot(state) == before


def test_what_is_missing_or_broken_has_no_names(tmp_path: Path) -> None:
    answers = (complete_partner, complete_account, complete_run, complete_waiting_run)
    assert [answer(context(tmp_path / "none")) for answer in answers] == [[]] * 4
    assert not (tmp_path / "none").exists()
    (tmp_path / "state.sqlite").write_bytes(b"no database at all" * 100)
    assert [answer(context(tmp_path)) for answer in answers] == [[]] * 4


def test_nothing_heavy_is_imported(state: Path) -> None:
    probe = (
        "import sys, typer; from pathlib import Path; from accord.cli import app, completion\n"
        "context = typer.Context(typer.main.get_command(app))\n"
        f"context.params['state'] = Path({str(state)!r})\n"
        "for name in ('partner', 'account', 'run'): assert getattr(completion, f'complete_{name}')(context)\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'pydantic', 'cryptography', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


def ask_bash(state: Path, *words: str) -> list[str]:
    """What bash would complete the last word to."""
    script = (
        'eval "$(_ACCORD_COMPLETE=source_bash accord)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
        "$(complete -p accord | sed 's/.*-F \\([^ ]*\\).*/\\1/') accord; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        env=terminal.environment(state.parent) | {"XDG_STATE_HOME": str(state.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_is_given_words_as_they_would_be_typed(state: Path) -> None:
    assert ask_bash(state, "accord", "link", "--partner", "") == ["Hospital\\ A", "south-shop"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("accord re", "resume report receipt"),
        ("accord --st", "--state"),
        ("accord generate p", "products places people"),
        ("accord partner remove s", "south-shop"),
        ("accord link --dataset p", "products"),
        ("accord ledger budget p", "products"),
        ("accord audit --dataset p", "products"),
        ("accord resume 0", "0c2c3a72522b789d"),
        ("accord receipt verify 6", "64b0dc2671d70861"),
        ("accord forget 6", "64b0dc2671d70861"),
        ("accord --state /nowhere forget 6", ""),
    ],
)
def test_bash_completes_every_kind_of_word(state: Path, words: str, answers: str) -> None:
    assert sorted(ask_bash(state, *words.split())) == sorted(answers.split() or [""])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_is_given_every_name(state: Path) -> None:
    script = (
        'autoload -Uz compinit; compinit -u; eval "$(_ACCORD_COMPLETE=source_zsh accord)"\n'
        # In place of what would draw a menu: what it would be drawn from.
        "_arguments() { print -r -- $1 }; words=(accord link --partner ''); CURRENT=4; _accord_completion"
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", script],
        env=terminal.environment(state.parent) | {"XDG_STATE_HOME": str(state.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert '"Hospital A"' in done.stdout
    assert '"south-shop"' in done.stdout
