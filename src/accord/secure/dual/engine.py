"""Dual execution as an engine: a partner that cheats learns one bit beside the answers, at the most.

Huang, Katz, Evans, Quid-Pro-Quo-tocols: Strengthening Semi-Honest Protocols with Dual Execution (S&P'12).
Each side first takes the labels of all its bits (`labels.py`). Then every pair is garbled by both sides and
evaluated by both (`batch.py`), and what they come to is compared before anything is shown (`equality.py`).
One evaluation is one test, so a run is one evaluation, of all its pairs.

**Theorem.** Let one side follow the protocol, whatever the other does. Then the other learns the answers for
inputs that it chose once for each of its rows; and one bit, a predicate of its own choice on the honest
side's inputs, which it is told first. If the predicate is false it learns no answer, and the honest side ends
the run. If the honest side has answers, they are the right ones for those inputs.

*Argument.* Say A cheats. What B garbles is right, and A can evaluate it for the inputs and masks alone that
it chose in checked OTs: it has one label of z of each pair and none of the other (half gates are authentic).
Until the test it sees labels, tables that are uniform to it, and z, which m_B makes uniform. What A garbles B
evaluates to some labels and some z: a function, which A chose, of B's inputs and masks, and B gives no sign
of what it came to. The test compares a digest of all of this with one that A has fixed: that is the
predicate. It is true only if B's z are those of what B garbled, since A lacks their other labels. Then A
opens its masks as it chose them, and v = z ⊕ m_A ⊕ m_B is right. B that cheats: the same, with what
`equality.py` says of it.

That a side has the same inputs in what it garbles as in what it evaluates needs no proof of its own: one that
takes others has garbled a wrong circuit, and a wrong circuit may hold any inputs. It gains that predicate.

Assumptions: those of the OT extension and of garbled circuits (TMMO hashing of labels by fixed-key AES), and
SHA-256 as a random oracle in the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import UsageError
from accord.secure.blocks import Blocks, StripBatch, Table, batches
from accord.secure.circuit import Input, Node, inputs
from accord.secure.dual.batch import run_batch
from accord.secure.dual.equality import Results
from accord.secure.dual.labels import Labels, exchange_labels
from accord.secure.garbled.batch import WINDOW, Answer, BatchSide, K, batch_limit
from accord.secure.garbled.boolean import Flags, source_bits
from accord.secure.garbled.compiler import boolean_circuit, check_supported
from accord.secure.garbled.session import GarbledSession
from accord.secure.garbled.tape import Tape, tapes_of
from accord.secure.party import Party, interleave
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side

Tapes = tuple[Tape, Tape]
Rows = Mapping[str, NDArray[np.int64]]

TAG = b"accord/dual/2 k=4"

MOST_PAIRS = 1 << 24
"""A side keeps 34 bytes of each until the test."""
_MOST_LABELS = 1 << 24
"""Of the bits of a side's rows, 16 bytes each."""
_MOST_BLOCKS = 1 << 34
"""Of a side in one session, since it cannot make a new set-up between (renewal.py)."""


@dataclass(eq=False, repr=False)
class DualSession(GarbledSession):
    """A session of garbled circuits, and how many tests there were in it."""

    tests: int = 0


@dataclass(frozen=True)
class DualEngine:
    """The engine."""

    @property
    def name(self) -> str:
        return "dual"

    def supports(self, circuit: Node) -> None:
        check_supported(circuit, self.name)
        boolean_circuit(circuit)

    def most_pairs(self, circuit: Node) -> int:
        """What one evaluation takes at the most."""
        return _most_pairs(tapes_of(boolean_circuit(circuit)))

    def most_rows(self, circuit: Node) -> tuple[int, int]:
        """Each side keeps a label of each bit of its own rows, and one of the partner's."""
        boolean = boolean_circuit(circuit)
        a, b = (_MOST_LABELS // max(1, len(boolean.sources(side))) for side in Side)
        return a, b

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[DualSession]:
        return DualSession((yield from set_up(side, K, entropy, permutation, TAG)))

    def evaluate(
        self, session: DualSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        check_supported(circuit, self.name)
        of = inputs(circuit, session.ot.side)
        return (yield from _evaluate(session, session.tapes(circuit), of, blocks, table))


def evaluate_tapes(
    session: DualSession, tapes: Tapes, blocks: Blocks, table: Table
) -> Party[NDArray[np.bool_]]:
    """The answers of any circuit of XOR and AND for all pairs of the blocks, known to both sides.

    `tapes` are those of the circuit (`tapes_of`), which reads the inputs that its sources name. It treats a
    dummy as any other row, unless `Flags` among its sources tell it which rows are real. Tests run published
    circuits by this.

    *Requires*: both sides give tapes of the same circuit, and the same blocks. *Learns*: both sides the
    answers. A partner that cheats also learns one bit, as in every evaluation of this engine.
    """
    own = tapes[0].ours if session.ot.side is Side.A else tapes[0].theirs
    found = chain.from_iterable(one.of if isinstance(one, Flags) else (one.of,) for one in own)
    return (yield from _evaluate(session, tapes, found, blocks, table))


def _evaluate(
    session: DualSession, tapes: Tapes, of: Iterable[Input], blocks: Blocks, table: Table
) -> Party[NDArray[np.bool_]]:
    """Dual execution of two tapes, for rows of these inputs."""
    answers = np.zeros(blocks.pairs, dtype=np.bool_)
    if blocks.pairs > _most_pairs(tapes):
        raise UsageError(problem=f"`dual` takes at most {_most_pairs(tapes):,} pairs of this rule.")
    if not blocks.pairs:
        return answers
    over, own = _rows_in_order(blocks, table, session.ot.side)
    rows = {each.name: own.read(each) for each in of}
    with session.ot.evaluating():
        labels = yield from _take_labels(session.ot, tapes, over, rows, own.real)
        results = Results(session.ot, labels, session.tests)
        session.tests += 1
        yield from interleave(_works(session, tapes, over, rows, own.real, results, labels), WINDOW)
        found = (yield from results.open()).astype(np.bool_)
    for batch, pairs in _batches(over, tapes):
        batch.put(found[pairs], answers)
    return answers


def _rows_in_order(blocks: Blocks, table: Table, side: Side) -> tuple[Blocks, Table]:
    """Blocks whose rows follow each other, and one's own table with a row for each of these."""
    chosen = blocks.a_rows if side is Side.A else blocks.b_rows
    values = {name: np.asarray(of)[chosen] for name, of in table.inputs.items()}
    return Blocks.of_sizes(blocks.a_counts, blocks.b_counts), Table(values, table.real[chosen])


def _batches(blocks: Blocks, tapes: Tapes) -> Iterator[tuple[StripBatch, slice]]:
    """The batches, and which pairs of all are theirs, in this order."""
    done = 0
    for batch in batches(blocks, batch_limit(tapes[0])):
        yield batch, slice(done, done + batch.pairs)
        done += batch.pairs


def _take_labels(session: Session, tapes: Tapes, blocks: Blocks, rows: Rows, real: Answer) -> Party[Labels]:
    """Those of one's own bits where the other garbles, and of the other's where one garbles oneself."""
    own, others = (tapes, blocks.b_rows) if session.side is Side.A else (tapes[::-1], blocks.a_rows)
    known = source_bits(own[1].theirs, lambda of: rows[of.name], real)
    masks = _draw_bits(session.entropy, blocks.pairs)
    shape = len(own[0].theirs), len(others)
    return (yield from exchange_labels(session, masks, known, shape))


def _works(
    session: DualSession,
    tapes: Tapes,
    blocks: Blocks,
    rows: Rows,
    real: Answer,
    results: Results,
    labels: Labels,
) -> Iterator[Party[None]]:
    """The batches; A's tables have the numbers before those of B."""

    def work(batch: StripBatch, pairs: slice, first: int) -> Party[None]:
        numbers = first, first + tapes[0].tables * batch.pairs
        of_a, of_b = (
            BatchSide(session.ot, tape, batch, rows, real, number)
            for tape, number in zip(tapes, numbers, strict=True)
        )
        both = (of_a, of_b) if session.ot.side is Side.A else (of_b, of_a)
        results.add((yield from run_batch(*both, labels, pairs)), pairs)

    for batch, pairs in _batches(blocks, tapes):
        first = session.tables
        session.tables += sum(tape.tables for tape in tapes) * batch.pairs
        yield work(batch, pairs, first)


def _draw_bits(entropy: Entropy, count: int) -> NDArray[np.uint8]:
    drawn = np.frombuffer(entropy.bytes(-(-count // 8)), dtype=np.uint8)
    return np.unpackbits(drawn, count=count, bitorder="little")


def _most_pairs(tapes: Tapes) -> int:
    """As many as take the blocks of one session, where each row of a side meets one other."""
    hashed = [sum(len(step.hashed) + len(step.taken) for step in tape.steps) for tape in tapes]
    transfers = sum(1 + len(tape.theirs) for tape in tapes)
    # Two labels of a wire where it is garbled, one where it is evaluated; up to 2ᴷ/K blocks for an OT.
    each = 2 * max(hashed) + min(hashed) + (1 << K) // K * transfers
    return min(MOST_PAIRS, _MOST_BLOCKS // each)
