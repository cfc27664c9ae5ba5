"""What stands around a run for it to be accountable, and what stands there where it is not: one interface.

    Accountability    of a run: chosen once, by `accountability_of`, from the agreement; nobody else asks
    Commitment        what a side is committed to, from before the sizes on: its seed, and both pledges
    AttemptRecord     of one attempt: the coordinators' connection, what workers are given, and what the
                      receipt binds in the end
    Recorder          of one connection: wraps the party that speaks there, and is what it draws from

In an accountable run the commitment is on disk before the protocol begins, each connection draws from a key
of its own (seed.py), and all that its party says and hears is recorded, and signed where it is marked so
(transcript.py). Otherwise a party is left as it is, draws from the system, and nothing is kept or sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from accord.accountable.pledge import PLEDGE, Pledge, decode_pledge, encode_pledge, exchange_pledges
from accord.accountable.seed import Seed, decode_seed, draw_seed, encode_seed
from accord.accountable.stored import StoredAttempt, TranscriptFiles, WorkerSigning, new_attempt
from accord.accountable.transcript import (
    LINK,
    Meeting,
    SigningKeys,
    Transcript,
    about_run,
    meeting_of,
    sign_at_end,
    transcribe,
)
from accord.agreement.document import Agreement
from accord.entropy import Derived, Entropy, System
from accord.errors import StateError, TrustError
from accord.peer.handshake import Hello, encode_hello
from accord.peer.identity import Card, parse_card, signer, verifier
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import StoredRun

T = TypeVar("T")
Links = dict[Side, bytes]
"""The last links of what A and B sent on a connection."""

_PLEDGES = b"accord pledges 1\n"


class Recorder(Protocol):
    """What stands around the parties that speak over one connection."""

    @property
    def entropy(self) -> Entropy:
        """What a side draws from there."""

    @property
    def links(self) -> Links:
        """Zeros where nothing is recorded."""

    def record(self, party: Party[T]) -> Party[T]:
        """The same party."""

    def record_whole(self, party: Party[T]) -> Party[T]:
        """The same party, and signatures of both sides at its end."""


class AttemptRecord(Protocol):
    """What stands around one attempt at a run."""

    @property
    def connection(self) -> Recorder:
        """That of the coordinators."""

    def keep_certificates(self, cards: list[bytes]) -> None:
        """Those of the own workers, before the partner is told of them."""

    def worker(self, number: int) -> WorkerSigning | None:
        """What worker `number`, from 0 on, is given to sign with; None where it signs nothing."""

    def facts(self, workers: tuple[Links, ...]) -> dict[str, Any] | None:
        """What the receipt binds, the same on both sides, if anything; `workers` are the links of theirs."""


class Commitment(Protocol):
    """What a side is committed to in a run."""

    def slots(self) -> Entropy:
        """What the slots are drawn from."""

    def contents(self, cards: dict[Side, Card]) -> dict[str, bytes]:
        """What is kept from the beginning on for a replay, by name; with the cards, which may be renewed."""

    def kept(self, followed: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
        """What is kept of that which the slots follow from, besides table and seed; it is put together only
        then, since its time follows the table."""


class Accountability(Protocol):
    """Whether, and how, a side can be held to what it does in a run."""

    def commit(self, run: str, table: bytes) -> Party[Commitment]:
        """Fix all that the own messages follow from, with a table of this digest."""

    def recall(self, run: StoredRun) -> Commitment:
        """What was fixed in a run that was begun."""

    def attempt(
        self, run: StoredRun, hellos: tuple[Hello, Hello], sizes: dict[Side, int]
    ) -> AbstractContextManager[AttemptRecord]:
        """The record of an attempt that begins with these hellos, as long as it lasts."""


def accountability_of(
    agreement: Agreement, state: State, side: Side, cards: dict[Side, Card], entropy: Entropy
) -> Accountability:
    """As the two have agreed. *Requires*: entropy of the system."""
    if agreement.accountable:
        return Accountable(agreement, state, side, cards, entropy)
    return Unaccountable(entropy)


# -- a run that is not accountable ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Unaccountable:
    """Nothing is recorded: the run, each of its attempts and connections, and its workers."""

    entropy: Entropy = field(repr=False)

    def commit(self, run: str, table: bytes) -> Party[Commitment]:
        yield from ()
        return self

    def recall(self, run: StoredRun) -> Commitment:
        return self

    def slots(self) -> Entropy:
        return self.entropy

    def contents(self, cards: dict[Side, Card]) -> dict[str, bytes]:
        return {}

    def kept(self, followed: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
        return {}

    @contextmanager
    def attempt(
        self, run: StoredRun, hellos: tuple[Hello, Hello], sizes: dict[Side, int]
    ) -> Iterator[AttemptRecord]:
        yield self

    @property
    def connection(self) -> Recorder:
        return self

    def keep_certificates(self, cards: list[bytes]) -> None:
        pass

    def worker(self, number: int) -> None:
        return None

    def facts(self, workers: tuple[Links, ...]) -> None:
        return None

    @property
    def links(self) -> Links:
        return dict.fromkeys(Side, bytes(LINK))

    def record(self, party: Party[T]) -> Party[T]:
        return party

    def record_whole(self, party: Party[T]) -> Party[T]:
        return party


# -- an accountable run --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeedCommitment:
    """The seed of a run, and what both sides are committed to."""

    seed: Seed
    pledges: dict[Side, Pledge]

    def slots(self) -> Entropy:
        return self.seed.slots()

    def contents(self, cards: dict[Side, Card]) -> dict[str, bytes]:
        pledges = b"".join(encode_pledge(self.pledges[side]) for side in Side)
        return {
            "seed": encode_seed(self.seed),
            "pledges": _PLEDGES + pledges,
            **{f"card-{side.value}": cards[side].pem for side in Side},
        }

    def kept(self, followed: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
        return followed()


def read_commitment(run: StoredRun) -> SeedCommitment:
    """The commitment of an accountable run."""
    try:
        return SeedCommitment(decode_seed(run.read("seed")), _read_pledges(run))
    except ValueError:
        raise _unreadable(run, "seed and pledges") from None


def read_cards(run: StoredRun) -> dict[Side, Card]:
    """The cards that both had when the run began."""
    try:
        return {side: parse_card(run.read(f"card-{side.value}"), run.path) for side in Side}
    except TrustError:
        raise _unreadable(run, "cards") from None


def _unreadable(run: StoredRun, what: str) -> StateError:
    mend = "Restore it from a copy; without it the run can neither continue nor be replayed."
    return StateError(path=run.path, reason=f"the {what} of the run cannot be read", mend=mend)


def _read_pledges(run: StoredRun) -> dict[Side, Pledge]:
    content = run.read("pledges")
    body = content[len(_PLEDGES) :]
    if not content.startswith(_PLEDGES) or len(body) != 2 * PLEDGE:
        raise ValueError("not two pledges")
    return {Side.A: decode_pledge(body[:PLEDGE]), Side.B: decode_pledge(body[PLEDGE:])}


@dataclass(frozen=True)
class Accountable:
    """All that a side says is signed, and all that it hears is kept."""

    agreement: Agreement
    state: State
    side: Side
    cards: dict[Side, Card]
    entropy: Entropy = field(repr=False)

    def commit(self, run: str, table: bytes) -> Party[Commitment]:
        """Draw a seed, and pledge it with the table; take the partner's pledge."""
        seed = draw_seed(self.entropy)
        made = seed.commitments(self.side, table)
        own = (self.state, self.side, self.cards, run, self.agreement.digest)
        return SeedCommitment(seed, (yield from exchange_pledges(*own, made)))

    def recall(self, run: StoredRun) -> Commitment:
        return read_commitment(run)

    @contextmanager
    def attempt(
        self, run: StoredRun, hellos: tuple[Hello, Hello], sizes: dict[Side, int]
    ) -> Iterator[AttemptRecord]:
        both = {hello.side: hello for hello in hellos}
        if read_cards(run) != self.cards:
            raise TrustError(
                problem=f"The run {run.manifest.run} is accountable and began with other cards: what was "
                "signed with them binds their owners alone.",
                mend="Both link again, which costs nothing in a series or under the same `snapshot=`.",
            )
        commitment, identity = read_commitment(run), self.state.identity.read_bytes()
        told = {side: encode_hello(hello) for side, hello in both.items()}
        about = about_run(run.manifest.run, self.agreement.digest)
        meeting = meeting_of(told, sizes, about)
        record = new_attempt(run, told)
        keys = AttemptKeys(commitment.seed, record.number, nonces_of(both))
        signing = SigningKeys(signer(identity), verifier(self.cards[self.side.other]))
        with TranscriptFiles(record.folder, 0) as files:
            transcript = Transcript(meeting, 0, self.side, signing, files)
            connection = SignedConnection(transcript, keys.connection(0))
            yield SignedAttempt(
                commitment.pledges, keys, meeting, connection, record, self.agreement.keep_days
            )


def nonces_of(hellos: dict[Side, Hello]) -> bytes:
    """The nonces of A and B."""
    return hellos[Side.A].nonce + hellos[Side.B].nonce


@dataclass(frozen=True)
class AttemptKeys:
    """The keys of all connections of one attempt, those of workers being 1, 2, …"""

    seed: Seed
    attempt: int
    nonces: bytes

    def connection(self, number: int) -> bytes:
        return self.seed.connection(number, self.attempt, self.nonces)


@dataclass(frozen=True)
class SignedAttempt:
    """One attempt at an accountable run."""

    pledges: dict[Side, Pledge]
    keys: AttemptKeys
    meeting: Meeting
    connection: Recorder
    stored: StoredAttempt
    keep_days: int

    def keep_certificates(self, cards: list[bytes]) -> None:
        self.stored.keep_certificates(cards)

    def worker(self, number: int) -> WorkerSigning:
        meeting, key = self.meeting.content + self.meeting.about, self.keys.connection(number + 1)
        return WorkerSigning(number + 1, meeting.hex(), key.hex(), str(self.stored.folder))

    def facts(self, workers: tuple[Links, ...]) -> dict[str, Any]:
        links = (self.connection.links, *workers)
        return {
            "keep_days": self.keep_days,
            "pledges": {
                side.value: {"table": pledge.table.hex(), "seed": pledge.seed.hex()}
                for side, pledge in self.pledges.items()
            },
            "meeting": self.meeting.name.hex(),
            "transcripts": [{side.value: one[side].hex() for side in Side} for one in links],
        }


class SignedConnection:
    """A connection of an accountable run, of the coordinators or of two workers."""

    def __init__(self, transcript: Transcript, key: bytes) -> None:
        self._transcript, self._key = transcript, key

    @cached_property
    def entropy(self) -> Entropy:
        """One for the whole connection: a second one would repeat masks."""
        return Derived(self._key)

    @property
    def links(self) -> Links:
        return self._transcript.last

    def record(self, party: Party[T]) -> Party[T]:
        return transcribe(party, self._transcript)

    def record_whole(self, party: Party[T]) -> Party[T]:
        found = yield from self.record(party)
        yield from sign_at_end(self._transcript)
        return found


def open_worker_recorder(given: WorkerSigning | None, side: Side, identity: bytes, partner: Card) -> Recorder:
    """What stands around a worker's connection. It signs with the key of its own certificate, and keeps its
    transcript as long as it lives."""
    if given is None:
        return Unaccountable(System())
    files = TranscriptFiles(Path(given.folder), given.number)
    keys = SigningKeys(signer(identity), verifier(partner))
    meeting = bytes.fromhex(given.meeting)
    transcript = Transcript(Meeting(meeting[:32], meeting[32:]), given.number, side, keys, files)
    return SignedConnection(transcript, bytes.fromhex(given.key))
