"""The coordinator's workers: how many, how they meet those of the partner, and how a round is shared out.

    1  both hellos said how many workers each side wants; with the counts it is known how much there is to do,
       and the smaller number counts
    2  the workers start and make their keys; the coordinators exchange the certificates (certificates.py)
    3  worker i of one side connects to worker i of the other through the one port of who listens (routing.py)
       and both set up an engine session, with masks of their own
    4  each round is cut into shares (protocols/shares.py); worker i gets share i of every round in order, on
       both sides, so that no word about it is needed

A worker that fails, or dies, ends the run on both sides, which can then be resumed with any number of them:
answers are kept by rounds. It is not replaced within the run: its session and its share of the rounds under
way would have to begin anew on both sides, which is what `resume` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.accountable.signing import AttemptRecord
from accord.agreement.document import Agreement, OtOptions
from accord.entropy import Entropy
from accord.errors import WorkerError
from accord.notices import Tell
from accord.peer.connect import parse_address
from accord.peer.connection import Reach
from accord.peer.handshake import Wish
from accord.peer.port import open_port
from accord.protocols.comparers import Comparer, InTurn, Staff
from accord.protocols.journal import UNDER_WAY
from accord.protocols.shares import Share, cut
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Input, Node, inputs
from accord.secure.circuit_text import encode_circuit
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from accord.workers import messages
from accord.workers.answers import MEET_SECONDS, Heard, Line, Workers
from accord.workers.certificates import Badge, exchange_badges
from accord.workers.cores import MOST_WORKERS, count_cores
from accord.workers.local import LocalWorkers
from accord.workers.messages import Answer, Job, Kind, Meet, Start
from accord.workers.routing import TOKEN, make_token, route

Ints = NDArray[np.int64]

MANY = 10**7
"""Comparisons from which on workers are worth their start."""


def own_wish(workers: int | None) -> Wish:
    """What this side wants: so many, or where it is worth it one for each core that it may use."""
    if workers is not None:
        return Wish(workers, always=True)
    return Wish(min(count_cores(), MOST_WORKERS), always=False)


def count_workers(own: Wish, partner: Wish, most: int) -> int:
    """How many workers each side has, for so many comparisons: the same on both sides."""
    return min(wish.count if wish.always or most >= MANY else 1 for wish in (own, partner))


@dataclass(frozen=True)
class Errand:
    """What the workers of a side are for."""

    agreement: Agreement
    side: Side
    reach: Reach
    tell: Tell
    record: AttemptRecord
    """What stands around the connections of the attempt."""

    @property
    def partner(self) -> str:
        return self.agreement.party(self.side.other)


@dataclass(frozen=True)
class Figures:
    """What workers came to; empty where there are none."""

    sent: int = 0
    received: int = 0
    rates: tuple[int, ...] = ()
    """Comparisons a second of each."""
    peaks: tuple[int, ...] = ()
    """The most bytes that each has held."""
    links: tuple[dict[Side, bytes], ...] = ()
    """Of each: the last links of what A and B sent (transcript.py), zeros where nothing is recorded."""

    @property
    def traffic(self) -> int:
        return self.sent + self.received


class Team(Protocol):
    """Who works for a side of a run."""

    @property
    def wish(self) -> Wish: ...

    def staff(self, errand: Errand, line: Line, partner: Wish) -> Staff:
        """Those who compare, with a partner that wants so many."""

    def expect(self, seconds: float) -> None:
        """The step that begins should take the partner so long."""

    def figures(self) -> Figures: ...


class Alone:
    """Nobody but this process."""

    wish = Wish(1, always=True)

    def staff(self, errand: Errand, line: Line, partner: Wish) -> Staff:
        return InTurn()

    def expect(self, seconds: float) -> None:
        pass

    def figures(self) -> Figures:
        return Figures()


@dataclass
class _Tally:
    """What one worker has done."""

    last: Answer
    pairs: int = 0
    nanoseconds: int = 0

    def add(self, pairs: int, answer: Answer) -> None:
        self.pairs += pairs
        self.nanoseconds += answer.nanoseconds
        self.last = answer


class Crew:
    """Workers for as long as a run needs them; use it as a context."""

    def __init__(self, wish: Wish, reach: Reach, make: Callable[[], Workers] = LocalWorkers) -> None:
        self.wish = wish
        self.workers = make()
        self.tallies: list[_Tally] = []
        self.seconds = 0.0
        """That the partner may take before it begins with the next round."""
        listens = reach.listen and wish.count > 1
        self.port = open_port(parse_address(reach.listen, "listen")) if listens else None
        """Where the partner's workers will call; open since before the partner came."""

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_port()
        self.workers.end()

    def close_port(self) -> None:
        if self.port is not None:
            self.port.close()

    def staff(self, errand: Errand, line: Line, partner: Wish) -> Staff:
        return _Gathering(self, errand, line, partner)

    def expect(self, seconds: float) -> None:
        self.seconds += seconds

    def figures(self) -> Figures:
        last = [tally.last for tally in self.tallies]
        return Figures(
            sent=sum(answer.sent for answer in last),
            received=sum(answer.received for answer in last),
            rates=tuple(round(t.pairs / max(1e-9, t.nanoseconds * 1e-9)) for t in self.tallies),
            peaks=tuple(answer.peak_bytes for answer in last),
            links=tuple(dict(zip(Side, one.links, strict=True)) for one in last),
        )


@dataclass(frozen=True)
class _Gathering:
    """A crew on its way to those of the partner."""

    crew: Crew
    errand: Errand
    line: Line
    partner: Wish

    def gather(
        self, side: Side, engine: Engine, circuit: Node, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        count = count_workers(self.crew.wish, self.partner, most)
        if count == 1:
            self.crew.close_port()
            return (yield from InTurn().gather(side, engine, circuit, entropy, most))
        heard = Heard(self.crew.workers, self.line)
        self._start(count, circuit)
        cards = heard.all_say(Kind.BADGE, count)
        own = [Badge(bytes(card), entropy.bytes(TOKEN)) for card in cards]
        self.errand.record.keep_certificates([badge.card for badge in own])
        theirs = yield from exchange_badges(own)
        pairs = zip(own, theirs, strict=True)
        halves = [(a.half, b.half) if side is Side.A else (b.half, a.half) for a, b in pairs]
        self._meet([badge.card for badge in theirs], [make_token(*both) for both in halves])
        ready = [messages.decode_answer(body) for body in heard.all_say(Kind.READY, count)]
        self.crew.tallies[:] = map(_Tally, ready)
        return _Shared(self.crew, heard, side, inputs(circuit, side), count)

    def _start(self, count: int, circuit: Node) -> None:
        errand, reach = self.errand, self.errand.reach
        patience, engine = reach.patience, errand.agreement.engine
        start = Start(
            side=errand.side.value,
            party=errand.agreement.party(errand.side),
            partner=errand.partner,
            circuit=encode_circuit(circuit),
            engine=engine.name,
            network=engine.network if isinstance(engine, OtOptions) else "",
            silent=isinstance(engine, OtOptions) and engine.silent,
            listens=bool(reach.listen),
            silence=float(patience.silence),
            message=float(patience.message),
            grace=float(patience.grace),
            wait=MEET_SECONDS,
        )
        self.crew.workers.start(count)
        for number in range(count):
            own = replace(start, signing=errand.record.worker(number))
            self.crew.workers.say(number, Kind.START, messages.encode_facts(own))

    def _meet(self, cards: list[bytes], tokens: list[bytes]) -> None:
        """Tell every worker whom it meets; hand over the connections of those who call."""
        reach, crew = self.errand.reach, self.crew
        where = ("", 0)
        if reach.connect:
            address = parse_address(reach.connect, "connect")
            where = (address.host or "localhost", address.port)
        for number, (card, token) in enumerate(zip(cards, tokens, strict=True)):
            meet = Meet(card.hex(), token.hex() if reach.connect else "", *where)
            crew.workers.say(number, Kind.MEET, messages.encode_facts(meet))
        if crew.port is None:
            return
        came = route(
            crew.port, tokens, MEET_SECONDS, crew.workers.hand_over,
            self.line.attend, self.errand.partner, self.errand.tell,
        )  # fmt: skip
        crew.close_port()
        if not came:
            raise self.line.lost("did not bring all of its workers in time")


@dataclass(frozen=True)
class _Asked:
    """A round that is shared out."""

    shares: tuple[Share, ...]
    found: dict[int, Ints] = field(default_factory=dict)
    """By worker: the places in the round."""


@dataclass(frozen=True)
class _Shared:
    """The workers as a comparer."""

    crew: Crew
    heard: Heard
    side: Side
    inputs: tuple[Input, ...]
    count: int
    under_way: int = UNDER_WAY
    _asked: deque[_Asked] = field(default_factory=deque)
    _busy: dict[int, deque[tuple[_Asked, Share]]] = field(default_factory=dict)
    """What each worker still has to answer, in order."""

    def ask(self, blocks: Blocks, table: Table) -> None:
        asked = _Asked(cut(blocks.a_counts, blocks.b_counts, self.count))
        self._asked.append(asked)
        for share in asked.shares:
            own = share.rows(table, self.side is Side.A)
            job = Job(self.crew.seconds, share.a_counts, share.b_counts, own)
            self.crew.workers.say(share.worker, Kind.JOB, *messages.encode_job(job, self.inputs))
            self._busy.setdefault(share.worker, deque()).append((asked, share))
        self.crew.seconds = 0.0

    def answer(self) -> Party[Ints]:
        asked = self._asked.popleft()
        while len(asked.found) < len(asked.shares):
            self._take()
        yield from ()
        return np.concatenate([np.zeros(0, np.int64), *(asked.found[share.worker] for share in asked.shares)])

    def _take(self) -> None:
        """The next answer of any worker."""
        heard = self.heard.next()
        assert heard is not None
        worker, message = heard
        if message.kind is not Kind.ANSWER or not self._busy.get(worker):
            raise WorkerError(number=worker + 1, problem=f"it said {message.kind.name}")
        asked, share = self._busy[worker].popleft()
        answer = messages.decode_answer(message.body)
        pairs = share.blocks.pairs
        if len(answer.places) and not 0 <= answer.places.min() <= answer.places.max() < pairs:
            raise WorkerError(number=worker + 1, problem="it named a pair that it was not given")
        asked.found[worker] = share.first + answer.places
        self.crew.tallies[worker].add(pairs, answer)
