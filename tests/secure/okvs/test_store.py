"""Whole stores: what goes in comes out, at every size and across parts, and a store looks random."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from accord.entropy import Seeded
from accord.errors import NoTableError
from accord.secure.okvs.sizes import PART, Shape, store_shape
from accord.secure.okvs.store import Encoder, Layout, spread

Words = NDArray[np.uint64]
SEED = bytes(range(16))


def random_words(count: int, width: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(0, 1 << 64, (count, width), dtype=np.uint64)


def stored(shape: Shape, points: Words, values: Words, seed: int = 0) -> Words:
    """The store of these values under these points: (parts, cells, words)."""
    encoder, entropy, parts = Encoder(shape, SEED, points), Seeded(seed), []
    for part in range(shape.parts):
        free = encoder.draw(part, values.shape[1], entropy)
        parts.append(encoder.encode_part(part, values.take(encoder.places(part), axis=0), free))
    return np.stack(parts)


def read(shape: Shape, store: Words, points: Words) -> Words:
    """What a store has for these points."""
    layout, values = Layout(shape, SEED, points), np.empty((len(points), store.shape[2]), np.uint64)
    for part in range(shape.parts):
        spread(layout.decode_part(part, store[part]), layout.places(part), values)
    return values


@pytest.mark.parametrize("width", [1, 2, 7])
def test_every_small_size(width: int) -> None:
    for count in range(101):
        shape, points, values = (
            store_shape(count),
            random_words(count, 2, count),
            random_words(count, width, 1),
        )
        store = stored(shape, points, values)
        assert store.shape == (1, shape.cells, width)
        assert (read(shape, store, points) == values).all()


@pytest.mark.parametrize("count", [999, 1_000, 1_001, 1_999, 2_000, 2_001, 7_500])
def test_many_parts(count: int) -> None:
    shape, points, values = store_shape(count, 1_000), random_words(count, 2), random_words(count, 2, 1)
    assert shape.parts == -(-count // 1_000)
    assert (read(shape, stored(shape, points, values), points) == values).all()


@pytest.mark.parametrize("count", [PART, PART + 1])
def test_the_border_of_real_parts(count: int) -> None:
    shape, points, values = store_shape(count), random_words(count, 2), random_words(count, 2, 1)
    assert shape.parts == 1 + (count > PART)
    assert (read(shape, stored(shape, points, values), points) == values).all()


def test_values_of_several_hundred_bytes() -> None:
    shape, points, values = store_shape(3_000, 1_000), random_words(3_000, 2), random_words(3_000, 61, 1)
    assert (read(shape, stored(shape, points, values), points) == values).all()


@given(count=st.integers(0, 300), part=st.integers(20, 400), width=st.integers(1, 3), seed=st.integers(0, 99))
def test_part_by_part_is_the_whole(count: int, part: int, width: int, seed: int) -> None:
    """In whatever order the parts are written, as long as they are drawn for in order."""
    shape, points, values = store_shape(count, part), random_words(count, 2, seed), random_words(count, width)
    store = stored(shape, points, values, seed)
    entropy, encoder = Seeded(seed), Encoder(shape, SEED, points)
    free = [encoder.draw(number, width, entropy) for number in range(shape.parts)]
    for number in reversed(range(shape.parts)):
        own = values[encoder.places(number)]
        table = encoder.encode_part(number, own, free[number])
        assert (table == store[number]).all()
        assert (encoder.decode_part(number, table) == own).all()


def test_others_may_read_more_points_or_fewer() -> None:
    """Points that the store was not made of read something else for each."""
    shape, points, values = store_shape(500, 100), random_words(500, 2), random_words(500, 2, 1)
    store = stored(shape, points, values)
    more = np.concatenate([random_words(4_000, 2, 9), points[:50], points[:50]])
    found = read(shape, store, more)
    assert (found[4_000:] == np.tile(values[:50], (2, 1))).all()
    assert len(np.unique(found[:4_000, 0])) == 4_000
    assert len(read(shape, store, points[:0])) == 0


def test_a_store_of_fewer_points_than_its_shape_is_for() -> None:
    shape, points, values = store_shape(500, 100), random_words(300, 2), random_words(300, 2, 1)
    store = stored(shape, points, values)
    assert store.shape == (shape.parts, shape.cells, 2)
    assert (read(shape, store, points) == values).all()


def test_reading_is_linear() -> None:
    shape, points = store_shape(500, 100), random_words(800, 2)
    one, two = (random_words(shape.total, 2, seed).reshape(shape.parts, shape.cells, 2) for seed in (1, 2))
    sums = read(shape, one, points) ^ read(shape, two, points)
    assert (read(shape, one ^ two, points) == sums).all()


def test_sizes_do_not_depend_on_points() -> None:
    shape = store_shape(400, 100)
    found = {stored(shape, random_words(400, 2, seed), random_words(400, 2)).shape for seed in range(5)}
    assert found == {(4, shape.cells, 2)}


def test_a_store_of_random_values_looks_random() -> None:
    """χ² of its bytes, and of its bits by place in a word; false alarm 1e-6 each."""
    shape, points, values = store_shape(20_000, 5_000), random_words(20_000, 2), random_words(20_000, 2, 1)
    words = stored(shape, points, values).reshape(-1)
    counts = np.bincount(words.view(np.uint8), minlength=256)
    mean = 8 * len(words) / 256
    assert ((counts - mean) ** 2 / mean).sum() < chi2.isf(1e-6, 255)
    ones = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0, dtype=np.int64)
    assert ((ones - len(words) / 2) ** 2 / (len(words) / 4)).sum() < chi2.isf(1e-6, 64)
    assert len(np.unique(words)) == len(words)


def test_cells_that_no_point_determines_are_random() -> None:
    """Even where all values are zero: other entropy, other cells, and nowhere a zero left."""
    shape, points = store_shape(1_000), random_words(1_000, 2)
    one, two = (stored(shape, points, np.zeros((1_000, 2), np.uint64), seed)[0] for seed in (1, 2))
    same = (one == two).all(axis=1)
    assert not same.any()
    assert one.all()
    assert not read(shape, (one ^ two)[None], points).any()


def test_which_cells_are_free_is_not_seen() -> None:
    """χ² of the lowest bits of two words, for one place over 4,000 stores; false alarm 1e-6."""
    shape, points = store_shape(5), random_words(5, 2)
    encoder, entropy = Encoder(shape, SEED, points), Seeded(5)
    tables = np.stack(
        [
            encoder.encode_part(0, random_words(5, 1, 10_000 + trial), encoder.draw(0, 1, entropy))[:, 0]
            for trial in range(4_000)
        ]
    )
    bits = (tables & np.uint64(1)).astype(np.int64)
    both = bits.T @ bits
    ones = np.diag(both)
    assert ((ones - 2_000) ** 2 / 1_000).sum() < chi2.isf(1e-6, shape.cells)
    pairs = both[np.triu_indices(shape.cells, 1)]
    assert np.abs(pairs - 1_000).max() < 7.2 * 750**0.5


def test_a_part_with_too_many_points_ends_the_run() -> None:
    shape = store_shape(1_000, 100)
    tight = Shape(1_000, shape.parts, 100, shape.sparse, shape.dense)
    with pytest.raises(NoTableError, match="too many points"):
        Encoder(tight, SEED, random_words(1_000, 2))
    assert Layout(tight, SEED, random_words(1_000, 2)).count(0) > 0


def test_dependent_rows_end_the_run() -> None:
    """Three rows that have the same three cells, and one dense cell to tell them apart."""
    with pytest.raises(NoTableError, match="dependent"):
        stored(Shape(3, 1, 3, 3, 1), random_words(3, 2), random_words(3, 2))


@pytest.mark.parametrize("value", [0, 1])
def test_equal_points_are_refused(value: int) -> None:
    """With equal values, too."""
    points, values = random_words(300, 2), random_words(300, 2)
    points[250], values[250] = points[3], values[3] ^ np.uint64(value)
    with pytest.raises(ValueError, match="twice"):
        stored(store_shape(300, 100), points, values)


def test_arguments_of_another_shape_are_refused() -> None:
    shape, points, values = store_shape(10), random_words(10, 2), random_words(10, 2)
    with pytest.raises(ValueError, match="more points"):
        Encoder(store_shape(9), SEED, points)
    free = Encoder(shape, SEED, points).draw(0, 2, Seeded(0))
    with pytest.raises(ValueError, match="a value for each"):
        Encoder(shape, SEED, points).encode_part(0, values[1:], free)
    with pytest.raises(ValueError, match="pairs"):
        Layout(shape, SEED, points[:, :1])
    with pytest.raises(ValueError, match="another shape"):
        read(shape, stored(shape, points, values)[:, 1:], points)
    encoder = Encoder(shape, SEED, points)
    with pytest.raises(ValueError, match="free word"):
        encoder.encode_part(0, values, random_words(3, 2))
    with pytest.raises(ValueError, match="another shape"):
        encoder.decode_part(0, values)


@pytest.mark.parametrize(
    ("count", "part", "width", "digest"),
    [
        (1, PART, 2, "87ca0888bb91a47ea5014c8a66cabdc065c4e6e033846eeb40aee9ed7dc8a5f4"),
        (100, PART, 2, "b97fea1f11bab4801dbbd9c3caa4a4fdefc7d232dcd0ab784fb31cb384fe9ac1"),
        (1_000, 128, 3, "af27f313091ca6232f8ba33b605f166667eddb448b5dc41f063d5828d15a257a"),
    ],
)
def test_vectors(count: int, part: int, width: int, digest: str) -> None:
    """Points and values are bytes of SHAKE-256, words and the store little-endian."""
    shape = store_shape(count, part)
    points, values = (
        np.frombuffer(hashlib.shake_256(name).digest(8 * count * size), dtype="<u8").reshape(count, size)
        for name, size in ((b"points", 2), (b"values", width))
    )
    store = stored(shape, points.astype(np.uint64), values.astype(np.uint64))
    assert hashlib.sha256(store.astype("<u8").tobytes()).hexdigest() == digest
