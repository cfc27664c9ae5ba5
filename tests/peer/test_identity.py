"""Identities, cards and partners: made once, private, exchanged on a word, refused when changed."""

from __future__ import annotations

import base64
import json
import ssl
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path

import pytest

import accord
from accord.errors import DamagedError, OutputError, TrustError, UnreadableError, UsageError
from accord.peer.identity import (
    draw_identity,
    make_identity,
    own_card,
    read_card,
    require_identity,
    require_own_card,
    require_valid,
    require_whole,
    sign,
    verify,
)
from accord.peer.partners import add_partner, find_partner, partners, remove_partner, require_other
from accord.state.folder import State, open_state
from tests.run.worlds import NOW


@pytest.fixture
def state(tmp_path: Path) -> State:
    return open_state(tmp_path / "state", {})


def test_an_identity_is_private_and_a_card_has_its_time(state: State, tmp_path: Path) -> None:
    assert own_card(state) is None
    with pytest.raises(TrustError):
        require_own_card(state, NOW)
    card = make_identity(state, "Hospital Ä", NOW)
    assert card.name == "Hospital Ä"
    assert own_card(state) == require_own_card(state, NOW) == card
    assert b"PRIVATE" not in card.pem
    assert "BEGIN" not in repr(card)
    assert card.fingerprint in repr(card)
    assert len(card.fingerprint) == 24
    key = tmp_path / "key.pem"
    key.write_bytes(require_identity(state))
    with pytest.raises(TrustError):
        read_card(key)
    assert make_identity(state, "Hospital Ä", NOW).fingerprint != card.fingerprint
    card = make_identity(state, "a", NOW)
    for days, good in ((365 * 5 - 1, True), (-0.95, True), (365 * 5 + 1, False), (-2, False)):
        when = NOW + timedelta(days=days)
        with nullcontext() if good else pytest.raises(TrustError):
            require_valid(card, "a", when)
        with nullcontext() if good else pytest.raises(TrustError):
            require_own_card(state, when)


def test_a_card_that_was_changed_is_refused_or_another(state: State, tmp_path: Path) -> None:
    """Some bits of its form are under no signature: then it has another fingerprint."""
    card = make_identity(state, "a", NOW)
    path = tmp_path / "a.card"
    path.write_bytes(card.pem)
    assert read_card(path) == card
    path.write_bytes(card.pem + b"\n" * 20_000)
    with pytest.raises(TrustError):
        read_card(path)
    for at in range(0, len(card.der), 3):
        changed = bytearray(card.der)
        changed[at] ^= 1
        body = base64.encodebytes(bytes(changed)).decode()
        path.write_text(f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
        with suppress(TrustError):
            assert read_card(path).fingerprint != card.fingerprint
    with pytest.raises(UnreadableError):
        read_card(tmp_path / "missing")


def test_a_flipped_bit_of_an_identity_is_told_or_changes_nothing(tmp_path: Path) -> None:
    kept, card = draw_identity("a", NOW)
    told = 0
    for at in range(0, len(kept), 5):
        content = bytearray(kept)
        content[at] ^= 1 << at % 8
        try:
            assert require_whole(bytes(content), tmp_path) == card
        except DamagedError:
            told += 1
    assert told > len(kept) // 5 * 3 // 4


def test_a_card_signs_and_passes_the_strict_checks_of_openssl(state: State, tmp_path: Path) -> None:
    """As trust anchor and as leaf at once, under the flags that newer Pythons set by default."""
    card, identity = make_identity(state, "a", NOW), tmp_path / "identity"
    identity.write_bytes(require_identity(state))
    for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(kind)
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=card.pem.decode())
        context.load_cert_chain(identity)
        assert context.cert_store_stats()["x509"] == 1
    signature = sign(state, b"content")
    verify(card, signature, b"content")
    with pytest.raises(ValueError):
        verify(card, signature, b"another content")


def test_partners(state: State, tmp_path: Path) -> None:
    own = make_identity(state, "registry", NOW)
    with pytest.raises(UsageError):
        require_other(state, "registry", "st mary", own)
    require_other(state, "st mary", "registry", own)
    other = open_state(tmp_path / "other", {})
    first, second = make_identity(other, "b", NOW), make_identity(other, "b", NOW)
    for name in ("Dr. Ö / & Co", "b", "registry"):
        add_partner(state, name, first)
    require_other(state, "registry", "st mary", own)
    assert list(partners(state)) == ["Dr. Ö / & Co", "b", "registry"]
    add_partner(state, "b", second)
    assert find_partner(state, "b") == second, "a new card did not replace the old one"
    remove_partner(state, "b")
    with pytest.raises(TrustError):
        find_partner(state, "b")
    for wrong in ("", " x", "a\nb", "x" * 101):
        with pytest.raises(UsageError):
            add_partner(state, wrong, first)


# -- from Python and the command line ---------------------------------------------------------------------


def test_an_identity_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = accord.identity("Hospital A")
    assert read_card(Path("Hospital-A.card")) == first
    assert accord.identity() == accord.identity("Hospital A") == first
    with pytest.raises(OutputError):
        accord.identity(renew=True)
    assert accord.identity(renew=True, force=True).fingerprint != first.fingerprint


def test_a_card_takes_nobody_elses_place(tmp_path: Path) -> None:
    own, state = tmp_path / "own.csv", tmp_path / "state"
    own.write_text("id\n1\n")
    (tmp_path / "link.card").symlink_to(own)
    (tmp_path / "hard.card").hardlink_to(own)
    for out in (own, tmp_path / "link.card", tmp_path / "hard.card", state / "x.card"):
        with pytest.raises(OutputError):
            accord.identity("a", out=out, state=state)
    assert own_card(open_state(state, {})) is None, "a key was made for a card that could not be written"
    for name in ("link.card", "hard.card"):
        accord.identity("a", out=tmp_path / name, force=True, state=state)
        assert read_card(tmp_path / name).name == "a"
    assert own.read_text() == "id\n1\n", "it was written through a link"
    key = require_identity(open_state(state, {}))
    for name in ("state.sqlite", "x.card"):
        with pytest.raises(OutputError):
            accord.identity(out=state / name, force=True, state=state)
    with pytest.raises(OutputError):
        accord.identity(out=tmp_path / "link.card", renew=True, state=state)
    assert require_identity(open_state(state, {})) == key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.card", "link.card", "own.csv", "state"]


def test_a_program_reads_identities_and_partners(tmp_path: Path) -> None:
    from tests.cli.terminal import accord as type_in

    card = accord.identity("Hospital A/1", out=tmp_path / "a.card", state=tmp_path / "own")
    accord.identity("B", out=tmp_path / "b.card", state=tmp_path / "theirs")
    accord.trust("hospital-a", tmp_path / "a.card", state=tmp_path / "theirs")
    for words, name in ((("own", "identity"), None), (("theirs", "partner", "list"), "hospital-a")):
        done = type_in(tmp_path, "--state", *words, "--json")
        found = json.loads(done.stdout)
        facts = found[name] if name else found
        assert (facts["name"], facts["fingerprint"]) == ("Hospital A/1", card.fingerprint)
