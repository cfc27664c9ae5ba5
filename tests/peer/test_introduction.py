"""From Python as from the command line: a key is made once, and a card exchanged only on its owner's word."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from accord.errors import OutputError, UsageError
from accord.peer.identity import read_card
from accord.peer.partners import find_partner
from accord.state.folder import State


def test_each_makes_an_identity_and_trusts_the_others_card(tmp_path: Path) -> None:
    states = {name: tmp_path / name for name in ("north", "south")}
    cards = {
        name: accord.identity(name, out=tmp_path / f"{name}.card", state=state)
        for name, state in states.items()
    }
    found = accord.trust("south", tmp_path / "south.card", state=states["north"])
    assert found == cards["south"] == find_partner(State(states["north"]), "south")
    assert cards["south"].fingerprint in repr(found)
    assert "BEGIN" not in repr(found)


def test_an_identity_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(UsageError, match="Say with `name=`"):
        accord.identity()
    first = accord.identity("Hospital A")
    assert read_card(Path("Hospital-A.card")) == first
    assert accord.identity() == accord.identity("Hospital A") == first
    with pytest.raises(UsageError, match="You are 'Hospital A' already"):
        accord.identity("Hospital B")
    with pytest.raises(OutputError, match="the file already exists"):
        accord.identity(renew=True)
    assert accord.identity(renew=True, force=True).fingerprint != first.fingerprint


def test_nothing_is_made_where_the_card_cannot_be_written(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with pytest.raises(OutputError, match="nothing but Accord itself"):
        accord.identity("us", out=state / "us.card", state=state)
    assert not (state / "identity.pem").exists()


def test_a_card_is_exchanged_only_with_a_word(tmp_path: Path) -> None:
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    accord.identity("us", out=tmp_path / "us.card", state=own)
    accord.identity("them", out=tmp_path / "them.card", state=theirs)
    with pytest.raises(UsageError, match="is your own card: you are 'us'"):
        accord.trust("them", tmp_path / "us.card", state=own)
    old = accord.trust("them", tmp_path / "them.card", state=own)
    new = accord.identity(out=tmp_path / "new.card", renew=True, state=theirs)
    with pytest.raises(UsageError, match=f"Known: {old.fingerprint}. New: {new.fingerprint}"):
        accord.trust("them", tmp_path / "new.card", state=own)
    assert find_partner(State(own), "them") == old
    accord.trust("them", tmp_path / "new.card", force=True, state=own)
    assert find_partner(State(own), "them") == new
