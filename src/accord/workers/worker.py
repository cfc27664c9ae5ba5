"""A worker: one engine session with the partner's worker of the same number, in a process of its own.

`Service` is a worker wherever it is; `python -m accord.workers.worker` is one on the coordinator's machine,
with a socket as its standard input, and `ray_worker.py` one on a cluster. It is told what to do in messages
(messages.py). It compares what it is given, in order, and knows neither ids nor rows nor which round it is:
encoded inputs, which of them are real, and block sizes. Its key is made here, for this run, and its masks
come from the system's generator, so that two attempts never share any.

When the coordinator closes the socket, or is killed, this process ends at once, whatever it is doing: a
thread does nothing but listen. So no worker outlives its coordinator.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord import plugins
from accord.entropy import MASKS, System
from accord.errors import AccordError, ConnectionLostError, PeerError, StoppedError
from accord.kernel import spare_blas
from accord.network import Network
from accord.notices import tell_nobody
from accord.peer.channel import Patience, TlsChannel
from accord.peer.connect import HostPort, accept, exchange_keys, keep_calling, make_context, trust
from accord.peer.encryption import Ends
from accord.peer.identity import card_from_der, draw_identity
from accord.secure.blocks import Blocks
from accord.secure.circuit import inputs
from accord.secure.circuit_text import decode_circuit
from accord.secure.engine import find_matches
from accord.secure.engines import engine_named
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.party import run
from accord.secure.renewal import Renewing
from accord.side import Side
from accord.workers import messages
from accord.workers.messages import Answer, Cause, Failure, Job, Kind, Meet, Message, Start
from accord.workers.resources import Peak, expected_seconds, held_bytes
from accord.workers.routing import encode_token


class Worker:
    """What a worker does, whatever carries its messages."""

    def __init__(self, start: Start, peak: Callable[[], int] = held_bytes) -> None:
        self._start, self._peak = start, peak
        self._side = Side(start.side)
        plugins.load(*start.plugins.split())
        settings = Settings(Network.parse(start.network), start.silent) if start.network else USUAL
        self._engine = Renewing(engine_named(start.engine, settings))
        self._circuit = decode_circuit(start.circuit)
        self.inputs = inputs(self._circuit, self._side)
        kind = ssl.PROTOCOL_TLS_SERVER if start.listens else ssl.PROTOCOL_TLS_CLIENT
        self._identity, card = draw_identity(f"worker of {start.party}"[:64], datetime.now(UTC))
        self.certificate = card.der
        self._context = make_context(kind, self._identity, None)
        self._channel: TlsChannel | None = None
        self._session: Any = None

    def meet(self, meet: Meet, handed: socket.socket | None) -> Answer:
        """Connect to the partner's worker, or greet it on the connection that was handed over; set up."""
        card = card_from_der(bytes.fromhex(meet.card), Path("the card of a worker"))
        trust(self._context, card)
        start = self._start
        if handed is not None:
            handed.settimeout(start.wait)
            found = accept(handed, self._context, card, start.wait)
        else:
            where, before = HostPort(meet.host, meet.port), encode_token(bytes.fromhex(meet.token))
            found = keep_calling(where, self._context, card, start.partner, start.wait, tell_nobody, before)
        patience = Patience(start.silence, start.message, start.grace)
        keys = exchange_keys(found, Ends(self._identity, card, start.partner, start.listens))
        self._channel = TlsChannel(found, keys, start.partner, patience)
        self._session = run(self._engine.set_up(self._side, System().stream(MASKS)), self._channel)
        return self._answer(np.zeros(0, np.int64), time.monotonic_ns())

    def compare(self, job: Job) -> Answer:
        """The matches of a share."""
        assert self._channel is not None
        began = time.monotonic_ns()
        blocks = Blocks.of_sizes(job.a_counts, job.b_counts)
        self._channel.expect(job.seconds + expected_seconds(self._engine.name, blocks.pairs))
        party = find_matches(self._engine, self._session, self._circuit, blocks, job.table)
        found = run(party, self._channel)
        return self._answer(found, began)

    def _answer(self, places: NDArray[np.int64], began: int) -> Answer:
        assert self._channel is not None
        busy = time.monotonic_ns() - began
        sent, received = self._channel.sent, self._channel.received
        return Answer(places, sent, received, busy, self._peak())


def explain(error: Exception) -> Failure:
    """What the coordinator is told: nothing that a value could be in."""
    if isinstance(error, PeerError):
        return Failure(Cause.PARTNER, error.problem)
    if isinstance(error, ConnectionLostError | StoppedError | OSError):
        return Failure(Cause.LOST, type(error).__name__)
    said = str(error) if isinstance(error, AccordError) else type(error).__name__
    return Failure(Cause.FAULT, said)


class Service:
    """A worker as its coordinator speaks to it: its answer to every message, whoever carries both."""

    def __init__(self, peak: Callable[[], int] = held_bytes) -> None:
        self._peak = peak
        self._worker: Worker | None = None
        self._meet: Meet | None = None
        self._is_ready = False

    def answer(self, message: Message) -> tuple[Kind, bytes] | None:
        """What there is to say to this, if anything; a failure is the last word."""
        try:
            return self._answer(message)
        except Exception as error:
            return Kind.FAILURE, messages.encode_failure(explain(error))

    def _answer(self, message: Message) -> tuple[Kind, bytes] | None:
        kind, body = message.kind, message.body
        if kind is not self._due:
            raise ValueError(f"a {kind.name} where a {self._due.name} was due")
        if self._worker is None:
            self._worker = Worker(messages.decode_facts(Start, body), self._peak)
            return Kind.CERTIFICATE, self._worker.certificate
        if self._is_ready:
            job = messages.decode_job(body, self._worker.inputs)
            return Kind.ANSWER, b"".join(messages.encode_answer(self._worker.compare(job)))
        handed = None
        if self._meet is None:
            self._meet = messages.decode_facts(Meet, body)
            if not self._meet.host:
                return None
        else:
            handed = socket.socket(fileno=message.descriptors[0])
        self._is_ready = True
        return Kind.READY, b"".join(messages.encode_answer(self._worker.meet(self._meet, handed)))

    @property
    def _due(self) -> Kind:
        if self._worker is None:
            return Kind.START
        if self._meet is None:
            return Kind.MEET
        return Kind.JOB if self._is_ready else Kind.SOCKET


def _listen(control: socket.socket, inbox: queue.SimpleQueue[Message]) -> None:
    """Take what the coordinator says; end this process when it is gone."""
    try:
        while (message := messages.receive(control)) is not None:
            inbox.put(message)
    finally:
        os._exit(0)


def main() -> None:
    """A worker over its standard input."""
    spare_blas()
    # The coordinator hears of an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=0)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(control, inbox), daemon=True).start()
    with Peak() as peak:
        service = Service(peak.read)
        while True:
            said = service.answer(inbox.get())
            if said is not None:
                messages.send(control, *said)
            if said is not None and said[0] is Kind.FAILURE:
                # The coordinator ends it: until it has heard, the partner shall not see a closed connection.
                threading.Event().wait()


if __name__ == "__main__":
    main()
