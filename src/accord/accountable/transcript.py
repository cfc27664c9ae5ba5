"""The transcript of one connection: what was sent and received, as two chains of hashes, signed on the way.

Each direction is a chain, since two sides see the messages of *one* direction in one order and those of both
in two. With k a key that only the two sides know, link n of a chain is

    c₀ = SHA-256(tag, meeting, connection, sender)      cₙ = SHA-256(k, cₙ₋₁, length, message n)

The *meeting* is a hash of both hellos and both sizes, so a chain belongs to one attempt of one run. k keeps
others, who may be shown a chain as evidence, from testing guesses of a message on it.

Behind every message that is marked as signed (party.py) its sender signs both chains, as far as it has sent
and received them, and says how many messages that were: 8 + 64 bytes. Who receives the signature demands that
it fits its own transcript, before anything follows; so both hold the other's word for all that led to an
answer before they give it.
"""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from accord.errors import PeerError
from accord.secure.party import Buffer, Party, Receive, Send
from accord.side import Side

T = TypeVar("T")

LINK = 32
SEAL = 8 + 64
_START = b"accord chain 1\n"
_KEY = b"accord chain key 1\n"
_NAME = b"accord chain name 1\n"
_ABOUT = b"accord about 1\n"
_MEETING = b"accord meeting 1\n"
_SIGNED = b"accord seal 1\n"
_STATED = struct.Struct("<IcQ32sQ32s")

Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes], None]
"""Of a signature and what it should be of; raises ValueError."""


@dataclass(frozen=True)
class Meeting:
    """One attempt at a run, by both hellos and both sizes. What is made of it is known to the two alone, but
    for its name."""

    content: bytes
    about: bytes
    """A hash of the run and the agreement, which a seal names, so that none is taken for one of another."""

    @property
    def key(self) -> bytes:
        return hashlib.sha256(_KEY + self.content).digest()

    @property
    def name(self) -> bytes:
        """What the meeting is called before others: tells nothing."""
        return hashlib.sha256(_NAME + self.content).digest()

    def first(self, connection: int, sender: Side) -> bytes:
        """The first link of a chain."""
        which = connection.to_bytes(4, "little") + sender.value.encode()
        return hashlib.sha256(_START + self.content + which).digest()

    def __repr__(self) -> str:
        return f"Meeting({self.name.hex()[:16]})"


def about_run(run: str, agreement: str) -> bytes:
    """What a seal says of its run: a hash of its name and of the digest of its agreement."""
    return hashlib.sha256(_ABOUT + run.encode() + b"\n" + agreement.encode()).digest()


def meeting_of(hellos: dict[Side, bytes], sizes: dict[Side, int], about: bytes) -> Meeting:
    """The meeting at which these hellos and sizes were said."""
    told = b"".join(hellos[side] + sizes[side].to_bytes(8, "little") for side in Side)
    return Meeting(hashlib.sha256(_MEETING + told).digest(), about)


class Chain:
    """One direction: its last link and its length."""

    def __init__(self, meeting: Meeting, connection: int, sender: Side, last: bytes | None = None) -> None:
        """From its first link on, or from one that is known."""
        self._key = hashlib.sha256(meeting.key)
        self.last = meeting.first(connection, sender) if last is None else last
        self.count = 0

    def add(self, message: Buffer) -> bytes:
        """The next link."""
        found = self._key.copy()
        found.update(self.last + len(message).to_bytes(8, "little"))
        found.update(message)
        self.last = found.digest()
        self.count += 1
        return self.last


@dataclass(frozen=True)
class Seal:
    """What a side signed: how far both chains had come for it."""

    sent: int
    sent_link: bytes
    received: int
    received_link: bytes
    signature: bytes


def signed_bytes(about: bytes, meeting: bytes, connection: int, side: Side, seal: Seal) -> bytes:
    """What is signed: `about` a run (about_run), `meeting` by its name."""
    stated = _STATED.pack(
        connection, side.value.encode(), seal.sent, seal.sent_link, seal.received, seal.received_link
    )
    return _SIGNED + about + meeting + stated


class TranscriptStore(Protocol):
    """Where a transcript is kept; nothing of it is believed before it is there."""

    def sent(self, link: bytes) -> None: ...

    def received(self, message: Buffer, link: bytes) -> None:
        """It can be read again when this returns, even if this process ends."""

    def gave(self, seal: Seal) -> None: ...

    def took(self, seal: Seal) -> None: ...


@dataclass(frozen=True)
class SigningKeys:
    """How a side signs, and how its partner's signatures are judged."""

    sign: Sign
    verify: Verify


class Transcript:
    """One side's transcript of one connection."""

    def __init__(
        self, meeting: Meeting, connection: int, side: Side, keys: SigningKeys, store: TranscriptStore
    ) -> None:
        self._about, self._name = meeting.about, meeting.name
        self._number, self._side = connection, side
        self._keys, self._store = keys, store
        self._sent, self._received = (Chain(meeting, connection, s) for s in (side, side.other))
        self._links: deque[bytes] = deque([self._sent.last])
        """Of the messages sent since the partner last signed for some, that one first."""
        self._before = 0
        """How many messages were sent up to the first of these."""

    @property
    def last(self) -> dict[Side, bytes]:
        """The last links of both chains."""
        return {self._side: self._sent.last, self._side.other: self._received.last}

    def send(self, message: Buffer) -> None:
        link = self._sent.add(message)
        self._links.append(link)
        self._store.sent(link)

    def receive(self, message: Buffer) -> None:
        self._store.received(message, self._received.add(message))

    def sign(self) -> bytes:
        """A seal of this side, as it is sent."""
        made = Seal(self._sent.count, self._sent.last, self._received.count, self._received.last, b"")
        signature = self._keys.sign(signed_bytes(self._about, self._name, self._number, self._side, made))
        self._store.gave(Seal(made.sent, made.sent_link, made.received, made.received_link, signature))
        return made.received.to_bytes(8, "little") + signature

    def take(self, content: Buffer) -> None:
        """The partner's seal; raises unless it signed the very messages of this transcript."""
        if len(content) != SEAL:
            raise PeerError(problem="a signature that cannot be read")
        received, signature = int.from_bytes(content[:8], "little"), bytes(content[8:])
        known = received - self._before
        if not 0 <= known < len(self._links):
            raise PeerError(problem="a signature of messages that were not sent")
        link = self._links[known]
        seal = Seal(self._received.count, self._received.last, received, link, signature)
        try:
            signed = signed_bytes(self._about, self._name, self._number, self._side.other, seal)
            self._keys.verify(signature, signed)
        except ValueError:
            raise PeerError(problem="a signature that does not fit the messages so far") from None
        for _ in range(known):
            self._links.popleft()
        self._before = received
        self._store.took(seal)


def transcribe(party: Party[T], transcript: Transcript) -> Party[T]:
    """The same party with its transcript kept: signatures follow the messages that are marked so."""
    return around(party, lambda effect: _keep(effect, transcript))


def around(party: Party[T], do: Callable[[Send | Receive], Party[Buffer | None]]) -> Party[T]:
    """The same party, each of whose effects is done so."""
    answer: Buffer | None = None
    fault: BaseException | None = None
    try:
        while True:
            if fault is not None:
                thrown, fault = fault, None
                effect = party.throw(thrown)
            else:
                effect = next(party) if answer is None else party.send(answer)
            try:
                answer = yield from do(effect)
            except GeneratorExit:
                raise
            except BaseException as error:
                # As over any channel: what fails is raised in the party, where it waits.
                fault = error
    except StopIteration as end:
        return end.value
    finally:
        party.close()


def _keep(effect: Send | Receive, transcript: Transcript) -> Party[Buffer | None]:
    if isinstance(effect, Send):
        transcript.send(effect.buffer)
        yield effect
        if effect.signed:
            yield Send(transcript.sign())
        return None
    answer = yield effect
    transcript.receive(answer)
    if effect.signed:
        transcript.take((yield Receive(SEAL)))
    return answer


def sign_at_end(transcript: Transcript) -> Party[None]:
    """Sign the last links, and take the partner's signature of them."""
    yield Send(transcript.sign())
    transcript.take((yield Receive(SEAL)))
