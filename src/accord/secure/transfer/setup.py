"""The set-up of the `ot` engine: one OT extension in each direction.

A receives in distances and B in lookups, which balances the work; so each side is the sender of one extension
and the receiver of the other. The set-up is a value of its own: it is made once and serves any number of
evaluations, and it counts what was used of it.

Only the first extension, in which A receives, has base OTs (`base.py`). In the second A is to choose among
B's keys, which is just what the first one is for: so its first 128 OTs are the second one's base, by their
hashes (`permutation.py`). That spares each side half of the base OTs, and with it half of the time.

The first message of each side says version and settings, so that two different programs part at once, and has
half of what the session's permutation is keyed with, and its base OTs are bound to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.secure.party import Party, Send, receive, send
from accord.secure.transfer.base import BASE, COUNT, KEY, receive_base, send_base
from accord.secure.transfer.checked import checked_bytes, choose, offer
from accord.secure.transfer.extension import Receiver, Sender
from accord.secure.transfer.permutation import Permutation, hash_blocks
from accord.secure.transfer.tree import SEED, grow_trees, rebuild_trees
from accord.side import Side

_TAG = b"accord/ot/permutation/1"
_SESSION = b"accord/ot/session/1"
HALF = 32
"""Bytes that each side gives to the key of the permutation."""


@dataclass(eq=False, repr=False)
class Session:
    """One side's two ends, and where its masks come from.

    The two sides must use up the same numbers. So an evaluation that did not come to its end, for whatever
    reason, ends the session: `busy` stays set, and nothing more can be evaluated in it.
    """

    side: Side
    sender: Sender
    receiver: Receiver
    entropy: Entropy
    busy: bool = False

    @property
    def aes_blocks(self) -> int:
        """Blocks that the permutation was applied to so far."""
        return self.sender.pi.aes_blocks

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """One evaluation at a time, and none after one that failed."""
        if self.busy:
            raise RuntimeError("an evaluation in this session is under way, or was broken off")
        self.busy = True
        yield
        self.busy = False


def set_up_bytes(hello: int, k: int) -> int:
    """Bytes of a set-up in both directions, with a greeting of so many: mostly base OTs and their trees."""
    return 2 * (hello + HALF + COUNT * 2 * SEED) + BASE + checked_bytes(COUNT, COUNT // k)


def set_up(
    side: Side,
    k: int,
    entropy: Entropy,
    permutation: Permutation | None = None,
    hello: bytes = b"",
    doubles: bool = False,
) -> Party[Session]:
    """Both extensions of one side. The lowest bit of Δ is 1 and the other 127 are uniform; for double OTs the
    lowest bit of its upper word is 0, and 126 are uniform.

    Requires: k is 1, 2, 4 or 8, the same on both sides. Learns: what `base.py` and `tree.py` say.
    """
    if k not in (1, 2, 4, 8):
        raise ValueError("k is 1, 2, 4 or 8")
    pi = permutation or Permutation()
    half = entropy.bytes(HALF)
    yield Send(hello + half)
    said = (yield from receive(len(hello) + HALF)).tobytes()
    if said[: len(hello)] != hello:
        raise PeerError(problem="another version or other settings of the engine")
    halves = half + said[len(hello) :] if side is Side.A else said[len(hello) :] + half
    pi.take_key(hashlib.sha256(_TAG + halves).digest()[:KEY])
    session = hashlib.sha256(_SESSION + halves + hello).digest()
    delta = _draw_delta(entropy, doubles)
    # Of each pair the key that leads away from the path is learnt.
    choices = ~_path(delta, k)
    if side is Side.A:
        receiver = yield from _receiver(k, entropy, pi, (yield from send_base(session, entropy)))
        sender = yield from _sender(k, delta, pi, (yield from _choose(receiver, choices, entropy)))
    else:
        sender = yield from _sender(k, delta, pi, (yield from receive_base(session, choices, entropy)))
        receiver = yield from _receiver(k, entropy, pi, (yield from _offer(sender)))
    return Session(side, sender, receiver, entropy)


def _choose(receiver: Receiver, choices: NDArray[np.bool_], entropy: Entropy) -> Party[NDArray[np.uint8]]:
    """The chosen keys, (128, 16), from the first OTs of an extension."""
    chosen = np.packbits(choices, bitorder="little").view("<u8")
    rows = yield from choose(receiver, chosen, COUNT, entropy, np.zeros(0, np.uint64))
    return _hashed(receiver.pi, rows)


def _offer(sender: Sender) -> Party[NDArray[np.uint8]]:
    """Both keys of each pair, (128, 2, 16)."""
    rows, _ = yield from offer(sender, COUNT, 0)
    return np.stack([_hashed(sender.pi, one) for one in (rows, rows ^ sender.delta)], axis=1)


def _hashed(pi: Permutation, rows: NDArray[np.uint64]) -> NDArray[np.uint8]:
    inner, outer = hash_blocks(pi, np.ascontiguousarray(rows))
    return (inner ^ outer).view(np.uint8)


def _receiver(k: int, entropy: Entropy, pi: Permutation, keys: NDArray[np.uint8]) -> Party[Receiver]:
    """The receiver of an extension is the sender of its base OTs."""
    roots = np.frombuffer(bytearray(entropy.bytes(COUNT // k * SEED)), "<u8").reshape(-1, 2)
    leaves, sums = grow_trees(pi, roots, keys.view("<u8"), k)
    yield from send(sums)
    return Receiver(leaves, k, pi)


def _sender(k: int, delta: NDArray[np.uint8], pi: Permutation, keys: NDArray[np.uint8]) -> Party[Sender]:
    sums = (yield from receive(2 * SEED * COUNT)).view("<u8").reshape(COUNT, 2, 2)
    leaves = rebuild_trees(pi, _path(delta, k), keys.view("<u8"), sums, k)
    pieces = _bits(delta).reshape(-1, k) @ (1 << np.arange(k))
    return Sender(_order_leaves(leaves, pieces), delta.view("<u8"), k, pi)


def _draw_delta(entropy: Entropy, doubles: bool) -> NDArray[np.uint8]:
    delta = np.frombuffer(entropy.bytes(COUNT // 8), dtype=np.uint8).copy()
    delta[0] |= np.uint8(1)
    if doubles:
        delta[8] &= np.uint8(254)
    return delta


def _bits(delta: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.unpackbits(delta, bitorder="little").astype(np.bool_)


def _path(delta: NDArray[np.uint8], k: int) -> NDArray[np.bool_]:
    """Bit i of a piece of Δ is bit i of a leaf's number, and a path has the highest bit first."""
    return _bits(delta).reshape(-1, k)[:, ::-1].reshape(-1)


def _order_leaves(leaves: NDArray[np.uint64], pieces: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Leaf x of each tree at place x ⊕ Δᵢ."""
    places = np.arange(leaves.shape[1])[None, :] ^ pieces[:, None]
    return np.ascontiguousarray(leaves[np.arange(len(leaves))[:, None], places])
