"""Exact answers over all pairs: those of the textbook, whatever the engine; rows left out match nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.file import require_sound
from accord.entropy import Seeded
from accord.errors import AgreementError
from accord.fields.load import load_records
from accord.protocols.base import prepare
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.test_routed_answers import ANSWERS, answer, asking, expected, sides, values
from tests.protocols.views import views

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=6)


@settings(max_examples=25)
@given(points, points, st.sampled_from(ANSWERS))
def test_the_answer_is_that_of_all_matching_pairs(
    a: worlds.Rows, b: worlds.Rows, output: dict[str, Any]
) -> None:
    told = expected(output, a, b, worlds.textbook(a, b))
    assert answer(asking(worlds.agreement(protocol="all-pairs"), output), a, b) == told


A_ROWS, B_ROWS = [(1, 5), (5, 5), (6, 6), (9, 9)], [(1, 6), (5, 6), (6, 6), (5, 5), (12, 9)]


@pytest.mark.parametrize("output", ANSWERS)
def test_the_real_engine_answers_the_same(output: dict[str, Any]) -> None:
    agreed = asking(worlds.agreement(protocol="all-pairs"), output)
    told = expected(output, A_ROWS, B_ROWS, worlds.textbook(A_ROWS, B_ROWS))
    assert answer(agreed, A_ROWS, B_ROWS, 3, OtEngine()) == told


@pytest.mark.parametrize("engine", [IdealEngine(), OtEngine()])
def test_a_row_that_is_left_out_counts_nowhere(engine: Any) -> None:
    """On either side, and whatever its cells are."""
    agreed = asking(worlds.agreement(protocol="all-pairs", missing="skip"), ANSWERS[0])
    table = pa.table({"id": ["p", "q", "r"], "x": [1, None, 9], "y": [1, 1, 9]})
    own = load_records(table, agreed.fields, agreed.salt, ())
    assert own.left_out == 1
    noise, entropy = np.array([own.left_out]), Seeded(4)
    mine = {s: prepare(agreed.task, s, own, own.size, noise, entropy.stream(s.value)) for s in Side}
    a, b = (worlds.run(agreed.task, mine[s], engine) for s in Side)
    left, right = run_pair(a, b)
    assert values(left) == values(right) == [2]
    assert left.dummies == right.dummies == 1
    assert left.comparisons == 9


@pytest.mark.parametrize("side", list(Side))
def test_overlap_shows_in_no_message(side: Side) -> None:
    agreed = asking(worlds.agreement(protocol="all-pairs"), ANSWERS[0])
    seen = []
    for b in (B_ROWS, [(15, 15)] * 5, [*A_ROWS, (1, 1)]):
        mine = sides(agreed, A_ROWS, b)
        made = views(agreed.task, mine[Side.A], mine[Side.B], OtEngine())
        seen.append(([len(m) for m in made[side].received], made[side].sent))
    assert seen[0] == seen[1] == seen[2]


def test_noise_is_for_routed() -> None:
    with pytest.raises(AgreementError, match="take protocol 'routed', or exact = true"):
        require_sound(asking(worlds.agreement(protocol="all-pairs"), ANSWERS[0], "1"))
    agreed = asking(worlds.agreement(protocol="all-pairs"), ANSWERS[0])
    require_sound(agreed)
    (told,) = agreed.protocol.guarantee(agreed.task, Side.A).of_all
    assert "exactly how many pairs match, without noise" in told


@pytest.mark.parametrize("greedy", [True, False])
def test_what_both_have_kept_is_asked_once(greedy: bool) -> None:
    """Else a partner could count again, with another table."""
    agreed = asking(worlds.agreement(protocol="all-pairs", greedy=greedy), ANSWERS[0])
    assert agreed.protocol.steps_at_once(agreed.task) == 1
    assert [agreed.protocol.made_anew(agreed.task, step) for step in range(4)] == [False, True, False, False]
