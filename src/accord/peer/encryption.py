"""The layer of encryption inside TLS: who records a linkage today shall not read it with a quantum computer.

TLS agrees on its keys over an elliptic curve, and Python can demand no other way everywhere. So there is a
second exchange inside it, by ML-KEM-768 (FIPS 203), whose keys encrypt all that follows. *What it gives*:
what was recorded stays closed as long as either the curve or ML-KEM holds, since each layer has keys of its
own; nobody but the owners of the two cards has these keys, since both sign the exchange (by Ed25519: to forge
that, a quantum computer would be needed while the two talk, not later); and whoever gets hold of the key of a
card reads nothing of earlier connections, since what is agreed upon serves one connection and is nowhere
kept. What is said before it is public: TLS itself, with both cards; the byte of welcome; of a worker its
token.

*The exchange*. Who called sends a fresh public key, who listened a secret that is encapsulated for it.

    both       10     `accord\\r\\n` and the version: what every version says first, so that any two can part
    caller     1184   the public key
    listener   1152   the ciphertext, and the listener's signature
    caller     64     the caller's signature

What is signed is a tag for the role, and the hash of a tag, the version, both cards, the public key and the
ciphertext. So neither a part of another exchange nor one's own signature, reflected, is ever accepted.

*Packets*. What is sent is cut into packets of at most 256 KiB, each AES-256-GCM with its number as the nonce.

    4        how many bytes are in it, 1 to 262124
    as many  encrypted
    16       the tag

Only the next number opens: a packet that was changed, left out, repeated or put elsewhere ends the
connection. The lengths say no more than those of TLS around it. A key serves 2^14 packets, so at most 2^32
bytes or 2^28 blocks: nobody tells its packets from noise with more than 2^(2*28 - 129) = 2^-73, the bound of
a permutation that is used as a function. The next key is derived from it, and it is dropped. A forged packet
passes with at most 2^-113 (2^14 blocks and two, of 2^128), and the first one that does not is the last.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import NO_KEM, PeerError, UsageError
from accord.peer.handshake import MAGIC, WIRE, require_version
from accord.peer.identity import Card, require_whole, signer, verify
from accord.secure.party import Buffer, Party, Send, receive

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PUBLIC, CIPHERTEXT, SIGNATURE = 1184, 1088, 64
KEY = 32
VERSION = 2
_LENGTH = struct.Struct("<I")
_MARK = 16
ADDED = _LENGTH.size + _MARK
"""Bytes that a packet has beside what is in it."""
_WHOLE = 1 << 18
PACKET = _WHOLE - ADDED
"""The most that is in a packet: so that it fills records of TLS without a rest."""
_PACKETS_A_KEY = 1 << 14
_EXCHANGE = b"accord exchange 1\n"
_CALLER, _LISTENER = b"accord exchange, caller 1\n", b"accord exchange, listener 1\n"
_KEYS, _NEXT = b"accord packets 1\n", b"accord packets, next key 1\n"


@dataclass(frozen=True, repr=False)
class Keys:
    """The keys of a connection, one for each direction."""

    sent: bytes
    received: bytes


@dataclass(frozen=True, repr=False)
class Ends:
    """Who is to be at the two ends of a connection, and which end is one's own."""

    identity: bytes
    """One's own key and card."""
    card: Card
    """The partner's."""
    partner: str
    listens: bool

    def digest(self, public: bytes, ciphertext: bytes) -> bytes:
        """The hash of the exchange."""
        own = require_whole(self.identity, Path("one's own identity")).der
        caller, listener = (self.card.der, own) if self.listens else (own, self.card.der)
        cards = hashlib.sha256(caller).digest() + hashlib.sha256(listener).digest()
        version = MAGIC + WIRE.to_bytes(VERSION, "little")
        return hashlib.sha256(_EXCHANGE + version + cards + public + ciphertext).digest()

    def sign(self, digest: bytes) -> bytes:
        return signer(self.identity)((_LISTENER if self.listens else _CALLER) + digest)

    def verify(self, signature: bytes, digest: bytes) -> None:
        """Raise unless the partner signed for the other role."""
        try:
            verify(self.card, signature, (_CALLER if self.listens else _LISTENER) + digest)
        except ValueError:
            problem = "a key that it did not sign with the key of its card"
            raise PeerError(problem=problem, partner=self.partner) from None


def agree_on_keys(ends: Ends) -> Party[Keys]:
    """Agree with the partner on fresh keys.

    *Requires*: a partner that answers; TLS is not relied upon.
    *Learns*: the partner a signature of the exchange; who has broken TLS, whose cards these are.
    """
    return (yield from (_answer if ends.listens else _ask)(ends))


def _ask(ends: Ends) -> Party[Keys]:
    """The caller's part."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

    try:
        key = MLKEM768PrivateKey.generate()
    except UnsupportedAlgorithm:
        raise UsageError(problem=NO_KEM) from None
    public = key.public_key().public_bytes_raw()
    yield from _say_version()
    yield Send(public)
    yield from _hear_version(ends.partner)
    answer = (yield from receive(CIPHERTEXT + SIGNATURE)).tobytes()
    ciphertext, signature = answer[:CIPHERTEXT], answer[CIPHERTEXT:]
    digest = ends.digest(public, ciphertext)
    ends.verify(signature, digest)
    yield Send(ends.sign(digest))
    sent, received = _derive(key.decapsulate(ciphertext), digest, _KEYS, 2)
    return Keys(sent, received)


def _answer(ends: Ends) -> Party[Keys]:
    """The listener's part."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

    yield from _say_version()
    yield from _hear_version(ends.partner)
    public = (yield from receive(PUBLIC)).tobytes()
    try:
        secret, ciphertext = MLKEM768PublicKey.from_public_bytes(public).encapsulate()
    except ValueError:
        raise PeerError(problem="a key that is none of ML-KEM", partner=ends.partner) from None
    except UnsupportedAlgorithm:
        raise UsageError(problem=NO_KEM) from None
    digest = ends.digest(public, ciphertext)
    yield Send(ciphertext + ends.sign(digest))
    ends.verify((yield from receive(SIGNATURE)).tobytes(), digest)
    received, sent = _derive(secret, digest, _KEYS, 2)
    return Keys(sent, received)


def _say_version() -> Party[None]:
    yield Send(MAGIC)
    yield Send(WIRE.to_bytes(VERSION, "little"))


def _hear_version(partner: str) -> Party[None]:
    if (yield from receive(len(MAGIC))).tobytes() != MAGIC:
        # Version 1 says nothing here: what came is a frame, of its hello or of its end.
        require_version(1, partner)
    version = (yield from receive(VERSION)).tobytes()
    require_version(int.from_bytes(version, "little"), partner)


def _derive(secret: bytes, salt: bytes, purpose: bytes, count: int) -> list[bytes]:
    """So many keys from a secret."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    found = HKDF(SHA256(), KEY * count, salt, purpose).derive(secret)
    return [found[at : at + KEY] for at in range(0, len(found), KEY)]


class _Ciphers:
    """The cipher and the nonce of one packet after the other."""

    def __init__(self, key: bytes) -> None:
        self._key, self._number = key, 0
        self._cipher = self._make()

    def _make(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key)

    def next(self) -> tuple[AESGCM, bytes]:
        if self._number and self._number % _PACKETS_A_KEY == 0:
            (self._key,) = _derive(self._key, b"", _NEXT, 1)
            self._cipher = self._make()
        nonce = self._number.to_bytes(12, "little")
        self._number += 1
        return self._cipher, nonce


class Encrypter:
    """Makes packets of what is sent."""

    def __init__(self, key: bytes) -> None:
        self._ciphers = _Ciphers(key)
        self._packet = memoryview(bytearray(_WHOLE))

    def encrypt(self, piece: Buffer) -> memoryview:
        """The next packet, with these bytes, at most as many as fit; the next call overwrites it."""
        if not 0 < len(piece) <= PACKET:
            raise ValueError(f"a packet holds 1 to {PACKET} bytes")
        packet = self._packet[: len(piece) + ADDED]
        _LENGTH.pack_into(packet, 0, len(piece))
        cipher, nonce = self._ciphers.next()
        cipher.encrypt_into(nonce, piece, None, packet[_LENGTH.size :])
        return packet


class Decrypter:
    """Opens packets, in whatever pieces they come."""

    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidTag

        self._invalid = InvalidTag
        self._ciphers = _Ciphers(key)
        self._buffer = memoryview(bytearray(2 * _WHOLE))
        self._filled = 0

    @property
    def room(self) -> memoryview:
        """Where to put what comes."""
        return self._buffer[self._filled :]

    def decrypt(self, count: int) -> Iterator[memoryview]:
        """What is in each packet that so many more bytes have made whole; raises PeerError."""
        self._filled += count
        at = 0
        while size := self._whole_at(at):
            yield self._open(self._buffer[at + _LENGTH.size : at + size + ADDED])
            at += size + ADDED
        self._buffer[: self._filled - at] = self._buffer[at : self._filled]
        self._filled -= at

    def _whole_at(self, at: int) -> int:
        """How much is in the packet that begins here; 0 if it is not all there."""
        if at + _LENGTH.size > self._filled:
            return 0
        (size,) = _LENGTH.unpack_from(self._buffer, at)
        if not 0 < size <= PACKET:
            raise PeerError(problem="a packet of a wrong length")
        return int(size) if at + size + ADDED <= self._filled else 0

    def _open(self, body: memoryview) -> memoryview:
        opened = np.empty(len(body) - _MARK, np.uint8).data
        cipher, nonce = self._ciphers.next()
        try:
            cipher.decrypt_into(nonce, body, None, opened)
        except self._invalid:
            raise PeerError(problem="a packet that does not open") from None
        return opened
