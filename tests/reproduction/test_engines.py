"""What plug-ins keep: the package's contracts, transcripts, the registry; then what the engines add to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord import plugins
from accord.agreement.cheaper import cheaper_thresholds
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import System
from accord.errors import PeerError, UnsupportedError, UsageError
from accord.planning.machine import speed_of
from accord.program import own_environment
from accord.protocols.registry import BUILT_IN, PROTOCOLS
from accord.report.dpia import assess
from accord.run.receipt import read_receipt
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Bilinear, Equal, Hamming, Input, Node, Not, SquaredEuclidean
from accord.secure.circuit_text import encode_circuit
from accord.secure.cost import price, set_up_bytes
from accord.secure.engine import PLUGGED, require_holding
from accord.secure.engines import engine_named
from accord.secure.garbled import gates as garbled_gates
from accord.secure.garbled.boolean import source_bits
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.gates import Feed, colours, evaluate, garble
from accord.secure.garbled.kernels import open_tables
from accord.secure.garbled.session import GarbledSession
from accord.secure.garbled.tape import Tape, tape_of
from accord.secure.party import Party, Wire, run_pair
from accord.secure.transfer.permutation import Permutation, Words
from accord.side import Side
from accord.workers.messages import Start
from accord.workers.resources import expected_seconds
from accord.workers.worker import Worker
from reproduction.catalogue import EXPERIMENTS
from reproduction.engines import encryption as paillier
from reproduction.engines.distance import HIDING, _draw_masks
from reproduction.engines.encryption import PublicKey, key_from_wire, new_key
from reproduction.engines.garbled import GarbledEngine
from reproduction.engines.paillier import PaillierEngine, plan_of
from tests.cli.terminal import environment, free_port
from tests.protocols import test_contract as protocols
from tests.protocols import worlds
from tests.reproduction.transcripts import RECORDED, cases
from tests.reproduction.worlds import PLUG_IN, ROOT, plugged
from tests.secure import test_engine as engines
from tests.secure.encapsulation import given_messages
from tests.secure.engines import World, tampered
from tests.secure.worlds import BITS, DICE, LEAVES, POINT, Fixed, Traced, blocks, random_circuit, table

# -- contracts of engines and protocols, with their worlds -------------------------------------------------

for _name, _check in vars(engines).items():
    # Those that hold for each engine alone.
    if _name.startswith("test_") and {"world", "real"} & signature(_check).parameters.keys():
        globals()[_name] = _check


@pytest.fixture(params=["paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)], scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    """Without packing it is the same engine with one row at once: in transcripts, and with `slow`."""
    return world_of(request.param)


@pytest.fixture(scope="module")
def real(world: World) -> World:
    return world


with plugged():
    KINDS = sorted(set(PROTOCOLS) - set(BUILT_IN))
CHECKS: list[Callable[..., None]] = [
    check
    for name, check in vars(protocols).items()
    if name.startswith("test_") and [*signature(check).parameters] == ["name"]
]


@pytest.mark.parametrize("name", KINDS)
def test_a_plugged_in_protocol_keeps_the_contract(name: str) -> None:
    assert CHECKS
    for check in CHECKS:
        check(name=name)
    for greedy in (True, False):
        protocols.test_both_sides_end_with_one_output_within_the_price(name, greedy)


CASES, KNOWN = cases(), json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", sorted({*CASES, *KNOWN}))
def test_a_transcript_is_what_it_was(name: str) -> None:
    assert json.loads(json.dumps(CASES[name]())) == KNOWN[name]


# -- the registry ------------------------------------------------------------------------------------------


def test_a_plug_in_is_loaded_once_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert plugins.loaded() == (PLUG_IN,)
    monkeypatch.delitem(PROTOCOLS, "local-dp")
    plugins.load(PLUG_IN)
    assert "local-dp" not in PROTOCOLS
    with pytest.raises(UsageError):
        plugins.load("nobody.has.it")
    (tmp_path / "lacking.py").write_text("import nobody.has.it")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as error:
        plugins.load("lacking")
    assert error.value.name == "nobody", "the library that it lacks"


def test_another_process_finds_them_and_lists_everything(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "reproduction", "list"]
    listed = subprocess.check_output(
        command, cwd=tmp_path, env=own_environment(*plugins.folders()), text=True
    )
    assert {*EXPERIMENTS, "claims", "report", "all"} <= {line.split()[0] for line in listed.splitlines()}


def test_a_worker_loads_what_its_coordinator_has(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = encode_circuit(worlds.agreement().task.lowered.node)
    start = Start("A", "alice", "bob", circuit, "paillier", "", True, True, 60.0, 60.0, 5.0, 5.0)
    monkeypatch.delitem(PLUGGED, "paillier")
    with pytest.raises(UsageError):
        Worker(start)
    monkeypatch.delitem(plugins._loaded, PLUG_IN)
    Worker(replace(start, plugins=PLUG_IN))


ROWS = {
    "alice": [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14)],
    "bob": [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9)],
}
LOCAL = {"name": "local-dp", "window": 16, "A": {"epsilon": "2"}, "B": {"public": True}}
BY_X = {"protocol": LOCAL, "rule": "same(x) and within(y, 1)", "blocking": [{"kind": "key", "field": "x"}]}
with plugged():
    AGREED = Agreement.model_validate(worlds.agreement().model_dump(mode="json") | BY_X)


def start(folder: Path, *words: str, module: tuple[str, ...] = ("reproduction", "accord")) -> Any:
    """A command in the folder of a party."""
    command = [sys.executable, "-m", *module, "--state", "state", *words]
    path = {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment(folder) | path)


@pytest.mark.slow
def test_two_machines_link(tmp_path: Path) -> None:
    port, both = free_port(), []
    for name, rows in ROWS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "agreement.toml").write_text(AGREED.to_toml())
        lines = ["id,x,y", *(f"{name}{i},{x},{y}" for i, (x, y) in enumerate(rows))]
        (folder / "table.csv").write_text("\n".join(lines) + "\n")
        assert start(folder, "identity", "--name", name, "--out", "card").wait(120) == 0
        assert start(folder, "ledger", "budget", "table", "--epsilon", "unlimited").wait(120) == 0
    for name, partner, way in (("alice", "bob", "--listen"), ("bob", "alice", "--connect")):
        folder = tmp_path / name
        assert start(folder, "partner", "add", partner, f"../{partner}/card").wait(120) == 0
        words = ("--agreement", "agreement.toml", "--out", "pairs.csv", "--partner", partner, way)
        both.append(start(folder, "link", "table.csv", *words, f"127.0.0.1:{port}", "--yes", "--json"))
    try:
        assert [process.wait(120) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
    alice = tmp_path / "alice"
    assert len({path.read_bytes() for path in tmp_path.glob("*/pairs.csv")}) == 1
    (receipt,) = alice.glob("state/runs/*/receipt")
    assert dict(read_receipt(receipt).facts)["matches"] == 2
    # An accountant without the plug-in does not know its events.
    assert start(alice, "ledger").wait(120) == 0
    assert start(alice, "ledger", module=("accord",)).wait(120)


# -- encryption --------------------------------------------------------------------------------------------

KEY = new_key(256, Fixed("key"))
PUBLIC = PublicKey(KEY.n, KEY.bits)


def test_a_combination_of_ciphertexts_is_one_of_plaintexts() -> None:
    """Multipliers up to their width."""
    sent = KEY.encrypt([5, 7 << 40], Fixed("x"))
    for width in (1, 2, 3, 8, 21):
        most = (1 << width) - 1
        rows = [[x, y] for x in {-most, -1, 0, 1, most} for y in (-most, 0, most)]
        wanted = [(5 * x + (7 << 40) * y) % KEY.n for x, y in rows]
        assert KEY.decrypt(PUBLIC.combine(sent, rows, width)) == wanted


def test_every_multiplier_takes_the_same_multiplications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros, ones, signs and sizes show neither in their number nor in the lengths of what is multiplied."""
    seen: list[int] = []
    true = paillier._times

    def watched(total: Any, factors: list[Any], modulus: Any) -> Any:
        seen.extend(int(factor).bit_length() for factor in factors)
        return true(total, factors, modulus)

    monkeypatch.setattr(paillier, "_times", watched)
    PUBLIC.combine(KEY.encrypt([1, 2, 3], Fixed("x")), [[0, 0, 0], [1, -1, 1], [-15, 15, 7]], 4)
    assert len(seen) == 3 * 3 * 3
    assert min(seen) > 2 * PUBLIC.bits - 20


def test_ciphertexts_and_keys_travel_in_whole_bytes_and_bad_ones_are_refused() -> None:
    sent = KEY.encrypt([1, 2, 3], Fixed("x"))
    data = PUBLIC.to_wire(sent)
    assert len(data) == 3 * PUBLIC.size == 3 * 64
    assert PUBLIC.from_wire(data) == sent
    assert len(set(PUBLIC.encrypt([7] * 20, Fixed("m")))) == 20
    # The shortcut of the owner through p and q gives the very numbers, from the same randomness.
    assert KEY.masks(5, Fixed("m")) == PUBLIC.masks(5, Fixed("m"))
    assert KEY.decrypt(PUBLIC.masks(5, Fixed("m"))) == [0] * 5
    for bad in (bytes(64), b"\xff" * 64, int(KEY.square).to_bytes(64, "little")):
        with pytest.raises(PeerError):
            PUBLIC.from_wire(data + bad)
    with pytest.raises(PeerError):
        PUBLIC.combine([KEY.n], [[-1]], 1)
    assert key_from_wire(int(KEY.n).to_bytes(32, "little"), 256).n == KEY.n
    for bad in (bytes(32), b"\xfe" + b"\xff" * 31, b"\xff" * 31 + b"\x7f"):
        with pytest.raises(PeerError):
            key_from_wire(bad, 256)


# -- SecureMatch -------------------------------------------------------------------------------------------

NEAR = AtMost(Hamming(BITS), 3)


def test_what_a_decrypts_says_nothing_of_the_distance() -> None:
    """Bit after bit of d + r is a fair coin, for the least and the largest distance alike.

    Two cases, 600 masks, some seventy bits: |z| < 6.5 for each keeps the false alarm below α = 1e-6.
    """
    (distance,) = plan_of(NEAR, "paillier", 512).distances
    for value in (0, BITS.length):
        opened = [value + mask for mask in _draw_masks(distance, 600, System())]
        assert max(opened).bit_length() >= distance.bits + HIDING - 1
        assert max(opened) < 1 << distance.section < 1 << 511
        for bit in range(distance.bits + HIDING - 1):
            ones = sum(number >> bit & 1 for number in opened)
            assert abs(2 * ones - 600) < 6.5 * np.sqrt(600)


def test_what_the_engine_cannot_do_is_refused() -> None:
    wide = AtMost(Bilinear((), Input("x", 1, 1 << 40), 1 << 30, 1, 0, 1 << 20), 3)
    for engine, circuit in ((PaillierEngine(packed=True), wide), (PaillierEngine(bits=64), LEAVES[0])):
        with pytest.raises(UnsupportedError):
            engine.supports(circuit)
    with pytest.raises(UnsupportedError):
        require_holding(PaillierEngine())
    packed, plain = PaillierEngine(True, 512), PaillierEngine(False, 512)
    for other in (packed, GarbledEngine()):
        with pytest.raises(PeerError):
            run_pair(other.set_up(Side.A, Fixed("a")), plain.set_up(Side.B, Fixed("b")))


@pytest.mark.parametrize("name", ["paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)])
def test_its_price_is_what_the_wire_carries(
    monkeypatch: pytest.MonkeyPatch, world_of: Callable[[str], World], name: str
) -> None:
    """With the short keys of the tests' sessions, in the price as well."""
    engine, wire = engine_named(name), Wire()
    run_pair(*(engine.set_up(side, Fixed(side.value)) for side in Side), wire=wire)
    assert wire.bytes == set_up_bytes(name)
    short = replace(PLUGGED[name], engine=PaillierEngine(name == "paillier-packed", 512))
    monkeypatch.setitem(PLUGGED, name, short)
    random, world = np.random.default_rng(0), world_of(name)
    for sizes in ([], [(0, 4)], [(1, 1)], [(3, 5), (0, 1), (9, 2)], [(13, 1)]):
        circuit = random_circuit(random)
        over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
        a, b = (table(random, circuit, side, 20) for side in Side)
        wire, cost = world.wire(circuit, over, a, b), price(circuit, over, name)
        assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)


def test_an_agreement_names_it() -> None:
    plain = worlds.agreement(protocol="all-pairs").model_dump(mode="json")
    for spelling in ("paillier", {"name": "paillier"}):
        agreed = Agreement.model_validate(plain | {"engine": spelling})
        assert agreed.engine.build().name == "paillier"
        assert parse_agreement(agreed.to_toml()).digest == agreed.digest
    assert expected_seconds("paillier", 100) > 1000 * expected_seconds("ot", 100)
    assert speed_of(agreed.task.lowered.node, "paillier").byte == PLUGGED["paillier"].seconds_a_byte
    assert cheaper_thresholds(agreed) == []
    assert PLUGGED["paillier"].later in assess(agreed), "what it rests on is a risk to assess"


# -- garbled circuits --------------------------------------------------------------------------------------

CIRCUIT = And((NEAR, Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))
ENGINE = GarbledEngine()
Made = tuple[GarbledSession, GarbledSession]


def parties(
    made: Made, circuit: Node = CIRCUIT, rows: int = 3, over: Blocks | None = None
) -> list[Party[Any]]:
    random = np.random.default_rng(0)
    both = [table(random, circuit, side, rows) for side in Side]
    over = over or Blocks.whole(rows, rows)
    return [ENGINE.evaluate(made[i], circuit, over, both[i]) for i in range(2)]


def test_no_label_and_tweak_are_hashed_twice_in_a_session() -> None:
    """π(x) ⊕ t, which the second application of π sees, is the same only for the same label and tweak."""
    pis = Traced(labels=True), Traced(labels=True)
    a, b = (ENGINE.set_up(side, Fixed(side.value), pi) for side, pi in zip(Side, pis, strict=True))
    made = run_pair(a, b)
    assert all(session.ot.sender.delta[0] & np.uint64(1) for session in made), "labels have two colours"
    for over in (Blocks.whole(20, 20), Blocks.whole(3, 20), Blocks.whole(1, 1)):
        run_pair(*parties(made, CIRCUIT, 20, over))
    run_pair(*parties(made, AtMost(DICE, 0), 10))
    assert all(len(np.concatenate(pi.seen)) > 50_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]
    # The trace notices numbers that come back.
    for session in made:
        session.tables = 0
        for end in (session.ot.sender, session.ot.receiver):
            end._block = 0
    run_pair(*parties(made))
    assert all(pi.repeated() for pi in pis)


@given_messages()
def test_the_wire_is_the_one_that_was_agreed_on() -> None:
    """If this fails on purpose, the version tags of the formats have to change with it. The sides garble in
    turns: tables are nearly all of the bytes, and each side sends about half of them."""
    wire = Wire()
    made = run_pair(*(ENGINE.set_up(side, Fixed(side.value)) for side in Side), wire=wire)
    rows = []
    for count, step in ((20, 3), (30, 7)):
        columns = {of: np.arange(count * of.length) * step % (of.high + 1) for of in (BITS, POINT)}
        inputs = {of.name: values.reshape(count, of.length) for of, values in columns.items()}
        rows.append(Table(inputs, np.arange(count) % 5 != 0))
    over = Blocks.whole(20, 30)
    run_pair(*(ENGINE.evaluate(made[i], CIRCUIT, over, rows[i]) for i in range(2)), wire=wire)
    assert wire.digest == "02fba900af423e32b0765b5be8eb442f3a89fef52f4eb0dbf181438a23386fb7"
    wire = Wire()
    run_pair(*parties(World("garbled").sides, NEAR, 250), wire=wire)
    assert 0.4 < sum(wire.sizes[Side.A]) / wire.bytes < 0.6


def test_bits_after_the_last_answer_are_refused(world_of: Callable[[str], World]) -> None:
    """Of the evaluator's answers, and of the bits with which the garbler lets it decode."""
    for place in (0, 1):
        both = parties(world_of("garbled").fresh())
        both[place] = tampered(both[place], 1, lambda data: data[:-1] + bytes([data[-1] | 128]))
        with pytest.raises(PeerError):
            run_pair(*both)


Seen = list[NDArray[np.uint64]]


def garbled_views(tape: Tape, a: Table, b: Table, seed: int) -> tuple[Seen, Words, NDArray[np.bool_]]:
    """A garbles: what B sees of every gate's output label (lowest bits), the tables, and the answers.

    Each row has labels of its own, and pair i is row i of A with row i of B.
    """
    random, every = np.random.default_rng(seed), np.arange(len(a.real))
    ours, known = (
        source_bits(sources, lambda of, t=t: t.inputs[of.name], t.real)  # type: ignore[misc]
        for sources, t in ((tape.ours, a), (tape.theirs, b))
    )
    delta = random.integers(0, 1 << 63, 2, dtype=np.uint64) | np.uint64(1)
    zero = random.integers(0, 1 << 63, (len(tape.theirs), len(every), 2), dtype=np.uint64)
    zero ^= random.integers(0, 2, zero.shape, dtype=np.uint64) << np.uint64(63)
    tables = np.empty(2 * tape.tables * len(every), dtype=np.uint64)
    labels = zero ^ (known[:, :, None] * delta)
    seen: Seen = []

    def watched(gates: NDArray[np.int64], *rest: NDArray[np.uint64]) -> None:
        open_tables(gates, *rest)  # type: ignore[arg-type]
        seen.extend(rest[-1][place, ::2] & np.uint64(1) for place in gates[:, 1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(garbled_gates, "open_tables", watched)
        made = garble(Permutation(), tape, Feed(zero, every, ours, every), delta, 0, tables)
        feed = Feed(labels, every, np.zeros_like(ours), every)
        found = evaluate(Permutation(), tape, feed, known, 0, tables)
    return seen, tables, (colours(made) ^ colours(found)).astype(np.bool_)


def test_an_evaluator_does_not_learn_which_predicate_failed() -> None:
    """Every colour and every bit of every table is a fair coin to it, whichever predicate it was.

    About 200 gates and two cases at 4,096 pairs: |z| < 6.5 for each keeps the false alarm below α = 1e-6.
    """
    circuit = And((NEAR, AtMost(SquaredEuclidean(POINT), 400)))
    tape, count = tape_of(boolean_circuit(circuit), Side.A), 4096
    bits, real = np.zeros((count, BITS.length), dtype=np.int64), np.ones(count, dtype=np.bool_)
    near, far = np.zeros((count, 2), dtype=np.int64), np.full((count, 2), 31)
    own = Table({BITS.name: bits, POINT.name: near}, real)
    for seed, other in enumerate(
        ({BITS.name: bits, POINT.name: far}, {BITS.name: 1 - bits, POINT.name: near})
    ):
        seen, tables, answers = garbled_views(tape, own, Table(other, real), seed)
        assert not answers.any()
        assert 50 < len(seen) < 200
        for colour in seen:
            assert abs(2 * float(colour.sum()) - count) < 6.5 * np.sqrt(count)
        ones = float(np.unpackbits(tables.view(np.uint8)).sum())
        assert abs(2 * ones - 64 * len(tables)) < 6.5 * np.sqrt(64 * len(tables))
