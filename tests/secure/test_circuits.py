"""What is computed and what it costs: blocks, forms of distances, edits, exact prices, sessions made anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import Entropy
from accord.secure import forms
from accord.secure.blocks import Blocks, Limit, Table, batches, shapes
from accord.secure.circuit import (
    AtMost,
    Bilinear,
    Edit,
    Equal,
    Hamming,
    Input,
    Mismatches,
    Node,
    Or,
    Product,
    SquaredEuclidean,
)
from accord.secure.cost import Tab, price, price_like, set_up_bytes
from accord.secure.dual import engine as engine_dual
from accord.secure.engines import BUILT_IN, engine_named
from accord.secure.garbled import batch as garbled_batch
from accord.secure.ideal import IdealEngine, _value, evaluate
from accord.secure.ot.engine import TAG, OtEngine
from accord.secure.ot.settings import USUAL
from accord.secure.ot.supply import OtSession
from accord.secure.party import Party, Wire, run_pair
from accord.secure.renewal import EVERY, MOST_BLOCKS, Lasting, Renewing
from accord.secure.transfer.checked import checked_bytes
from accord.secure.transfer.permutation import Permutation
from accord.side import Side
from tests.secure.engines import OT, World
from tests.secure.worlds import (
    AHEAD,
    BITS,
    CODE,
    COSINE,
    COUNT,
    DICE,
    FAR,
    POINT,
    STEP,
    TEXT,
    Fixed,
    blocks,
    random_circuit,
    random_score,
    table,
)

# -- blocks --------------------------------------------------------------------------------------------------

Sizes = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=6)


def pairs_of(blocks: Blocks) -> list[tuple[int, int]]:
    pairs, a, b = [], 0, 0
    for m, n in zip(blocks.a_counts, blocks.b_counts, strict=True):
        pairs += [(i, j) for i in blocks.a_rows[a : a + m] for j in blocks.b_rows[b : b + n]]
        a, b = a + m, b + n
    return pairs


@given(Sizes, st.integers(1, 30), st.integers(0, 5), st.sampled_from([1, 3, 4096]))
def test_batches_and_pieces_hold_every_pair_once_at_its_place(
    sizes: list[tuple[int, int]], most: int, strip: int, longest: int
) -> None:
    random = np.random.default_rng(len(sizes))
    m, n = np.array(sizes, np.int64).reshape(-1, 2).T.copy()
    blocks = Blocks(random.integers(0, 50, m.sum()), m, random.integers(0, 50, n.sum()), n)
    limit = Limit(most, strip, longest)
    found, sized = list(batches(blocks, limit)), shapes(blocks, limit)
    seen = np.zeros(blocks.pairs, dtype=np.int64)
    order = np.array(pairs_of(blocks), dtype=np.int64).reshape(-1, 2)
    for batch in found:
        place = batch.of_a(batch.place - batch.start) + np.arange(batch.pairs)
        np.add.at(seen, place, 1)
        assert (batch.of_a(batch.a_rows) == order[place, 0]).all()
        assert (batch.of_b(batch.b_rows) == order[place, 1]).all()
        assert batch.pairs + strip * len(batch.width) <= most or len(batch.width) == 1
        answer = np.zeros(blocks.pairs, dtype=np.bool_)
        batch.put(np.ones(batch.pairs, dtype=np.bool_), answer)
        assert np.flatnonzero(answer).tolist() == sorted(place.tolist())
    assert (seen == 1).all()
    assert sized.strips.tolist() == [len(batch.width) for batch in found]
    assert sized.b_rows.tolist() == [len(batch.b_rows) for batch in found]
    assert sized.pairs.tolist() == [batch.pairs for batch in found]
    assert all(batch.width.max() <= longest for batch in found)
    pieces = list(blocks.cut(most))
    assert [pair for piece in pieces for pair in pairs_of(piece)] == pairs_of(blocks)
    assert all(piece.pairs <= most for piece in pieces)
    assert len(pieces) <= 1 + 2 * blocks.pairs // most
    assert len(pieces) == 1 or all(piece.pairs for piece in pieces)


def test_blocks_and_tables_that_do_not_fit_are_refused() -> None:
    one, real = np.array([1]), np.ones(1, np.bool_)
    wrong: list[Callable[[], object]] = [
        lambda: Blocks(np.arange(3), np.array([2]), np.arange(1), one),
        lambda: Blocks(np.arange(1), one, np.arange(3), np.array([2])),
        lambda: Blocks(np.arange(2), np.array([2]), np.arange(1), np.array([1, 0])),
        lambda: Table({}, np.ones(3, np.uint8)),
        lambda: Table({}, np.ones((3, 1), np.bool_)),
        *(
            lambda values=values: Table({"x": np.array(values)}, real).read(Input("x", 2, 1))
            for values in ([[0, 2]], [[0, -1]], [[0]], [[0, 1], [0, 1]])
        ),
    ]
    for refused in wrong:
        with pytest.raises(ValueError):
            refused()


# -- forms ---------------------------------------------------------------------------------------------------

EVEN = Product(BITS, Input("grade", 9, 7), -24)


def value_of(form: forms.Form, a: forms.Reader, b: forms.Reader, rows: int) -> Any:
    """The value of row i of A with row i of B, as the form says."""
    bits, factor = forms.choice_bits(form, a), forms.factors(form, b)
    assert len(bits) == len(factor) == len(form.shifts)
    total = forms.own_part(form, Side.A, a, rows) + forms.own_part(form, Side.B, b, rows)
    for shift, bit, f in zip(form.shifts, bits, factor, strict=True):
        total = total + (bit * f << shift)
    return total


def require_within(form: forms.Form, total: Any) -> Any:
    """The value, which is in the bounds of the form."""
    assert form.low <= total.min()
    assert total.max() <= form.high
    return total


@pytest.mark.parametrize(
    "of",
    [*(Hamming(BITS), SquaredEuclidean(POINT), SquaredEuclidean(FAR), DICE, AHEAD, COSINE), Mismatches(TEXT)],
)
def test_the_parts_add_up_to_the_value(of: Hamming | Mismatches | SquaredEuclidean | Bilinear) -> None:
    random, rows = np.random.default_rng(0), np.arange(20)
    a, b = (table(random, AtMost(of, 0), side, 20) for side in Side)
    form = forms.form_of(of)
    total = require_within(form, value_of(form, a.read, b.read, 20))
    assert (total == _value(of, a.inputs, b.inputs, rows, rows)).all()


def test_weights_by_kinds_of_rows_add_up() -> None:
    """Two tables in one form, of which one reads several inputs of several elements."""
    random = np.random.default_rng(2)
    of, other = (CODE, Input("here", 1, 1)), (Input("there", 1, 1),)
    made = []
    for inputs_of in (of, other):
        count = forms.cells(inputs_of)
        kinds = random.integers(0, 4, count)
        made.append(forms.Weights(inputs_of, inputs_of, kinds, random.integers(-9, 9, (4, count))))
    rows = {x.name: random.integers(0, x.high + 1, (2, 50, x.length)) for x in (*of, *other)}

    def a(of: Input) -> Any:
        return rows[of.name][0]

    def b(of: Input) -> Any:
        return rows[of.name][1]

    expected = sum(w.weights[w.kinds[forms.cell(w.of_a, a)], forms.cell(w.of_b, b)] for w in made)
    form = forms.form_of(forms.Added(tuple(made)))
    assert (require_within(form, value_of(form, a, b, 50)) == expected).all()


def test_powers_of_two_leave_the_weight() -> None:
    form = forms.form_of(Bilinear((EVEN,), None, 0, 0, -2000, 0))
    assert form.shifts == (3,) * 9
    values = np.arange(9)[None, :] % 8
    assert (forms.factors(form, lambda of: values)[:, 0] == -3 * values[0]).all()


def overlap(v: int, w: int) -> AtMost:
    """v·(|a| + |b|) − w·⟨a, b⟩ ≤ 0."""
    low, high = BITS.length * min(0, 2 * v - w), v * BITS.length
    return AtMost(Bilinear((Product(BITS, BITS, -w),), COUNT, v, v, low, high), 0)


@pytest.mark.parametrize(
    ("node", "divisors", "shared"),
    [
        *((AtMost(Hamming(BITS), bound), [2], True) for bound in range(9)),
        (Equal(BITS), [2], True),
        (overlap(8, 20), [5], True),
        (overlap(4, 9), [3, 9], True),
        (overlap(17, 40), [2, 4, 5, 8, 10, 20, 40], True),
        (overlap(1, 2), [2], True),
        (overlap(1, 1), [], True),
        (Equal(CODE), [2], False),
        (AtMost(COSINE, -20), [], False),
        (AtMost(AHEAD, 100), [], False),
        (AtMost(SquaredEuclidean(POINT), 400), [], False),
    ],
    ids=str,
)
def test_every_form_of_a_node_says_the_same(node: AtMost | Equal, divisors: list[int], shared: bool) -> None:
    """Divided, and as a multiple of the overlap and a rest. Rows of zeros stay in the bounds of dummies."""
    random, rows = np.random.default_rng(0), np.arange(2000)
    a, b = (table(random, node, side, 2000) for side in Side)
    expected = evaluate(node, a.inputs, b.inputs, rows, rows)

    def nothing(of: Input) -> Any:
        return np.zeros((2000, of.length), dtype=np.int64)

    found = forms.alternatives(node)
    assert [f.of.divisor for f, _ in found if isinstance(f.of, forms.Ceiling)] == divisors
    for form, bound in found:
        total = require_within(form, value_of(form, a.read, b.read, 2000))
        assert ((total <= bound) == expected).all()
        low, high = forms.with_dummies(form)
        least, most = forms.of_zeros(form)
        assert low <= least <= most <= high
        for left, right in ((nothing, b.read), (a.read, nothing), (nothing, nothing)):
            total = value_of(form, left, right, 2000)
            assert least <= total.min()
            assert total.max() <= most
    assert forms.overlap_of(node) == (Product(BITS, BITS, 1) if shared else None)
    if shared:
        common = (a.inputs[BITS.name] * b.inputs[BITS.name]).sum(axis=1)
        for family in forms.families(node):
            total = value_of(family.rest, a.read, b.read, 2000) + family.factor * common
            assert ((require_within(family.rest, total) <= 0) == expected).all()


def test_what_does_not_fit_a_machine_word_is_not_divided() -> None:
    large = 3 << 52
    wide = Bilinear((Product(BITS, BITS, -2 * large),), Input("own", 1, 1 << 11), large + 1, 1, 0, 1 << 12)
    assert [form.of for form, _ in forms.alternatives(AtMost(wide, 2000))] == [wide]
    assert forms.families(AtMost(wide, 2000)) == []


# -- cost ----------------------------------------------------------------------------------------------------

PRICED = [*OT, "dual"]
EDITS = Or((Edit(TEXT, 2), AtMost(Mismatches(TEXT), 1)))


class Priced:
    """An engine in a new session, and what it carries."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.random = world, np.random.default_rng(PRICED.index(name))
        self.engine = ("ot", OT[name]) if name in OT else (name, USUAL)
        world.sides = world.fresh()

    def over(self, *sizes: tuple[int, int]) -> Blocks:
        return blocks(self.random, [a for a, _ in sizes], [b for _, b in sizes], 20)

    def carried(self, circuit: Node, over: Blocks, rows: int = 20) -> Wire:
        a, b = (table(np.random.default_rng(0), circuit, side, rows) for side in Side)
        return self.world.wire(circuit, over, a, b)


@pytest.fixture(params=PRICED)
def priced(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> Priced:
    return Priced(world_of(request.param), request.param)


@pytest.mark.parametrize("long", [60, *(pytest.param(long, marks=pytest.mark.slow) for long in (500, 5000))])
def test_bytes_and_rounds_are_those_of_the_engine(priced: Priced, long: int) -> None:
    """Of one evaluation in a new session, with edits among them; and of a session that goes on."""
    every = [[], [(3, 5), (0, 1), (9, 2)], [(2, long)], [(12, 10), (3, 3)]]
    for number, sizes in enumerate(every):
        score = random_score(priced.random, (20, 9_999)[number % 2])
        for circuit in (random_circuit(priced.random), score, EDITS)[: 2 + (number == 3)]:
            over, priced.world.sides = priced.over(*sizes), priced.world.fresh()
            wire, cost = priced.carried(circuit, over), price(circuit, over, *priced.engine)
            assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)
    tab, priced.world.sides = Tab(EDITS, *priced.engine), priced.world.fresh()
    for sizes in ([(12, 10)], [(3, 5), (9, 2)], [(7, 20)]):
        over = priced.over(*sizes)
        assert tab.add(over).bytes == priced.carried(EDITS, over).bytes


@pytest.mark.parametrize(("priced", "rounds"), [("ot", 16), ("dual", 7)], indirect=["priced"])
def test_rounds_are_counted_over_many_batches(
    priced: Priced, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 64 pairs each."""
    monkeypatch.setattr("accord.secure.ot.sizes._PAIRS", 64)
    monkeypatch.setattr("accord.secure.garbled.batch._CACHE", 0)
    circuit, over = AtMost(Hamming(Input("x", 5, 1)), 2), Blocks.whole(30, 30)
    wire, cost = priced.carried(circuit, over, 30), price(circuit, over, *priced.engine)
    assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)
    assert cost.rounds == rounds


@pytest.mark.parametrize("engine", BUILT_IN)
def test_only_sizes_count_and_so_many_times_a_sample_cost_as_the_whole(engine: str) -> None:
    over = blocks(np.random.default_rng(0), [3, 40], [7, 2], 9)
    circuit = AtMost(SquaredEuclidean(Input("x", 2, 9)), 5)
    alike = Blocks.of_sizes(np.array([3, 40]), np.array([7, 2]))
    assert price(circuit, over, engine) == price(circuit, alike, engine)
    circuit = AtMost(Hamming(Input("x", 30, 1)), 4)
    sizes = np.full(4000, 12), np.full(4000, 17)
    whole, part = Blocks.of_sizes(*sizes), Blocks.of_sizes(sizes[0][:500], sizes[1][:500])
    expected, found = price(circuit, whole, engine), price_like(circuit, part, 8.0, engine)
    assert found.comparisons == expected.comparisons
    assert found.bytes == pytest.approx(expected.bytes, rel=0.03)
    assert found.strips == expected.strips
    assert found.feeds == expected.feeds


@pytest.mark.parametrize("engine", BUILT_IN)
def test_a_set_up_has_a_fixed_price(engine: str) -> None:
    wire = Wire()
    a, b = (engine_named(engine).set_up(side, Fixed(side.value)) for side in Side)
    run_pair(a, b, wire=wire)
    # Hellos with halves of a key; for the base OTs a point and, for each, a point, two keys of ML-KEM-768
    # with one ρ and two ciphertexts; 128/k bits an OT of the extension; in both directions two seeds a base
    # OT.
    hello, k = (engine_dual.TAG, garbled_batch.K) if engine != "ot" else (TAG + USUAL.hello, USUAL.k)
    base = 32 + 128 * (32 + 32 + 2 * 1152 + 2 * 1088)
    size = 2 * (len(hello) + 32 + 128 * 2 * 16) + base + checked_bytes(128, 128 // k)
    assert (wire.bytes, wire.rounds) == (size, 5)
    assert set_up_bytes(engine) == size


# -- renewal -------------------------------------------------------------------------------------------------

EIGHT = 8
NEAR = AtMost(Hamming(Input("x", EIGHT, 1)), 1)
ROWS = 6


def eight_bits(seed: int) -> Table:
    bits = np.random.default_rng(seed).integers(0, 2, (ROWS, EIGHT))
    return Table({"x": bits}, np.ones(ROWS, np.bool_))


def evaluate_often(engine: Renewing, times: int) -> tuple[Lasting, Lasting, Wire, list[Any]]:
    """So many evaluations of 36 pairs in one session, and A's Δ in each."""
    wire, deltas = Wire(), []

    def party(side: Side) -> Party[Lasting]:
        session = yield from engine.set_up(side, Fixed(side.value))
        for number in range(times):
            own = eight_bits(2 * number + (side is Side.B))
            bits = yield from engine.evaluate(session, NEAR, Blocks.whole(ROWS, ROWS), own)
            a, b = (eight_bits(2 * number + i).inputs["x"] for i in (0, 1))
            expected = (a[:, None] ^ b[None]).sum(axis=2) <= 1
            assert np.array_equal(bits, expected.reshape(-1))
            if side is Side.A and hasattr(session.made, "ot"):
                deltas.append(session.made.ot.sender.delta.tobytes())
        return session

    a, b = run_pair(party(Side.A), party(Side.B), wire=wire)
    return a, b, wire, deltas


def test_a_session_is_made_anew_at_the_bound() -> None:
    """Looked at after 72 pairs, before evaluations 3 and 5; with fewer pairs between, before each."""
    for every, times in ((72, 5), (71, 3)):
        a, b, _, _ = evaluate_often(Renewing(IdealEngine(), most_blocks=0, every=every), times)
        assert a.set_ups == b.set_ups == 3
    a, b, _, deltas = evaluate_often(Renewing(engine_named("ot"), most_blocks=1, every=36), 2)
    assert a.set_ups == b.set_ups == len(set(deltas)) == 2


@dataclass(frozen=True)
class Prepared(OtEngine):
    """An engine whose set-ups say nothing."""

    world: World | None = None

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[OtSession]:
        assert self.world is not None
        yield from ()
        session: OtSession = self.world.fresh()[list(Side).index(side)]
        return session


def test_who_counts_more_decides_and_below_the_bound_a_look_is_eight_bytes_each_way(
    world_of: Callable[[str], World],
) -> None:
    """The two hash different numbers of blocks: both go by the larger count."""
    ot = Prepared(world=world_of("ot"))
    first, second, _, _ = evaluate_often(Renewing(ot, every=36), 1)
    counts = sorted([first.made.aes_blocks, second.made.aes_blocks])
    assert counts[0] < counts[1]
    a, b, _, _ = evaluate_often(Renewing(ot, most_blocks=counts[1], every=36), 2)
    assert a.set_ups == b.set_ups == 2
    plain, looked = evaluate_often(Renewing(ot), 2), evaluate_often(Renewing(ot, every=36), 2)
    assert looked[2].bytes - plain[2].bytes == 16
    assert plain[0].set_ups == looked[0].set_ups == 1


@pytest.mark.parametrize("every", [1, 4, 6, 13, 35])
def test_an_evaluation_of_more_pairs_is_looked_at_on_its_way(every: int) -> None:
    """36 pairs are cut by rows of A, and below six pairs by rows of B, too."""
    a, b, _, _ = evaluate_often(Renewing(IdealEngine(), most_blocks=0, every=every), 1)
    pieces = len(list(Blocks.whole(ROWS, ROWS).cut(every)))
    assert pieces == {1: 36, 4: 12, 6: 6, 13: 3, 35: 2}[every]
    assert a.set_ups == b.set_ups == pieces


def test_the_documented_floor_follows_from_the_bound_and_its_looks() -> None:
    """(2μp + μq)/2¹²⁶, where the other side is past the bound by all that lies between two looks."""
    heaviest = 12_288
    hidden = MOST_BLOCKS + heaviest * EVERY
    assert (MOST_BLOCKS, EVERY, log2(hidden)) == (2**32, 2**20, 34)
    assert (126 - log2(2 * hidden), int(126 - log2(3 * hidden * hidden))) == (91, 56)


def test_a_form_reaches_from_its_negative_to_its_positive_parts() -> None:
    bits, grade = Input("bits", 5, 1), Input("grade", 5, 6)
    products = (Product(bits, grade, -6), Product(bits, bits, 14))
    assert forms.reach(forms.form_of(Bilinear(products, STEP, -8, 0, -8180, 70))) == (
        -180 - 8 * STEP.high,
        70,
    )
    assert forms.reach(forms.form_of(Bilinear(products, STEP, 0, 4, -180, 4070))) == (
        -180,
        70 + 4 * STEP.high,
    )
