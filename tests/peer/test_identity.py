"""Identities, cards and partners: made once, private, and refused when anything was changed."""

from __future__ import annotations

import json
import ssl
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accord.cli import app
from accord.errors import DamagedError, OutputError, TrustError, UnreadableError, UsageError
from accord.peer.identity import (
    make_identity,
    own_card,
    read_card,
    require_own_card,
    require_valid,
    sign,
    verify,
)
from accord.peer.partners import add_partner, find_partner, partners, remove_partner, require_other
from accord.state.folder import State, open_state
from tests.run.worlds import NOW


@pytest.fixture
def state(tmp_path: Path) -> State:
    return open_state(tmp_path / "state", {})


def test_an_identity_is_private_and_lasts(state: State) -> None:
    card = make_identity(state, "Hospital Ä", NOW)
    assert card.name == "Hospital Ä"
    assert state.identity.stat().st_mode & 0o777 == 0o600
    assert own_card(state) == card
    assert require_own_card(state, NOW) == card
    assert b"PRIVATE" not in card.pem
    assert len(card.fingerprint) == 24
    assert make_identity(state, "Hospital Ä", NOW).fingerprint != card.fingerprint


def test_without_an_identity_the_way_to_one_is_told(state: State) -> None:
    assert own_card(state) is None
    with pytest.raises(TrustError, match="accord identity --name"):
        require_own_card(state, NOW)


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 65, "\x07"])
def test_a_name_that_cannot_stand_on_a_card(state: State, name: str) -> None:
    with pytest.raises(UsageError, match="names its owner"):
        make_identity(state, name, NOW)


def test_cards_have_their_time(state: State) -> None:
    card = make_identity(state, "a", NOW)
    require_valid(card, "a", NOW + timedelta(days=365 * 5 - 1))
    for when in (NOW + timedelta(days=365 * 5 + 1), NOW - timedelta(days=2)):
        with pytest.raises(TrustError, match="The card of a is valid from"):
            require_valid(card, "a", when)
        with pytest.raises(TrustError, match="Your own card"):
            require_own_card(state, when)


def test_a_key_that_others_can_read_is_refused(state: State) -> None:
    make_identity(state, "a", NOW)
    state.identity.chmod(0o644)
    with pytest.raises(TrustError, match="chmod 600"):
        own_card(state)


def test_a_card_that_was_changed_is_refused(state: State, tmp_path: Path) -> None:
    card = make_identity(state, "a", NOW)
    path = tmp_path / "a.card"
    path.write_bytes(card.pem)
    assert read_card(path) == card
    wrong = {
        "a letter": card.pem.replace(b"A", b"B", 1),
        "cut off": card.pem[:200],
        "two cards": card.pem * 2,
        "nothing": b"",
        "too long": card.pem + b"\n" * 20_000,
        "another thing": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    }
    for content in wrong.values():
        path.write_bytes(content)
        with pytest.raises(TrustError, match="not a card of Accord"):
            read_card(path)


def test_every_byte_of_a_card_counts(state: State, tmp_path: Path) -> None:
    """A changed card is refused, or has another fingerprint: some bits of its form are under no signature."""
    import base64

    card = make_identity(state, "a", NOW)
    path = tmp_path / "a.card"
    for at in range(len(card.der)):
        changed = bytearray(card.der)
        changed[at] ^= 1
        body = base64.encodebytes(bytes(changed)).decode()
        path.write_text(f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
        with suppress(TrustError):
            assert read_card(path).fingerprint != card.fingerprint


def test_a_private_key_is_no_card(state: State) -> None:
    make_identity(state, "a", NOW)
    with pytest.raises(TrustError, match="holds a private key"):
        read_card(state.identity)
    with pytest.raises(UnreadableError):
        read_card(state.folder / "missing")


def test_a_card_passes_the_strict_checks_of_openssl(state: State) -> None:
    """As trust anchor and as leaf at once, under the flags that newer Pythons set by default."""
    card = make_identity(state, "a", NOW)
    for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(kind)
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=card.pem.decode())
        context.load_cert_chain(state.identity)
        assert context.cert_store_stats()["x509"] == 1


def test_signatures(state: State) -> None:
    card = make_identity(state, "a", NOW)
    signature = sign(state, b"content")
    verify(card, signature, b"content")
    with pytest.raises(ValueError, match="does not fit"):
        verify(card, signature, b"another content")


def test_nobody_is_their_own_partner(state: State) -> None:
    own = make_identity(state, "registry", NOW)
    told = "'registry' is you; your partner in this agreement is 'st mary': "
    with pytest.raises(UsageError) as caught:
        require_other(state, "registry", "st mary", own)
    assert str(caught.value) == f"{told}`accord link … --partner 'st mary'`."
    require_other(state, "st mary", "registry", own)
    add_partner(state, "registry", own)
    require_other(state, "registry", "st mary", own)


def test_partners(state: State, tmp_path: Path) -> None:
    other = open_state(tmp_path / "other", {})
    first, second = make_identity(other, "b", NOW), make_identity(other, "b", NOW)
    for name in ("Dr. Ö / & Co", "b"):
        add_partner(state, name, first)
    assert list(partners(state)) == ["Dr. Ö / & Co", "b"]
    add_partner(state, "b", second)
    assert find_partner(state, "b") == second, "a new card did not replace the old one"
    remove_partner(state, "b")
    with pytest.raises(TrustError, match=r"no card of 'b'; you know Dr. Ö / & Co"):
        find_partner(state, "b")
    for wrong in ("", " x", "a\nb"):
        with pytest.raises(UsageError):
            add_partner(state, wrong, first)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine, theirs = ("--state", "mine"), ("--state", "theirs")
    told = run(*mine, "identity", "--name", "Hospital A/1")
    assert (tmp_path / "Hospital-A-1.card").is_file()
    assert run(*mine, "identity") == told, "a second call made another identity"
    facts = json.loads(run(*mine, "identity", "--json"))
    assert facts["fingerprint"] in told
    assert facts["fingerprint"] in run(*theirs, "partner", "add", "hospital-a", "Hospital-A-1.card")
    assert json.loads(run(*theirs, "partner", "list", "--json"))["hospital-a"]["name"] == "Hospital A/1"
    assert facts["fingerprint"] in run(*theirs, "partner", "list")
    assert facts["fingerprint"] not in run(*mine, "identity", "--renew", "--force")
    run(*theirs, "partner", "remove", "hospital-a")
    assert run(*theirs, "partner", "list") == ""


def test_a_second_name_needs_a_word(tmp_path: Path) -> None:
    words = ["--state", str(tmp_path / "s"), "identity", "--out", str(tmp_path / "c")]
    runner = CliRunner()
    assert isinstance(runner.invoke(app, words).exception, UsageError)
    runner.invoke(app, [*words, "--name", "a"])
    again = runner.invoke(app, [*words, "--name", "b"])
    assert isinstance(again.exception, UsageError)
    assert "`renew=True`" in str(again.exception)


def test_a_card_takes_nobody_elses_place(tmp_path: Path) -> None:
    own, state = tmp_path / "own.csv", tmp_path / "state"
    own.write_text("id\n1\n")
    (tmp_path / "link.card").symlink_to(own)
    (tmp_path / "hard.card").hardlink_to(own)
    words = ["--state", str(state), "identity", "--name", "a", "--out"]
    for name in ("own.csv", "link.card", "hard.card"):
        refused = CliRunner().invoke(app, [*words, str(tmp_path / name)]).exception
        assert isinstance(refused, OutputError)
        assert "force" in str(refused)
    assert not (state / "identity.pem").exists(), "a key was made for a card that could not be written"
    for name in ("link.card", "hard.card"):
        run(*words, str(tmp_path / name), "--force")
        assert read_card(tmp_path / name).name == "a"
    assert own.read_text() == "id\n1\n", "it was written through a link"
    key = (state / "identity.pem").read_bytes()
    for name in ("identity.pem", "ledger.sqlite", "x.card"):
        refused = CliRunner().invoke(app, [*words, str(state / name), "--force"]).exception
        assert "state folder" in str(refused)
    renewed = [*words, str(tmp_path / "link.card"), "--renew"]
    assert isinstance(CliRunner().invoke(app, renewed).exception, OutputError)
    assert (state / "identity.pem").read_bytes() == key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.card", "link.card", "own.csv", "state"]


def test_a_name_that_no_card_can_have_is_a_wrong_call(tmp_path: Path) -> None:
    words = ["--state", str(tmp_path / "s"), "identity", "--name", "x" * 65, "--out", str(tmp_path / "c")]
    assert isinstance(CliRunner().invoke(app, words).exception, UsageError)


def test_every_flipped_bit_of_an_identity_is_told_or_changes_nothing(state: State) -> None:
    card = make_identity(state, "a", NOW)
    kept = state.identity.read_bytes()
    told = 0
    for at in range(0, len(kept), 3):
        content = bytearray(kept)
        content[at] ^= 1 << at % 8
        state.identity.write_bytes(content)
        try:
            assert own_card(state) == card
        except DamagedError:
            told += 1
    assert told > len(kept) // 4
