"""Batches that meet once, slots that keep what was released, and what a series declares."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import Seeded
from accord.errors import AgreementError
from accord.privacy.accounting import exact
from accord.privacy.events import Cost, decode, encode
from accord.protocols.parts.standing import BatchMeeting
from accord.protocols.series import series_slots
from accord.side import Side
from tests.protocols import worlds


def agreement(series: dict[str, Any] | None = None, **options: Any) -> Agreement:
    """That of the other tests, without greedy and with a series."""
    agreed = worlds.agreement(**{"greedy": False} | options).model_dump(mode="json")
    usual = {"first": {"A": 20, "B": 20}, "arrivals": {"A": 10, "B": "50%"}, "versions": 1}
    return Agreement.model_validate(agreed | {"series": usual | (series or {})})


def test_declared_sizes_are_those_of_the_agreement_alone() -> None:
    series = agreement({"versions": 3}).series
    assert series is not None
    assert [series.declared(Side.A, batch) for batch in range(3)] == [20, 10, 10]
    assert [series.announced(Side.B, batches) for batches in range(4)] == [0, 20, 30, 40]


def test_a_series_costs_what_its_versions_cost() -> None:
    for versions in (1, 3):
        agreed = agreement({"versions": versions})
        assert agreed.series is not None
        batch = agreed.protocol.release(agreed.task, Side.A, 20).event
        whole = agreed.series.event(batch)
        assert whole.cost == Cost(Fraction(versions), 1 - (1 - Fraction(1, 1000)) ** versions)
        assert decode(encode(whole)) == whole
        assert (whole == batch) == (versions == 1)
        assert batch is not None
        # Exactly: as many releases as there are versions, of which each changes one bin up and one down.
        for epsilon in (Fraction(1, 2), Fraction(2)):
            assert exact([whole]).delta(epsilon) == exact([batch] * versions).delta(epsilon)


def test_noise_for_people_hides_all_versions_and_is_charged_once() -> None:
    agreed = agreement(
        {"versions": 3}, A={"epsilon": "1", "delta": "1e-3", "noise": "geometric", "records_per_person": 4}
    )
    assert agreed.series is not None
    batch = agreed.protocol.release(agreed.task, Side.A, 20).event
    assert agreed.series.event(batch) == batch
    assert batch is not None
    assert batch.cost == Cost(Fraction(1), Fraction(1, 1000))
    told = agreed.leakage(Side.A).guarantee
    assert (told.epsilon, told.delta) == (Fraction(1), Fraction(1, 1000))
    assert "no more than 4 records ever take part" in told.of_all[0]
    assert agreed.leakage(Side.B).guarantee.epsilon == 3, "B's are protected record by record"


grown = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6)


@given(grown)
def test_every_pair_of_batches_meets_once(growth: list[tuple[int, int]]) -> None:
    seen, met = (0, 0), []
    for more in growth:
        total = (seen[0] + more[0], seen[1] + more[1])
        met += list(zip(*(batch.tolist() for batch in BatchMeeting(seen, total).pairs()), strict=True))
        seen = total
    assert sorted(met) == [(a, b) for a in range(seen[0]) for b in range(seen[1])]


def test_bins_meet_as_the_blocking_says_in_batches_that_have_not_met() -> None:
    pairs = np.array([0, 1]), np.array([1, 1])
    left, right = BatchMeeting((1, 1), (2, 2)).bin_pairs(pairs, 2)
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == [
        (0, 3), (1, 3), (2, 1), (2, 3), (3, 1), (3, 3),
    ]  # fmt: skip


points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=12)


@given(points, st.sampled_from(Side), st.data())
def test_slots_hold_the_records_of_their_batch_and_dummies(
    rows: worlds.Rows, side: Side, data: st.DataObject
) -> None:
    agreed = agreement(style="replicate")
    table, blocking = worlds.records(rows, agreed), agreed.plan
    batch = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))), np.int64)
    record, bins = blocking.place(side, table.columns, len(rows))
    true = np.bincount(batch[record] * blocking.bins + bins, minlength=3 * blocking.bins)
    counts = true + 2
    made = series_slots(blocking, side, table, batch, counts, Seeded(1))
    assert made.counts.tolist() == counts.tolist()
    at = np.repeat(np.arange(3 * blocking.bins), counts)
    real = made.record >= 0
    placed = sorted(zip(made.record[real].tolist(), at[real].tolist(), strict=True))
    expected = (batch[record] * blocking.bins + bins).tolist()
    assert placed == sorted(zip(record.tolist(), expected, strict=True))
    with pytest.raises(ValueError, match="more records than were released"):
        series_slots(blocking, side, table, batch, true - 1, Seeded(1))


def test_slots_of_a_batch_are_shuffled_for_every_run() -> None:
    agreed = agreement()
    table = worlds.records([(1, 1)] * 8, agreed)
    counts = agreed.plan.counts(Side.A, table.columns, 8)
    made = [
        series_slots(agreed.plan, Side.A, table, np.zeros(8, np.int64), counts, Seeded(seed))
        for seed in (1, 2)
    ]
    assert made[0].record.tolist() != made[1].record.tolist()
    assert made[0].salt != made[1].salt


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"protocol": {"A": {"noise": "negligible"}}}, "the δ of the noise 'negligible' depends on sizes"),
    ({"protocol": {"prune": 10}}, "would never be compared"),
    ({"one_to_one": "pairs"}, "a pair that a run has shown cannot be taken back"),
    ({"series": {"versions": 0}}, "versions"),
    ({"series": {"arrivals": {"A": "0%"}}}, "share such as"),
    ({"protocol": {"name": "all-pairs", "A": None, "B": None, "sort": None, "prune": None}, "blocking": []},
     "a series needs the protocol laplace"),
]  # fmt: skip


def merge(into: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The one with the other's values; None takes a value away."""
    merged = dict(into)
    for name, value in changes.items():
        merged[name] = merge(merged.get(name, {}), value) if isinstance(value, dict) else value
    return {name: value for name, value in merged.items() if value is not None}


@pytest.mark.parametrize(("changes", "told"), REFUSED)
def test_what_a_series_cannot_do_is_a_fault_of_the_agreement(changes: dict[str, Any], told: str) -> None:
    import tomli_w

    sound = agreement().model_dump(mode="json", exclude_none=True)
    parse_agreement(tomli_w.dumps(sound), "sound")
    with pytest.raises(AgreementError, match=told):
        parse_agreement(tomli_w.dumps(merge(sound, changes)), "faulty")


def test_an_agreement_without_a_series_keeps_its_digest() -> None:
    agreed = worlds.agreement()
    assert "series" not in agreed.to_toml()
    assert agreement().digest != agreement({"versions": 2}).digest
