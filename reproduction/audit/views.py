"""A view: all that one party receives in a run, and the same as rows of numbers to learn from.

In the ideal-SMC hybrid a party receives messages and, from the comparisons, match bits. Both are kept whole;
nothing is left out because a proof says that it is harmless. As numbers a view is

    how many messages and comparisons there were, and when the first match came;
    the size of every message;
    of every batch of comparisons: how many, how many matched, where the first and the last match stood;
    every byte of every message, and every word of 64 bits of those that consist of such;
    of all messages of one size the sums of these words, since what is said again and again averages out;
    how many words stand where the message before had the same, since what is said again is not drawn again;
    and of several runs: the sums of the words of each message of a run over all of them, and how many are not
    what the run before had there, since what a run says of earlier ones must be what was said then.

`Features` fixes the places of these from the views of the fitting part; what a later view has beyond it is
left out, what it lacks is 0. No loop runs over anything but messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.protocols.parts.answers import Answered
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node, Opened, Tally
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Party, Send
from accord.side import Side

T = TypeVar("T")

_WORD = 8
_PER_BATCH = 4
_MIDDLE = 1 << 32
"""Added to the numbers of an answer, so that none is below 0."""
_HEAD = (
    "messages",
    "bytes in all",
    "batches",
    "comparisons",
    "matches",
    "batch of the first match",
)


@dataclass
class View:
    """What one party received: messages that are not empty, and (pairs, places of matches) of every batch."""

    messages: list[bytes] = field(default_factory=list)
    answers: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    """Of which message on each run was, where there are several; else nothing."""

    def by_run(self) -> list[list[bytes]]:
        return [self.messages[start:stop] for start, stop in pairwise([*self.runs, len(self.messages)])]

    def end(self, outcome: object) -> None:
        """An answer in which nobody is shown comes out of all messages together; it is seen as one more."""
        answer = getattr(outcome, "answer", None)
        if isinstance(answer, Answered):
            self.messages.append(np.array([_MIDDLE + cell.value for cell in answer.cells], "<i8").tobytes())


def record_view(party: Party[T], view: View) -> Party[T]:
    """Run a party as it is, and write down what it receives."""
    try:
        effect = next(party)
        while True:
            answer: Buffer = yield effect
            if isinstance(effect, Send):
                effect = next(party)
                continue
            if len(answer):
                view.messages.append(bytes(answer))
            effect = party.send(answer)
    except StopIteration as end:
        return end.value


class WatchedEngine:
    """One side's end of an ideal engine, which both share; what it answers to this side is written down, if
    there is a view."""

    def __init__(self, engine: IdealEngine, view: View | None = None) -> None:
        self._engine, self._view = engine, view

    @property
    def name(self) -> str:
        """Not 'ideal', by which a protocol that hides messages itself knows that they may be clear."""
        return "watched"

    def supports(self, circuit: Node) -> None:
        """Every circuit."""

    def set_up(self, side: Side, entropy: Entropy) -> Party[Side]:
        return self._engine.set_up(side, entropy)

    def evaluate(
        self, session: Side, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        bits = yield from self._engine.evaluate(session, circuit, blocks, table)
        self._note(blocks.pairs, np.flatnonzero(bits))
        return bits

    def hold(self, circuit: Node, tally: Tally | None = None) -> Opened:
        return self._engine.hold(circuit, tally)

    def payloads(self, circuit: Opened, table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return self._engine.payloads(circuit, table)

    def open(self, session: Side, circuit: Opened, blocks: Blocks, table: Table) -> Party[NDArray[np.int64]]:
        """What is opened, or a share of what is tallied, is as good as a message."""
        found = yield from self._engine.open(session, circuit, blocks, table)
        cut = int(circuit.tally is None)
        self._note(blocks.pairs, found[:, :cut].reshape(-1))
        if self._view is not None and len(found):
            self._view.messages.append(found[:, cut:].astype("<i8").tobytes())
        return found

    def _note(self, pairs: int, places: NDArray[np.int64]) -> None:
        if self._view is not None:
            self._view.answers.append((pairs, places))


def watched_engines(view: View) -> tuple[WatchedEngine, WatchedEngine]:
    """Those of the owner and of the partner that looks."""
    engine = IdealEngine()
    return WatchedEngine(engine), WatchedEngine(engine, view)


@dataclass(frozen=True)
class Features:
    """Where what stands in a row: sizes of the messages and the number of batches that have a place."""

    sizes: tuple[int, ...]
    words: tuple[int, ...]
    """Of each message: as how many words it is read, too."""
    batches: int
    alike: tuple[int, ...]
    """Sizes of messages that come more than once and consist of words."""
    runs: tuple[int, ...] = ()
    """Of each message that every run has: how many words it has in all of them."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a row is."""
        batch = ("comparisons", "matches", "place of the first match", "place of the last match")
        return (
            *_HEAD,
            *(f"size of message {m}" for m in range(1, len(self.sizes) + 1)),
            *(f"{what} in batch {b}" for b in range(1, self.batches + 1) for what in batch),
            *(
                name
                for m, size in enumerate(self.runs, 1)
                for name in (
                    f"words of message {m} of a run that are not as in the run before",
                    *(f"sum of words {w} of messages {m} of a run" for w in range(size)),
                )
            ),
            *(f"word {w} of message {m}" for m, size in enumerate(self.words, 1) for w in range(size)),
            *(f"sum of words {w} of messages of {s} bytes" for s in self.alike for w in range(s // _WORD)),
            *(f"repeated words in messages of {s} bytes" for s in self.alike),
            *(f"byte {b} of message {m}" for m, size in enumerate(self.sizes, 1) for b in range(size)),
        )


def find_features(views: Sequence[View]) -> Features:
    """The places that all of these views need."""
    longest = max((len(view.messages) for view in views), default=0)
    by_place = [[len(v.messages[m]) for v in views if m < len(v.messages)] for m in range(longest)]
    words = tuple(max(s) // _WORD if all(n % _WORD == 0 for n in s) else 0 for s in by_place)
    batches = max((len(view.answers) for view in views), default=0)
    lengths = [n for view in views[:1] for n in map(len, view.messages)]
    alike = tuple(n for n in sorted(set(lengths)) if n % _WORD == 0 and lengths.count(n) > 1)
    runs = [run for view in views for run in view.by_run()]
    common = range(min(map(len, runs), default=0))
    shortest = tuple(min(len(run[m]) for run in runs) // _WORD for m in common)
    return Features(tuple(map(max, by_place)), words, batches, alike, shortest)


def rows(views: Sequence[View], places: Features) -> NDArray[np.float64]:
    """The views as rows of numbers; words lose what a float cannot hold."""
    return np.stack([_row(view, places) for view in views])


def _row(view: View, places: Features) -> NDArray[np.float64]:
    raw = [_fit(view.messages, m, size) for m, size in enumerate(places.sizes)]
    words = [part[: _WORD * count].view("<u8") for part, count in zip(raw, places.words, strict=True)]
    sizes = np.zeros(len(places.sizes))
    lengths = list(map(len, view.messages))[: len(sizes)]
    sizes[: len(lengths)] = lengths
    alike = [_read_words(view.messages, size) for size in places.alike]
    sums = [said.astype(np.float64).sum(axis=0) for said in alike]
    repeated = np.array([(said[1:] == said[:-1]).sum() for said in alike])
    head = [_head(view), sizes, _batches(view, places.batches)]
    parts: list[NDArray[Any]] = [*head, *_over_runs(view, places.runs), *words, *sums, repeated, *raw]
    return np.concatenate(parts).astype(np.float64)


def _over_runs(view: View, sizes: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """Of each message of a run how many words change from run to run, and the sums of its words."""
    for place, size in enumerate(sizes):
        said = np.stack([_fit(run, place, _WORD * size).view("<u8") for run in view.by_run()])
        yield np.array([(said[1:] != said[:-1]).sum()], np.float64)
        yield said.astype(np.float64).sum(axis=0)


def _fit(messages: Sequence[bytes], place: int, size: int) -> NDArray[np.uint8]:
    found = np.zeros(size, np.uint8)
    if place < len(messages):
        part = np.frombuffer(messages[place], np.uint8)[:size]
        found[: len(part)] = part
    return found


def _read_words(messages: Sequence[bytes], size: int) -> NDArray[np.uint64]:
    """The messages of this size as rows of words."""
    same = b"".join(message for message in messages if len(message) == size)
    return np.frombuffer(same, "<u8").reshape(-1, size // _WORD)


def _head(view: View) -> NDArray[np.float64]:
    hits = [len(places) for _, places in view.answers]
    first = next((batch for batch, count in enumerate(hits) if count), len(hits))
    total = sum(pairs for pairs, _ in view.answers)
    size = sum(map(len, view.messages))
    return np.array([len(view.messages), size, len(hits), total, sum(hits), first], np.float64)


def _batches(view: View, count: int) -> NDArray[np.float64]:
    found = np.zeros((count, _PER_BATCH))
    for row, (pairs, places) in zip(found, view.answers, strict=False):
        row[:] = pairs, len(places), *((places[0] + 1, places[-1] + 1) if len(places) else (0, 0))
    return found.ravel()
