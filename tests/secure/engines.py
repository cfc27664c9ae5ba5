"""Every engine by a name, with sessions of both sides; and peers that do not keep to the protocol."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node
from accord.secure.dual.engine import DualEngine
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine, match
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import Settings
from accord.secure.party import Buffer, Effect, Party, Receive, Send, Wire, run_pair
from accord.secure.transfer.lpn import Parameters
from accord.side import Side
from tests.secure.encapsulation import given_messages
from tests.secure.worlds import Fixed

FEW = Parameters(secret_bits=7, trees=64, depth=6)
"""A code that protects nothing, so small that every evaluation feeds its reserve."""
OT = {
    "ot": Settings(),
    "ot silent": Settings(many=0, code=FEW),
    "ot field=1": Settings(field=1, group=1, silent=False),
    "ot field=4": Settings(field=4, group=6, silent=False),
}
REAL = ["ot", "ot silent", "dual"]
"""One of each that runs between two parties."""

EVERY = ["ideal", *OT, *REAL[2:]]


def engine_of(name: str) -> Engine:
    """Also those of the laboratory, whose keys are short here: only the time depends on that."""
    if name in OT:
        return OtEngine(OT[name])
    match name:
        case "ideal":
            return IdealEngine()
        case "garbled":
            from reproduction.engines.garbled import GarbledEngine

            return GarbledEngine()
        case "dual":
            return DualEngine()
        case _:
            # Imported here: it needs an extra.
            from reproduction.engines.paillier import PaillierEngine

            return PaillierEngine(packed=name == "paillier-packed", bits=512)


class World:
    """An engine with sessions of both sides."""

    def __init__(self, name: str) -> None:
        self.name, self.engine = name, engine_of(name)
        self.slow = name.startswith("paillier")
        self.sides = self.fresh()

    def fresh(self) -> tuple[Any, Any]:
        """Two new sessions: copies of two that nobody has used, since any set-up here draws the same."""
        sides, _ = self._unused
        # A cipher cannot be copied and has no state.
        shared = [self._ot(side).sender.pi._aes for side in sides if not isinstance(side, Side)]
        return deepcopy(sides, {id(cipher): cipher for cipher in shared})

    def set_up_of(self, side: Side) -> list[Effect]:
        """What this side does in a set-up, message by message."""
        return self._unused[1][side]

    @cached_property
    def _unused(self) -> tuple[tuple[Any, Any], dict[Side, list[Effect]]]:
        done: dict[Side, list[Effect]] = {side: [] for side in Side}
        a, b = (noted(self.engine.set_up(side, Fixed(side.value)), done[side]) for side in Side)
        with given_messages():
            return run_pair(a, b), done

    def _ot(self, side: Any) -> Any:
        garbled = getattr(side, "garbled", side)
        return getattr(garbled, "ot", garbled)

    def mend(self, sides: tuple[Any, Any]) -> None:
        """Take two sessions for whole again after an evaluation was broken off; only sizes are right then."""
        for side in sides:
            self._ot(side).busy = False

    def parties(
        self, circuit: Node, over: Blocks, a: Table, b: Table, sides: tuple[Any, Any] | None = None
    ) -> list[Party[Any]]:
        sides = sides or self.sides
        tables = (a, b)
        return [self.engine.evaluate(sides[i], circuit, over, tables[i]) for i in range(2)]

    def wire(self, circuit: Node, over: Blocks, a: Table, b: Table) -> Wire:
        """What passes between the two in an evaluation."""
        wire = Wire()
        left, right = self.parties(circuit, over, a, b)
        run_pair(left, right, wire=wire)
        return wire

    def check(self, circuit: Node, over: Blocks, a: Table, b: Table) -> int:
        """Both sides' answers are right; says how many pairs match."""
        self.engine.supports(circuit)
        left, right = self.parties(circuit, over, a, b)
        answers, expected = run_pair(left, right), match(circuit, over, a, b)
        assert (answers[0] == expected).all()
        assert (answers[1] == expected).all()
        return int(expected.sum())


def passing(party: Party[Any], through: Callable[[Effect], Effect]) -> Party[Any]:
    """The same party, of which every effect is looked at or replaced."""
    answer: Buffer | None = None
    while True:
        try:
            effect = party.send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value
        answer = yield through(effect)


def noted(party: Party[Any], effects: list[Effect]) -> Party[Any]:
    """The same party; all that it sends and asks for is written down."""

    def note(effect: Effect) -> Effect:
        effects.append(Send(bytes(effect.buffer)) if isinstance(effect, Send) else effect)
        return effect

    return passing(party, note)


def replayed(effects: list[Effect]) -> Party[None]:
    """A party that does what was written down, whatever it receives."""
    for effect in effects:  # noqa: UP028 (a list cannot be sent what was received)
        yield effect


def tampered(party: Party[Any], message: int, change: Callable[[bytes], bytes]) -> Party[Any]:
    """The same party, but one of the messages that it sends is changed on its way."""
    numbers = count()

    def alter(effect: Effect) -> Effect:
        if isinstance(effect, Send) and next(numbers) == message:
            return Send(change(bytes(effect.buffer)))
        return effect

    return passing(party, alter)


def hostile(data: st.DataObject, party: Party[Any]) -> Party[Any]:
    """A peer that answers every wait with bytes of any content, mostly of the right size."""

    def replace(effect: Effect) -> Effect:
        if isinstance(effect, Receive):
            return effect
        size, kind = len(effect.buffer), data.draw(st.sampled_from(["as is", "noise", "noise", "size"]))
        if kind == "as is":
            return effect
        if kind == "size":
            return Send(bytes(data.draw(st.integers(0, 2 * size + 2))))
        return Send(np.random.default_rng(data.draw(st.integers(0, 1 << 32))).bytes(size))

    return passing(party, replace)
