"""What only those can judge who know what a run is: receipts, the identity, cards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state.folder import State
from accord.state.register import PartnerAdded, RunChanged
from tests.run import faults
from tests.run.faults import Wire
from tests.state.test_inspection import change, digest_of, flip


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with a run in two attempts."""
    folder = tmp_path_factory.mktemp("linked")
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        both = faults.offices(folder, "plain")
        faults.link(both, Wire(frames=30))
        faults.again(both)
    return both[Side.A].state.folder


@pytest.fixture
def state(linked: Path, tmp_path: Path) -> State:
    """A copy to be damaged."""
    shutil.copytree(linked, tmp_path / "state")
    return State(tmp_path / "state")


def told(state: State) -> list[str]:
    return [str(damage) for damage in inspect_state(State(state.folder)).damages]


def run_of(state: State) -> Path:
    (found,) = (state.folder / "runs").iterdir()
    return found


def test_what_is_whole_is_told_as_whole(state: State) -> None:
    found = inspect_state(state)
    assert (found.damages, found.removed) == ([], [])


def test_a_copy_of_a_receipt_is_written_again(state: State) -> None:
    path = run_of(state) / "receipt"
    content = path.read_bytes()
    path.write_bytes(flip(content, 100))
    (line,) = told(state)
    assert line.startswith(f"runs/{run_of(state).name}/receipt: ")
    assert path.read_bytes() == content
    path.unlink()
    assert told(state) == []
    assert path.read_bytes() == content


def test_a_receipt_that_is_damaged_or_of_another_run(state: State) -> None:
    digest = digest_of(state, "receipt")
    with state.database.writing() as write:
        run = next(iter(write.register.runs.values()))
        content = write.content(digest, "it")
        changed = write.keep(content.replace(b'"matches": ', b'"matches": 1', 1))
        write.add(RunChanged(run.name, {}, {"receipt": changed}))
    (line, *_) = told(state)
    assert "has a receipt that both sides did not sign" in line


@pytest.mark.parametrize("part", ["PRIVATE KEY", "CERTIFICATE"])
def test_the_identity(state: State, part: str) -> None:
    content = state.identity.read_bytes()
    # The last letters of the key's part are the key itself, and those of the card its signature.
    at = content.index(f"-----END {part}".encode()) - 20
    state.identity.write_bytes(
        content[:at] + (b"A" if content[at : at + 1] != b"A" else b"B") + content[at + 1 :]
    )
    (line,) = told(state)
    assert line.startswith("identity.pem: ")
    state.identity.unlink()
    (line,) = told(state)
    assert line.startswith("identity.pem: it is missing")


def test_an_identity_of_two_halves(state: State, tmp_path: Path) -> None:
    other = faults.offices(tmp_path / "other")[Side.A].state.identity.read_bytes()
    own, card = state.identity.read_bytes(), b"-----BEGIN CERTIFICATE"
    state.identity.write_bytes(other[: other.index(card)] + own[own.index(card) :])
    (line,) = told(state)
    assert "it does not hold a card and its key" in line


def test_the_card_of_a_partner(state: State) -> None:
    with state.database.writing() as write:
        card = write.register.partners["bob"]
        write.add(PartnerAdded("bob", card[:200] + ("A" if card[200] != "A" else "B") + card[201:]))
    (line,) = told(state)
    assert "the card of bob does not hold" in line


def test_behind_a_damaged_entry_the_rest_is_judged(state: State) -> None:
    path = run_of(state) / "receipt"
    path.write_bytes(flip(path.read_bytes(), 70))
    change(state, "entries", "body", "WHERE number = 2")
    lines = told(state)
    assert any("entry 2 of its log" in line for line in lines)
    assert any(line.startswith(f"runs/{path.parent.name}/receipt: ") for line in lines)
