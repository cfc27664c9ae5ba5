"""Accountable runs while they go on: the seed stays where it is, and nothing is ever drawn twice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accord.accountable.pledge import PLEDGE
from accord.accountable.signing import read_commitment
from accord.accountable.stored import attempts
from accord.accountable.transcript import SEAL
from accord.errors import DamagedError, PeerError, TrustError
from accord.notices import Notice
from accord.peer.handshake import HELLO, Hello
from accord.peer.identity import make_identity
from accord.peer.partners import add_partner
from accord.run.receipt import receipt_of
from accord.run.stages import Linked, begin
from accord.secure.party import Party, run_pair
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import open_run
from accord.version import __version__
from tests.replay.replays import done, offices, the_run
from tests.run import faults
from tests.run.faults import Line, Office, Wire
from tests.run.test_canaries import found, stored
from tests.run.test_tampered import flipped, tampered
from tests.state.damage import flip_content

pytestmark = pytest.mark.usefixtures("quick")


def secrets(office: Office, name: str) -> dict[str, list[bytes]]:
    """The seed and its salts, and the keys of all connections, as bytes and in hex."""
    run = open_run(office.state, name)
    seed = read_commitment(run).seed
    whole = seed.reveal()
    parts = {"seed": [whole[:32]], "salts": [whole[32:64], whole[64:]], "keys": []}
    for attempt in attempts(run):
        nonces = b"".join(hello[43:75] for hello in attempt.hellos().values())
        parts["keys"] += [seed.connection(n, attempt.number, nonces) for n in range(3)]
    return {
        kind: [form for one in values for form in (one, one.hex().encode())] for kind, values in parts.items()
    }


def test_the_seed_never_leaves_the_database(tmp_path: Path) -> None:
    both, wire = offices(tmp_path, "greedy"), Wire(frames=60, told=True)
    told: list[Notice] = []
    parties: dict[Side, Party[Linked]] = {}
    for side, office in both.items():
        parties[side] = begin(replace(office.ready(), tell=told.append), Line())
    faults.drive(parties, wire)
    name = the_run(both)
    again = Wire()
    done(faults.resume(both, name, again))
    frames = {str(n): content for n, (_, content) in enumerate(wire.passed + again.passed)}
    for side, office in both.items():
        wanted = secrets(office, name)
        assert len(wanted["keys"]) == 12
        assert found(wanted, frames) == []
        assert found(wanted, {"notices": repr(told).encode()}) == []
        own, other = (stored(both[s].state.folder) for s in (side, side.other))
        assert {place for _, place in found(wanted, own)} == {"state.sqlite"}
        assert found(wanted, other) == []
        # The search finds what is there: what was pledged travels, and stands in both folders.
        pledged = {"pledge": [read_commitment(open_run(office.state, name)).pledges[side].commitments]}
        assert found(pledged, frames)
        assert found(pledged, other)


def test_a_pledge_comes_before_anything_about_the_table(tmp_path: Path) -> None:
    both, wire = offices(tmp_path, "plain"), Wire()
    done(faults.link(both, wire))
    for side in Side:
        sizes = [len(content) for sender, content in wire.passed if sender is side]
        assert sizes[:3] == [HELLO, PLEDGE, 8]


def test_a_run_that_is_not_accountable_sends_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    """Nor does it draw from anything but the system."""
    both, wire = faults.offices(tmp_path, "plain"), Wire()
    done(faults.link(both, wire))
    # A statement for the receipt is as long as a seal, and begins with the version.
    assert {content[:3] for _, content in wire.passed if len(content) == SEAL} == {__version__.encode()[:3]}
    own = both[Side.A].ready()
    around, party = own.accountability, talk()

    def never() -> dict[str, bytes]:
        raise AssertionError("what nobody keeps is put together while the partner waits")

    (commitment, _) = run_pair(around.commit("run", b""), talk())
    assert commitment.contents(own.cards) == commitment.kept(never) == {}
    assert commitment.slots() is own.entropy
    hello, run = Hello(Side.A, bytes(32), bytes(32)), open_run(own.state, the_run(both))
    with around.attempt(run, (hello, hello), {}) as record:
        assert record.connection.record(party) is record.connection.record_whole(party) is party
        assert record.connection.entropy is own.entropy
        assert (record.worker(0), record.facts(())) == (None, None)
    assert not (run.path / "record").exists()
    assert set(run.names()) - {f"key-{receipt_of(run).facts['output']}"} == {"agreement", "slots", "receipt"}


def talk() -> Party[None]:
    yield from ()


def test_a_pledge_that_is_not_signed_ends_the_run_before_it_costs(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    parties = faults.linking(both)
    parties[Side.B] = tampered(parties[Side.B], flipped(1, 70))
    result = faults.drive(parties, Wire())[Side.A]
    assert isinstance(result, PeerError)
    assert "commitments that it did not sign" in str(result)
    assert not both[Side.A].ledger.runs()


def test_a_wrong_signature_on_the_way_ends_the_run(tmp_path: Path) -> None:
    whole = Wire()
    done(faults.link(offices(tmp_path / "whole", "plain"), whole))
    mine = [content for sender, content in whole.passed if sender is Side.B]
    seals = [n for n, content in enumerate(mine) if len(content) == 72]
    both = offices(tmp_path / "changed", "plain")
    parties = faults.linking(both)
    parties[Side.B] = tampered(parties[Side.B], flipped(seals[0], 20))
    result = faults.drive(parties, Wire())[Side.A]
    assert isinstance(result, PeerError)
    assert "a signature that does not fit" in str(result)


def test_a_restored_copy_draws_nothing_twice(tmp_path: Path) -> None:
    """Both sides go on from the same copies of their folders, twice: every masked message is another."""
    both = offices(tmp_path, "plain")
    faults.link(both, Wire(frames=16, told=True))
    name = the_run(both)
    for side, office in both.items():
        shutil.copytree(office.state.folder, tmp_path / f"copy-{side.value}")
    seen = []
    for _ in range(2):
        wire = Wire()
        done(faults.resume(both, name, wire))
        seen.append({content for _, content in wire.passed if len(content) > 100})
        for side, office in both.items():
            office.out.unlink()
            shutil.rmtree(office.state.folder)
            shutil.copytree(tmp_path / f"copy-{side.value}", office.state.folder)
            office.state = State(office.state.folder)
    common = seen[0] & seen[1]
    assert len(seen[0]) > 6
    assert all(content.startswith(b"accord disclosed") for content in common)


def test_without_its_seed_a_run_does_not_go_on(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    faults.link(both, Wire(frames=20, told=True))
    name = the_run(both)
    flip_content(both[Side.A].state, name, "seed")
    result = faults.resume(both, name, Wire(told=True))[Side.A]
    assert isinstance(result, DamagedError)
    assert f"the seed of the run {name} is not what was written" in str(result)


def test_a_run_does_not_go_on_with_other_cards(tmp_path: Path) -> None:
    """What was signed before binds the owner of the former card."""
    both = offices(tmp_path, "plain")
    faults.link(both, Wire(frames=20, told=True))
    card = make_identity(both[Side.A].state, "alice", datetime.now(UTC))
    add_partner(both[Side.B].state, "alice", card)
    for result in faults.resume(both, the_run(both), Wire(told=True)).values():
        assert isinstance(result, TrustError)
        assert "began with other cards" in str(result)
