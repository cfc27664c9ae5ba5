"""Answers under audit: what is released of a matching record, too, is as private as claimed; broken ones are
convicted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.protocols.parts.answers import Question
from accord.protocols.routed_answers import AnswerPasses
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from reproduction.audit.cases import Case, _records, agree_by_key
from reproduction.audit.programs import Maker, Program, honest
from reproduction.audit.protocol import audit
from reproduction.audit.questions import OneRun

EPSILON = "1"


def counting(epsilon: str = EPSILON, over: str = "refuse") -> Agreement:
    plain = agree_by_key({"name": "routed", "cap": 2, "over": over}).model_dump(mode="json")
    output = {"answer": "count", "epsilon": epsilon}
    return Agreement.model_validate(plain | {"output": output, "disclose": {"A": [], "B": []}})


def matching(side: Side, agreed: Agreement) -> Case:
    """A record that matches two of the partner's, or none: as much as one can change."""
    table, neighbour = (_records([first, (2, 60)], agreed) for first in ((0, 8), (1, 40)))
    partner = _records([(0, 8), (0, 9), (2, 20)], agreed)
    return Case("matching", "a record with two pairs, or with none", agreed, side, table, neighbour, partner)


@contextmanager
def noise_of(side: Side, noise: Any) -> Iterator[None]:
    """Broken: one side adds other noise."""
    drawn = AnswerPasses.__init__

    def begin(self: Any, *arguments: Any) -> None:
        drawn(self, *arguments)
        if self.own.side is side:
            self.noise = noise(self.noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnswerPasses, "__init__", begin)
        yield


@pytest.mark.parametrize("side", list(Side))
def test_any_record_may_differ_and_the_answer_is_a_part_of_the_view(side: Side) -> None:
    case = matching(side, counting())
    question = OneRun.of(case, honest)
    seen = question.view(0, Seeded("owner"), Seeded("partner"))
    assert len(seen.messages[-1]) == 8
    assert question.promise == (Fraction(1), Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("side", list(Side))
def test_noise_of_one_side_only_is_convicted(side: Side) -> None:
    """The partner takes off its own; with the owner's noise as many trials find nothing."""
    case = matching(side, counting())
    with noise_of(side, lambda noise: noise * 0):
        assert audit([case], trials=120).leaky
    assert not audit([case], trials=120).leaky


@pytest.mark.slow
def test_match_bits_that_are_opened_are_convicted() -> None:
    """Broken: a side shows its share as it is, before it adds noise."""
    case = matching(Side.A, counting())
    with noise_of(Side.A, _told):
        assert audit([case], trials=120).leaky


@pytest.mark.slow
def test_half_of_what_a_record_can_change_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for Δ/2 is 2ε: the record at stake changes the count by all of Δ. A count that forgets who met
    before is wrong, and no less private, since Δ is that of all passes (test_routed_answers.py)."""
    whole = Question.changes
    monkeypatch.setattr(Question, "changes", lambda self, side: [n // 2 for n in whole(self, side)])
    case = matching(Side.A, counting())
    assert audit([case], trials=240).leaky


def _told(noise: np.ndarray) -> np.ndarray:
    """Noise that leaves the lowest bits of a share as they are tells them."""
    return noise // 8 * 8


def twice(keeps: bool) -> Maker:
    """The same question again, of which the partner has changed its own table: without the records that match
    the one at stake. With noise that is kept under a name, the difference is exact."""

    def maker(agreement: Agreement) -> Program:
        once = honest(agreement)

        def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
            first = yield from once(side, records, partner, entropy.stream("first"), engine)
            again = records if len(records) == 2 else _records([(2, 1), (2, 2), (2, 20)], agreement)
            second = yield from once(
                side, again, partner, entropy.stream("first" if keeps else "second"), engine
            )
            cells = [one.answer.cells[0].value for one in (first, second)]
            return _Difference(cells[0] - cells[1])

        return party

    return maker


class _Difference:
    """What the partner makes of two answers."""

    def __init__(self, value: int) -> None:
        self.value = value


@pytest.mark.slow
def test_noise_that_is_kept_under_a_name_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By as many trials, two answers with noise of their own are not, though they cost twice ε."""
    from reproduction.audit.views import View

    def end(self: View, outcome: object) -> None:
        assert isinstance(outcome, _Difference)
        self.messages.append(np.array([(1 << 32) + outcome.value], "<i8").tobytes())

    monkeypatch.setattr(View, "end", end)
    case = matching(Side.A, counting())
    assert audit([case], twice(keeps=True), trials=120).leaky
    assert not audit([case], twice(keeps=False), trials=120).leaky
