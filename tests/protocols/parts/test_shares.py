"""Shares of a round: every pair once, in its place, with whole groups, and about as many for each worker."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord.protocols.parts.shares import WHOLE, cut
from accord.secure.blocks import LONGEST, Blocks, Table, batches
from accord.secure.circuit import AtMost, Hamming, Input
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.settings import GROUPS, Settings
from accord.secure.ot.sizes import batch_limit

units = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 9)), min_size=1, max_size=30)
workers = st.integers(1, 7)
CIRCUIT = AtMost(Hamming(Input("name", 50, 1)), 5)


def counts(sizes: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    a, b = zip(*sizes, strict=True)
    return np.array(a), np.array(b)


def numbered(rows: int) -> Table:
    return Table({"row": np.arange(rows).reshape(-1, 1)}, np.arange(rows) % 2 == 0)


def pairs(blocks: Blocks, a: Table, b: Table) -> list[tuple[int, int]]:
    """The rows of each pair, in the order of an answer."""
    found: list[tuple[int, int]] = []
    left, right = (table.inputs["row"][:, 0].tolist() for table in (a, b))
    for rows, wide in zip(blocks.a_counts, blocks.b_counts, strict=True):
        found += [(row, other) for row in left[:rows] for other in right[:wide]]
        left, right = left[rows:], right[wide:]
    return found


@given(units, workers)
def test_every_pair_is_in_one_share_in_its_place(sizes: list[tuple[int, int]], count: int) -> None:
    a_counts, b_counts = counts(sizes)
    whole, a, b = Blocks.of_sizes(a_counts, b_counts), numbered(a_counts.sum()), numbered(b_counts.sum())
    due, found = pairs(whole, a, b), list[tuple[int, int]]()
    shares = cut(a_counts, b_counts, count)
    for share in shares:
        assert share.first == len(found)
        own = share.rows(a, True), share.rows(b, False)
        assert [len(table.real) for table in own] == [share.a_counts.sum(), share.b_counts.sum()]
        assert all(np.array_equal(t.real, t.inputs["row"][:, 0] % 2 == 0) for t in own)
        found += pairs(share.blocks, *own)
    assert found == due
    assert [share.worker for share in shares] == sorted({share.worker for share in shares})
    assert all(0 <= share.worker < count for share in shares)


@given(units, workers)
def test_no_share_is_much_larger_than_another(sizes: list[tuple[int, int]], count: int) -> None:
    """Beyond what one cut can miss by: half a piece at either end, of less than twice `WHOLE` rows."""
    a_counts, b_counts = counts(sizes)
    shares = cut(a_counts, b_counts, count)
    piece = (np.minimum(a_counts, 2 * WHOLE - 1) * b_counts).max()
    assert max(share.blocks.pairs for share in shares) <= np.dot(a_counts, b_counts) / count + piece + 1


@given(units, workers, st.sampled_from([1, 10, 100, 5000]))
def test_groups_of_rows_stay_whole(sizes: list[tuple[int, int]], count: int, megabits: int) -> None:
    """The engine groups the rows of the shares as it would those of the round: the same trees, row by row."""
    from accord.network import Network

    assert all(WHOLE % group == 0 for group in GROUPS)
    a_counts, b_counts = counts(sizes)
    settings, program = Settings(Network(megabits, 1)), compile_circuit(CIRCUIT, "ot")

    def groups(blocks: Blocks, first: int) -> list[list[int]]:
        made = []
        for batch in batches(blocks, batch_limit(program), settings.groups(program, blocks)):
            bounds = np.cumsum(batch.members)[:-1]
            made += [(rows + first).tolist() for rows in np.split(batch.a_rows, bounds)]
        return made

    shared = [g for share in cut(a_counts, b_counts, count) for g in groups(share.blocks, share.a.start)]
    assert shared == groups(Blocks.of_sizes(a_counts, b_counts), 0)
    assert b_counts.max() < LONGEST


def test_nothing_to_compare() -> None:
    none = np.zeros(0, np.int64)
    assert cut(none, none, 3) == ()
