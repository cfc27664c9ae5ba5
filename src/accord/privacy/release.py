"""Releases by name: which releases are the same one [MATHS §4.5].

Noise drawn twice for one release could be averaged away by the partner; noise kept after the data changed
would show the exact change. And whether noise is drawn or repeated is itself seen by the partner, so it must
not depend on data: a name that followed the counts would tell 'something changed' from 'nothing did' with
certainty. So a release has a *name*, made of what its owner declared and both agreed, and of nothing else:

    the account; the snapshot, or without one the run; the blocking with its bins and with every rule that
    leaves rows out; the side; the mechanism with all its parameters, ε and δ

Same name: the same noise, paid once, for any partner. Another name: fresh noise, paid for. Not in it are the
partner, the engine, thresholds, pruning and columns: what is told does not depend on them.

A *snapshot* is the owner's word that the table is the one that it called so before. The word is checked: with
its first use a digest of the table's ids and bins is kept, and another table under the name is refused before
anyone is called.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from accord.naming import fold_name
from accord.privacy.events import Event, NoisyAnswer, encode

_RELEASE = b"accord release v1\0"
_PLACE = b"accord place v1\0"


@dataclass(frozen=True)
class Snapshot:
    """The table as of a name that its owner gave it."""

    name: str
    content: bytes = field(repr=False)
    """A digest of every id with its bins: private, since both can be guessed."""


def snapshot_place(account: str, snapshot: str, place: bytes) -> bytes:
    """Where a snapshot's digest is kept; `place` is the blocking with its bins and rules, and the side."""
    return _digest(_PLACE, fold_name(account).encode(), fold_name(snapshot).encode(), place)


def release_key(account: str, snapshot: str | None, run: str, place: bytes, event: Event) -> bytes:
    """32 bytes, the same for the same release: of this snapshot, or without one of this run."""
    # An answer depends on the partner's table, too: its noise must not come back under a name.
    if isinstance(event, NoisyAnswer):
        snapshot = None
    table = (b"run", run.encode()) if snapshot is None else (b"snapshot", fold_name(snapshot).encode())
    return _digest(_RELEASE, fold_name(account).encode(), *table, place, encode(event))


def _digest(tag: bytes, *parts: bytes) -> bytes:
    """Each part with its length in front, so that no two lists of parts run into the same bytes."""
    digest = hashlib.sha256(tag)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
