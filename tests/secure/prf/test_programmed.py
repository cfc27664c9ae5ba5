"""A programmed function: the values at common points, something random elsewhere, public sizes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.secure.okvs.rows import SEED
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Encoder
from accord.secure.party import Party, Send, Wire, run_pair
from accord.secure.prf import programmed
from accord.secure.prf.oblivious import Clear, Function, Oblivious
from accord.secure.prf.programmed import fetch, program, programmed_bytes
from accord.side import Side
from tests.secure.prf.test_oblivious import TINY, items, none
from tests.secure.worlds import Fixed

Words = NDArray[np.uint64]


def values(count: int, width: int) -> Words:
    return np.random.default_rng(count).integers(0, 1 << 64, (count, width), dtype=np.uint64)


def programs(function: Function, asked: int, own: Words, what: Words) -> Party[None]:
    yield from function.meet()
    points, width = function.points(own), what.shape[1]
    seeds = yield from function.answer(asked, points, none)

    def add(places: NDArray[np.int32], onto: Words) -> None:
        onto ^= what[places]

    yield from program(function, seeds, points, add, width, Seeded("free"))


def fetches(function: Function, own: Words, count: int, width: int) -> Party[Words]:
    yield from function.meet()
    found, points = np.zeros((len(own), width), np.uint64), function.points(own)
    seeds = yield from function.ask(points, none)
    yield from fetch(function, seeds, points, count, found, np.arange(len(own), dtype=np.int32))
    return found


def ends(clear: bool) -> tuple[Function, Function]:
    if clear:
        return Clear(), Clear()
    return Oblivious(Side.A, Fixed("a"), TINY), Oblivious(Side.B, Fixed("b"), TINY)


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 40])
@pytest.mark.parametrize(("asked", "count"), [(1, 0), (1, 1), (7, 30), (200, 50)])
def test_values_are_read_where_they_were_programmed(asked: int, count: int, width: int, clear: bool) -> None:
    """And nothing like them elsewhere."""
    what, (a, b) = values(count, width), ends(clear)
    found, _ = run_pair(
        fetches(a, items(0, asked), count, width),
        programs(b, asked, items(asked // 2, asked // 2 + count), what),
    )
    common = min(asked - asked // 2, count)
    assert (found[asked // 2 : asked // 2 + common] == what[:common]).all()
    rest = np.concatenate([found[: asked // 2], found[asked // 2 + common :]])
    assert not {row.tobytes() for row in rest} & {row.tobytes() for row in what}


def test_parts_of_both_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programmed, "store_shape", lambda points: store_shape(points, part=64))
    what, wire, (a, b) = values(400, 5), Wire(), ends(clear=True)
    found, _ = run_pair(fetches(a, items(0, 300), 400, 5), programs(b, 300, items(100, 500), what), wire)
    assert (found[100:] == what[:200]).all()
    assert len(wire.sizes[Side.B]) == 1 + store_shape(400, part=64).parts > 2


def test_sizes_are_known_before() -> None:
    sizes = []
    for first in (0, 1000):
        wire, (a, b) = Wire(), ends(clear=False)
        run_pair(
            fetches(a, items(0, 20), 30, 3), programs(b, 20, items(first, first + 30), values(30, 3)), wire
        )
        sizes.append(wire.sizes)
    assert sizes[0] == sizes[1]
    assert sum(sizes[0][Side.B][-2:]) == programmed_bytes(30, 3)


def sent_store(asked: int, count: int) -> bytes:
    """The store of values of zeros, at so many points in a row."""
    a, b = ends(clear=False)
    sent = bytearray()

    def heard(party: Party[None]) -> Party[None]:
        effect = next(party)
        while True:
            if isinstance(effect, Send):
                sent[:] = effect.buffer
            answer = yield effect
            try:
                effect = party.send(answer)
            except StopIteration:
                return

    zeros = np.zeros((count, 4), np.uint64)
    run_pair(fetches(a, items(0, asked), count, 4), heard(programs(b, asked, items(100, 100 + count), zeros)))
    assert len(sent) == programmed_bytes(count, 4) - SEED
    return bytes(sent)


def surprise(store: bytes) -> float:
    """χ² of its bytes over 256 values."""
    counts = np.bincount(np.frombuffer(store, np.uint8), minlength=256)
    expected = counts.sum() / 256
    return float(((counts - expected) ** 2 / expected).sum())


UNIFORM = 376.4
"""With 255 degrees χ² is more than this with probability 1e-6."""


@pytest.mark.parametrize("count", [40, 2000])
def test_the_store_looks_uniform_whatever_is_programmed(count: int) -> None:
    """False alarm 1e-6. Of few points most cells are free."""
    assert surprise(sent_store(3, count)) < UNIFORM


@pytest.mark.parametrize("count", [40, 2000])
def test_zeros_in_free_cells_would_be_noticed(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: what no point needs stays empty, and shows where points are."""
    real = Encoder.draw
    monkeypatch.setattr(Encoder, "draw", lambda *arguments: np.zeros_like(real(*arguments)))
    assert surprise(sent_store(3, count)) > UNIFORM
