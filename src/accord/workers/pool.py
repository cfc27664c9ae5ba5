"""The worker pool of a coordinator: how its workers start, meet those of the partner, and are given work.

    1  both hellos said how many workers each side wants. The counts say how long one worker would take, by
       the times of planning/machine.py and no clock. The smaller number decides.
    2  the workers start and make their keys; the coordinators exchange the certificates (certificates.py)
    3  worker i of one side connects to worker i of the other, through the one port of who listens
       (routing.py), and both set up an engine session, with masks of their own
    4  each round is cut into shares (protocols/parts/shares.py); worker i gets share i of every round in
       order, on both sides, so that no word about it is needed

Workers are processes that are sent messages (messages.py), wherever they run. One that fails, or dies, ends
the run on both sides, which can then be resumed with any number of them: answers are kept by rounds. It is
not replaced within the run: its session and its share of the rounds under way would have to begin anew on
both sides, which is what `resume` does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord import plugins
from accord.agreement.document import Agreement, OtOptions
from accord.entropy import Entropy
from accord.errors import WorkerError
from accord.notices import Tell
from accord.peer.connect import parse_address
from accord.peer.connection import Reach
from accord.peer.handshake import Wish
from accord.peer.port import open_port
from accord.planning.machine import seconds_to_compare
from accord.protocols.parts.comparers import Comparer, InTurn, Staff
from accord.protocols.parts.journal import UNDER_WAY
from accord.protocols.parts.shares import Share, cut
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Circuit, Input, inputs
from accord.secure.circuit_text import encode_circuit
from accord.secure.engine import AtOnceEngine, Engine, is_found, moved, no_matches
from accord.secure.party import Party
from accord.side import Side
from accord.workers import messages
from accord.workers.certificates import WorkerCertificate, exchange_certificates
from accord.workers.connections import MEET_SECONDS, PartnerConnection, Replies, Workers
from accord.workers.local import LocalWorkers
from accord.workers.messages import Answer, Job, Kind, Meet, Start
from accord.workers.routing import TOKEN, make_token, route

Ints = NDArray[np.int64]

WORTH_SECONDS = 20
"""Expected seconds from which on workers start: two of them take two seconds to start and 10.4 to compare."""


def count_workers(own: Wish, partner: Wish, seconds: float) -> int:
    """Workers of each side, where one of them would take so many seconds: the same on both sides."""
    return min(wish.count if wish.always or seconds >= WORTH_SECONDS else 1 for wish in (own, partner))


@dataclass(frozen=True, eq=False)
class SharedRound:
    """A round that is shared out."""

    shares: tuple[Share, ...]
    circuit: Circuit
    found: dict[int, Ints] = field(default_factory=dict)
    """By worker: the places in the round, or what an engine's `open` gives."""

    @property
    def is_answered(self) -> bool:
        return len(self.found) == len(self.shares)

    def answer(self, share: Share, found: Ints) -> bool:
        """Take the matches within a share, as a list of numbers; whether it can be so."""
        wide = no_matches(self.circuit).shape[1:]
        if found.size % math.prod(wide):
            return False
        some = found.reshape(-1, *wide)
        self.found[share.worker] = moved(self.circuit, some, share.first)
        return is_found(self.circuit, some, share.blocks.pairs)

    @property
    def places(self) -> Ints:
        """Those of all matches, in order. *Requires*: the round is answered."""
        return np.concatenate(
            [no_matches(self.circuit), *(self.found[share.worker] for share in self.shares)]
        )


@dataclass(frozen=True)
class WorkOrder:
    """What the workers of a side are for."""

    agreement: Agreement
    side: Side
    reach: Reach
    tell: Tell

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

    @property
    def traffic(self) -> int:
        return self.sent + self.received


class WorkerPool(Protocol):
    """Who works for a side of a run."""

    @property
    def wish(self) -> Wish: ...

    def comparers(self, order: WorkOrder, connection: PartnerConnection, partner: Wish) -> Staff:
        """Those who compare, with a partner that wants so many."""

    def expect(self, seconds: float) -> None:
        """The step that begins should take the partner so long."""

    def figures(self) -> Figures: ...

    def end(self) -> None:
        """End all of them; again if need be."""


class NoWorkers:
    """Nobody but this process."""

    wish = Wish(1, always=True)

    def comparers(self, order: WorkOrder, connection: PartnerConnection, partner: Wish) -> Staff:
        return InTurn()

    def expect(self, seconds: float) -> None:
        pass

    def figures(self) -> Figures:
        return Figures()

    def end(self) -> None:
        pass


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


class ProcessPool:
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

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self.close_port()
        self.workers.end()

    def close_port(self) -> None:
        if self.port is not None:
            self.port.close()

    def comparers(self, order: WorkOrder, connection: PartnerConnection, partner: Wish) -> Staff:
        return Sharing(self.wish, partner, _WorkerProcesses(self, order, connection))

    def expect(self, seconds: float) -> None:
        self.seconds += seconds

    def figures(self) -> Figures:
        last = [tally.last for tally in self.tallies]
        return Figures(
            sent=sum(answer.sent for answer in last),
            received=sum(answer.received for answer in last),
            rates=tuple(round(t.pairs / max(1e-9, t.nanoseconds * 1e-9)) for t in self.tallies),
            peaks=tuple(answer.peak_bytes for answer in last),
        )


@dataclass
class _WorkerProcesses:
    """The workers of a pool, each with its worker of the partner."""

    pool: ProcessPool
    order: WorkOrder
    connection: PartnerConnection
    inputs: tuple[Input, ...] = ()
    _busy: dict[int, deque[tuple[SharedRound, Share]]] = field(default_factory=dict)
    """What each worker still has to answer, in order."""

    @property
    def replies(self) -> Replies:
        return Replies(self.pool.workers, self.connection)

    def dismiss(self) -> None:
        """None are needed."""
        self.pool.close_port()

    def start(self, count: int, side: Side, circuit: Circuit) -> list[bytes]:
        """Start so many; their certificates."""
        self.inputs = inputs(circuit, side)
        start = self._orders(side, circuit)
        self.pool.workers.start(count)
        for number in range(count):
            self.pool.workers.send(number, Kind.START, messages.encode_facts(start))
        return [bytes(card) for card in self.replies.from_all(Kind.CERTIFICATE, count)]

    def _orders(self, side: Side, circuit: Circuit) -> Start:
        order, reach = self.order, self.order.reach
        patience, engine = reach.patience, order.agreement.engine
        return Start(
            side=side.value,
            party=order.agreement.party(order.side),
            partner=order.partner,
            circuit=encode_circuit(circuit),
            engine=engine.name,
            network=engine.network if isinstance(engine, OtOptions) else "",
            silent=isinstance(engine, OtOptions) and engine.silent,
            listens=bool(reach.listen),
            silence=float(patience.silence),
            message=float(patience.message),
            grace=float(patience.grace),
            wait=MEET_SECONDS,
            plugins=" ".join(plugins.loaded()),
        )

    def meet(self, cards: list[bytes], tokens: list[bytes]) -> None:
        """Tell every worker whom it meets, and hand over the connections of those who call; return when all
        are ready."""
        reach, workers = self.order.reach, self.pool.workers
        where = ("", 0)
        if reach.connect:
            address = parse_address(reach.connect, "connect")
            where = (address.host or "localhost", address.port)
        for number, (card, token) in enumerate(zip(cards, tokens, strict=True)):
            meet = Meet(card.hex(), token.hex() if reach.connect else "", *where)
            workers.send(number, Kind.MEET, messages.encode_facts(meet))
        self._let_in(tokens)
        ready = [messages.decode_answer(body) for body in self.replies.from_all(Kind.READY, len(cards))]
        self.pool.tallies[:] = map(_Tally, ready)

    def _let_in(self, tokens: list[bytes]) -> None:
        """The partner's workers, where this side listens."""
        if self.pool.port is None:
            return
        came = route(
            self.pool.port, tokens, MEET_SECONDS, self.pool.workers.hand_over,
            self.connection.attend, self.order.partner, self.order.tell,
        )  # fmt: skip
        self.pool.close_port()
        if not came:
            raise self.connection.lost("did not bring all of its workers in time")

    def give(self, shared: SharedRound, rows: list[Table]) -> None:
        """A round, with one's own rows of each share."""
        for share, own in zip(shared.shares, rows, strict=True):
            job = Job(self.pool.seconds, share.a_counts, share.b_counts, own)
            self.pool.workers.send(share.worker, Kind.JOB, *messages.encode_job(job, self.inputs))
            self._busy.setdefault(share.worker, deque()).append((shared, share))
        self.pool.seconds = 0.0

    def finish(self, shared: SharedRound) -> None:
        """Return when this round, the first that was not finished, is answered."""
        while not shared.is_answered:
            self._take()

    def _take(self) -> None:
        """The next answer of any worker."""
        reply = self.replies.next()
        assert reply is not None
        worker, message = reply
        if message.kind is not Kind.ANSWER or not self._busy.get(worker):
            raise WorkerError(number=worker + 1, problem=f"it said {message.kind.name}")
        shared, share = self._busy[worker].popleft()
        answer = messages.decode_answer(message.body)
        pairs = share.blocks.pairs
        if not shared.answer(share, answer.found):
            raise WorkerError(number=worker + 1, problem="it named a pair that it was not given")
        self.pool.tallies[worker].add(pairs, answer)


@dataclass(frozen=True)
class Sharing:
    """Those who compare, once it is known how many they are."""

    own: Wish
    partner: Wish
    workers: _WorkerProcesses

    def gather(
        self, side: Side, engine: Engine, circuit: Circuit, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        count = 1
        if not isinstance(engine, AtOnceEngine):
            seconds = seconds_to_compare(circuit, engine.name, most)
            count = count_workers(self.own, self.partner, seconds)
        if count == 1:
            self.workers.dismiss()
            return (yield from InTurn().gather(side, engine, circuit, entropy, most))
        cards = self.workers.start(count, side, circuit)
        own = [WorkerCertificate(card, entropy.bytes(TOKEN)) for card in cards]
        theirs = yield from exchange_certificates(own)
        of_a, of_b = (own, theirs) if side is Side.A else (theirs, own)
        tokens = [make_token(a.half, b.half) for a, b in zip(of_a, of_b, strict=True)]
        self.workers.meet([one.card for one in theirs], tokens)
        return SharedRounds(self.workers, side, circuit, count)


@dataclass(frozen=True)
class SharedRounds:
    """The workers as a comparer."""

    workers: _WorkerProcesses
    side: Side
    circuit: Circuit
    count: int
    under_way: int = UNDER_WAY
    _asked: deque[SharedRound] = field(default_factory=deque)

    def ask(self, blocks: Blocks, table: Table) -> None:
        shared = SharedRound(cut(blocks.a_counts, blocks.b_counts, self.count), self.circuit)
        self._asked.append(shared)
        self.workers.give(shared, [share.rows(table, self.side is Side.A) for share in shared.shares])

    def answer(self) -> Party[Ints]:
        shared = self._asked.popleft()
        self.workers.finish(shared)
        yield from ()
        return shared.places
