"""A partner that lies in one thing: side B's part of the disclosure, or one message of a side."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.errors import PeerError
from accord.protocols import confirm, linkage
from accord.protocols.parts.outcome import Outcome
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Receive, Send, run_pair
from accord.side import Side
from tests.protocols import worlds


def lie(
    agreed: Agreement,
    a: worlds.Rows,
    b: worlds.Rows,
    meddle: Callable[[Any], None],
    engine: Any = None,
) -> None:
    """Run with a side B whose `GreedyClean` or `DiscloseAtEnd` a test has changed; A must notice."""
    own, chosen = worlds.sides(agreed, a, b, 3), engine or IdealEngine()

    def lying(honest: Any) -> Callable[..., Any]:
        def make(*args: Any) -> Any:
            made = honest(*args)
            if made._mine.side is Side.B:
                meddle(made)
            return made

        return make

    with pytest.MonkeyPatch.context() as patch:
        for name in ("GreedyClean", "DiscloseAtEnd"):
            patch.setattr(linkage, name, lying(getattr(linkage, name)))
        run_pair(*(worlds.run(agreed.task, mine, chosen) for mine in own.values()))


Change = Callable[[bytes], bytes]
"""What is sent in place of a message."""

OF_MATCHES: list[tuple[int, Change]] = [
    (1, lambda m: (9).to_bytes(8, "little") + m[8:]),
    (1, lambda m: m[:8] + (10**6).to_bytes(8, "little")),
    (1, lambda m: m[:-1]),
    (2, lambda m: m[:-1] + bytes([m[-1] ^ 1])),
    (2, lambda m: bytes(len(m))),
    (2, lambda m: m[:12] * 2),
    (2, lambda m: m[:-12]),
    (3, lambda m: (99).to_bytes(8, "little") + m[8:]),
    (5, lambda m: b"\xff" * len(m)),
    (5, lambda m: bytes(len(m))),
    # In another order, which could tell what opened them.
    (5, lambda m: m[4:8] + m[:4] + m[12:] + m[8:12]),
    (5, lambda m: m + m),
]
"""What an asker may say wrongly at its end: its message, and what it says. *Requires*: in the clear, two
matches."""


@contextmanager
def refused() -> Iterator[None]:
    """The block ends in a refusal, before both outputs are compared."""
    with pytest.raises(PeerError) as caught:
        yield
    assert caught.traceback[-1].path != Path(confirm.__file__)


def altered(party: Party[Any], number: int, change: Change) -> Party[Any]:
    """The party with its message of that number changed."""
    sent, answer = 0, b""
    effect = next(party)
    while True:
        if isinstance(effect, Send):
            if sent == number:
                effect = Send(change(bytes(effect.buffer)))
            sent += 1
        answer = yield effect  # type: ignore[assignment]
        try:
            effect = party.send(answer) if isinstance(effect, Receive) else next(party)
        except StopIteration as end:
            return end.value


def run_altered(
    agreed: Agreement, side: Side, number: int, change: Change, engine: Engine
) -> tuple[Outcome, Outcome]:
    """A asks, B lists, and a message of one of them is changed; A has two matches."""
    own = worlds.sides(agreed, [(1, 1), (5, 5), (9, 9)], [(1, 1), (5, 5), (14, 14)], 1)
    a, b = (worlds.run(agreed.task, mine, engine) for mine in own.values())
    if side is Side.A:
        return run_pair(altered(a, number, change), b)
    return run_pair(a, altered(b, number, change))


def check_flipped(agreed: Agreement, side: Side, number: int, place: int, flip: int, engine: Engine) -> None:
    """A byte of a message is changed: never a traceback, and never two sides with different outputs."""

    def change(message: bytes) -> bytes:
        if not message:
            return message
        at = place % len(message)
        return message[:at] + bytes([message[at] ^ flip]) + message[at + 1 :]

    with contextlib.suppress(PeerError):
        left, right = run_altered(agreed, side, number, change, engine)
        assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
