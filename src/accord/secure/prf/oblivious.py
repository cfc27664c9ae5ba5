"""An oblivious pseudo-random function: one side has the key, the other the items and their values.

2HashDH (Jarecki, Kiayias and Krawczyk, ASIACRYPT'14): F_k(x) = h(x)^k in a group with hard logarithms.

    asker     r uniform,   h(x)^r                       →
                                                        ←  (h(x)^r)^k                             key holder
              F_k(x) = (h(x)^rk)^(1/r)

Every item has an r of its own. With one for all, a key holder that answers each item by its answer to the
first would make all of them open to the value of the first.

*Learns*: the asker F_k of its items, which without the key look random elsewhere; the key holder how many
items there are. Semi-honest; decisional Diffie-Hellman, h as a random oracle. Elements travel in batches, one
ahead, so that both sides work at a time. The last batch of the asker is signed (party.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from accord.entropy import Entropy
from accord.secure.party import Party, receive, send
from accord.secure.prf.group import POINT, Bytes, Group

BATCH = 2048

Progress = Callable[[int], None]
"""Called with the number of items of each batch that is done."""


def batches(count: int, size: int = BATCH) -> Iterator[slice]:
    """Consecutive stretches of 0..count−1."""
    return (slice(i, min(i + size, count)) for i in range(0, count, size))


def ask(group: Group, items: Bytes, entropy: Entropy, progress: Progress) -> Party[Bytes]:
    """The values of the items. *Learns*: nobody else anything but their number."""
    values = np.empty((len(items), POINT), np.uint8)
    waiting: tuple[Bytes, Bytes] | None = None
    for part in batches(len(items)):
        blinds, undo = group.blinds(part.stop - part.start, entropy)
        blinded = group.times_each(blinds, group.hash_items(items[part]))
        yield from send(blinded, signed=part.stop == len(items))
        if waiting is not None:
            yield from _unblind(group, *waiting, progress)
        waiting = undo, values[part]
    if waiting is not None:
        yield from _unblind(group, *waiting, progress)
    return values


def _unblind(group: Group, undo: Bytes, values: Bytes, progress: Progress) -> Party[None]:
    """Fill the values of one batch."""
    answer = yield from receive(len(values) * POINT)
    values[:] = group.times_each(undo, answer.reshape(len(values), POINT))
    progress(len(values))


def answer(group: Group, key: bytes, count: int, progress: Progress) -> Party[None]:
    """Serve `count` items of the peer under the key."""
    for part in batches(count):
        size = part.stop - part.start
        blinded = yield from receive(size * POINT, signed=part.stop == count)
        yield from send(group.times(key, blinded.reshape(size, POINT)))
        progress(size)


def value(group: Group, key: bytes, items: Bytes) -> Bytes:
    """What the key holder computes for itself."""
    return group.times(key, group.hash_items(items))
