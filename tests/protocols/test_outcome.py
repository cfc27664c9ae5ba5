"""The output: what is kept of the partner's records, one-to-one sets, and the digest that both compare."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.fields.columns import Integers
from accord.protocols import confirm as confirm_module
from accord.protocols import intersection, linkage, naming
from accord.protocols.confirm import confirm, output_digest
from accord.protocols.one_to_one import keep_best
from accord.protocols.parts.disclosed import Disclosed, take
from accord.protocols.parts.outcome import Digest, Outcome
from accord.protocols.parts.phases import Phases
from accord.protocols.seen import Hashes, Seen
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from accord.spill import Scratch
from accord.table.pairs import IdOrder, order_pairs
from tests.protocols import worlds
from tests.protocols.liars import refused
from tests.protocols.worlds import Rows, agreement

# -- the partner's records ---------------------------------------------------------------------------------

AGREED = agreement()


def seen_by(agreed: Agreement, most: int = 1 << 24) -> Seen:
    return Seen(agreed.task, Side.B, Scratch(most=most), [*agreed.task.chosen_by, *agreed.task.checked_by])


def disclosed(rows: Rows, first: int) -> Disclosed:
    """Records whose ids go on from this number."""
    records = worlds.records([(0, 0)] * first + rows, AGREED)
    shown = take(records, np.arange(first, first + len(rows)), ["x", "y"])
    return Disclosed(np.ones(len(rows), np.int64), np.arange(len(rows)), *shown)


def lies_in_file(some: Any) -> bool:
    """Whether an array is a view of a file that is mapped."""
    return isinstance(some, np.memmap) or (some is not None and lies_in_file(getattr(some, "base", None)))


@pytest.mark.parametrize("most", [0, 1 << 22])
def test_fields_are_kept_only_to_choose_by(most: int) -> None:
    found = seen_by(AGREED.model_copy(update={"one_to_one": "score"}), most)
    assert found.fields() == found.checked() == {}
    found.add(disclosed([(1, 2), (3, 4)], 0))
    found.add(disclosed([(5, 6)], 2))
    x, y = found.fields()["x"], found.fields()["y"]
    assert isinstance(x, Integers)
    assert isinstance(y, Integers)
    assert (x.values.tolist(), y.values.tolist()) == ([1, 3, 5], [2, 4, 6])
    # Without memory for anything they lie in a file.
    assert lies_in_file(x.values) is (most == 0)


def test_a_message_does_not_outlive_its_texts() -> None:
    """Texts that lie in a long message are copied out of it."""
    message = bytearray(b"r0" + b"\0" * 1_000_000)
    ids = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, 2]).tobytes()), pa.py_buffer(message))
    found = seen_by(AGREED)
    found.add(replace(disclosed([(1, 1)], 0), ids=ids))
    del ids
    # A buffer that somebody still refers to cannot be resized.
    message.clear()
    assert found.texts()[0].to_pylist() == ["r0"]


def test_an_id_that_was_there_is_refused() -> None:
    found = seen_by(AGREED)
    found.add(disclosed([(1, 1), (2, 2)], 0))
    with pytest.raises(PeerError):
        found.require_new(disclosed([(9, 9)], 1))
    found.require_new(disclosed([(9, 9)], 2))


words = st.lists(st.tuples(st.integers(0, 3) | st.integers(0, (1 << 64) - 1), st.integers(0, 3)), max_size=6)


@given(st.lists(words, max_size=12), words)
def test_hashes_are_a_set(added: list[list[tuple[int, int]]], asked: list[tuple[int, int]]) -> None:
    """Also where first words are the same."""

    def array(some: Any) -> Any:
        return np.array(some, np.uint64).reshape(-1, 2)

    found = Hashes()
    for some in added:
        found.add(array(some))
    known = {one for some in added for one in some}
    assert found.has_any(array(asked)) == (not known.isdisjoint(asked))
    assert all(found.has_any(array([one])) == (one in known) for one in asked)


# -- one to one --------------------------------------------------------------------------------------------

PLAIN = worlds.one_to_one(agreement(greedy=False))
PSI = worlds.one_to_one(agreement(rule="same(x) and same(y)", protocol="psi"))
ODD = [" ", "\ue000", "\U0001f600", "é", "e\u0301", "Z", "a\nb", "=1+1", "10", "2", "\u202e", "a" * 300]
"""Ids on which orders differ: by letters, by numbers, by UTF-16."""


@given(st.permutations(ODD), st.permutations(ODD), st.integers(1, len(ODD)))
def test_hostile_ids_are_in_one_order_on_both_sides(a: list[str], b: list[str], count: int) -> None:
    """All at one point, so that everything is a tie. Both sides compare digests."""
    agreed = worlds.one_to_one(agreement(protocol="all-pairs", greedy=False))
    one, other = (pa.table({"id": ids, "x": [5] * len(ids), "y": [5] * len(ids)}) for ids in (a, b[:count]))
    pairs = accord.simulate(one, other, agreed, seed=1).pairs
    by_bytes = [sorted(names, key=lambda name: name.encode()) for names in (a, b[:count])]
    found = zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True)
    assert sorted(found) == sorted(zip(*by_bytes, strict=False))


def _other_fields(told: Any) -> Any:
    fields = {name: Integers(np.full_like(c.values, 15), c.present) for name, c in told.fields.items()}
    return replace(told, fields=fields)


def test_fields_that_the_rule_denies_are_refused_in_an_intersection(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(counts: Any, slots: Any, fields: Any, ids: Any, columns: Any) -> Any:
        made = Disclosed(counts, slots, fields, ids, columns)
        return _other_fields(made) if ids[0].as_py().startswith("B") else made

    monkeypatch.setattr(naming, "Disclosed", lying)
    with refused():
        worlds.link(PSI, [(3, 3)], [(3, 3), (12, 8)])


@pytest.mark.parametrize(("agreed", "module"), [(PLAIN, linkage), (PSI, intersection)])
def test_a_partner_that_keeps_another_set_is_found_out(
    agreed: Agreement, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(task: Any, mine: Any, outcome: Any) -> Any:
        kept = keep_best(task, mine, outcome)
        last = replace(outcome.pairs, keys=outcome.pairs.keys[-1:])
        return kept if mine.side is Side.A else replace(kept, pairs=last)

    monkeypatch.setattr(module, "keep_best", other)
    with pytest.raises(PeerError):
        worlds.link(agreed, [(3, 3), (3, 3)], [(3, 3)])


# -- the digest --------------------------------------------------------------------------------------------

A_IDS, B_IDS = pa.array(["a0", "a1", "a2"], pa.large_string()), pa.array(["b0", "b1"], pa.large_string())


def outcome(side: Side, rows: tuple[tuple[int, int], ...], partner_ids: list[str]) -> Outcome:
    """With these pairs (own row, place of the partner's id)."""
    ids = pa.array(partner_ids, pa.large_string())
    own = A_IDS if side is Side.A else B_IDS
    found = np.array(rows, np.int64).reshape(-1, 2).T
    both = (IdOrder.of(own), found[0]), (IdOrder.of(ids), found[1])
    a, b = both if side is Side.A else both[::-1]
    pairs = order_pairs(a[0], b[0], [(a[1], b[1])], Scratch())
    return Outcome(side, pairs, ids, pa.table({}), 9, 9, 0, 0, 0, (), Phases())


def of_a(*rows: tuple[int, int]) -> Outcome:
    return outcome(Side.A, rows, ["b1", "b0"])


def of_b(*rows: tuple[int, int]) -> Outcome:
    return outcome(Side.B, rows, ["a2", "a0", "a1"])


def both(a: Outcome, b: Outcome, seed: int = 1, wire: Wire | None = None) -> tuple[Digest, Digest]:
    return run_pair(confirm(A_IDS, a, Seeded(seed)), confirm(B_IDS, b, Seeded(7)), wire=wire or Wire())


def test_the_same_pairs_in_any_order_and_numbering_agree() -> None:
    left, right = both(of_a((0, 1), (2, 0)), of_b((1, 0), (0, 1)))
    assert left == right
    assert both(of_a(), of_b())[0].value != left.value


@pytest.mark.parametrize(
    "rows", [[(0, 1), (1, 1)], [(0, 0), (1, 0)], [(0, 1)], [(0, 1), (1, 0), (1, 1)], [], [(0, 0), (1, 1)]]
)
def test_other_pairs_are_noticed(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(PeerError):
        both(of_a((0, 1), (2, 0)), of_b(*rows))


def test_ids_are_told_apart_wherever_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same letters in a row, cut in all ways, over pieces of every size: all digests differ."""
    letters, digests = "abcabc", set()
    cuts = [letters[:i] for i in range(1, 6)]
    for size in (1, 2):
        monkeypatch.setattr(confirm_module, "_TOGETHER", size)
        for first, second in itertools.combinations(cuts, 2):
            a = pa.array([first, second], pa.large_string())
            b = pa.array([letters[len(first) :], letters[len(second) :]], pa.large_string())
            pairs = order_pairs(IdOrder.of(a), IdOrder.of(b), [(np.arange(2), np.arange(2))], Scratch())
            digests.add(output_digest(b"k" * 64, a, b, pairs))
    assert len(digests) == 2 * 10


def test_an_echo_does_not_pass() -> None:
    def echo() -> Party[None]:
        for _ in range(2):
            heard = yield Receive(32)
            yield Send(bytes(heard))

    with pytest.raises(PeerError):
        run_pair(confirm(A_IDS, of_a((0, 1)), Seeded(1)), echo())


def test_the_digest_is_another_one_in_every_run_and_is_not_what_is_sent() -> None:
    class Heard(Wire):
        def record(self, sender: Side, buffer: Any, depth: int) -> None:
            super().record(sender, buffer, depth)
            sent.append(bytes(buffer))

    sent = list[bytes]()
    digests = {both(of_a((0, 1)), of_b((0, 1)), seed, Heard())[0].value for seed in range(2)}
    assert len(digests) == 2
    assert [len(one) for one in sent] == [32] * 8
    assert len(set(sent[:4])) == 4
    assert not digests & set(sent)
