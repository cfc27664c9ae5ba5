"""What is computed and what it costs: blocks, forms of distances, edits, exact prices, sessions made anew."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    inputs,
)
from accord.secure.cost import Tab, price, price_like, set_up_bytes
from accord.secure.dual import engine as engine_dual
from accord.secure.engines import BUILT_IN, engine_named
from accord.secure.forms import (
    Added,
    Ceiling,
    Form,
    Nearby,
    Reader,
    Weights,
    alternatives,
    cell,
    cells,
    choice_bits,
    factors,
    families,
    form_of,
    of_zeros,
    overlap_of,
    own_part,
    with_dummies,
)
from accord.secure.garbled import batch as garbled_batch
from accord.secure.ideal import IdealEngine, _value, evaluate
from accord.secure.ot.engine import TAG
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.party import Party, Wire, run_pair
from accord.secure.renewal import EVERY, MOST_BLOCKS, Lasting, Renewing
from accord.secure.transfer.checked import checked_bytes
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
def test_batches_hold_every_pair_once_at_its_place(
    sizes: list[tuple[int, int]], most: int, strip: int, longest: int
) -> None:
    random = np.random.default_rng(len(sizes))
    m = np.array([s[0] for s in sizes], dtype=np.int64)
    n = np.array([s[1] for s in sizes], dtype=np.int64)
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


@given(Sizes, st.integers(1, 30))
def test_pieces_hold_every_pair_in_order_and_at_most_so_many(sizes: list[tuple[int, int]], most: int) -> None:
    random = np.random.default_rng(len(sizes))
    m, n = np.array(sizes, np.int64).reshape(-1, 2).T.copy()
    blocks = Blocks(random.integers(0, 50, m.sum()), m, random.integers(0, 50, n.sum()), n)
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


def value_of(form: Form, a: Reader, b: Reader, rows: int) -> Any:
    """The value of row i of A with row i of B, as the form says."""
    bits, factor = choice_bits(form, a), factors(form, b)
    assert len(bits) == len(factor) == len(form.shifts)
    total = own_part(form, Side.A, a, rows) + own_part(form, Side.B, b, rows)
    for shift, bit, f in zip(form.shifts, bits, factor, strict=True):
        total = total + (bit * f << shift)
    return total


@pytest.mark.parametrize(
    "of",
    [
        *(Hamming(BITS), SquaredEuclidean(POINT), SquaredEuclidean(FAR), DICE, AHEAD, COSINE, Equal(CODE)),
        Mismatches(TEXT),
    ],
)
def test_the_parts_add_up_to_the_value(
    of: Hamming | Mismatches | SquaredEuclidean | Bilinear | Equal,
) -> None:
    random = np.random.default_rng(0)
    circuit = of if isinstance(of, Equal) else AtMost(of, 0)
    a, b = table(random, circuit, Side.A, 20), table(random, circuit, Side.B, 20)
    assert inputs(circuit, Side.A)
    form = form_of(of)
    total = value_of(form, a.read, b.read, 20)
    rows = np.arange(20)
    if isinstance(of, Equal):
        same = np.all(a.inputs[CODE.name] == b.inputs[CODE.name], axis=1)
        assert ((total == 0) == same).all()
    else:
        assert (total == _value(of, a.inputs, b.inputs, rows, rows)).all()
    assert form.low <= total.min()
    assert total.max() <= form.high


def test_the_letters_nearby_are_bits_of_one_value() -> None:
    for place in range(TEXT.length):
        random = np.random.default_rng(place)
        a, b = (table(random, Edit(TEXT, 2), side, 50) for side in Side)
        x, y = a.read(TEXT), b.read(TEXT)
        form = form_of(Nearby(TEXT, place, 2))
        total = value_of(form, a.read, b.read, 50)
        for bit in range(5):
            there = place - 2 + bit
            known = x[:, place] == y[:, there] if 0 <= there < TEXT.length else np.zeros(50, np.bool_)
            assert ((total >> bit & 1 != 0) == known).all()
        assert total.max() <= form.high < 1 << 5


def test_weights_by_kinds_of_rows_add_up() -> None:
    """Two tables in one form, of which one reads several inputs of several elements."""
    random = np.random.default_rng(2)
    of, other = (CODE, Input("here", 1, 1)), (Input("there", 1, 1),)
    made = []
    for inputs_of in (of, other):
        kinds = random.integers(0, 4, cells(inputs_of))
        made.append(Weights(inputs_of, inputs_of, kinds, random.integers(-9, 9, (4, cells(inputs_of)))))
    form = form_of(Added(tuple(made)))
    rows = {x.name: random.integers(0, x.high + 1, (2, 50, x.length)) for x in (*of, *other)}

    def a(of: Input) -> Any:
        return rows[of.name][0]

    def b(of: Input) -> Any:
        return rows[of.name][1]

    expected = sum(w.weights[w.kinds[cell(w.of_a, a)], cell(w.of_b, b)] for w in made)
    total = value_of(form, a, b, 50)
    assert (total == expected).all()
    assert form.low <= total.min()
    assert total.max() <= form.high


def test_powers_of_two_leave_the_weight() -> None:
    form = form_of(Bilinear((EVEN,), None, 0, 0, -2000, 0))
    assert form.shifts == (3,) * 9
    values = np.arange(9)[None, :] % 8
    assert (factors(form, lambda of: values)[:, 0] == -3 * values[0]).all()


def overlap(v: int, w: int) -> AtMost:
    """v·(|a| + |b|) − w·⟨a, b⟩ ≤ 0."""
    low, high = BITS.length * min(0, 2 * v - w), v * BITS.length
    return AtMost(Bilinear((Product(BITS, BITS, -w),), COUNT, v, v, low, high), 0)


@pytest.mark.parametrize(
    ("node", "divisors"),
    [
        *((AtMost(Hamming(BITS), bound), [2]) for bound in range(9)),
        (Equal(CODE), [2]),
        (overlap(8, 20), [5]),
        (overlap(4, 9), [3, 9]),
        (overlap(17, 40), [2, 4, 5, 8, 10, 20, 40]),
        (overlap(1, 1), []),
        (AtMost(COSINE, -20), []),
        (AtMost(AHEAD, 100), []),
        (AtMost(SquaredEuclidean(POINT), 400), []),
    ],
    ids=str,
)
def test_what_is_divided_says_the_same(node: AtMost | Equal, divisors: list[int]) -> None:
    random = np.random.default_rng(0)
    found = alternatives(node)
    assert [f.of.divisor for f, _ in found if isinstance(f.of, Ceiling)] == divisors
    a, b = table(random, node, Side.A, 2000), table(random, node, Side.B, 2000)
    rows = np.arange(2000)
    expected = evaluate(node, a.inputs, b.inputs, rows, rows)
    for form, bound in found:
        total = value_of(form, a.read, b.read, 2000)
        assert ((total <= bound) == expected).all()
        assert form.low <= total.min()
        assert total.max() <= form.high


@pytest.mark.parametrize(
    "node",
    [AtMost(Hamming(BITS), 3), Equal(BITS), overlap(8, 20), overlap(4, 9), overlap(17, 40), overlap(1, 2)],
    ids=str,
)
def test_a_multiple_of_the_overlap_and_a_rest_say_the_same(node: AtMost | Equal) -> None:
    random = np.random.default_rng(3)
    a, b = table(random, node, Side.A, 2000), table(random, node, Side.B, 2000)
    shared = overlap_of(node)
    assert shared == Product(BITS, BITS, 1)
    rows, common = np.arange(2000), (a.inputs[BITS.name] * b.inputs[BITS.name]).sum(axis=1)
    expected = evaluate(node, a.inputs, b.inputs, rows, rows)
    assert 50 < expected.sum() < 1950
    for family in families(node):
        total = value_of(family.rest, a.read, b.read, 2000) + family.factor * common
        assert ((total <= 0) == expected).all()
        assert family.rest.low <= total.min()
        assert total.max() <= family.rest.high


@pytest.mark.parametrize(
    "node", [AtMost(SquaredEuclidean(POINT), 4), AtMost(COSINE, 0), Equal(CODE), AtMost(AHEAD, 1)], ids=str
)
def test_what_is_no_multiple_of_an_overlap(node: AtMost | Equal) -> None:
    assert overlap_of(node) is None


@pytest.mark.parametrize(
    "node", [AtMost(Hamming(BITS), 4), Equal(CODE), overlap(2, 5), AtMost(AHEAD, 3)], ids=str
)
def test_rows_of_zeros_stay_in_the_bounds_that_dummies_have(node: AtMost | Equal) -> None:
    random = np.random.default_rng(1)
    a, b = table(random, node, Side.A, 500), table(random, node, Side.B, 500)

    def nothing(of: Input) -> Any:
        return np.zeros((500, of.length), dtype=np.int64)

    for form, _ in alternatives(node):
        low, high = with_dummies(form)
        for left, right in ((nothing, b.read), (a.read, nothing), (nothing, nothing)):
            total = value_of(form, left, right, 500)
            assert low <= total.min()
            assert total.max() <= high
            least, most = of_zeros(form)
            assert low <= least <= total.min()
            assert total.max() <= most <= high


def test_what_does_not_fit_a_machine_word_is_not_divided() -> None:
    large = 3 << 52
    wide = Bilinear((Product(BITS, BITS, -2 * large),), Input("own", 1, 1 << 11), large + 1, 1, 0, 1 << 12)
    assert [form.of for form, _ in alternatives(AtMost(wide, 2000))] == [wide]


# -- cost ----------------------------------------------------------------------------------------------------

PRICED = [*OT, "dual"]


def carried(world: World, circuit: Node, over: Blocks, rows: int) -> Wire:
    random = np.random.default_rng(0)
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    return world.wire(circuit, over, a, b)


def settings_of(name: str) -> tuple[str, Settings]:
    """The engine of a world's name, and its settings."""
    return ("ot", OT[name]) if name in OT else (name, USUAL)


@pytest.mark.parametrize("long", [60, *(pytest.param(long, marks=pytest.mark.slow) for long in (500, 5000))])
@pytest.mark.parametrize("name", PRICED)
def test_bytes_and_rounds_are_those_of_the_engine(name: str, long: int) -> None:
    """Of one evaluation in a new session, with edits among them; and of a session that goes on."""
    random, world = np.random.default_rng(PRICED.index(name)), World(name)
    edits = Or((Edit(TEXT, 2), AtMost(Mismatches(TEXT), 1)))
    every = [[], [(0, 4)], [(3, 5), (0, 1), (9, 2)], [(2, long)], [(40, 50), (3, 3)]]
    for number, sizes in enumerate(every):
        for circuit in (random_circuit(random), random_score(random, (20, 9_999)[number % 2]), edits)[
            : 2 + (number == 4)
        ]:
            over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
            world.sides = world.fresh()
            wire, cost = carried(world, circuit, over, 20), price(circuit, over, *settings_of(name))
            assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)
    tab, circuit = Tab(edits, *settings_of(name)), edits
    world.sides = world.fresh()
    for sizes in ([(40, 50)], [(3, 5), (9, 2)], [(20, 90)]):
        over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
        assert tab.add(over).bytes == carried(world, circuit, over, 20).bytes


@pytest.mark.parametrize(("engine", "rounds"), [("ot", 9), ("dual", 15)])
def test_rounds_are_counted_over_many_batches(engine: str, rounds: int) -> None:
    size = 600 if engine == "ot" else 400
    circuit, over = AtMost(Hamming(Input("x", 5, 1)), 2), Blocks.whole(size, size)
    wire, cost = carried(World(engine), circuit, over, size), price(circuit, over, engine)
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
    ot = engine_named("ot")
    a, b, _, deltas = evaluate_often(Renewing(ot, most_blocks=1, every=72), 5)
    assert a.set_ups == b.set_ups == 3
    assert [deltas.index(delta) for delta in deltas] == [0, 0, 2, 2, 4]
    a, b, _, deltas = evaluate_often(Renewing(ot, most_blocks=1, every=71), 3)
    assert a.set_ups == b.set_ups == len(set(deltas)) == 3


def test_who_counts_more_decides_and_below_the_bound_a_look_is_eight_bytes_each_way() -> None:
    """The two hash different numbers of blocks: both go by the larger count."""
    ot = engine_named("ot")
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
