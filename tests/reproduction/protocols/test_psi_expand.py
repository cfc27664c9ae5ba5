"""PSI with expansion: the exact rule, messages that tell only public sizes, partners that lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError, UsageError
from accord.protocols import intersection as module
from accord.protocols.base import prepare
from accord.protocols.parts.own_side import Status
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.liars import OF_MATCHES, Change, check_flipped, run_altered
from tests.protocols.views import lines_of, require_one_shape
from tests.protocols.worlds import run
from tests.reproduction.plugged import plugged
from tests.rules import worlds as world

ENGINES: list[Engine] = [IdealEngine(), OtEngine()]
points = st.tuples(st.integers(0, 15), st.integers(0, 15))
clustered = st.tuples(st.integers(0, 3), st.integers(0, 3))
tables = st.lists(points, max_size=12) | st.lists(clustered, max_size=9)

PSI = worlds.agreement(protocol="psi", rule="same(x) and same(y)")
with plugged():
    EXPAND = Agreement.model_validate(
        PSI.model_dump(mode="json") | {"rule": "euclidean(x, y) <= 1", "protocol": {"name": "psi-expand"}}
    )


@given(tables, tables, st.integers(0, 9))
def test_expansion_finds_what_the_rule_accepts(a: worlds.Rows, b: worlds.Rows, seed: int) -> None:
    left, right, _ = worlds.link(EXPAND, a, b, seed)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)


@settings(max_examples=6)
@given(st.lists(clustered, max_size=6), st.lists(clustered, max_size=6))
def test_with_real_cryptography(a: worlds.Rows, b: worlds.Rows) -> None:
    left, right, _ = worlds.link(EXPAND, a, b, engine=OtEngine())
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)
    assert left.partner_size == len(b)


def shop(rule: str) -> Agreement:
    """The world of all kinds of fields, where values may be missing."""
    plain = EXPAND.model_dump(mode="json")
    fields = {name: spec.model_dump(mode="json") for name, spec in world.FIELDS.items()}
    changed = {"fields": fields, "rule": rule, "disclose": {}}
    return Agreement.model_validate(plain | changed)


with plugged():
    SHOPS = [
        shop(rule)
        for rule in (
            "same(hour) and within(x, 1)",
            "hamming(name) <= 1",
            "within(x, z, 0.5) and same(colour, brand)",
        )
    ]


@given(world.tables, world.tables, st.sampled_from(SHOPS))
def test_missing_values_match_nothing_and_each_side_takes_its_own_fields(
    a: list[world.Row], b: list[world.Row], agreed: Agreement
) -> None:
    left, right = world.records(a), world.records(b)
    entropy, task = Seeded(1), agreed.task
    nothing = np.zeros(1, np.int64)
    own_a = prepare(task, Side.A, left, len(right), nothing, entropy.stream("A"))
    own_b = prepare(task, Side.B, right, len(left), nothing, entropy.stream("B"))
    engine = IdealEngine()
    out_a, _ = run_pair(run(task, own_a, engine), run(task, own_b, engine))
    partner = [int(name) for name in out_a.partner_ids.to_pylist()]
    found = sorted((int(i), partner[j]) for i, j in zip(out_a.own, out_a.partner, strict=True))
    assert found == world.expected(agreed.rule, a, b, left, right)


def test_status_is_public_and_columns_are_disclosed() -> None:
    seen: list[Status] = []
    entropy = Seeded(1)
    own_a = worlds.side(EXPAND, Side.A, [(1, 1), (9, 9)], entropy, partner=2)
    own_b = worlds.side(EXPAND, Side.B, [(1, 2), (14, 14)], entropy, partner=2)
    own_a = replace(own_a, watch=seen.append)
    engine = IdealEngine()
    left, right = run_pair(run(EXPAND.task, own_a, engine), run(EXPAND.task, own_b, engine))
    assert left.partner_columns.to_pylist() == [{"x": "1", "y": "2"}]
    assert right.partner_columns.to_pylist() == [{"x": "1", "y": "1"}]
    assert seen[-1] == Status(12, 12, 1), "two values asked, two balls of five listed"
    assert left.comparisons == right.comparisons == 12


def test_an_expansion_that_is_too_large_is_refused_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 24)
    rows = [(i, i) for i in range(5)]
    with pytest.raises(UsageError, match="would list 25 values, more than 24"):
        worlds.link(EXPAND, rows, rows)


# -- what the messages tell --------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(4, 6), (6, 4), (5, 5)])
def test_sizes_of_messages_depend_on_table_sizes_and_output_alone(sizes: tuple[int, int]) -> None:
    require_one_shape(EXPAND, sizes)


def test_records_that_share_values_have_unlike_lines_in_the_order_of_their_tags() -> None:
    """Nine records with one ball: without numbering, its five values would each stand there nine times."""
    lines = lines_of(EXPAND, [(8, 8)] * 9, 1)
    assert len(lines) == 45
    for part in (lines[:, :12], lines[:, 12:]):
        assert len({row.tobytes() for row in part}) == 45
    tags = lines[:, :8].copy().view("<u8")[:, 0]
    assert (np.diff(tags.astype(object)) > 0).all()


# -- a partner that lies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "change", "problem"), OF_MATCHES)
def test_an_asker_that_lies_is_refused(number: int, change: Change, problem: str) -> None:
    with pytest.raises(PeerError, match=problem):
        run_altered(EXPAND, Side.A, number, change, IdealEngine())


@given(st.sampled_from(list(Side)), st.integers(1, 8), st.integers(0, 2**16), st.integers(1, 255))
def test_a_changed_byte_is_a_refusal_or_tells_of_other_matches(
    side: Side, number: int, place: int, flip: int
) -> None:
    check_flipped(EXPAND, side, number, place, flip, IdealEngine())
