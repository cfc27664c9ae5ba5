"""What a receipt binds: the replay of a run that is done comes to the transcripts that both signed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accord.accountable.signing import Links, SignedAttempt
from accord.errors import DamagedError, DepartedError, StateError
from accord.peer.identity import Card, draw_identity, signer
from accord.replay.both_sides import replay_both
from accord.replay.pledged import open_pledged_side
from accord.run import receipt as receipts
from accord.run.receipt import receipt_of
from accord.side import Side
from accord.state.runs import StoredRun, open_run
from tests.replay.replays import accountable, done, offices, replayed, require_honest, the_run
from tests.run import cheats, faults
from tests.run.faults import Office, Wire
from tests.state.damage import flip_content, take_content

pytestmark = pytest.mark.usefixtures("quick")

Facts = dict[str, Any]


def zero_last(facts: Facts) -> None:
    """B's last link is another."""
    facts["transcripts"][-1]["B"] = "00" * 32


def add_one(facts: Facts) -> None:
    facts["transcripts"].append(facts["transcripts"][0])


@contextmanager
def signing(change: Callable[[Facts], None]) -> Iterator[None]:
    """Both sign a receipt that binds something else."""
    true = SignedAttempt.facts

    def facts(self: SignedAttempt, workers: tuple[Links, ...]) -> Facts:
        found = true(self, workers)
        change(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SignedAttempt, "facts", facts)
        yield


def linked(folder: Path, change: Callable[[Facts], None] | None = None) -> tuple[dict[Side, Office], str]:
    both = offices(folder, "plain")
    with signing(change or (lambda _: None)):
        done(faults.link(both))
    return both, the_run(both)


def against(both: dict[Side, Office], name: str) -> None:
    """Both replayed against each other."""
    replay_both({side: open_pledged_side(office.state, name, None) for side, office in both.items()})


def test_who_signs_for_other_messages_than_it_sent_is_convicted(tmp_path: Path) -> None:
    both, name = linked(tmp_path, zero_last)
    said = "the receipt that it signed names other messages that it sent as the coordinator in attempt 1"
    for evidence in (False, True):
        with pytest.raises(DepartedError, match=f"bob departed .* {said}"):
            replayed(both, Side.B, name, evidence)
        with pytest.raises(StateError, match=r"what was received as the coordinator .* its receipt names"):
            replayed(both, Side.A, name, evidence)
    with pytest.raises(DepartedError, match=f"bob departed .* {said}"):
        against(both, name)


def test_the_partners_receipt_binds_who_has_none(tmp_path: Path) -> None:
    """Who was cut before it had the last signature, or says so, is not compared by what it keeps itself."""
    both, name = linked(tmp_path, zero_last)
    open_run(both[Side.B].state, name).change(done=False)
    for evidence in (False, True):
        assert replayed(both, Side.B, name, evidence).signatures
    with pytest.raises(DepartedError, match=r"bob departed .* the receipt that it signed"):
        against(both, name)


def test_a_receipt_that_one_side_lacks(tmp_path: Path) -> None:
    """The last frame is lost: a signature of the receipt."""
    wire = Wire()
    done(faults.link(offices(tmp_path / "whole", "plain"), wire))
    both = offices(tmp_path / "cut", "plain")
    faults.link(both, Wire(frames=len(wire.passed) - 1))
    name = the_run(both)
    assert sorted(open_run(office.state, name).manifest.done for office in both.values()) == [False, True]
    require_honest(both)
    against(both, name)
    done(faults.resume(both, name))
    require_honest(both, least=2)
    against(both, name)


@pytest.mark.parametrize("frames", [4, 12])
def test_a_run_that_is_done_again_and_cut(frames: int, tmp_path: Path) -> None:
    """Its receipt is that of the attempt before."""
    both, name = linked(tmp_path)
    before = open_run(both[Side.B].state, name).read("receipt")
    faults.resume(both, name, Wire(frames=frames, told=True))
    assert open_run(both[Side.B].state, name).read("receipt") == before
    require_honest(both)
    against(both, name)


def test_a_receipt_with_another_number_of_connections_clears_nobody(tmp_path: Path) -> None:
    both, name = linked(tmp_path, add_one)
    said = "its receipt names 2 connections in attempt 1, and the replay has 1"
    for side in Side:
        with pytest.raises(StateError, match=said):
            replayed(both, side, name)
    with pytest.raises(StateError, match=said):
        against(both, name)


def test_a_damaged_receipt_is_no_verdict(tmp_path: Path) -> None:
    both, name = linked(tmp_path)
    flip_content(both[Side.B].state, name, "receipt", 400)
    for judge in (lambda: replayed(both, Side.B, name), lambda: against(both, name)):
        with pytest.raises(DamagedError, match=r"the receipt of the run .* is not what was written"):
            judge()
    assert replayed(both, Side.A, name).signatures


def test_who_damages_its_receipt_stays_convicted(tmp_path: Path) -> None:
    both = accountable(cheats.offices(tmp_path / "engine", cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    flip_content(both[Side.B].state, the_run(both), "receipt", 400)
    for evidence in (False, True):
        with pytest.raises(DepartedError, match="is not the one"):
            replayed(both, Side.B, the_run(both), evidence)
    both, name = linked(tmp_path / "receipt", zero_last)
    flip_content(both[Side.B].state, name, "receipt", 400)
    with pytest.raises(DepartedError, match=r"bob departed .* the receipt that it signed"):
        against(both, name)


def forged(run: StoredRun, change: Callable[[Facts], None], cards: dict[Side, tuple[bytes, Card]]) -> bytes:
    """The receipt of a run with other facts, signed with these keys."""
    facts = json.loads(run.read("receipt"))["receipt"]
    change(facts)
    signatures = {}
    for side, (_, card) in cards.items():
        facts["parties"][side.value]["card"] = card.fingerprint
    for side, (key, card) in cards.items():
        signed = signer(key)(receipts._signed(facts, side)).hex()
        signatures[side.value] = {"card": card.pem.decode(), "signature": signed}
    return json.dumps({"receipt": facts, "signatures": signatures}).encode()


def test_a_receipt_of_ones_own_making_clears_nobody(tmp_path: Path) -> None:
    """B makes two cards, and signs with both for what an honest side would have sent."""
    both, name = linked(tmp_path, zero_last)
    run = open_run(both[Side.B].state, name)
    cards = {side: draw_identity(both[side].agreement.party(side), datetime.now(UTC)) for side in Side}
    run.keep({"receipt": forged(run, lambda facts: None, cards)})
    assert receipt_of(run).facts["run"] == name, "its signatures hold"
    for content in (run.read("receipt"), run.read("receipt")[:-9], b"{}"):
        run.keep({"receipt": content})
        with pytest.raises(StateError, match="its receipt cannot be read, or was not signed by both"):
            replayed(both, Side.B, name)
        with pytest.raises(DepartedError, match=r"bob departed .* the receipt that it signed"):
            against(both, name)


def test_a_receipt_of_an_attempt_that_is_not_there(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=60, told=True))
    name = the_run(both)
    done(faults.resume(both, name))
    require_honest(both, least=2)
    take_content(both[Side.B].state, name, "opening-2")
    with pytest.raises(StateError, match="the attempt that its receipt names is not among those"):
        replayed(both, Side.B, name, evidence=False)
