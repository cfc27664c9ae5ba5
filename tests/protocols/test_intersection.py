"""PSI: what the messages tell, how matches are named, partners that lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError, UsageError
from accord.fields.columns import Integers, Records
from accord.protocols import intersection as module
from accord.protocols import naming
from accord.protocols.base import prepare
from accord.protocols.intersection import Intersecting, lists
from accord.protocols.lines import open_lines, rank_rows
from accord.protocols.parts.disclosed import Disclosed, encode, take
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.psi import Psi
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from accord.simulation.pair import peak_mib
from tests.protocols import worlds
from tests.protocols.liars import OF_MATCHES, Change, check_flipped, refused, run_altered
from tests.protocols.views import lines_of
from tests.protocols.worlds import run

EQUAL = worlds.agreement(protocol="psi", rule="same(x) and same(y)")


def inner(mine: OwnSide) -> Any:
    """What a side of EQUAL knows in the middle of its run."""
    assert isinstance(EQUAL.protocol, Intersecting)
    return module._Side(EQUAL.task, EQUAL.protocol, mine, IdealEngine())


def test_psi_of_a_fuzzy_rule_is_equality_of_its_fields() -> None:
    """As in the paper, whose PSI has little recall; only `simulate` may run it."""
    fuzzy = worlds.agreement(protocol="psi")
    a, b = [(1, 1), (5, 5)], [(1, 2), (5, 5)]
    left, _, _ = worlds.link(fuzzy, a, b)
    assert worlds.pairs_of_a(left) == [(1, 1)]
    assert Psi(name="psi").listing(fuzzy.task, Side.A).names == ("x", "y")


def test_who_lists() -> None:
    """One value a record: the larger table; several: the smaller; always exactly one side."""
    for own, partner in ((3, 9), (9, 3), (5, 5)):
        for size in (1, 5):
            assert lists(Side.A, own, partner, size) != lists(Side.B, partner, own, size)
    assert lists(Side.A, 9, 3, 1)
    assert lists(Side.A, 3, 9, 5)
    assert lists(Side.B, 5, 5, 1)


def test_a_table_that_is_too_large_is_refused_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 4)
    rows = [(i, i) for i in range(5)]
    with pytest.raises(UsageError, match="5"):
        worlds.link(EQUAL, rows, rows)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=20))
def test_ranks_are_those_of_unique(rows: list[tuple[int, int, int]]) -> None:
    values = np.array(rows, np.uint64).reshape(-1, 3)
    first, rank = rank_rows(*values.T[::-1])
    once, expected = np.unique(values, axis=0, return_inverse=True)
    assert np.array_equal(values[first], once)
    assert np.array_equal(rank, expected.reshape(-1))


# -- what the messages tell --------------------------------------------------------------------------------


def test_records_that_share_values_have_unlike_lines_in_the_order_of_their_tags() -> None:
    """Nine records with one value: without numbering, it would stand there nine times."""
    lines = lines_of(EQUAL, [(8, 8)] * 9, 1)
    assert len(lines) == 9
    for part in (lines[:, :12], lines[:, 12:]):
        assert len({row.tobytes() for row in part}) == 9
    tags = lines[:, :8].copy().view("<u8")[:, 0]
    assert (np.diff(tags.astype(object)) > 0).all()


def test_lines_and_questions_are_fresh_in_every_run() -> None:
    first = lines_of(EQUAL, [(8, 8)] * 9, 1)
    other = lines_of(EQUAL, [(8, 8)] * 9, 2)
    assert not {row.tobytes()[12:] for row in first} & {row.tobytes()[12:] for row in other}
    said = []
    for seed in (1, 2):
        own = [worlds.side(EQUAL, side, [(1, 1)], Seeded(seed), partner=1) for side in Side]
        wire = Wire()
        run_pair(run(EQUAL.task, own[0], OtEngine()), run(EQUAL.task, own[1], OtEngine()), wire=wire)
        said.append(wire)
    assert said[0].sizes == said[1].sizes
    assert said[0].digest != said[1].digest


def test_the_order_of_a_record_among_its_equals_is_not_that_of_the_table() -> None:
    """The asker reads the m-th record of a value in a random order: over 40 runs, each of two comes first.

    The chance that one order never occurs is 2·2^−40, below 1e-6.
    """
    seen = set()
    for seed in range(40):
        values = np.zeros((2, 2), np.uint64)
        own = worlds.side(EQUAL, Side.B, [(1, 1), (1, 1)], Seeded(seed), partner=2)
        run_ = inner(own)
        tokens = np.arange(24, dtype=np.uint8).reshape(2, 12)
        lines = np.concatenate(list(run_._lines(values, tokens)))
        _, found = open_lines(run_.function.pi, values[:1], lines)
        seen.add(found[0].tobytes())
    assert len(seen) == 2


# -- a partner that lies ------------------------------------------------------------------------------------


ROUTED = worlds.routed("x", cap=1, asks="A")
OF_PSI: list[tuple[int, Change]] = [
    (1, lambda m: m[::-1]),
    (1, lambda m: m[:-24]),
    (2, lambda m: (1).to_bytes(8, "little") + m[8:]),
]
"""What a lister may say wrongly: its message, and what it says."""
OF_ROUTED: list[tuple[int, Change]] = [
    (1, lambda m: m[:-1]),
    (2, lambda m: m[:-8]),
    (2, lambda m: m + bytes(8)),
    (3, lambda m: b"x"),
    (4, lambda m: (1).to_bytes(8, "little") + m[8:]),
    (4, lambda m: (99).to_bytes(8, "little") + m[8:]),
    (5, lambda m: m[:-1]),
]


@pytest.mark.parametrize(("agreed", "of_lists"), [(EQUAL, OF_PSI), (ROUTED, OF_ROUTED)])
def test_a_partner_that_lies_is_refused(
    agreed: Agreement, of_lists: list[tuple[int, Change]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that names more pairs than memory holds."""
    for side, lies in ((Side.A, OF_MATCHES), (Side.B, of_lists)):
        for number, change in lies:
            with refused():
                run_altered(agreed, side, number, change, IdealEngine())
    monkeypatch.setattr(naming, "memory", lambda: 0)
    with refused():
        run_altered(agreed, Side.A, 1, lambda message: message, IdealEngine())


messages = st.integers(1, 8) | st.integers(1, 40)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("agreed", "engine"),
    [(EQUAL, IdealEngine()), (ROUTED, OtEngine()), pytest.param(EQUAL, OtEngine(), marks=pytest.mark.slow)],
)
@given(
    side=st.sampled_from(list(Side)), number=messages, place=st.integers(0, 2**16), flip=st.integers(1, 255)
)
def test_a_changed_byte_is_a_refusal_or_tells_of_other_matches(
    agreed: Agreement, engine: Any, side: Side, number: int, place: int, flip: int
) -> None:
    check_flipped(agreed, side, number, place, flip, engine)


def test_one_cannot_ask_for_records_that_one_did_not_find() -> None:
    """The token of a record is 96 random bits that only its values open."""
    entropy = Seeded(1)
    own = worlds.side(EQUAL, Side.B, [(1, 1), (2, 2)], entropy, partner=2)

    def rogue() -> Party[None]:
        yield Send(bytes(64))
        yield Receive(64)
        lines = yield Receive(48)
        yield Send(np.array([1, 1], "<u8").tobytes())
        yield Send(bytes(lines[12:24]))
        yield Receive(16)

    with refused():
        run_pair(rogue(), run(EQUAL.task, own, IdealEngine()))


# -- naming ------------------------------------------------------------------------------------------------


def test_what_was_kept_and_is_not_whole_is_refused() -> None:
    own = worlds.side(EQUAL, Side.A, [(1, 1)], Seeded(1), partner=1)
    names = naming.Naming(EQUAL.task, own)
    other = Disclosed(*(np.zeros(0, np.int64),) * 2, *take(own.records, np.zeros(0, np.int64), ()))
    shown = bytes(8), encode(other)
    made = names._kept(*(np.zeros(0, np.int64),) * 2, 0, shown)
    nothing = b"".join(made)
    for kept in (made, (nothing,)):
        assert names.take(kept)[1] == len(names.outcome(0).own) == 0
    for broken in (b"", nothing[:20], nothing[:-1], nothing + b"x", b"\xff" * 8 + nothing[8:]):
        with pytest.raises(PeerError):
            names.take((broken,))
    with pytest.raises(PeerError):
        names.take(names._kept(*(np.zeros(1, np.int64),) * 2, 0, shown))


def test_a_pair_that_was_found_several_times_is_named_once() -> None:
    own, token = naming._distinct_pairs(np.array([5, 2, 5, 2, 5]), np.array([1, 0, 1, 0, 0]), 2)
    assert list(zip(own.tolist(), token.tolist(), strict=True)) == [(2, 0), (5, 0), (5, 1)]
    nothing, _ = naming._distinct_pairs(*(np.zeros(0, np.int64),) * 2, 0)
    assert len(nothing) == 0


# -- ten million -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_million_each_have_no_false_pair_and_lack_none() -> None:
    """With the real function, both sides in one process, in bounded memory; progress is told by parts."""
    count, shared = 10**7, 10**6
    number = {"type": "number", "min": 0, "max": (1 << 40) - 1, "step": 1}
    agreed = worlds.changed(EQUAL, fields={"x": number}, rule="same(x)", disclose=worlds.NOBODY)
    rng, told, before, own = np.random.default_rng(1), [0], peak_mib(), list[OwnSide]()
    # Distinct, whatever is drawn: an odd number times 0, 1, 2, … modulo a power of two.
    values = np.arange(2 * count - shared) * int(rng.integers(1 << 38) * 2 + 1) % (1 << 40)
    left, right = rng.permutation(count), rng.permutation(np.arange(count - shared, 2 * count - shared))
    for side, numbers in zip(Side, (left, right), strict=True):
        # Without a list of them.
        column = Integers(values[numbers], np.ones(count, np.bool_))
        records = Records(pa.array(numbers).cast(pa.large_string()), {"x": column}, pa.table({}))
        nothing, entropy = np.zeros(1, np.int64), Seeded("ten million").stream(side.value)
        own.append(prepare(agreed.task, side, records, count, nothing, entropy))

    def watch(status: Status) -> None:
        told[0] += 1

    own[0], engine = replace(own[0], watch=watch), OtEngine()
    out, _ = run_pair(*(run(agreed.task, mine, engine) for mine in own))
    partner = np.asarray(out.partner_ids.cast(pa.int64()))
    assert np.array_equal(left[out.own], partner[out.partner])
    assert np.array_equal(np.sort(partner), np.arange(count - shared, count))
    assert told[0] > 100
    assert peak_mib() - before < 3072, "both sides together"
