"""The layer inside TLS: keys of the cards' owners, packets that open once, and the greeting."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import (
    ConnectionLostError,
    DifferentAgreementError,
    OtherRunError,
    PeerError,
    RefusedError,
)
from accord.peer import connect as connecting
from accord.peer import encryption as module
from accord.peer.channel import Patience
from accord.peer.connect import exchange_keys
from accord.peer.encryption import ADDED, PACKET, Decrypter, Encrypter, Ends, Keys, agree_on_keys
from accord.peer.frames import HEADER, Kind, decode_header, encode_header
from accord.peer.handshake import (
    HELLO,
    MAGIC,
    WIRE,
    Hello,
    encode_hello,
    exchange_sizes,
    greet,
    require_same_run,
    run_name,
)
from accord.peer.identity import draw_identity, require_identity
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from tests.peer.inside import meet, meet_inside
from tests.protocols.worlds import agreement
from tests.run import worlds

KEY = bytes(range(32))
VERSION = WIRE.to_bytes(2, "little")
ALICE, BOB, EVE = (draw_identity(name, worlds.NOW) for name in ("alice", "bob", "eve"))
AT_ALICE = Ends(ALICE[0], BOB[1], "bob", listens=True)
AT_BOB = Ends(BOB[0], ALICE[1], "alice", listens=False)

# -- the exchange ------------------------------------------------------------------------------------------


def test_both_have_the_same_keys_and_no_other_connection_has() -> None:
    """And messages have the sizes that the module says, whoever it is."""
    seen: list[bytes] = []
    to_eve = replace(AT_ALICE, card=EVE[1]), replace(AT_BOB, identity=EVE[0])
    for at_a, at_b in ((AT_ALICE, AT_BOB), (AT_ALICE, AT_BOB), to_eve):
        wire = Wire()
        left, right = run_pair(agree_on_keys(at_a), agree_on_keys(at_b), wire=wire)
        assert (left.sent, left.received) == (right.received, right.sent)
        assert wire.sizes == {Side.A: [8, 2, 1152], Side.B: [8, 2, 1184, 64]}
        seen += [left.sent, left.received]
        assert not any(secret in repr(left) + repr(at_a) for secret in ("b'", "PRIVATE"))
    assert len(set(seen)) == 6
    assert {len(key) for key in seen} == {32}


def test_the_keys_are_those_of_the_page() -> None:
    """By hand: HKDF of the secret, with the hash of the exchange as its salt."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    key = MLKEM768PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    party = agree_on_keys(AT_ALICE)
    assert [next(party), next(party), next(party)] == [Send(MAGIC), Send(VERSION), Receive(8)]
    assert [party.send(MAGIC), party.send(VERSION)] == [Receive(2), Receive(1184)]
    answer: Any = party.send(public)
    ciphertext, signature = answer.buffer[:1088], bytes(answer.buffer[1088:])
    cards = hashlib.sha256(BOB[1].der).digest() + hashlib.sha256(ALICE[1].der).digest()
    digest = hashlib.sha256(b"accord exchange 1\n" + MAGIC + VERSION + cards + public + ciphertext).digest()
    AT_BOB.verify(signature, digest)
    assert next(party) == Receive(64)
    with pytest.raises(StopIteration) as end:
        party.send(AT_BOB.sign(digest))
    made = HKDF(SHA256(), 64, digest, b"accord packets 1\n").derive(key.decapsulate(ciphertext))
    assert (end.value.value.received, end.value.value.sent) == (made[:32], made[32:])


Change = Callable[[int, bytes], bytes]


def changed(party: Party[Keys], change: Change) -> Party[Keys]:
    """A party whose messages are changed on their way: by their number, and as they are."""
    number, effect = 0, next(party)
    while True:
        try:
            if isinstance(effect, Send):
                effect = Send(change(number, bytes(effect.buffer)))
                number += 1
                yield effect
                effect = next(party)
            else:
                effect = party.send((yield effect))
        except StopIteration as end:
            return end.value


def flipped(message: int, place: int) -> Change:
    """One bit of one message."""

    def change(number: int, content: bytes) -> bytes:
        if number != message:
            return content
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    return change


def refused(at_a: Party[Keys], at_b: Party[Keys]) -> str:
    with pytest.raises(PeerError) as caught:
        run_pair(at_a, at_b)
    return str(caught.value)


def test_what_either_says_cannot_be_changed_nor_said_by_another() -> None:
    for message, place in ((2, 0), (2, 1100), (2, 1183), (3, 0), (3, 63)):
        refused(agree_on_keys(AT_ALICE), changed(agree_on_keys(AT_BOB), flipped(message, place)))
    for place in (0, 500, 1087, 1088, 1151):
        said = refused(changed(agree_on_keys(AT_ALICE), flipped(2, place)), agree_on_keys(AT_BOB))
        assert said.startswith("alice")
    # A key that is none: all its coefficients are above the modulus.
    none = changed(agree_on_keys(AT_BOB), lambda n, content: b"\xff" * 1184 if n == 2 else content)
    refused(agree_on_keys(AT_ALICE), none)
    for hers in ({"identity": EVE[0]}, {"card": EVE[1]}):
        refused(agree_on_keys(replace(AT_ALICE, **hers)), agree_on_keys(AT_BOB))
        refused(agree_on_keys(AT_ALICE), agree_on_keys(replace(AT_BOB, **hers)))


def test_neither_a_reflected_nor_a_replayed_signature_is_accepted() -> None:
    said: dict[int, bytes] = {}

    def note(number: int, content: bytes) -> bytes:
        said[number] = content
        return content

    run_pair(changed(agree_on_keys(AT_ALICE), note), agree_on_keys(AT_BOB))
    refused(changed(agree_on_keys(AT_ALICE), lambda n, _: said[n]), agree_on_keys(AT_BOB))
    digest = AT_ALICE.digest(bytes(1184), bytes(1088))
    for ends in (AT_ALICE, Ends(ALICE[0], ALICE[1], "alice", listens=True)):
        with pytest.raises(PeerError):
            ends.verify(ends.sign(digest), digest)


def greeted(party: Party[Keys], first: bytes = MAGIC, version: bytes = VERSION) -> list[Any]:
    """What a party says before it was answered; then it hears this."""
    said: list[Any] = []
    while isinstance(effect := next(party), Send):
        said.append(effect.buffer)
    party.send(first)
    party.send(version)
    return said


def test_who_has_broken_tls_alone_is_refused() -> None:
    """Eve gives each side a key of her own, with the signatures of the other."""
    caller, listener = agree_on_keys(AT_BOB), agree_on_keys(AT_ALICE)
    hers = MLKEM768PrivateKey.generate()
    public = greeted(caller)[2]
    greeted(listener)
    answer: Any = listener.send(hers.public_key().public_bytes_raw())
    hers.decapsulate(answer.buffer[:1088])
    _, ciphertext = MLKEM768PublicKey.from_public_bytes(public).encapsulate()
    with pytest.raises(PeerError):
        caller.send(ciphertext + bytes(answer.buffer[1088:]))


@pytest.mark.parametrize("ends", [AT_ALICE, AT_BOB])
def test_versions_part_at_the_first_bytes(ends: Ends) -> None:
    """The first version had no such exchange: it says a frame, and knows none such as ours."""
    frames = [encode_header(kind, n) for kind, n in ((Kind.MESSAGE, HELLO), (Kind.STOP, 1), (Kind.PING, 0))]
    others = [(MAGIC, version) for version in (WIRE - 1, WIRE + 1)] + [(frame, 1) for frame in frames]
    for first, version in others:
        with pytest.raises(RefusedError) as caught:
            greeted(agree_on_keys(ends), first, version.to_bytes(2, "little"))
        assert f"version {version} " in str(caught.value)
        assert str(caught.value).startswith(ends.partner)
    with pytest.raises(PeerError):
        decode_header(MAGIC)


# -- packets -----------------------------------------------------------------------------------------------


def opened(decrypter: Decrypter, stream: bytes, cuts: list[int]) -> bytes:
    """What a stream holds that comes in pieces of these sizes, again and again."""
    found, at, number = b"", 0, 0
    while at < len(stream):
        size = min(cuts[number % len(cuts)], len(decrypter.room), len(stream) - at)
        decrypter.room[:size] = stream[at : at + size]
        found += b"".join(decrypter.decrypt(size))
        at, number = at + size, number + 1
    return found


@given(
    st.lists(st.sampled_from([1, 2, 8, 300, 16_384, PACKET - 1, PACKET]), min_size=1, max_size=6),
    st.lists(st.sampled_from([1 << 20, 100_003, 16_384, 7_001]), min_size=1, max_size=3),
    st.sampled_from([1, 2, 1 << 14]),
)
def test_packets_come_back_however_they_are_cut(sizes: list[int], cuts: list[int], packets: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PACKETS_A_KEY", packets)
        encrypter, decrypter = Encrypter(KEY), Decrypter(KEY)
        bodies = [np.random.default_rng(n).bytes(size) for n, size in enumerate(sizes)]
        stream = b"".join(bytes(encrypter.encrypt(body)) for body in bodies)
        assert len(stream) == sum(sizes) + ADDED * len(sizes)
        assert opened(decrypter, stream, cuts) == b"".join(bodies)


def three() -> list[bytes]:
    encrypter = Encrypter(KEY)
    return [bytes(encrypter.encrypt(body)) for body in (b"first", b"second", b"third")]


def test_of_a_packet_that_is_cut_off_nothing_is_given_and_no_bit_may_be_flipped() -> None:
    stream, packet = b"".join(three()), three()[0]
    assert opened(Decrypter(KEY), stream, [1]) == b"firstsecondthird"
    for end in range(len(packet), 11 + 2 * ADDED):
        assert opened(Decrypter(KEY), stream[:end], [1000]) == b"first"
    for bit in range(8 * len(packet)):
        wrong = bytearray(packet)
        wrong[bit // 8] ^= 1 << bit % 8
        # A longer one is not whole yet.
        require_closed(bytes(wrong) + bytes(PACKET))


def require_closed(stream: bytes, key: bytes = KEY) -> None:
    with pytest.raises(PeerError):
        opened(Decrypter(key), stream, [100_000])


def test_packets_out_of_order_of_a_wrong_length_or_key_are_refused() -> None:
    """Before more comes."""
    packets = three()
    for order in ((1,), (0, 2), (0, 0), (1, 0), (0, 1, 1), (0, 2, 1), (0, 1, 2, 0)):
        require_closed(b"".join(packets[n] for n in order))
    for size in (0, PACKET + 1, (1 << 32) - 1):
        require_closed(size.to_bytes(4, "little"))
    require_closed(packets[0], bytes(32))
    for body in (b"", bytes(PACKET + 1)):
        with pytest.raises(ValueError):
            Encrypter(KEY).encrypt(body)


def test_a_key_is_replaced_after_so_many_packets_and_no_nonce_comes_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert module._PACKETS_A_KEY * (PACKET + ADDED) == 1 << 32, "the bytes that the bound is for"
    monkeypatch.setattr(module, "_PACKETS_A_KEY", 3)
    ciphers = module._Ciphers(KEY)
    used = [(ciphers.next()[1], ciphers._key) for _ in range(10)]
    assert len({nonce for nonce, _ in used}) == 10
    keys = [key for _, key in used]
    assert [keys.index(key) // 3 for key in keys] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


# -- over a connection -------------------------------------------------------------------------------------

QUICK = Patience(silence=60.0, message=60.0)


def carried(folder: Path, content: list[bytes]) -> bytes:
    """What TLS is given to carry where one side sends this."""
    a, b = meet_inside(*worlds.introduce(folder, agreement()))
    true, seen = ssl.SSLSocket.send, bytearray()

    def send(self: ssl.SSLSocket, data: Any, flags: int = 0) -> int:
        count = true(self, data, flags)
        if self is a.connection:
            seen.extend(data[:count])
        return count

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLSocket, "send", send)
        one, other = a.channel("bob", QUICK), b.channel("alice", QUICK)
        for body in content:
            one.send(body)
            assert bytes(other.receive(len(body))) == body
        worlds.in_threads(one.close, other.close)
    return bytes(seen)


def lengths(stream: bytes) -> list[int]:
    found, at = [], 0
    while at < len(stream):
        found.append(int.from_bytes(stream[at : at + 4], "little"))
        at += found[-1] + ADDED
    return found


def test_tls_carries_nothing_in_the_clear_and_the_same_sizes_for_other_contents(tmp_path: Path) -> None:
    sizes = [16, 5, 20_000, 3 * PACKET]
    x, y = (carried(tmp_path / letter, [letter.encode() * size for size in sizes]) for letter in "xy")
    assert b"xxxxx" not in x
    assert encode_header(Kind.MESSAGE, 16) not in x
    assert x[4:60] != y[4:60]
    # Small messages with their header in one packet; long ones after it, in as few as hold them. A ping in
    # between, on a machine that is busy, is a packet of eight, as a header is.
    packets = [HEADER + 16, HEADER + 5, 20_000, PACKET, PACKET, PACKET]
    assert [[size for size in lengths(stream) if size != HEADER] for stream in (x, y)] == [packets] * 2


def test_a_packet_that_does_not_open_is_the_partners_fault_and_ends_the_connection(tmp_path: Path) -> None:
    a, b = meet_inside(*worlds.introduce(tmp_path, agreement()))
    channel = b.channel("alice", QUICK)
    a.sendall(encode_header(Kind.MESSAGE, 5) + b"whole")
    a.connection.sendall((5).to_bytes(4, "little") + bytes(21))
    assert bytes(channel.receive(5)) == b"whole"
    for listen in (lambda: channel.receive(5), lambda: channel.receive(5), channel.attend):
        with pytest.raises(PeerError):
            listen()
    a.close()
    channel.close()


@pytest.mark.parametrize("says", [b"", MAGIC, MAGIC + VERSION + bytes(500), MAGIC + b"\x09\0" + bytes(5000)])
def test_a_partner_that_says_no_more_or_another_version_is_given_up(
    says: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who refuses a version lets the other read why."""
    if len(says) < 5000:
        monkeypatch.setattr(connecting, "_HANDSHAKE_SECONDS", 0.5)
    a, b = worlds.introduce(tmp_path, agreement())
    first, second = meet(a, b)
    second.settimeout(worlds.PATIENCE)
    second.sendall(says)
    before = threading.active_count()
    ends = Ends(require_identity(a.state), b.card, "bob", listens=True)
    hear = lambda: b"".join(iter(lambda: second.recv(4096), b""))  # noqa: E731
    given_up, heard = worlds.in_threads(lambda: exchange_keys(first, ends), hear)
    assert isinstance(given_up, RefusedError if len(says) > 5000 else ConnectionLostError)
    assert heard == MAGIC + VERSION
    assert threading.active_count() <= before
    assert first.fileno() == -1
    second.close()


# -- the greeting -------------------------------------------------------------------------------------------

AGREED, OTHER = agreement(), agreement(prune=7)
A = Hello(Side.A, bytes.fromhex(AGREED.digest), b"a" * 32)
B = Hello(Side.B, bytes.fromhex(AGREED.digest), b"b" * 32)
THEIRS = replace(B, digest=bytes.fromhex(OTHER.digest))


@given(st.binary(min_size=HEADER, max_size=HEADER))
def test_any_header_is_read_as_it_is_written_or_refused(content: bytes) -> None:
    try:
        frame = decode_header(content)
    except PeerError:
        return
    assert encode_header(frame.kind, frame.length) == content
    with pytest.raises(ValueError):
        encode_header(frame.kind, 1 << 56)


def test_both_meet_name_the_run_alike_and_exchange_sizes() -> None:
    wire = Wire()
    to_a, to_b = run_pair(greet(A, AGREED, True), greet(B, AGREED, False), wire=wire)
    assert (to_a, to_b) == (B, A)
    assert wire.messages == 2, "more than two hellos passed"
    assert run_name(A, B) == run_name(B, A)
    assert run_name(A, replace(B, nonce=b"c" * 32)) != run_name(A, B)
    assert isinstance(next(greet(A, AGREED, True)), Send), "who listens speaks first"
    assert isinstance(next(greet(A, AGREED, False)), Receive)
    assert run_pair(exchange_sizes(3, "bob"), exchange_sizes(2**31 - 1, "alice")) == (2**31 - 1, 3)


def test_different_agreements_exchange_nothing_but_themselves() -> None:
    wire = Wire()
    found = []
    for first in (True, False):
        # Whoever the driver runs first comes to its end first.
        with pytest.raises(DifferentAgreementError) as caught:
            run_pair(greet(A, AGREED, first), greet(THEIRS, OTHER, not first), wire=wire)
        (difference,) = caught.value.differences
        assert difference.startswith("protocol.prune")
        found.append([difference.index(value) for value in ("0", "7")])
    assert sorted(low < high for low, high in found) == [False, True], "each side names its own first"
    sizes = {len(AGREED.to_toml().encode()), len(OTHER.to_toml().encode()), 8, HELLO}
    assert set(wire.sizes[Side.A] + wire.sizes[Side.B]) <= sizes


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("theirs", [replace(THEIRS, texts=bytes(32)), replace(THEIRS, side=Side.A)])
def test_other_libraries_and_the_same_side_are_refused_before_the_agreements(
    theirs: Hello, first: bool
) -> None:
    wire = Wire()
    with pytest.raises(RefusedError):
        run_pair(greet(A, AGREED, first), greet(theirs, OTHER, not first), wire=wire)
    assert wire.messages == 2, "more than two hellos passed"


def test_an_agreement_that_cannot_be_read_or_is_too_long() -> None:
    def liar(size: int, body: bytes) -> Party[None]:
        yield Receive(HELLO)
        yield Send(encode_hello(replace(B, digest=bytes(32))))
        yield Receive(8)
        yield Send(size.to_bytes(8, "little"))
        yield Receive(len(AGREED.to_toml().encode()))
        yield Send(body)

    hostile = AGREED.to_toml().replace('"alice"', f'"{"a" * 900}"').encode()
    for body in (b"\xff\xfe", b"not toml at all", b"version = 2", AGREED.to_toml().encode(), hostile):
        with pytest.raises(DifferentAgreementError) as caught:
            run_pair(greet(A, AGREED, True), liar(len(body), body))
        assert all(len(line) < 500 for line in caught.value.differences)
    with pytest.raises(PeerError) as refused:
        run_pair(greet(A, AGREED, True), liar(1 << 40, b""))
    assert str(refused.value).startswith("bob")


@pytest.mark.parametrize(("mine", "theirs"), [("", "ab"), ("ab", ""), ("ab", "cd")])
def test_both_mean_the_same_run(mine: str, theirs: str) -> None:
    with pytest.raises(OtherRunError) as caught:
        require_same_run(replace(A, run=mine), replace(B, run=theirs), "bob")
    assert caught.value.theirs == theirs
    require_same_run(replace(A, run=mine), replace(B, run=mine), "bob")
