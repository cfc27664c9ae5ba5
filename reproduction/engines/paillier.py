"""The paper's SecureMatch as an engine ([HMFS17], Algorithm 4), and its packed variant.

Distances come masked out of Paillier's encryption (`distance.py`): A has d + r, B has r. Every
comparison with a bound, and the formula over all comparisons, is then one garbled circuit on these shares,
with the bits of missing values and dummies as inputs, and the letters of texts whose edits are counted
(`garbled.py`); so a conjunction reveals only its answer. It is the baseline of every claim about
speed.

Learns: both sides the match bits. What A sees of a pair is within 2⁻⁶⁴ of something that says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError, UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Both,
    Edit,
    Equal,
    Graded,
    Node,
    Not,
    Or,
    Reaches,
    inputs,
    leaves,
)
from accord.secure.engine import PluggedEngine
from accord.secure.forms import Formed, comparison_of, constant
from accord.secure.garbled.batch import K
from accord.secure.garbled.compiler import check_supported
from accord.secure.garbled.session import GarbledSession
from accord.secure.party import Party, Send, interleave, receive
from accord.secure.transfer import setup
from accord.secure.transfer.permutation import Permutation
from accord.side import Side
from reproduction.engines import garbled as circuits
from reproduction.engines.distance import Distance, Pack, answer, ask, distance_of, pack_sizes, packs
from reproduction.engines.encryption import BITS, PrivateKey, PublicKey, key_from_wire, new_key
from reproduction.engines.garbled import GarbledEngine

WINDOW = 4
"""Packs that are under way at once."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PaillierSession:
    """A's key, of which B has the public half, and the session of the garbled circuits."""

    garbled: GarbledSession
    key: PublicKey
    entropy: Entropy

    @property
    def aes_blocks(self) -> int:
        return self.garbled.aes_blocks


@dataclass(frozen=True)
class DistancePlan:
    """The distances of a circuit, and the circuit over their shares."""

    distances: tuple[Distance, ...]
    circuit: Node

    def rows_at_once(self, bits: int, packed: bool) -> int:
        """Rows of A that share a ciphertext."""
        room = [(bits - 1) // of.section for of in self.distances]
        return min(room, default=1) if packed else 1


def plan_of(circuit: Node, engine: str, bits: int = BITS) -> DistancePlan:
    """The plan of a circuit, or an `UnsupportedError` that names the node that has none."""
    check_supported(circuit, engine)
    known = dict[Formed, Distance]()
    for leaf in leaves(circuit):
        if not isinstance(leaf, Both | Edit) and constant(leaf) is None:
            form, _ = comparison_of(leaf)
            known.setdefault(form.of, distance_of(form, len(known), engine))
    plan = DistancePlan(tuple(known.values()), _over_shares(circuit, known))
    if plan.distances and not plan.rows_at_once(bits, packed=True):
        raise UnsupportedError(
            engine=engine, node=f"a distance that needs more than {bits} bits with its mask"
        )
    return plan


def _over_shares(node: Node, known: dict[Formed, Distance]) -> Node:
    match node:
        case And(parts):
            return And(tuple(_over_shares(part, known) for part in parts))
        case Or(parts):
            return Or(tuple(_over_shares(part, known) for part in parts))
        case Not(part):
            return Not(_over_shares(part, known))
        case Both() | Edit():
            return node
        case Reaches(graded, least):
            over = [tuple((_over_shares(when, known), w) for when, w in each.levels) for each in graded]
            made = zip(over, graded, strict=True)
            return Reaches(tuple(Graded(levels, each.otherwise) for levels, each in made), least)
        case AtMost() | Equal():
            known_answer = constant(node)
            if known_answer is not None:
                return And(()) if known_answer else Or(())
            form, bound = comparison_of(node)
            return AtMost(known[form.of].masked, bound - known[form.of].least)


@dataclass(frozen=True)
class PaillierEngine:
    """The engine; `packed` puts as many distances into a ciphertext as it holds."""

    packed: bool = False
    bits: int = BITS

    @property
    def name(self) -> str:
        return "paillier-packed" if self.packed else "paillier"

    @property
    def hello(self) -> bytes:
        return f"accord/paillier/1 bits={self.bits} packed={self.packed:d}".encode()

    def supports(self, circuit: Node) -> None:
        plan_of(circuit, self.name, self.bits)

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[PaillierSession]:
        """Both sides: the garbled circuits' set-up and a fresh key of A."""
        yield Send(self.hello)
        if (yield from receive(len(self.hello))).tobytes() != self.hello:
            raise PeerError(problem="another version or other settings of the engine")
        garbled = yield from GarbledEngine().set_up(side, entropy, permutation)
        if side is Side.A:
            key: PublicKey = new_key(self.bits, entropy)
            yield Send(int(key.n).to_bytes(self.bits // 8, "little"))
        else:
            key = key_from_wire((yield from receive(self.bits // 8)).tobytes(), self.bits)
        return PaillierSession(garbled, key, entropy)

    def evaluate(
        self, session: PaillierSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        plan, side = plan_of(circuit, self.name, self.bits), session.garbled.ot.side
        for of in inputs(circuit, side):
            table.read(of)
        with session.garbled.ot.evaluating():
            shares = yield from self._shares(session, plan, blocks, table)
        rows = _rows(blocks, side)
        plain = {leaf.of for leaf in leaves(circuit) if isinstance(leaf, Both | Edit)}
        columns = {of.name: table.read(of)[rows] for of in plain}
        columns |= {of.share.name: share[:, None] for of, share in zip(plan.distances, shares, strict=True)}
        every, one = np.arange(blocks.pairs), np.ones(blocks.pairs, dtype=np.int64)
        pairs, own = Blocks(every, one, every, one), Table(columns, table.real[rows])
        return (yield from GarbledEngine().evaluate(session.garbled, plan.circuit, pairs, own))

    def price(self, circuit: Node, blocks: Blocks) -> tuple[int, int]:
        """Bytes and rounds of an evaluation."""
        plan, total, rounds = plan_of(circuit, self.name, self.bits), 0, 0
        if plan.distances:
            every = list(packs(blocks, plan.rows_at_once(self.bits, self.packed)))
            total = sum(sum(pack_sizes(plan.distances, self.bits // 4, len(pack.b_rows))) for pack in every)
            rounds = 2 * -(-len(every) // WINDOW)
        one = np.ones(blocks.pairs, dtype=np.int64)
        compared, more = circuits.price(plan.circuit, Blocks.of_sizes(one, one))
        return total + compared, rounds + more

    @property
    def set_up_bytes(self) -> int:
        """What a set-up sends, in both directions."""
        compared = setup.set_up_bytes(len(circuits.TAG), K)
        return 2 * len(self.hello) + self.bits // 8 + compared

    def _shares(
        self, session: PaillierSession, plan: DistancePlan, blocks: Blocks, table: Table
    ) -> Party[list[Ints]]:
        """This side's shares of each distance, one a pair."""
        shares = [np.empty(blocks.pairs, dtype=np.int64) for _ in plan.distances]

        def work(pack: Pack) -> Party[None]:
            if isinstance(session.key, PrivateKey):
                party = ask(session.key, plan.distances, pack, table.read, session.entropy)
            else:
                party = answer(session.key, plan.distances, pack, table.read, session.entropy)
            found = yield from party
            where = pack.place[:, None] + np.arange(len(pack.b_rows))
            for share, part in zip(shares, found, strict=True):
                share[where] = part

        def works() -> Iterator[Party[None]]:
            return (work(pack) for pack in packs(blocks, plan.rows_at_once(self.bits, self.packed)))

        if plan.distances:
            yield from interleave(works(), WINDOW)
        return shares


def _rows(blocks: Blocks, side: Side) -> Ints:
    """The row of a side that each pair takes."""
    wide = np.repeat(blocks.b_counts, blocks.a_counts)
    if side is Side.A:
        return np.repeat(blocks.a_rows, wide)
    first = np.repeat(np.cumsum(blocks.b_counts) - blocks.b_counts, blocks.a_counts)
    start = np.cumsum(wide) - wide
    return blocks.b_rows[np.repeat(first - start, wide) + np.arange(blocks.pairs)]


_CHEATING = "it can read one bit with every pair that it garbles, unnoticed."
_FACTORING = "this engine rests on factoring."
ENGINES = {
    "paillier": PluggedEngine(PaillierEngine(), 0.1, 3.9e-5, _CHEATING, _FACTORING),
    "paillier-packed": PluggedEngine(PaillierEngine(packed=True), 0.01, 3.9e-5, _CHEATING, _FACTORING),
}
"""What an agreement may name."""
