"""SecureMatch beyond the contract: packs, masks, fresh ciphertexts, and what has no plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.cheaper import cheaper_thresholds
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import System
from accord.errors import PeerError, UnsupportedError
from accord.planning.machine import speed_of
from accord.report.dpia import assess
from accord.secure.circuit import And, AtMost, Bilinear, Equal, Hamming, Input, Not, Or, Product
from accord.secure.cost import price, set_up_bytes
from accord.secure.engine import PLUGGED, require_holding
from accord.secure.engines import engine_named
from accord.secure.forms import form_of, reach
from accord.secure.ideal import _value
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from accord.workers.resources import expected_seconds
from reproduction.engines.distance import HIDING, Pack, _draw_masks, answer, ask, packs
from reproduction.engines.encryption import PrivateKey
from reproduction.engines.garbled import GarbledEngine
from reproduction.engines.paillier import PaillierEngine, _rows, plan_of
from tests.protocols import worlds
from tests.secure.engines import World
from tests.secure.test_cost import carried
from tests.secure.worlds import BITS, DICE, LEAVES, Fixed, blocks, random_circuit, table

Sizes = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=4)


@given(Sizes, st.integers(1, 4))
def test_packs_hold_every_pair_once_at_its_place(sizes: list[tuple[int, int]], most: int) -> None:
    over = blocks(np.random.default_rng(0), [m for m, _ in sizes], [n for _, n in sizes], 20)
    seen = np.zeros((over.pairs, 2), dtype=np.int64) - 1
    for pack in packs(over, most):
        assert 0 < len(pack.a_rows) <= most
        for (i, a), (j, b) in product(enumerate(pack.a_rows), enumerate(pack.b_rows)):
            assert seen[pack.place[i] + j, 0] == -1
            seen[pack.place[i] + j] = a, b
    assert (seen[:, 0] == _rows(over, Side.A)).all()
    assert (seen[:, 1] == _rows(over, Side.B)).all()


def test_a_value_never_leaves_its_reach_whatever_the_rows_are() -> None:
    """Also where it leaves the bounds that hold for real rows; otherwise sections could run over."""
    random = np.random.default_rng(0)
    for value in (DICE, Bilinear((Product(BITS, BITS, 3),), BITS, -2, 5, 0, 1)):
        least, most = reach(form_of(value))
        node = AtMost(value, 0)
        sides = []
        for side in Side:
            columns = {k: v.copy() for k, v in table(random, node, side, 500).inputs.items()}
            for values in columns.values():
                values[:] = random.integers(0, values.max() + 1, values.shape)
            sides.append(columns)
        every = np.arange(500)
        found = _value(value, sides[0], sides[1], every, every)
        assert least <= found.min() <= found.max() <= most
    assert reach(form_of(DICE))[1] > DICE.high or reach(form_of(DICE))[0] < DICE.low


def one_pack(world: World, rows: int, columns: int, seed: int) -> tuple[list[int], list[int], bytes]:
    """A's decrypted shares, B's masks, and B's message, for Hamming distances of the worlds' rows."""
    plan = plan_of(AtMost(Hamming(BITS), 3), "paillier", 512)
    random = np.random.default_rng(seed)
    tables = [table(random, AtMost(Hamming(BITS), 3), side, 30) for side in Side]
    pack = Pack(np.arange(rows), np.arange(columns), np.arange(rows) * columns)
    a, b = world.sides
    assert isinstance(a.key, PrivateKey)
    messages: list[bytes] = []

    def watched(party: Party[object]) -> Party[object]:
        reply = None
        while True:
            try:
                effect = next(party) if reply is None else party.send(reply)
            except StopIteration as end:
                return end.value
            reply = None
            if isinstance(effect, Receive):
                reply = yield effect
            else:
                assert isinstance(effect, Send)
                messages.append(bytes(effect.buffer))
                yield effect

    left, right = run_pair(
        ask(a.key, plan.distances, pack, tables[0].read, System()),
        watched(answer(b.key, plan.distances, pack, tables[1].read, System())),
    )
    assert isinstance(right, list)
    true = np.sum(
        tables[0].inputs[BITS.name][:rows, None] ^ tables[1].inputs[BITS.name][None, :columns], axis=2
    )
    (share,) = plan.distances
    assert ((left[0] - right[0]) % (share.share.high + 1) == true).all()
    return left[0].tolist(), right[0].tolist(), messages[0]


@pytest.mark.parametrize(("name", "rows"), [("paillier", 1), ("paillier-packed", 6)])
def test_shares_add_up_and_ciphertexts_are_fresh(
    world_of: Callable[[str], World], name: str, rows: int
) -> None:
    _, first, sent = one_pack(world_of(name), rows, 4, 1)
    _, second, again = one_pack(world_of(name), rows, 4, 1)
    assert len(sent) == len(again) == 4 * 128
    parts = {data[i : i + 128] for data in (sent, again) for i in range(0, len(data), 128)}
    assert len(parts) == 8
    assert first != second


def test_what_b_sends_is_masked_in_full(world_of: Callable[[str], World]) -> None:
    """The numbers under A's key reach up to the hiding bits. Of 40, all stay 20 bits short with 2^−800."""
    world = world_of("paillier")
    key = world.sides[0].key
    assert isinstance(key, PrivateKey)
    (distance,) = plan_of(AtMost(Hamming(BITS), 3), "paillier", 512).distances
    opened = [
        number for seed in range(10) for number in key.decrypt(key.from_wire(one_pack(world, 1, 4, seed)[2]))
    ]
    assert len(opened) == 40
    assert max(opened).bit_length() > distance.bits + HIDING - 20
    assert max(opened) < 1 << distance.section


def test_what_a_decrypts_says_nothing_of_the_distance(world_of: Callable[[str], World]) -> None:
    """Bit after bit of d + r is a fair coin, for the least and the largest distance alike.

    Two cases, 600 masks, some seventy bits: |z| < 6.5 for each keeps the false alarm below α = 1e-6.
    """
    key = world_of("paillier-packed").sides[0].key
    (distance,) = plan_of(AtMost(Hamming(BITS), 3), "paillier", 512).distances

    for value in (0, BITS.length):
        opened = [value + mask for mask in _draw_masks(distance, 600, System())]
        assert max(opened).bit_length() >= distance.bits + HIDING - 1
        assert max(opened) < 1 << distance.section < key.n
        for bit in range(distance.bits + HIDING - 1):
            ones = sum(number >> bit & 1 for number in opened)
            assert abs(2 * ones - 600) < 6.5 * np.sqrt(600)


def test_a_plan_computes_each_distance_once_and_only_where_it_decides() -> None:
    near = AtMost(Hamming(BITS), 3)
    circuit = And((near, Not(AtMost(Hamming(BITS), 5)), Or((AtMost(Hamming(BITS), 9), Equal(BITS)))))
    assert len(plan_of(circuit, "paillier").distances) == 2
    assert not plan_of(And((AtMost(Hamming(BITS), 9), AtMost(Hamming(BITS), -1))), "paillier").distances


def test_packing_takes_as_many_rows_as_a_plaintext_holds() -> None:
    plan = plan_of(AtMost(Hamming(Input("x", 50, 1)), 5), "paillier-packed")
    assert plan.rows_at_once(2048, packed=True) == 2047 // (6 + HIDING + 1) == 28
    assert plan.rows_at_once(2048, packed=False) == 1


def test_a_distance_without_a_plan_is_named() -> None:
    wide = Bilinear((), Input("x", 1, 1 << 40), 1 << 30, 1, 0, 1 << 20)
    for name in ("paillier", "paillier-packed"):
        with pytest.raises(UnsupportedError, match=f"'{name}' cannot evaluate a distance that needs 71 bits"):
            PaillierEngine(packed=name == "paillier-packed").supports(AtMost(wide, 3))
    with pytest.raises(UnsupportedError, match="with its mask"):
        PaillierEngine(bits=64).supports(LEAVES[0])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("protocol", ["laplace", "all-pairs"])
def test_the_papers_own_engine_gives_the_same(packed: bool, protocol: str) -> None:
    """With short keys: every answer is a matter of milliseconds."""
    a, b = [(1, 1), (2, 5), (9, 9), (14, 3)], [(2, 1), (9, 8), (14, 15)]
    agreed = worlds.agreement(protocol=protocol)
    left, right, _ = worlds.link(agreed, a, b, dummies=1, engine=PaillierEngine(packed, bits=512))
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b) == [(0, 0), (2, 1)]


@pytest.mark.parametrize("engine", ["paillier", "paillier-packed"])
def test_bytes_and_rounds_with_long_ciphertexts(
    monkeypatch: pytest.MonkeyPatch, world_of: Callable[[str], World], engine: str
) -> None:
    """With the short keys of the tests' sessions, in the price as well."""
    short = replace(PLUGGED[engine], engine=PaillierEngine(engine == "paillier-packed", 512))
    monkeypatch.setitem(PLUGGED, engine, short)
    random, world = np.random.default_rng(0), world_of(engine)
    for sizes in ([], [(0, 4)], [(1, 1)], [(3, 5), (0, 1), (9, 2)], [(13, 1)]):
        circuit = random_circuit(random)
        over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
        wire, cost = carried(world, circuit, over, 20), price(circuit, over, engine)
        assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)


@pytest.mark.parametrize("name", ["paillier", "paillier-packed"])
def test_a_set_up_sends_what_it_is_said_to(name: str) -> None:
    engine, wire = engine_named(name), Wire()
    a, b = (engine.set_up(side, Fixed(side.value)) for side in Side)
    run_pair(a, b, wire)
    assert wire.bytes == set_up_bytes(name)


def test_engines_of_different_names_or_settings_part_at_once() -> None:
    packed, plain, garbled = PaillierEngine(True, 512), PaillierEngine(False, 512), GarbledEngine()
    with pytest.raises(PeerError, match="another version"):
        run_pair(packed.set_up(Side.A, Fixed("a")), plain.set_up(Side.B, Fixed("b")))
    with pytest.raises(PeerError, match="were due"):
        run_pair(garbled.set_up(Side.A, Fixed("a")), plain.set_up(Side.B, Fixed("b")))


def test_it_holds_no_shares() -> None:
    with pytest.raises(UnsupportedError, match="holds a share"):
        require_holding(PaillierEngine())


@pytest.mark.parametrize("spelling", ["paillier", {"name": "paillier"}])
def test_an_agreement_names_it(spelling: object) -> None:
    plain = worlds.agreement(protocol="all-pairs").model_dump(mode="json")
    agreed = Agreement.model_validate(plain | {"engine": spelling})
    assert agreed.engine.build().name == "paillier"
    assert parse_agreement(agreed.to_toml()).digest == agreed.digest
    assert "this engine rests on factoring" in assess(agreed)
    assert expected_seconds("paillier", 100) > 1000 * expected_seconds("ot", 100)
    assert speed_of(agreed.task.lowered.node, "paillier").byte == PLUGGED["paillier"].seconds_a_byte
    assert cheaper_thresholds(agreed) == []
