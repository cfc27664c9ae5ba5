"""The test of all answers: one guess, and masks that cannot be changed after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.errors import ConnectionLostError, UnequalError, UnfairError
from accord.secure.blocks import Blocks
from accord.secure.dual.engine import DualEngine
from accord.secure.dual.equality import Results
from accord.secure.party import Buffer, Party, Receive, Wire, run_pair
from accord.secure.transfer import setup
from accord.side import Side
from tests.secure.dual.cheating import CIRCUIT, Ended, evaluated, garbling, made_up, require_refused
from tests.secure.engines import World, tampered


def test_masks_that_are_opened_wrongly_are_refused(
    world_of: Callable[[str], World], cheat: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask is bound by its label: to flip an answer takes the label that lies Δ away."""
    true = Results._opening

    def opening(self: Results) -> bytes:
        said = bytearray(true(self))
        if self._session.side is cheat:
            said[0] ^= 1
        return bytes(said)

    monkeypatch.setattr(Results, "_opening", opening)
    ended = evaluated(world_of("dual"), CIRCUIT, made_up(), cheat.other)
    assert isinstance(ended.error, UnequalError)
    if cheat is Side.A:
        assert ended.wire.sizes[Side.B][-1] == 32, "B has sent no mask"


def test_a_digest_that_is_guessed_wrongly_tells_only_that(world_of: Callable[[str], World]) -> None:
    """What B answers fits A's rows for the digest that A chose, or for nothing that A has."""
    rows = made_up()

    def changed(party: Any, place: int) -> Any:
        # The second message of B is its tables: another z at A, so that A asks for another digest.
        return tampered(party, 1, lambda data: data[:-1] + bytes([data[-1] ^ 1])) if place else party

    ended = evaluated(world_of("dual"), CIRCUIT, rows, Side.A, changed)
    assert isinstance(ended.error, UnequalError)
    assert ended.wire.sizes[Side.B][-1] == 32


def test_a_right_guess_is_right_for_one_digest_alone(
    world_of: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B answers for a digest that differs from A's in any one bit: A ends the run each time."""
    true = Results._answer
    for bit in (0, 7, 100, 255):

        def answer(self: Results, digest: bytes, bit: int = bit) -> Any:
            other = bytearray(digest)
            other[bit // 8] ^= 1 << bit % 8
            return true(self, bytes(other))

        monkeypatch.setattr(Results, "_answer", answer)
        assert isinstance(evaluated(world_of("dual"), CIRCUIT, made_up(), Side.A).error, UnequalError)


@pytest.mark.parametrize("wrong", ["tables", "one bit of each"])
def test_a_delta_of_zero_makes_no_other_digest_fit(
    cheat: Side, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken once: rows that differ by nothing belonged to any digest, and so did their hash."""
    true, order = setup._draw_delta, iter([Side.B, Side.A])

    def draw(*given: Any) -> Any:
        made = true(*given)
        return made * 0 if next(order) is cheat else made

    def change(own: Any, message: Any) -> None:
        assert not own.session.sender.delta.any()
        random = np.random.default_rng(5)
        tables = message[:-4]
        tables[:] = random.integers(0, 256, len(tables)) if wrong == "tables" else tables ^ 1

    monkeypatch.setattr(setup, "_draw_delta", draw)
    engine, rows, wire = DualEngine(), made_up(), Wire()
    made = run_pair(engine.set_up(Side.A, Seeded("A")), engine.set_up(Side.B, Seeded("B")))
    both = [
        engine.evaluate(own, CIRCUIT, Blocks.whole(5, 5), table)
        for own, table in zip(made, rows, strict=True)
    ]
    with garbling(change, cheat), pytest.raises(UnequalError) as raised:
        run_pair(both[0], both[1], wire)
    require_refused(Ended(raised.value, None, wire), cheat)


def hanging_up(party: Party[Any], waits: list[int], at: int = -1) -> Party[Any]:
    """A party to which the line is cut where it waits for the message of this number; `waits` gets all."""
    answer: Buffer | None = None
    while True:
        try:
            effect = next(party) if answer is None else party.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(effect, Receive):
            waits.append(effect.size)
            if len(waits) - 1 == at:
                party.throw(ConnectionLostError(partner="bob", problem="was cut", mend=""))
        answer = yield effect
        answer = b"" if answer is None else answer


@pytest.mark.parametrize("honest", list(Side))
def test_to_hang_up_when_one_may_know_closes_the_run(world_of: Callable[[str], World], honest: Side) -> None:
    """A after it has sent its masks, B after its answer to the test: the last that each waits for. Before,
    nobody has learnt anything."""
    rows, place, waits = made_up(), list(Side).index(honest), list[int]()

    def cut(at: int, waits: list[int]) -> Callable[[Any, int], Any]:
        return lambda party, which: hanging_up(party, waits, at) if which == place else party

    evaluated(world_of("dual"), CIRCUIT, rows, honest, cut(-1, waits))
    last = len(waits) - 1
    with pytest.raises(ConnectionLostError):
        evaluated(world_of("dual"), CIRCUIT, rows, honest, cut(last - 1, []))
    ended = evaluated(world_of("dual"), CIRCUIT, rows, honest, cut(last, []))
    assert isinstance(ended.error, UnfairError)
