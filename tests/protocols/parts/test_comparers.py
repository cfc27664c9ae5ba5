"""The outcome of a linkage does not depend on how many compare, nor on how many rounds are under way."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.protocols.parts import schedule
from accord.protocols.parts.comparers import InTurn
from accord.protocols.parts.journal import UNDER_WAY, Answer, Forgetful
from accord.protocols.parts.outcome import Outcome
from accord.secure.engine import Engine
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import Settings
from accord.secure.party import Wire, run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.run.faults import quicken
from tests.secure.engines import FEW, engine_of

STAFFS = [InTurn(1, 1), InTurn(2, 4), InTurn(4, 1)]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quicken(monkeypatch)


def points(count: int, seed: int) -> worlds.Rows:
    found = np.random.default_rng(seed).integers(0, 16, (count, 2))
    return [(int(x), int(y)) for x, y in found]


def link(
    agreed: Agreement, a: worlds.Rows, b: worlds.Rows, engine: Engine, staff: InTurn
) -> tuple[Outcome, Outcome, Wire]:
    entropy, wire = Seeded(5), Wire()
    own = [
        replace(worlds.side(agreed, side, rows, entropy, partner=len(other)), staff=staff)
        for side, rows, other in ((Side.A, a, b), (Side.B, b, a))
    ]
    a_party, b_party = (worlds.run(agreed.task, mine, engine) for mine in own)
    left, right = run_pair(a_party, b_party, wire)
    return left, right, wire


def facts(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.own.tolist(), outcome.partner.tolist(), outcome.comparisons, outcome.rounds


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("name", ["ideal", "ot", pytest.param("ot silent", marks=pytest.mark.slow)])
def test_any_number_compares_the_same(name: str, greedy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = points(60, 1), points(30, 2)
    # Several rounds also where nothing is cleaned.
    monkeypatch.setattr(schedule.Schedule.__init__, "__defaults__", (700,))
    agreed = worlds.agreement(protocol="all-pairs", greedy=greedy)
    made = [link(agreed, a, b, engine_of(name), staff)[:2] for staff in STAFFS]
    assert worlds.pairs_of_a(made[0][0]) == worlds.pairs_of_b(made[0][1]) == worlds.textbook(a, b)
    assert made[0][0].rounds > 1
    for left, right in made[1:]:
        assert (facts(left), facts(right)) == (facts(made[0][0]), facts(made[0][1]))


class Log(Forgetful):
    """A journal, and a staff, that note what comes when."""

    def __init__(self, under_way: int) -> None:
        self.seen: list[str] = []
        self._staff = InTurn(2, under_way)

    def keep(self, answer: Answer) -> None:
        self.seen.append("keep")

    def gather(self, *facts: Any) -> Any:
        made: Any = yield from self._staff.gather(*facts)
        seen = self.seen

        class Asked(deque[Any]):
            def append(self, asked: Any) -> None:
                seen.append("ask")
                super().append(asked)

        return replace(made, _asked=Asked())


@pytest.mark.parametrize(("greedy", "ahead"), [(True, 1), (False, UNDER_WAY)])
def test_so_many_rounds_are_under_way_and_no_more(
    greedy: bool, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the proof at the head of `journal.py` rests on: a round begins when one of before is kept."""
    monkeypatch.setattr(schedule.Schedule.__init__, "__defaults__", (20,))
    agreed = worlds.agreement(protocol="all-pairs", greedy=greedy)
    entropy, engine = Seeded(5), engine_of("ideal")
    a, b = points(30, 1), [(15, 15), (0, 0), (7, 7), (9, 1)] * 5
    logs = {side: Log(UNDER_WAY) for side in Side}
    own = [
        replace(
            worlds.side(agreed, side, rows, entropy, partner=len(other)), staff=logs[side], journal=logs[side]
        )
        for side, rows, other in ((Side.A, a, b), (Side.B, b, a))
    ]
    a_party, b_party = (worlds.run(agreed.task, mine, engine) for mine in own)
    run_pair(a_party, b_party)
    for log in logs.values():
        # The commitments and the counts come before.
        assert log.seen[:2] == ["keep", "keep"]
        ahead_of = np.cumsum([{"ask": 1, "keep": -1}[what] for what in log.seen[2:]])
        assert ahead_of.max() == ahead


class Noted:
    """An engine that remembers its sessions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.sessions: list[Any] = []
        self.name = engine.name
        self.supports, self.evaluate = engine.supports, engine.evaluate

    def set_up(self, side: Side, entropy: Any) -> Any:
        made = yield from self._engine.set_up(side, entropy)
        self.sessions.append(made)
        return made


def blocks_of_aes(settings: Settings, count: int, rows: int = 600) -> int:
    """Of both sides, without those of the set-ups."""
    agreed, engines = worlds.agreement(protocol="all-pairs", greedy=False), []
    for a, b in ((points(rows, 3), points(40, 4)), ([], [])):
        engines.append(Noted(OtEngine(settings)))
        link(agreed, a, b, engines[-1], InTurn(count))
    everything, set_up = (sum(s.aes_blocks for s in engine.sessions) for engine in engines)
    return everything - set_up


def test_sharing_costs_set_ups_and_padding_alone() -> None:
    """AES blocks of 1, 2 and 4 sessions: but for set-ups, and OTs that are rounded up once more a share."""
    settings = Settings(silent=False)
    work = {count: blocks_of_aes(settings, count) for count in (1, 2, 4)}
    for count in (2, 4):
        assert work[1] <= work[count] < work[1] * (1 + 0.01 * count), work


def test_each_silent_session_makes_one_batch_more_at_the_most() -> None:
    """Each has a reserve of its own in either direction, and may not use it up."""
    settings = Settings(many=0, code=FEW)
    one = blocks_of_aes(settings, 1, rows=1)
    work = {count: blocks_of_aes(settings, count) for count in (1, 2, 4)}
    for count in (2, 4):
        assert work[1] <= work[count] <= work[1] + (count - 1) * one, (work, one)


def test_sizes_depend_on_public_numbers_alone() -> None:
    """Two tables of B that differ in a record that matches nothing: the same messages, with two sessions."""
    a = [(x, y) for x in range(0, 8) for y in range(0, 8)]
    others = [(14, 14), (12, 9)]
    agreed = worlds.agreement(protocol="all-pairs", greedy=False)
    seen = []
    for other in others:
        _, _, wire = link(agreed, a, [(3, 3), (5, 5), other], engine_of("ot"), InTurn(2, 4))
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]
    # The search would notice: one more record is another size.
    _, _, wire = link(agreed, a, [(3, 3), (5, 5), *others], engine_of("ot"), InTurn(2, 4))
    assert wire.sizes != seen[0][0]


@pytest.mark.parametrize("greedy", [True, False])
def test_sizes_of_neighbours_with_noise_depend_on_noisy_counts_alone(greedy: bool) -> None:
    """A record of B that matches nothing is in another bin, and the noise hides it: the same messages."""
    agreed, a = worlds.agreement(greedy=greedy), [(x, y) for x in range(8) for y in range(8)]
    near, far = {(3, 3), (5, 5)}, ((14, 14), (12, 1))

    def sizes(other: tuple[int, int], more: int = 0) -> Any:
        entropy, wire, b = Seeded(5), Wire(), [*sorted(near), other]
        counts = agreed.plan.counts(Side.B, worlds.records(b, agreed, "B").columns, len(b))
        noise = 6 + more - counts
        own = (
            worlds.side(agreed, Side.A, a, entropy, 2, len(b)),
            worlds.side(agreed, Side.B, b, entropy, noise, len(a)),
        )
        left, right = (
            worlds.run(agreed.task, replace(mine, staff=InTurn(2, 4)), engine_of("ot")) for mine in own
        )
        run_pair(left, right, wire)
        return wire.sizes, wire.rounds

    assert sizes(far[0]) == sizes(far[1])
    # The search would notice: one more dummy in every bin is another size.
    assert sizes(far[0], 1) != sizes(far[0])
