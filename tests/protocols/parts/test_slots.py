"""Slots: padded, shuffled uniformly, committed before they are opened."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import Seeded, System
from accord.errors import PeerError
from accord.privacy.calibration import calibrate
from accord.privacy.noise import draw
from accord.protocols.parts.slots import (
    Padding,
    Slots,
    commitments,
    content_digest,
    exchange_commitments,
    exchange_counts,
    make_slots,
    most_dummies,
    partner_counts,
    require_possible,
    table_digest,
)
from accord.secure.party import Party, Receive, Send, run_pair
from accord.side import Side
from tests.protocols import worlds


def slots(
    rows: worlds.Rows, side: Side = Side.B, dummies: int = 2, style: str = "replicate", seed: int = 0
) -> Slots:
    agreed = worlds.agreement(style=style)
    table = worlds.records(rows, agreed)
    padding = np.full(agreed.plan.bins, dummies, np.int64)
    return make_slots(agreed.plan, side, table, padding, Seeded(seed))


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=20), st.sampled_from(Side))
def test_every_record_and_dummy_has_its_slot(rows: worlds.Rows, side: Side) -> None:
    made = slots(rows, side)
    agreed = worlds.agreement(style="replicate")
    table = worlds.records(rows, agreed)
    record, bins = agreed.plan.place(side, table.columns, len(rows))
    in_bin = np.repeat(np.arange(agreed.plan.bins), made.counts)
    real = made.record >= 0
    assert sorted(zip(made.record[real], in_bin[real], strict=True)) == sorted(zip(record, bins, strict=True))
    assert np.bincount(in_bin[~real], minlength=agreed.plan.bins).tolist() == [2] * agreed.plan.bins
    of, at = made.of_record
    assert (made.record[at] == of).all()
    assert (np.diff(of) >= 0).all()


def test_the_order_within_a_bin_is_uniform() -> None:
    """χ² over the 24 orders of four slots in one bin; false-alarm rate 1e-6: quantile 71.6 at 23 degrees."""
    agreed = worlds.agreement(protocol="all-pairs")
    table = worlds.records([(1, 1), (2, 2), (3, 3)], agreed)
    runs = 4800
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(runs):
        made = make_slots(agreed.plan, Side.A, table, np.array([1]), Seeded(seed))
        seen[tuple(made.record.tolist())] += 1
    assert set(seen) == set(permutations([-1, 0, 1, 2]))
    chi = sum((count - runs / 24) ** 2 / (runs / 24) for count in seen.values())
    assert chi < 71.6


def test_fresh_entropy_gives_fresh_orders_and_commitments() -> None:
    agreed = worlds.agreement(protocol="all-pairs")
    table = worlds.records([(i % 16, i // 16) for i in range(200)], agreed)
    made = [make_slots(agreed.plan, Side.A, table, np.array([0]), System()) for _ in range(2)]
    assert made[0].record.tolist() != made[1].record.tolist()
    assert commitments(made[0], Side.A) != commitments(made[1], Side.A)


def test_commitments_hide_and_bind() -> None:
    """Both halves change with their salt, with what they are of, and with the side that made them."""
    made = slots([(1, 1), (9, 9)])
    first = commitments(made, Side.B)
    salted = replace(made, salt=bytes([1]) + made.salt[1:-1] + bytes([made.salt[-1] ^ 1]))
    for other in (
        commitments(salted, Side.B),
        commitments(made, Side.A),
        commitments(slots([(1, 1), (9, 9), (9, 9)]), Side.B),
    ):
        assert other[:32] != first[:32]
        assert other[32:] != first[32:]
    moved = commitments(slots([(1, 1), (9, 10)]), Side.B)
    assert moved[:32] == first[:32]
    assert moved[32:] != first[32:], "another table with the same bins fits the commitment"


def exchange(mine: Slots, side: Side) -> Party[np.ndarray]:
    """Both steps, without a journal."""
    committed = yield from exchange_commitments(mine, side)
    opened = yield from exchange_counts(mine, len(mine.counts))
    return partner_counts(committed, opened, side)


def counts_seen(mine: Slots, partner: Party[Any]) -> np.ndarray:
    """What A takes the counts of a partner with 90 records to be."""
    counts, _ = run_pair(exchange(mine, Side.A), partner)
    require_possible(counts, worlds.agreement(style="replicate").plan, Side.B, 90, Padding(2, 32))
    return counts


def test_counts_are_exchanged_after_commitments() -> None:
    mine, theirs = slots([(1, 1)], Side.A), slots([(9, 9), (3, 4)], Side.B)
    a, b = run_pair(exchange(mine, Side.A), exchange(theirs, Side.B))
    assert a.tolist() == theirs.counts.tolist()
    assert b.tolist() == mine.counts.tolist()
    party = exchange(mine, Side.A)
    first = next(party)
    assert isinstance(first, Send)
    assert len(first.buffer) == 64
    assert isinstance(party.send(b""), Receive), "counts were opened before the partner had committed"


def cheat(salt: bytes, committed: np.ndarray, opened: np.ndarray) -> Party[None]:
    tag = b"accord commit counts 1\nB"
    yield Send(hashlib.sha256(tag + salt + committed.astype("<i8").tobytes()).digest() + bytes(32))
    yield Receive(64)
    yield Send(salt + opened.astype("<i8").tobytes())
    yield Receive(32 + 8 * len(opened))


def mirror() -> Party[None]:
    """A partner that sends back what it gets."""
    for size in (64, None):
        echo = yield Receive(size or 32 + 8 * 16)
        yield Send(bytes(echo))


def test_counts_that_do_not_hold_are_refused() -> None:
    mine = slots([(1, 1)], Side.A)
    other = mine.counts + 1
    with pytest.raises(PeerError, match="differ from those it had committed to"):
        counts_seen(mine, cheat(bytes(32), mine.counts, other))
    with pytest.raises(PeerError, match="differ from those it had committed to"):
        counts_seen(mine, mirror())
    for impossible in (mine.counts - 100, mine.counts + 2**62, mine.counts + 100):
        with pytest.raises(PeerError, match="that no table of its size can have"):
            counts_seen(mine, cheat(bytes(32), impossible, impossible))


def test_the_bounds_on_counts_are_those_of_the_noise_and_the_size() -> None:
    """Side B is copied into up to four of the 16 cells; the noise reaches to 7."""
    plan = worlds.agreement(style="replicate").plan

    def refused(counts: np.ndarray, side: Side) -> bool:
        try:
            require_possible(counts, plan, side, 10, Padding(7, 16 * 7))
        except PeerError:
            return True
        return False

    level = np.full(16, 7, np.int64)
    one, full = level.copy(), level.copy()
    one[3] += 10
    full[:4] += 10
    assert not refused(level, Side.A)
    assert not refused(one, Side.A), "all records in one bin"
    assert not refused(full, Side.B), "every record in four bins"
    assert refused(full, Side.A), "more slots than records and noise can make"
    one[3] += 1
    assert refused(one, Side.B), "more in a bin than there are records and noise"
    assert refused(np.full(16, 2**62), Side.A), "a sum that wraps around"
    assert refused(level - 8, Side.A)


def test_the_digest_of_a_table_covers_all_that_a_run_uses() -> None:
    agreed = worlds.agreement()
    table = worlds.records([(1, 1), (9, 9)], agreed)
    shown = table.disclosed
    changed = shown.set_column(0, "x", pa.array(["1", None], pa.large_string()))
    digests = [
        table_digest(table),
        table_digest(worlds.records([(9, 9), (1, 1)], agreed)),
        table_digest(worlds.records([(1, 1), (9, 9)], agreed, "s")),
        table_digest(replace(table, disclosed=changed)),
        table_digest(replace(table, disclosed=changed.set_column(0, "x", pc.fill_null(changed["x"], "")))),
    ]
    assert len(set(digests)) == len(digests)
    sliced = replace(table, ids=pa.concat_arrays([pa.array(["z"], pa.large_string()), table.ids])[1:])
    assert table_digest(sliced) == digests[0], "the digest depends on where texts lie in memory"


def test_what_a_noise_can_come_to_bounds_what_it_comes_to() -> None:
    """Exact in a bin; for all bins it fails once in 2^80, and lies near the mean where bins are many."""
    noise = calibrate("geometric", "1.6", "2^-40").noise
    few, many = most_dummies(noise.window, 4), most_dummies(noise.window, 10**6)
    assert (few.bin, few.all) == (noise.window.cap, 4 * noise.window.cap)
    assert many.all < 1.1 * 10**6 * noise.window.mean
    drawn = draw(noise, 10**5, Seeded(1))
    assert drawn.max() <= few.bin
    assert drawn.sum() <= most_dummies(noise.window, 10**5).all


def test_a_snapshot_stands_for_keys_that_are_not_listed() -> None:
    """Whatever the order of the rows; in whichever pass a key changes, it is another table."""
    parts = [[{"kind": "key", "field": ["x", "y"]}], [{"kind": "key", "field": "x"}]]
    keys = {"pass": [{"parts": part} for part in parts]}
    agreed = worlds.agreement(protocol="routed", blocking=keys, missing="differs")

    def digest(*rows: tuple[int, int | None]) -> bytes:
        table = worlds.records(list(rows), agreed)  # type: ignore[arg-type]
        return content_digest(agreed.plan, Side.A, table)

    assert digest((1, 2), (3, 4)) == digest((1, 2), (3, 4))
    others = [digest((1, 2), (3, y)) for y in (5, 6, None)]
    assert len({digest((1, 2), (3, 4)), *others, digest((3, 4), (1, 2))}) == 5
