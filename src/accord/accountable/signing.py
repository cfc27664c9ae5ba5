"""What makes a run accountable while it goes on: its seed, its pledges, and the book of every connection.

A *promise* is a side's seed with both pledges, fixed for the run and on disk before the protocol begins. A
*desk* is opened for each attempt: it gives the key of each connection, keeps the coordinators' book, and says
in the end what the receipt binds. A run that is not accountable has neither, and sends and keeps nothing of
this.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from accord.accountable.seed import (
    PLEDGE,
    Pledge,
    Seed,
    decode_pledge,
    decode_seed,
    draw_seed,
    encode_pledge,
    encode_seed,
    exchange_pledges,
)
from accord.accountable.stored import FileKeeper, WorkerDesk, keep_badges, new_attempt
from accord.accountable.transcript import Book, Meeting, Pen, about_run, close_book, keep_book, meeting_of
from accord.agreement.document import Agreement
from accord.entropy import Derived, Entropy
from accord.errors import StateError, TrustError
from accord.peer.handshake import Hello, encode_hello
from accord.peer.identity import Card, parse_card, signer, verifier
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State

T = TypeVar("T")

_PLEDGES = b"accord pledges 1\n"


@dataclass(frozen=True)
class Promise:
    """The seed of a run, and what both sides are committed to."""

    seed: Seed
    pledges: dict[Side, Pledge]


def make_promise(
    state: State,
    agreement: Agreement,
    side: Side,
    cards: dict[Side, Card],
    run: str,
    table: bytes,
    system: Entropy,
) -> Party[Promise | None]:
    """Draw a seed, and pledge it with a table of this digest; take the partner's pledge. Nothing of it where
    runs are not accountable."""
    if not agreement.accountable:
        return None
    seed = draw_seed(system)
    made = seed.commitments(side, table)
    return Promise(seed, (yield from exchange_pledges(state, side, cards, run, agreement.digest, made)))


def promise_files(promise: Promise, cards: dict[Side, Card]) -> dict[str, bytes]:
    """What is kept from the beginning on for a replay, by the names of the files: with the cards, which may
    be renewed later. The noise that the slots have comes to it."""
    pledges = b"".join(encode_pledge(promise.pledges[side]) for side in Side)
    return {
        "seed": encode_seed(promise.seed),
        "pledges": _PLEDGES + pledges,
        **{f"card-{side.value}": cards[side].pem for side in Side},
    }


def read_promise(folder: Path) -> Promise:
    """The promise of the run in this folder."""
    try:
        return Promise(decode_seed((folder / "seed").read_bytes()), read_pledges(folder))
    except (OSError, ValueError):
        mend = "Restore it from a copy; without it the run can neither continue nor be replayed."
        raise StateError(
            path=folder / "seed", reason="the seed of the run cannot be read", mend=mend
        ) from None


def read_cards(folder: Path) -> dict[Side, Card]:
    """The cards that both had when the run began."""
    try:
        return {side: parse_card((folder / f"card-{side.value}").read_bytes(), folder) for side in Side}
    except (OSError, TrustError):
        mend = "Restore it from a copy."
        raise StateError(path=folder, reason="the cards of the run cannot be read", mend=mend) from None


def read_pledges(folder: Path) -> dict[Side, Pledge]:
    """Both pledges; raises OSError or ValueError."""
    content = (folder / "pledges").read_bytes()
    body = content[len(_PLEDGES) :]
    if not content.startswith(_PLEDGES) or len(body) != 2 * PLEDGE:
        raise ValueError("not two pledges")
    return {Side.A: decode_pledge(body[:PLEDGE]), Side.B: decode_pledge(body[PLEDGE:])}


class Desk:
    """One attempt at an accountable run; use it as a context."""

    def __init__(
        self,
        folder: Path,
        promise: Promise,
        hellos: dict[Side, Hello],
        sizes: dict[Side, int],
        about: bytes,
        side: Side,
        cards: dict[Side, Card],
        identity: bytes,
    ) -> None:
        told = {s: encode_hello(hello) for s, hello in hellos.items()}
        self.promise = promise
        self.meeting = meeting_of(told, sizes, about)
        self._nonces = nonces_of(hellos)
        self._number, self._folder = new_attempt(folder, told)
        self._files = ExitStack()
        keeper = self._files.enter_context(FileKeeper(self._folder, 0))
        pen = Pen(signer(identity), verifier(cards[side.other]))
        self._book = Book(self.meeting, 0, side, pen, keeper)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    @cached_property
    def entropy(self) -> Entropy:
        """What this side draws from over the coordinators' connection; a second one would repeat masks."""
        return Derived(self.promise.seed.connection(0, self._number, self._nonces))

    def keep(self, party: Party[T]) -> Party[T]:
        """The same party, signed for on the way and at its end."""
        found = yield from keep_book(party, self._book)
        yield from close_book(self._book)
        return found

    def keep_badges(self, cards: list[bytes]) -> None:
        """The certificates of the own workers, before the partner is told of them."""
        keep_badges(self._folder, cards)

    def worker(self, number: int) -> WorkerDesk:
        """What worker `number`, from 0 on, is given."""
        key = self.promise.seed.connection(number + 1, self._number, self._nonces)
        meeting = self.meeting.content + self.meeting.about
        return WorkerDesk(number + 1, meeting.hex(), key.hex(), str(self._folder))

    def facts(self, agreement: Agreement, workers: tuple[dict[Side, bytes], ...]) -> dict[str, Any]:
        """What the receipt binds, the same on both sides; `workers` are the last links of theirs."""
        links = (self._book.last, *workers)
        return {
            "keep_days": agreement.keep_days,
            "pledges": {
                side.value: {"table": pledge.table.hex(), "seed": pledge.seed.hex()}
                for side, pledge in self.promise.pledges.items()
            },
            "meeting": self.meeting.name.hex(),
            "transcripts": [{side.value: one[side].hex() for side in Side} for one in links],
        }


def open_desk(
    state: State,
    agreement: Agreement,
    side: Side,
    cards: dict[Side, Card],
    run: str,
    hellos: tuple[Hello, Hello],
    sizes: dict[Side, int],
) -> Desk | nullcontext[None]:
    """The desk of an attempt that begins with these hellos; none where runs are not accountable."""
    if not agreement.accountable:
        return nullcontext()
    folder, both = state.run(run), {hello.side: hello for hello in hellos}
    if read_cards(folder) != cards:
        raise TrustError(
            problem=f"The run {run} is accountable and began with other cards: what was signed with them "
            "binds their owners alone.",
            mend="Both link again, which costs nothing in a series or under the same `snapshot=`.",
        )
    about, identity = about_run(run, agreement.digest), state.identity.read_bytes()
    return Desk(folder, read_promise(folder), both, sizes, about, side, cards, identity)


def nonces_of(hellos: dict[Side, Hello]) -> bytes:
    """The nonces of A and B."""
    return hellos[Side.A].nonce + hellos[Side.B].nonce


def open_worker_book(desk: WorkerDesk, side: Side, identity: bytes, partner: Card) -> Book:
    """The book of a worker, which signs with the key of its badge and keeps it as long as it lives."""
    keeper = FileKeeper(Path(desk.folder), desk.number)
    pen = Pen(signer(identity), verifier(partner))
    told = bytes.fromhex(desk.meeting)
    return Book(Meeting(told[:32], told[32:]), desk.number, side, pen, keeper)
