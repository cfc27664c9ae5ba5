"""Rounds of comparisons: slots, commitments, the schedule, shares of workers, what an engine is given."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Seeded, System
from accord.errors import PeerError, UsageError
from accord.fields.columns import rows_of
from accord.network import Network
from accord.privacy.calibration import calibrate
from accord.privacy.noise import draw
from accord.protocols import rounds as rounds_module
from accord.protocols.parts import schedule
from accord.protocols.parts import slots as slots_module
from accord.protocols.parts.comparers import InTurn
from accord.protocols.parts.journal import UNDER_WAY, Answer, Forgetful
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.schedule import BATCH, GROWN, Round, Schedule, fewest_rounds, order_pairs
from accord.protocols.parts.shares import WHOLE, cut
from accord.protocols.parts.slots import Padding, Slots, commitments, exchange_commitments, make_slots
from accord.protocols.rounds import Rounds
from accord.secure.blocks import LONGEST, Blocks, Table, batches
from accord.secure.circuit import AtMost, Hamming, Input
from accord.secure.engine import Engine
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import GROUPS, Settings
from accord.secure.ot.sizes import batch_limit
from accord.secure.ot.supply import OtSession
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.worlds import Rows, agreement
from tests.secure.engines import FEW, engine_of

Ints = NDArray[np.int64]
REPLICATED = agreement(style="replicate")
EVERY = agreement(protocol="all-pairs")

# -- slots -------------------------------------------------------------------------------------------------


def slots(rows: Rows, side: Side = Side.B) -> Slots:
    """Two dummies in each bin."""
    padding = np.full(REPLICATED.plan.bins, 2, np.int64)
    return make_slots(REPLICATED.plan, side, worlds.records(rows, REPLICATED), padding, Seeded(0))


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=20), st.sampled_from(Side))
def test_every_record_and_dummy_has_its_slot(rows: Rows, side: Side) -> None:
    made, plan = slots(rows, side), REPLICATED.plan
    record, bins = plan.place(side, worlds.records(rows, REPLICATED).columns, len(rows))
    in_bin = np.repeat(np.arange(plan.bins), made.counts)
    real = made.record >= 0
    assert sorted(zip(made.record[real], in_bin[real], strict=True)) == sorted(zip(record, bins, strict=True))
    assert np.bincount(in_bin[~real], minlength=plan.bins).tolist() == [2] * plan.bins
    of, at = made.of_record
    assert (made.record[at] == of).all()
    assert (np.diff(of) >= 0).all()


def test_the_order_within_a_bin_is_uniform() -> None:
    """χ² over the 24 orders of four slots in one bin; false-alarm rate 1e-6: quantile 71.6 at 23 degrees."""
    table = worlds.records([(1, 1), (2, 2), (3, 3)], EVERY)
    plan, runs = EVERY.plan, 1200
    made = (make_slots(plan, Side.A, table, np.array([1]), Seeded(seed)) for seed in range(runs))
    seen = Counter(tuple(one.record.tolist()) for one in made)
    assert set(seen) == set(permutations([-1, 0, 1, 2]))
    assert sum((count - runs / 24) ** 2 / (runs / 24) for count in seen.values()) < 71.6


def test_fresh_entropy_gives_fresh_orders_and_commitments() -> None:
    table = worlds.records([(i % 16, i // 16) for i in range(200)], EVERY)
    made = [make_slots(EVERY.plan, Side.A, table, np.array([0]), System()) for _ in range(2)]
    assert made[0].record.tolist() != made[1].record.tolist()
    assert commitments(made[0], Side.A) != commitments(made[1], Side.A)


def exchange(mine: Slots, side: Side) -> Party[Ints]:
    """Both steps, without a journal."""
    committed = yield from exchange_commitments(mine, side)
    opened = yield from slots_module.exchange_counts(mine, len(mine.counts))
    return slots_module.partner_counts(committed, opened, side)


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


def test_the_bounds_on_counts_are_those_of_the_noise_and_the_size() -> None:
    """Side B is copied into up to four of the 16 cells; the noise reaches to 7."""

    def fails(counts: Ints, side: Side) -> bool:
        try:
            slots_module.require_possible(counts, REPLICATED.plan, side, 10, Padding(7, 16 * 7))
        except PeerError:
            return True
        return False

    level = np.full(16, 7, np.int64)
    one, full = level.copy(), level.copy()
    one[3] += 10
    full[:4] += 10
    assert not fails(level, Side.A)
    assert not fails(one, Side.A), "all records in one bin"
    assert not fails(full, Side.B), "every record in four bins"
    assert fails(full, Side.A), "more slots than records and noise can make"
    one[3] += 1
    assert fails(one, Side.B), "more in a bin than there are records and noise"
    assert fails(np.full(16, 2**62), Side.A), "a sum that wraps around"
    assert fails(level - 8, Side.A)


def test_the_digest_of_a_table_covers_all_that_a_run_uses() -> None:
    agreed = agreement()
    table = worlds.records([(1, 1), (9, 9)], agreed)
    shown = table.disclosed
    changed = shown.set_column(0, "x", pa.array(["1", None], pa.large_string()))
    others = [
        worlds.records([(9, 9), (1, 1)], agreed),
        worlds.records([(1, 1), (9, 9)], agreed, "s"),
        replace(table, disclosed=changed),
        replace(table, disclosed=changed.set_column(0, "x", pc.fill_null(changed["x"], ""))),
    ]
    digests = [slots_module.table_digest(one) for one in (table, *others)]
    assert len(set(digests)) == len(digests)
    sliced = replace(table, ids=pa.concat_arrays([pa.array(["z"], pa.large_string()), table.ids])[1:])
    assert slots_module.table_digest(sliced) == digests[0], "the digest depends on where texts lie in memory"


def test_what_a_noise_can_come_to_bounds_what_it_comes_to() -> None:
    """Exact in a bin; for all bins it fails once in 2^80, and lies near the mean where bins are many."""
    noise = calibrate("geometric", "1.6", "2^-40").noise
    few, many = slots_module.most_dummies(noise.window, 4), slots_module.most_dummies(noise.window, 10**6)
    assert (few.bin, few.all) == (noise.window.cap, 4 * noise.window.cap)
    assert many.all < 1.1 * 10**6 * noise.window.mean
    drawn = draw(noise, 10**5, Seeded(1))
    assert drawn.max() <= few.bin
    assert drawn.sum() <= slots_module.most_dummies(noise.window, 10**5).all


def test_a_snapshot_stands_for_keys_that_are_not_listed() -> None:
    """Whatever the order of the rows; in whichever pass a key changes, it is another table."""
    agreed = worlds.routed("both", "x")

    def digest(*rows: tuple[int, int | None]) -> bytes:
        return slots_module.content_digest(agreed.plan, Side.A, worlds.records(list(rows), agreed))

    assert digest((1, 2), (3, 4)) == digest((1, 2), (3, 4))
    others = [digest((1, 2), (3, y)) for y in (5, 6, None)]
    assert len({digest((1, 2), (3, 4)), *others, digest((3, 4), (1, 2))}) == 5


# -- the schedule ------------------------------------------------------------------------------------------

sizes = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def every_bin_pair(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    left, right = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    return left, right


def slot_pairs(round_: Round) -> list[tuple[int, int]]:
    a, b, found = round_.a.tolist(), round_.b.tolist(), list[tuple[int, int]]()
    for rows, wide in zip(round_.a_counts.tolist(), round_.b_counts.tolist(), strict=True):
        found += [(i, j) for i in a[:rows] for j in b[:wide]]
        a, b = a[rows:], b[wide:]
    return found


def rounds(of: Schedule) -> list[Round]:
    found = []
    while (round_ := of.next()) is not None:
        found.append(round_)
        assert len(found) < 10_000
    return found


def one_bin(a: int, b: int, slab: int = 64, exclusive: bool = False, **options: Any) -> Schedule:
    return Schedule(
        (np.zeros(1, int), np.zeros(1, int)), (np.array([a]), np.array([b])), slab, exclusive, **options
    )


def many_bins(bins: int, a: int, b: int, exclusive: bool = True, **options: Any) -> Schedule:
    pairs = np.arange(bins), np.arange(bins)
    return Schedule(pairs, (np.full(bins, a), np.full(bins, b)), 64, exclusive, **options)


@given(sizes, sizes, st.integers(1, 20), st.integers(1, 60), st.booleans())
def test_every_pair_of_slots_is_compared_once(
    a: list[int], b: list[int], slab: int, batch: int, exclusive: bool
) -> None:
    counts = np.array(a), np.array(b)
    made_of = Schedule(every_bin_pair(*counts), counts, slab, exclusive, batch)
    made = rounds(made_of)
    pairs = [pair for round_ in made for pair in slot_pairs(round_)]
    assert sorted(pairs) == [(i, j) for i in range(sum(a)) for j in range(sum(b))]
    assert made_of.most_comparisons == len(pairs) == sum(round_.pairs for round_ in made)
    for round_ in made:
        if exclusive:
            assert len(set(round_.a.tolist())) == len(round_.a)
            assert len(set(round_.b.tolist())) == len(round_.b)
            assert (round_.a_counts <= np.maximum(slab, 16384 // round_.b_counts)).all()
        # A round is full or overfull by at most its last unit of one row.
        assert round_.pairs <= batch + max(b) or len(round_.a) == 1
    whole = rounds(Schedule(every_bin_pair(*counts), counts, 4, False, 7).whole(1 << 30, (1 << 30, 1 << 30)))
    assert len(whole) <= 1
    assert sorted(pair for round_ in whole for pair in slot_pairs(round_)) == sorted(pairs)


@given(sizes, sizes, st.integers(1, 5), st.data())
def test_removed_slots_never_come_again(a: list[int], b: list[int], slab: int, data: st.DataObject) -> None:
    counts = np.array(a), np.array(b)
    made = Schedule(every_bin_pair(*counts), counts, slab, True, 20)
    gone: tuple[set[int], set[int]] = (set(), set())
    seen: set[tuple[int, int]] = set()
    while (round_ := made.next()) is not None:
        assert not gone[0] & set(round_.a.tolist())
        assert not gone[1] & set(round_.b.tolist())
        fresh = set(slot_pairs(round_))
        assert not fresh & seen
        seen |= fresh
        for side, here in enumerate((round_.a, round_.b)):
            chosen = data.draw(st.lists(st.sampled_from(here.tolist()), max_size=3))
            made.remove(side, np.array(chosen + chosen, np.int64))
            gone[side].update(chosen)
    left = {(i, j) for i in range(sum(a)) for j in range(sum(b)) if i not in gone[0] and j not in gone[1]}
    assert left <= seen


@given(sizes, sizes)
def test_sorting_puts_the_largest_first_and_loses_nothing(a: list[int], b: list[int]) -> None:
    counts = np.array(a), np.array(b)
    pairs = every_bin_pair(*counts)
    order = order_pairs(pairs, counts, sort=True, prune=0)
    smaller = np.minimum(counts[0][pairs[0]], counts[1][pairs[1]])[order]
    assert sorted(order.tolist()) == list(range(len(pairs[0])))
    assert (np.diff(smaller) <= 0).all()
    assert order_pairs(pairs, counts, sort=False, prune=0).tolist() == list(range(len(pairs[0])))


FIVE, NEAR = ([1, 2, 3, 4, 5],) * 2, ([2, 2, 2], [3, 3, 3])


@pytest.mark.parametrize(
    ("counts", "prune", "pooled", "kept"),
    [
        *((FIVE, prune, True, kept) for prune, kept in (
            (0, [0, 1, 2, 3, 4]), (20, [0, 1, 2, 3, 4]), (30, [1, 2, 3, 4]), (50, [2, 3, 4]), (90, [4])
        )),
        # Where the sides differ twofold percentiles are those of each.
        (([1, 2, 3], [100, 200, 300]), 34, True, [1, 2]),
        (NEAR, 60, True, []),
        (NEAR, 60, False, [0, 1, 2]),
        (([7] * 9, [7] * 9), 99, True, [*range(9)]),
    ],
)  # fmt: skip
def test_pruning_leaves_out_what_is_below_the_percentile(
    counts: tuple[list[int], list[int]], prune: int, pooled: bool, kept: list[int]
) -> None:
    a, b = (np.array(some) for some in counts)
    pairs = np.arange(len(a)), np.arange(len(a))
    assert order_pairs(pairs, (a, b), False, prune, pooled=pooled).tolist() == kept


@pytest.mark.parametrize(
    ("made", "rows", "pairs"),
    [
        # Slabs grow from one row.
        (one_bin(40, 16384, 8, exclusive=True), [1, 2, 4, 8, 8, 8, 8, 1], []),
        # Few slots of B meet long slabs.
        (one_bin(20_000, 16, exclusive=True), [*(1 << n for n in range(11)), 1024], []),
        # Rounds that spare nothing double; with greedy the first one has one row of each bin, and is full.
        (many_bins(64, 64, 16, True, batch=1024, grown=8), [64, 128], [1024, 2048, 4096, 8192, 8192]),
        (many_bins(64, 64, 16, False, batch=1024, grown=8), [64, 128], [1024, 2048, 4096, 8192, 8192]),
    ],
)
def test_rounds_grow(made: Schedule, rows: list[int], pairs: list[int]) -> None:
    found = rounds(made)
    assert [len(round_.a) for round_ in found[: len(rows)]] == rows
    assert [round_.pairs for round_ in found[: len(pairs)]] == pairs


def walk(share: float, grown: int) -> list[int]:
    """Sizes of rounds that take such a share of all living slots with them, for each 2^15 pairs."""
    rng, made = np.random.default_rng(1), many_bins(400, 64, 64, batch=1 << 14, grown=grown)
    alive, lengths = [np.arange(400 * 64), np.arange(400 * 64)], []
    while (round_ := made.next()) is not None:
        lengths.append(round_.pairs)
        for side in (0, 1):
            gone = rng.random(len(alive[side])) < share * round_.pairs / 2**15
            made.remove(side, alive[side][gone])
            alive[side] = alive[side][~gone]
    return lengths


@pytest.mark.parametrize("share", [0.0, 0.004, 0.02, 0.4])
def test_larger_rounds_cost_two_in_a_hundred_at_the_most(share: float) -> None:
    """With the same matches for each comparison. Seeded, so that nothing is left to chance."""
    usual, larger = walk(share, 1), walk(share, GROWN)
    assert sum(larger) <= 1.02 * sum(usual)
    # Where little matches they are larger, and where much does they are not.
    assert (max(larger) > 2 * max(usual)) == (share <= 0.004)


def test_a_round_that_spares_much_is_followed_by_a_smaller_one() -> None:
    made = many_bins(400, 64, 64, batch=1 << 14, grown=4)
    while (round_ := made.next()) is not None and round_.pairs < 1 << 16:
        pass
    made.remove(0, np.arange(360 * 64, 400 * 64))
    assert [round_.pairs for round_ in (made.next(), made.next()) if round_] == [1 << 15, 1 << 16]


def test_a_round_is_full_at_so_many_rows() -> None:
    for rows, most in (((100, 10**6), (100, 75)), ((10**6, 100), (136, 102))):
        made = rounds(many_bins(1000, 4, 3, exclusive=False, rows=rows))
        assert (max(len(r.a) for r in made), max(len(r.b) for r in made)) == most
        assert sum(round_.pairs for round_ in made) == 12_000
    assert schedule.most_rows((1 << 23, 0)) == (2, 1 << 24)


def test_how_few_rounds_there_can_be() -> None:
    pairs = (0, 1, BATCH, BATCH + 1, 3 * BATCH, 7 * BATCH, 7 * BATCH + 1)
    assert [fewest_rounds(n) for n in pairs] == [0, 1, 1, 2, 2, 3, 4]
    assert len(rounds(one_bin(11 << 10, 1 << 10, grown=GROWN))) == fewest_rounds(11 << 20)


@pytest.mark.parametrize("most", [(49, (10, 10)), (50, (9, 10)), (50, (10, 4))])
def test_a_whole_that_is_too_large_is_refused(most: tuple[int, tuple[int, int]]) -> None:
    made = one_bin(10, 5, 4)
    assert len(rounds(made.whole(50, (10, 5)))) == 1
    with pytest.raises(UsageError):
        made.whole(*most)


# -- shares of workers -------------------------------------------------------------------------------------

units = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 9)), min_size=1, max_size=30).map(
    lambda found: (np.array([a for a, _ in found]), np.array([b for _, b in found]))
)
workers = st.integers(1, 7)
CIRCUIT = AtMost(Hamming(Input("name", 50, 1)), 5)


def numbered(rows: int) -> Table:
    return Table({"row": np.arange(rows).reshape(-1, 1)}, np.arange(rows) % 2 == 0)


def pairs_of(blocks: Blocks, a: Table, b: Table) -> list[tuple[int, int]]:
    """The rows of each pair, in the order of an answer."""
    rows, wide = (table.inputs["row"][:, 0] for table in (a, b))
    return slot_pairs(Round(a=rows, b=wide, a_counts=blocks.a_counts, b_counts=blocks.b_counts))


@given(units, workers)
def test_every_pair_is_in_one_share_in_its_place(counts: tuple[Ints, Ints], count: int) -> None:
    whole, a, b = Blocks.of_sizes(*counts), numbered(counts[0].sum()), numbered(counts[1].sum())
    due, found = pairs_of(whole, a, b), list[tuple[int, int]]()
    shares = cut(*counts, count)
    assert cut(counts[0][:0], counts[1][:0], count) == ()
    for share in shares:
        assert share.first == len(found)
        own = share.rows(a, True), share.rows(b, False)
        assert [len(table.real) for table in own] == [share.a_counts.sum(), share.b_counts.sum()]
        assert all(np.array_equal(t.real, t.inputs["row"][:, 0] % 2 == 0) for t in own)
        found += pairs_of(share.blocks, *own)
    assert found == due
    assert [share.worker for share in shares] == sorted({share.worker for share in shares})
    assert all(0 <= share.worker < count for share in shares)
    # Beyond what one cut can miss by: half a piece at either end, of less than twice `WHOLE` rows.
    piece = (np.minimum(counts[0], 2 * WHOLE - 1) * counts[1]).max()
    assert max(share.blocks.pairs for share in shares) <= np.dot(*counts) / count + piece + 1


@given(units, workers, st.sampled_from([1, 10, 100, 5000]))
def test_groups_of_rows_stay_whole(counts: tuple[Ints, Ints], count: int, megabits: int) -> None:
    """The engine groups the rows of the shares as it would those of the round: the same trees, row by row."""
    assert all(WHOLE % group == 0 for group in GROUPS)
    settings, program = Settings(Network(megabits, 1)), compile_circuit(CIRCUIT, "ot")

    def groups(blocks: Blocks, first: int) -> list[list[int]]:
        made = []
        for batch in batches(blocks, batch_limit(program), settings.groups(program, blocks)):
            bounds = np.cumsum(batch.members)[:-1]
            made += [(rows + first).tolist() for rows in np.split(batch.a_rows, bounds)]
        return made

    shared = [g for share in cut(*counts, count) for g in groups(share.blocks, share.a.start)]
    assert shared == groups(Blocks.of_sizes(*counts), 0)
    assert counts[1].max() < LONGEST


# -- who compares ------------------------------------------------------------------------------------------

STAFFS = [InTurn(1, 1), InTurn(2, 4), InTurn(4, 1)]


def points(count: int, seed: int) -> Rows:
    return [(int(x), int(y)) for x, y in np.random.default_rng(seed).integers(0, 16, (count, 2))]


def compare(
    agreed: Agreement, a: Rows, b: Rows, engine: Engine, staff: InTurn
) -> tuple[Outcome, Outcome, Wire]:
    own = [replace(mine, staff=staff) for mine in worlds.sides(agreed, a, b).values()]
    wire = Wire()
    return *run_pair(*(worlds.run(agreed.task, mine, engine) for mine in own), wire=wire), wire


def facts(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.own.tolist(), outcome.partner.tolist(), outcome.comparisons, outcome.rounds


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("name", ["ot", pytest.param("ot silent", marks=pytest.mark.slow)])
def test_any_number_compares_the_same(name: str, greedy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several rounds also where nothing is cleaned.
    monkeypatch.setattr(schedule.Schedule.__init__, "__defaults__", (700,))
    a, b, agreed = points(60, 1), points(30, 2), agreement(protocol="all-pairs", greedy=greedy)
    first, *made = [compare(agreed, a, b, engine_of(name), staff)[:2] for staff in STAFFS]
    assert worlds.pairs_of_a(first[0]) == worlds.pairs_of_b(first[1]) == worlds.textbook(a, b)
    assert first[0].rounds > 1
    for both in made:
        assert [*map(facts, both)] == [*map(facts, first)]


class Log(Forgetful):
    """A journal, and a staff, that note what comes when."""

    def __init__(self, under_way: int) -> None:
        self.seen: list[str] = []
        self._staff = InTurn(2, under_way)

    def keep(self, answer: Answer) -> None:
        self.seen.append("keep")

    def gather(self, *given_: Any) -> Any:
        made: Any = yield from self._staff.gather(*given_)
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
    agreed, engine = agreement(protocol="all-pairs", greedy=greedy), engine_of("ideal")
    own = worlds.sides(agreed, points(30, 1), [(15, 15), (0, 0), (7, 7), (9, 1)] * 5)
    logs = {side: Log(UNDER_WAY) for side in Side}
    noted = [replace(mine, staff=logs[side], journal=logs[side]) for side, mine in own.items()]
    run_pair(*(worlds.run(agreed.task, mine, engine) for mine in noted))
    for log in logs.values():
        # The commitments and the counts come before.
        assert log.seen[:2] == ["keep", "keep"]
        ahead_of = np.cumsum([{"ask": 1, "keep": -1}[what] for what in log.seen[2:]])
        assert ahead_of.max() == ahead


class Noted(OtEngine):
    """Remembers its sessions."""

    def set_up(self, *given_: Any) -> Party[OtSession]:
        made = yield from super().set_up(*given_)
        SESSIONS.append(made)
        return made


SESSIONS: list[OtSession] = []


def blocks_of_aes(settings: Settings, count: int, rows: int = 400) -> int:
    """Of both sides, without those of the set-ups."""
    agreed, blocks = agreement(protocol="all-pairs", greedy=False), list[int]()
    for a, b in ((points(rows, 3), points(40, 4)), ([], [])):
        SESSIONS.clear()
        compare(agreed, a, b, Noted(settings), InTurn(count))
        blocks.append(sum(session.aes_blocks for session in SESSIONS))
    return blocks[0] - blocks[1]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("settings", [Settings(silent=False), Settings(many=0, code=FEW)])
def test_sharing_costs_set_ups_and_padding_alone(settings: Settings) -> None:
    """AES blocks of 1 and 4 sessions: OTs are rounded up once more a share, and each silent session may not
    use up its reserve, which is a batch."""
    one, four = (blocks_of_aes(settings, count) for count in (1, 4))
    more = 3 * blocks_of_aes(settings, 1, rows=1) if settings.silent else 0.05 * one
    assert one <= four <= one + more


@pytest.mark.usefixtures("quick")
def test_sizes_depend_on_public_numbers_alone() -> None:
    """Two tables of B that differ in a record that matches nothing: the same messages, with two sessions."""
    a, others = [(x, y) for x in range(8) for y in range(8)], [(14, 14), (12, 9)]
    agreed = agreement(protocol="all-pairs", greedy=False)

    def seen(*rows: tuple[int, int]) -> Any:
        wire = compare(agreed, a, [(3, 3), (5, 5), *rows], engine_of("ot"), InTurn(2, 4))[2]
        return wire.sizes, wire.rounds

    assert seen(others[0]) == seen(others[1])
    # The search would notice: one more record is another size.
    assert seen(*others) != seen(others[0])


# -- what an engine is given -------------------------------------------------------------------------------

ROWS = [(x, y) for x in range(16) for y in range(16)]
DUMMIES = 40
NO_GREEDY = agreement(greedy=False)


def one_side(rows: Rows = ROWS, dummies: int = DUMMIES) -> tuple[OwnSide, Rounds]:
    mine = worlds.side(NO_GREEDY, Side.A, rows, Seeded(3), dummies)
    unused: Any = None
    return mine, Rounds(NO_GREEDY.task, mine, unused, unused, mine.stopwatch)


def test_a_dummy_is_read_as_some_record_and_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reading for all slots in their order, as many rows as slots; of dummies, rows that real ones have,
    spread over the table and others each time: neither a cache nor a skipped row tells them apart."""
    looked: list[Ints] = []

    def spy(column: Any, rows: Any) -> Any:
        looked.append(np.array(rows))
        return rows_of(column, rows)

    monkeypatch.setattr(rounds_module, "rows_of", spy)
    mine, made = one_side()
    record = mine.slots.record
    given_ = [made._inputs(np.arange(len(record))) for _ in range(2)]
    first, *same = looked[: len(looked) // 2]
    again = looked[-1]
    assert all(np.array_equal(first, other) for other in same), "the columns of a slot are of one record"
    dummy = record < 0
    assert dummy.sum() == DUMMIES * len(mine.slots.counts)
    for rows in (first, again):
        assert np.array_equal(rows[~dummy], record[~dummy])
        assert rows[dummy].min() >= 0
        # Of 640 draws of 256 records nearly all come up; the seed is fixed, so that chance decides nothing.
        assert len(np.unique(rows[dummy])) > 200
        assert np.bincount(rows[dummy]).max() < 16
    assert (first[dummy] != again[dummy]).mean() > 0.9
    for table in given_:
        assert np.array_equal(table.real, ~dummy)
        for values in table.inputs.values():
            assert not values[dummy].any()
            assert values[~dummy].any()
            assert values.dtype == np.int64
            assert values.flags.c_contiguous


def test_decoys_are_drawn_for_real_slots_too() -> None:
    """What is drawn does not depend on how many dummies there are."""
    drawn = []
    for dummies in (0, DUMMIES):
        _, made = one_side(dummies=dummies)
        made._inputs(np.arange(100))
        drawn.append(made._decoys.bytes(16))
    assert drawn[0] == drawn[1]
