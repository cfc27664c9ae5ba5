"""An oblivious function whose values one side programs: at its points what it likes, elsewhere random.

With the oblivious function F (`oblivious.py`), the side that programs sends a store (`okvs/`) of

    value(y) ⊕ F(y), as many blocks of it as a value has,  at each of its points y

and the asker adds what the store reads at x to its own F(x): value(x) where x is one of the points, and
otherwise something random (Kolesnikov, Matania, Pinkas, Rosulek, Trieu, Practical Multi-party Private Set
Intersection from Symmetric-Key Techniques, CCS'17). The store goes part by part, so memory holds one of them.

*Requires*: distinct points. *Learns*: the asker the values at its own points, and not which of them were
programmed if a value looks random itself, since the store is uniform to whoever lacks F at its points; its
free cells are random for this reason. Who programs learns nothing more than `oblivious.py` says. All sizes
follow from the two numbers of points and the width. Semi-honest: an asker that has F at a point reads the
value there, so F is one that binds it to its questions (`binned.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from accord.entropy import KEY, Derived, Entropy
from accord.secure.okvs.rows import SEED
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Encoder, Layout, spread
from accord.secure.party import Party, Send, receive, send
from accord.secure.prf.oblivious import Meeting, Points, Seeds, expand

Words = NDArray[np.uint64]


def program(
    function: Meeting,
    seeds: Seeds,
    points: Points,
    add: Callable[[NDArray[np.int32], Words], None],
    width: int,
    entropy: Entropy,
) -> Party[None]:
    """Give values of so many words at these points, at which F has these seeds; `add` adds those of some
    places to what is there, bit by bit, and is called once for each."""
    seed, free = entropy.bytes(SEED), Derived(entropy.bytes(KEY))
    yield Send(seed)
    encoder = Encoder(store_shape(len(points)), seed, points)
    for part in range(encoder.shape.parts):
        places = encoder.places(part)
        hidden = _masks(function, seeds.take(places, axis=0), width)
        add(places, hidden)
        table = encoder.encode_part(part, hidden, encoder.draw(part, width, free))
        yield from send(table)


def fetch(
    function: Meeting,
    seeds: Seeds,
    points: Points,
    programmed: int,
    into: Words,
    at: NDArray[np.int32],
) -> Party[None]:
    """The values at these points, at which F has these seeds, of a function that a peer programs at so many:
    each into its line, `at`, of an array that is as wide as they are."""
    width = into.shape[1]
    seed = (yield from receive(SEED)).tobytes()
    layout = Layout(store_shape(programmed), seed, points)
    for part in range(layout.shape.parts):
        came = yield from receive(8 * width * layout.shape.cells)
        places = layout.places(part)
        read = layout.decode_part(part, came.view("<u8").reshape(-1, width))
        read ^= _masks(function, seeds.take(places, axis=0), width)
        spread(read, at.take(places), into)


def programmed_bytes(programmed: int, width: int) -> int:
    """Bytes of the store, beside those of the oblivious function."""
    return SEED + 8 * width * store_shape(programmed).total


def _masks(function: Meeting, seeds: Seeds, width: int) -> Words:
    return expand(function.pi, seeds, np.zeros(len(seeds), np.int32), width)
