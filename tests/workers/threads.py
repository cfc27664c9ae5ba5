"""Workers as threads of this process: what they do is patched where a test wants, and they start at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from accord.workers import messages
from accord.workers.local import LocalWorkers
from accord.workers.worker import Service


@contextmanager
def as_threads() -> Iterator[None]:
    """Whoever starts workers here starts threads; all of them have ended at its end."""
    started: list[threading.Thread] = []

    def start(self: LocalWorkers, count: int) -> None:
        for _ in range(count):
            thread = threading.Thread(target=serve, args=(self.open(),), daemon=True)
            started.append(thread)
            thread.start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalWorkers, "start", start)
        yield
    for thread in started:
        thread.join()


def serve(control: socket.socket) -> None:
    """A worker, until its coordinator closes this socket."""
    service = Service(lambda: 0)
    with control:
        while (message := messages.receive(control)) is not None:
            said = service.answer(message)
            if said is not None:
                messages.send(control, *said)
