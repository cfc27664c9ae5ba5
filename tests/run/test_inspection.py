"""What only those can judge who know what a run is: receipts, transcripts, the identity, cards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from accord.accountable.transcript import LINK
from accord.run.inspection import inspect_state
from accord.run.stages import Linked
from accord.side import Side
from accord.state.folder import State
from accord.state.register import PartnerAdded, RunChanged
from tests.protocols.worlds import agreement
from tests.replay import replays
from tests.run import faults, worlds
from tests.run.faults import Wire
from tests.state.test_inspection import change, digest_of, flip


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with an accountable run in two attempts."""
    folder = tmp_path_factory.mktemp("linked")
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        both = replays.offices(folder, "plain")
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
    attempts = sorted(path.name for path in (run_of(state) / "record").iterdir())
    assert attempts == ["0001", "0002"]
    found = inspect_state(state)
    assert (found.damages, found.removed) == ([], [])
    assert found.read > sum(path.stat().st_size for path in run_of(state).rglob("0.received")) / 2


PARTS = {"received": [0, 20, 30, 70, -1], "seals": [0, 20, -1], "sent": [0, -1]}


@pytest.mark.parametrize(("kind", "at"), [(kind, at) for kind, places in PARTS.items() for at in places])
def test_a_transcript(state: State, kind: str, at: int) -> None:
    """Of the attempt that ended in the receipt, every bit of what was received or signed."""
    path = run_of(state) / "record" / "0002" / f"0.{kind}"
    path.write_bytes(flip(path.read_bytes(), at))
    (line,) = told(state)
    assert f"the record of attempt 2 of the run {run_of(state).name} with bob on 'table'" in line
    assert line.startswith(f"runs/{run_of(state).name}/record/0002/0.")


def test_every_byte_of_a_message_and_of_a_signature(state: State) -> None:
    """In steps, since there are many."""
    for kind, step in (("received", 499), ("seals", 97)):
        path = run_of(state) / "record" / "0001" / f"0.{kind}"
        content = path.read_bytes()
        for at in range(0, len(content), max(step, len(content) // 12)):
            path.write_bytes(flip(content, at))
            assert len(told(state)) == 1, (kind, at)
        path.write_bytes(content)
    assert told(state) == []


@pytest.mark.parametrize("kind", ["received", "sent", "seals"])
def test_a_transcript_that_is_missing_or_cut(state: State, kind: str) -> None:
    path = run_of(state) / "record" / "0002" / f"0.{kind}"
    content = path.read_bytes()
    if kind != "seals":
        path.write_bytes(content[: -2 * LINK])
        (line,) = told(state)
        assert "lacks" in line
    path.unlink()
    assert len(told(state)) == 1


def test_a_record_that_is_gone(state: State) -> None:
    shutil.rmtree(run_of(state) / "record" / "0001")
    (line,) = told(state)
    assert "the record of attempt 1 of the run" in line
    assert "is missing" in line


def test_files_that_were_made_and_never_written_to(state: State) -> None:
    """Of a process that was killed between the first and the second of them."""
    folder = run_of(state) / "record" / "0001"
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    (folder / "0.received").write_bytes(b"accord received 1\n")
    assert told(state) == []


@pytest.mark.parametrize("name", ["pledges", "seed", "card-B", "opening-1"])
def test_what_a_replay_needs(state: State, name: str) -> None:
    change(state, "contents", "content", f"WHERE hex(digest) = '{digest_of(state, name).upper()}'")
    (line,) = told(state)
    assert f"the {name} of the run" in line
    assert "neither be resumed nor replayed" in line


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
    path = run_of(state) / "record" / "0001" / "0.received"
    path.write_bytes(flip(path.read_bytes(), 70))
    change(state, "entries", "body", "WHERE number = 2")
    lines = told(state)
    assert any("entry 2 of its log" in line for line in lines)
    assert any("the record of attempt 1 of the run" in line for line in lines)


@pytest.mark.slow
def test_transcripts_of_workers(tmp_path: Path) -> None:
    agreed = agreement(greedy=False).model_copy(update={"accountable": True})
    a, b = worlds.introduce(tmp_path, agreed)
    two = {"workers": 2}
    for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
        assert isinstance(result, Linked), result
    for own in (a, b):
        assert told(own.state) == []
        for kind in ("received", "seals"):
            path = run_of(own.state) / "record" / "0001" / f"1.{kind}"
            content = path.read_bytes()
            path.write_bytes(flip(content))
            assert len(told(own.state)) == 1
            path.write_bytes(content)
