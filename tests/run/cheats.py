"""Partners that cheat in the engine: side B of a run in this process, patched, and what it takes away.

Each cheat is a context in which the engine of side B, and of nobody else, departs from the protocol; side A
in the same process, or in another, is honest. None of them needs anything that a partner has not.

    read_filters   `ot`: θ + 1 in the place of one factor and 0 in that of all others. A pair then matches
                   exactly if that bit of A's row is 0 and the row no dummy: each row of B reads one bit of
                   every row that it meets. B reports that nothing matches.
    garble_wrongly `dual`: a wrong table, which makes an answer a coin if a bit is 1, and not if it is 0.
    claim_all      `ot`: B reports that everything matches, and does not ask itself whether it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.protocols.disclose import DiscloseAtEnd
from accord.secure.dual import batch as dual_batch
from accord.secure.dual import engine as dual_engine
from accord.secure.garbled.gates import Feed, garble
from accord.secure.ot import engine as ot_engine
from accord.secure.ot.batch import BatchSide, run_b
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Party, Receive, Send
from accord.secure.transfer.extension import TILE, Receiver, Tile, correction_words
from accord.secure.transfer.packing import bits_to_wire
from accord.secure.transfer.setup import Session
from accord.secure.transfer.setup import set_up as set_up_session
from accord.side import Side
from tests.run import faults
from tests.run.faults import Office

BITS, THRESHOLD = 48, 6
"""Of a filter, and of its Hamming distance: the engine then compares the distance itself, undivided."""
A_COUNT, B_COUNT = 40, 120


def agreement(
    engine: str = "ot",
    disclose: tuple[str, ...] = ("name", "part"),
    most_matches: dict[str, object] | None = None,
    **options: Any,
) -> Agreement:
    """Names as filters, within a part of the country or all with all; without greedy unless asked for."""
    privacy = {"epsilon": "4", "delta": "1e-3", "noise": "geometric"}
    protocol = {"name": "laplace", "greedy": False, "A": privacy, "B": privacy} | options
    if protocol["name"] == "all-pairs":
        protocol = {"name": "all-pairs", "greedy": protocol["greedy"]}
    laplace = protocol["name"] == "laplace"
    bloom = {"kind": "bloom", "bits": BITS, "hashes": 2, "grams": 2}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {
                "name": {"type": "text", "encoder": bloom},
                "part": {"type": "category", "values": ["north", "south"]},
            },
            "rule": f"hamming(name) <= {THRESHOLD}",
            "blocking": [{"kind": "key", "field": "part"}] if laplace else [],
            "protocol": protocol,
            "disclose": {"A": list(disclose), "B": list(disclose)},
            "most_matches": most_matches,
            "engine": engine,
        }
    )


def offices(folder: Path, agreed: Agreement) -> dict[Side, Office]:
    """Two organisations with people of whom next to none are the same."""
    both = faults.offices(folder, "plain")
    for (side, office), count in zip(both.items(), (A_COUNT, B_COUNT), strict=True):
        office.agreement = agreed
        draw = np.random.default_rng(ord(side.value))
        lines = []
        for i in range(count):
            name = "".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz"), 8))
            lines.append(f"{side.value}-{i:03},{name},{('north', 'south')[i % 2]}\n")
        office.data.write_text("id,name,part\n" + "".join(lines))
    return both


@dataclass
class Loot:
    """What B took away, and what it is about, for whoever judges the loot: no cheat reads the latter."""

    filters: NDArray[np.int8] = field(default_factory=lambda: np.zeros((0, BITS), np.int8))
    """The bits of each row of A in the last evaluation; −1 where none was read."""
    real: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Which of these rows B holds to be no dummies."""
    true_filters: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, BITS), np.int64))
    true_real: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))


class _Probe(BatchSide):
    """B's side of a batch in which row r of B asks for bit r of A's rows."""

    def factors(self, number: int) -> NDArray[Any]:
        true = super().factors(number)
        asked = np.zeros_like(true)
        asked[self._rows % BITS, np.arange(len(self._rows))] = THRESHOLD + 1
        return asked

    def own_part(self, share: Any) -> NDArray[np.int64]:
        return np.zeros(self.batch.pairs, np.int64)


def _say_always(mine: BatchSide, answer: int) -> Party[NDArray[np.bool_]]:
    """B's side of a batch, which tells A the same answer for every pair; B has the true ones."""
    party, sends = run_b(mine), 0
    reply: Buffer | None = None
    while True:
        try:
            effect = next(party) if reply is None else party.send(reply)
        except StopIteration as end:
            return end.value
        reply = None
        if isinstance(effect, Receive):
            reply = yield effect
            continue
        sends += 1
        last = sends == len(mine.program.levels) + 1
        yield Send(bits_to_wire(np.full(mine.batch.pairs, answer, np.uint8)).data) if last else effect


@contextmanager
def read_filters() -> Iterator[Loot]:
    """`ot`: B reads a bit of A's filters in every row, and says that nothing matches."""
    loot, true = Loot(), OtEngine.evaluate

    def probe(mine: BatchSide) -> Party[NDArray[np.bool_]]:
        asking = _Probe(mine.ends, mine.entropy, mine.program, mine.batch, mine._own)
        bits = yield from _say_always(asking, 0)
        batch = mine.batch
        rows, places = batch.of_a(batch.a_rows), batch.of_b(batch.b_rows) % BITS
        loot.filters[rows, places] = ~bits
        loot.real[rows[bits]] = True
        return np.zeros_like(bits)

    def evaluate_both(self: OtEngine, session: Any, circuit: Any, blocks: Any, table: Any) -> Party[Any]:
        if session.side is Side.A:
            loot.true_real, (values,) = table.real, table.inputs.values()
            loot.true_filters = values
        else:
            loot.filters = np.full((len(blocks.a_rows), BITS), -1, np.int8)
            loot.real = np.zeros(len(blocks.a_rows), np.bool_)
        return (yield from true(self, session, circuit, blocks, table))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ot_engine, "run_b", probe)
        patch.setattr(OtEngine, "evaluate", evaluate_both)
        yield loot


@contextmanager
def claim_all() -> Iterator[None]:
    """`ot`: B says that everything matches, and believes it."""

    true = DiscloseAtEnd._require_matches

    def claim(mine: BatchSide) -> Party[NDArray[np.bool_]]:
        return np.ones_like((yield from _say_always(mine, 1)))

    def believe(self: DiscloseAtEnd, some: Any, theirs: Any) -> None:
        if self._mine.side is Side.A:
            true(self, some, theirs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ot_engine, "run_b", claim)
        patch.setattr(DiscloseAtEnd, "_require_matches", believe)
        yield


TREES = 32
"""Of the extension in `dual`."""


def flip_choices(end: Receiver, trees: Sequence[int]) -> None:
    """From now on this end has another first choice in some trees. Its hashes are those of its true choices:
    they pass if all pieces of Δ that belong to these trees are 0."""
    true = end.extend

    def extend(choices: Any, corrections: NDArray[np.uint64], count: int) -> Iterator[Tile]:
        yield from true(choices, corrections, count)
        corrections[: correction_words(min(count, TILE), end.rate)].reshape(TREES, -1)[trees, 0] ^= 1

    end.extend = extend  # type: ignore[method-assign]


@contextmanager
def garble_wrongly() -> Iterator[None]:
    """`dual`: the first table of every pair that B garbles is wrong. The
    evaluator takes it or not by a bit that tells it nothing, and B knows what that bit stands for."""
    cheating = set[bytes]()

    def set_up(side: Side, *rest: Any) -> Party[Session]:
        session = yield from set_up_session(side, *rest)
        if side is Side.B:
            cheating.add(session.sender.delta.tobytes())
        return session

    def wrong(pi: Any, tape: Any, feed: Feed, delta: Any, number: int, tables: Any) -> NDArray[np.uint64]:
        made = garble(pi, tape, feed, delta, number, tables)
        if delta.tobytes() in cheating:
            tables[: 2 * len(feed.theirs)] ^= np.uint64(2)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_engine, "set_up", set_up)
        patch.setattr(dual_batch, "garble", wrong)
        yield
