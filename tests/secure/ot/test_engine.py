"""The default engine beyond the contract: no tweak twice, and a wire that does not change by accident."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Equal,
    Graded,
    Hamming,
    Node,
    Not,
    Reaches,
    SquaredEuclidean,
)
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.supply import OtSession
from accord.secure.party import Party, Wire, run_pair
from accord.secure.transfer.setup import set_up
from accord.side import Side
from benchmarks.workload import PEOPLE
from tests.secure.engines import OT, tampered
from tests.secure.transfer.encapsulation import given_messages
from tests.secure.worlds import BITS, POINT, Fixed, Traced, table

OT_WIRE = "d180ae55d65b71310ddec119a7bd0a6db3d20a3a530f694fb2cb2cc2e0c691bd"
SCORE_WIRE = "3cf55d1a86e826315f5951628579d45974515c789761f1186787d8beb0887fd3"
SILENT_WIRE = "b93db99d4cc6b1e070e087b14284dab563c97b59ac75e574a412f51cfb2ac867"
OtSessions = tuple[OtSession, OtSession]
CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))

WIDE = Reaches((Graded(((Equal(BITS), 9_000), (AtMost(Hamming(BITS), 3), 70_000)), -5),) * 2, 3)
"""Its weights take lookups with tables of many blocks."""
SCORE = Reaches(
    (
        Graded(((Equal(BITS), 7), (AtMost(Hamming(BITS), 3), 2)), -3),
        Graded(((AtMost(SquaredEuclidean(POINT), 400), 4),), -1),
        Graded(((Equal(BITS), 1), (Equal(POINT), 9)), 0),
    ),
    4,
)


def both(
    sessions: OtSessions, circuit: Node, over: Blocks, a: Table, b: Table
) -> tuple[Party[Any], Party[Any]]:
    engine = OtEngine(sessions[0].settings)
    return engine.evaluate(sessions[0], circuit, over, a), engine.evaluate(sessions[1], circuit, over, b)


def traced_sessions(settings: Settings = USUAL) -> tuple[OtSessions, tuple[Traced, Traced]]:
    pis, engine = (Traced(), Traced()), OtEngine(settings)
    made = run_pair(engine.set_up(Side.A, Fixed("a"), pis[0]), engine.set_up(Side.B, Fixed("b"), pis[1]))
    return made, pis


@pytest.mark.parametrize(
    "circuit",
    [
        pytest.param(CIRCUIT, id="formula"),
        pytest.param(PEOPLE, id="score", marks=pytest.mark.slow),
        pytest.param(WIDE, id="wide score", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", ["ot", "ot silent", "ot field=4"])
def test_no_key_and_tweak_are_hashed_twice_in_a_session(name: str, circuit: Node) -> None:
    made, pis = traced_sessions(OT[name])
    random = np.random.default_rng(0)
    a, b = table(random, circuit, Side.A, 20), table(random, circuit, Side.B, 20)
    for over in (Blocks.whole(20, 20), Blocks.whole(3, 20), Blocks.whole(1, 1)):
        run_pair(*both(made, circuit, over, a, b))
    assert all(len(np.concatenate(pi.seen)) > 10_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_the_trace_notices_numbers_that_come_back() -> None:
    made, pis = traced_sessions()
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    for _ in range(2):
        for session in made:
            for end in (session.ot.sender, session.ot.receiver):
                end._block = 0
        run_pair(*both(made, CIRCUIT, Blocks.whole(3, 3), a, b))
    assert all(pi.repeated() for pi in pis)


def counted_table(rows: int, step: int) -> Table:
    """Rows that no library can change."""
    columns = {of.name: np.arange(rows * of.length) * step % (of.high + 1) for of in (BITS, POINT)}
    shaped = {of.name: columns[of.name].reshape(rows, of.length) for of in (BITS, POINT)}
    return Table(shaped, np.arange(rows) % 5 != 0)


@pytest.mark.parametrize(
    ("name", "circuit", "digest"),
    [("ot", CIRCUIT, OT_WIRE), ("ot silent", CIRCUIT, SILENT_WIRE), ("ot", SCORE, SCORE_WIRE)],
    ids=["ot", "silent", "score"],
)
@given_messages()
def test_the_wire_is_the_one_that_was_agreed_on(name: str, circuit: Node, digest: str) -> None:
    """If this fails on purpose, the version tags of the formats have to change with it."""
    wire = Wire()
    made = fresh(OT[name], wire)
    a, b = counted_table(20, 3), counted_table(30, 7)
    run_pair(*both(made, circuit, Blocks.whole(20, 30), a, b), wire)
    assert wire.digest == digest


def test_sessions_of_different_settings_part_at_once() -> None:
    loud = Settings(silent=False)
    with pytest.raises(PeerError, match="another version"):
        run_pair(OtEngine().set_up(Side.A, Fixed("a")), OtEngine(loud).set_up(Side.B, Fixed("b")))
    with pytest.raises(ValueError, match="k is"):
        next(set_up(Side.A, 3, Fixed("a")))


def fresh(settings: Settings = USUAL, wire: Wire | None = None) -> OtSessions:
    engine = OtEngine(settings)
    return run_pair(engine.set_up(Side.A, Fixed("a")), engine.set_up(Side.B, Fixed("b")), wire)


def test_bits_after_the_last_answer_are_refused() -> None:
    random, circuit = np.random.default_rng(0), AtMost(Hamming(BITS), 3)
    a, b = table(random, circuit, Side.A, 3), table(random, circuit, Side.B, 3)
    left, right = both(fresh(), circuit, Blocks.whole(3, 3), a, b)
    last = len(compile_circuit(circuit, "ot").levels)
    with pytest.raises(PeerError, match="after the last"):
        run_pair(left, tampered(right, last, lambda data: data[:-1] + bytes([data[-1] | 128])))
