"""What every protocol keeps, whichever it is: one suite over all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Seeded
from accord.errors import AgreementError, UsageError
from accord.fields.columns import Records
from accord.privacy.events import NO_COST, encode
from accord.protocols.base import prepare
from accord.protocols.parts.own_side import Status
from accord.protocols.parts.slots import commitments
from accord.protocols.registry import PROTOCOLS, protocol_named
from accord.secure.engines import engine_named
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from accord.simulation.pair import make_mine, release_of
from accord.state.noise import decode_noise, encode_noise
from tests.protocols import worlds
from tests.protocols.liars import refused
from tests.spent import Spent

KINDS = sorted(PROTOCOLS)
A_ROWS: worlds.Rows = [(1, 1), (1, 2), (7, 7), (9, 2), (12, 12), (12, 12)]
B_ROWS: worlds.Rows = [(1, 1), (8, 7), (3, 3), (12, 12), (0, 9)]
SIZES = len(A_ROWS), len(B_ROWS)


def agreement(name: str, **options: Any) -> Agreement:
    """Points whose x is the key; a rule of equality, which every protocol can find."""
    kind = protocol_named(name)
    noise = {side: "geometric" for side in Side}
    plain = worlds.agreement(rule="same(x) and same(y)").model_dump(mode="json")
    plain["blocking"] = [{"kind": "key", "field": "x"}] if kind.blocked else []
    plain["protocol"] = kind.draft("1", "1e-3", noise) | options
    return Agreement.model_validate(plain)


def tables(agreed: Agreement) -> tuple[Records, Records]:
    return worlds.records(A_ROWS, agreed, "a"), worlds.records(B_ROWS, agreed, "b")


@pytest.mark.parametrize("name", KINDS)
def test_the_registry_is_what_agreements_read(name: str) -> None:
    agreed = agreement(name)
    assert type(agreed.protocol) is PROTOCOLS[name]
    assert agreed.protocol.name == name
    assert Agreement.model_validate(agreed.model_dump(mode="json")).digest == agreed.digest
    with pytest.raises(UsageError):
        protocol_named("nonsense")


@pytest.mark.parametrize("name", KINDS)
def test_an_agreement_is_sound_with_a_blocking_exactly_where_one_is_needed(name: str) -> None:
    agreed = agreement(name)
    require_sound(agreed, simulated=True)
    key = {"kind": "key", "field": "x"}
    turned = agreed.model_dump(mode="json") | {"blocking": [] if PROTOCOLS[name].blocked else [key]}
    with pytest.raises(AgreementError):
        require_sound(Agreement.model_validate(turned), simulated=True)
    if PROTOCOLS[name].leaky:
        with pytest.raises(AgreementError):
            require_sound(agreed)
    else:
        require_sound(agreed)


@pytest.mark.parametrize("name", KINDS)
def test_options_that_a_simulation_may_change_exist(name: str) -> None:
    kind = PROTOCOLS[name]
    assert set(kind.options) <= set(kind.model_fields)
    for option in kind.side_options:
        assert {"A", "B"} <= set(kind.model_fields)
        side = getattr(agreement(name).protocol, "A")  # noqa: B009
        assert option in type(side).model_fields


@pytest.mark.parametrize("name", KINDS)
def test_what_is_told_to_the_ledger_is_what_is_promised(name: str) -> None:
    """And the leakage in words speaks of bins exactly where the leakage as data does."""
    agreed = agreement(name)
    for side in Side:
        told, release = agreed.leakage(side), release_of(agreed, side, 5)
        if PROTOCOLS[name].leaky:
            assert release.event is None
            assert (told.epsilon, told.delta) == (None, None)
            continue
        assert release.event is not None
        assert release.event.cost == told.cost
        assert encode(release.event) == encode(release_of(agreed, side, 5).event or release.event)
        if name != "routed":
            assert bool(told.bins) == bool(told.guarantee.of_all) == bool(told.guarantee.of_matches)
        assert (told.epsilon == 0) == (not PROTOCOLS[name].promises)


@pytest.mark.parametrize("name", KINDS)
def test_noise_is_kept_exactly_where_it_costs_something(name: str) -> None:
    agreed = agreement(name)
    held = tables(agreed)[0]
    release = release_of(agreed, Side.A, len(held))
    if release.event is None:
        return
    noise = release.draw(held, Seeded(1))
    assert np.array_equal(noise, release.draw(held, Seeded(1)))
    assert np.array_equal(decode_noise(encode_noise(noise)), noise)
    if release.event.cost == NO_COST:
        assert np.array_equal(release.draw(held, Spent()), noise), "no secret is drawn"


@pytest.mark.parametrize("name", KINDS)
@given(rows=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=12), seed=st.integers(0, 99))
def test_counts_are_those_of_the_slots(name: str, rows: worlds.Rows, seed: int) -> None:
    """So a resumed run can compare them without making slots again."""
    agreed = agreement(name)
    held, task = worlds.records(rows, agreed, "a"), agreed.task
    noise = release_of(agreed, Side.A, max(1, len(held))).draw(held, Seeded(seed))
    slots = agreed.protocol.make_slots(task, Side.A, held, noise, Seeded(seed))
    assert np.array_equal(slots.counts, agreed.protocol.counts(task, Side.A, held, noise))
    assert len(slots.record) == slots.counts.sum()
    if PROTOCOLS[name].padded:
        placed, bins = task.blocking.place(Side.A, held.columns, len(held))
        assert sorted(slots.record[slots.record >= 0]) == sorted(placed)
        assert (slots.counts >= np.bincount(bins, minlength=task.blocking.bins)).all()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("greedy", [True, False])
def test_both_sides_end_with_one_output_within_the_price(name: str, greedy: bool) -> None:
    """Matches are right, digests equal, and nothing costs more than public numbers said."""
    options = {"greedy": greedy} if "greedy" in PROTOCOLS[name].options else {}
    agreed = agreement(name, **options)
    held, task, entropy, engine = tables(agreed), agreed.task, Seeded(4), IdealEngine()
    mine = [
        make_mine(release_of(agreed, side, len(own)), own, len(other), entropy.stream(side.value))
        for side, own, other in zip(Side, held, held[::-1], strict=True)
    ]
    seen: dict[Side, list[Status]] = {side: [] for side in Side}
    watched = (replace(each, watch=seen[each.side].append) for each in mine)
    left, right = run_pair(*(agreed.protocol.party(task, each, engine) for each in watched))
    assert left.digest == right.digest
    assert (len(left.digest.key), len(left.digest.value)) == (64, 32)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
    equal = [(i, j) for i, p in enumerate(A_ROWS) for j, q in enumerate(B_ROWS) if p == q]
    assert set(worlds.pairs_of_a(left)) <= set(equal)
    if PROTOCOLS[name].padded or not PROTOCOLS[name].blocked:
        assert worlds.pairs_of_a(left) == equal
    price = agreed.protocol.price(task, SIZES, (mine[0].slots.counts, mine[1].slots.counts))
    assert left.comparisons == right.comparisons <= price
    if not greedy:
        assert left.comparisons == price
    for statuses in seen.values():
        last = statuses[-1]
        assert (last.comparisons, last.matches) == (left.comparisons, len(left.pairs))
        assert last.most_comparisons == price
    if name == "routed":
        # Before the end the side that lists cannot know.
        assert any([one.matches for one in told[:-1]] == [None] for told in seen.values())


@pytest.mark.parametrize("name", KINDS)
def test_the_view_of_the_partner_is_bound_by_commitments_that_name_side_and_table(name: str) -> None:
    agreed = agreement(name)
    held, task = tables(agreed)[0], agreed.task
    noise = release_of(agreed, Side.A, len(held)).draw(held, Seeded(1))
    slots = prepare(task, Side.A, held, 1, noise, Seeded(2)).slots
    assert commitments(slots, Side.A) != commitments(slots, Side.B)
    assert commitments(slots, Side.A) != commitments(replace(slots, table=b"another"), Side.A)


@pytest.mark.parametrize("name", KINDS)
def test_what_a_partner_can_be_asked_to_hold_is_bounded(name: str) -> None:
    """The padding of a side covers its own noise, and counts beyond it are refused."""
    agreed = agreement(name)
    held, task = tables(agreed)[1], agreed.task
    release, padding = release_of(agreed, Side.B, len(held)), agreed.protocol.padding(task, Side.B, len(held))
    if release.event is None:
        return
    noise = release.draw(held, Seeded(3))
    counts = agreed.protocol.counts(task, Side.B, held, noise)
    assert counts.sum() <= len(held) * task.blocking.per_record(Side.B) + padding.all
    mine = make_mine(release_of(agreed, Side.A, SIZES[0]), tables(agreed)[0], len(held), Seeded(1))
    theirs = prepare(task, Side.B, held, SIZES[0], noise, Seeded(2))
    if not len(counts):
        return
    huge = replace(theirs, slots=replace(theirs.slots, counts=counts + 10**6))
    strict, party = replace(mine, padding=padding), agreed.protocol.party
    with refused():
        run_pair(party(task, strict, IdealEngine()), party(task, huge, IdealEngine()))


@pytest.mark.parametrize("name", KINDS)
def test_engines_sizes_and_resumes_are_answered_before_anything_is_sent(name: str) -> None:
    agreed = agreement(name)
    task = agreed.task
    agreed.protocol.require_engine(task, engine_named("ot"))
    for side, (own, partner) in ((Side.A, SIZES), (Side.B, SIZES[::-1])):
        assert agreed.protocol.refuse_sizes(task, side, own, partner) == ""
    assert agreed.protocol.refuse_resume(agreed.task, 2, 2, 0) == ""
    if PROTOCOLS[name].blocked or "greedy" in PROTOCOLS[name].options:
        assert agreed.protocol.refuse_resume(agreed.task, 1, 0, 0) == ""
    else:
        assert agreed.protocol.refuse_resume(agreed.task, 1, 0, 0)


@pytest.mark.parametrize("name", KINDS)
def test_simulation_and_audit_need_no_name(name: str) -> None:
    agreed = agreement(name)
    result = accord.simulate(worlds.table(A_ROWS, "a"), worlds.table(B_ROWS, "b"), agreed, seed=1)
    assert result.precision == 1.0
    assert bool(result.leaks) == bool(PROTOCOLS[name].leaky)
    for side, promised in result.promises.items():
        assert (promised.epsilon is None) == (agreed.leakage(side).epsilon is None)
