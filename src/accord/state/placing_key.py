"""The placing key: which records of a full key are placed in every run (protocols/parts/priorities.py).

It is drawn once for an installation, before its first run of a protocol that places records, and stays in the
database: an entry of the log names it, and the key is a content. No run, partner, account or agreement has a
key of its own, and nothing that forgets a run forgets it.

The invariant: a run that placed records has the key in its log. The entry stands before the charge of every
such run, so a log without it is one from before them, and a key that was lost or changed is found as damage.
"""

from __future__ import annotations

from accord.entropy import KEY, Entropy
from accord.state.database import Database
from accord.state.register import PlacingKeyDrawn


def find_placing_key(database: Database, entropy: Entropy) -> bytes:
    """The placing key of an installation, drawn if there is none yet. Raises `DamagedError` if it is not what
    was kept."""
    with database.reading() as state:
        digest = state.register.placing_key
        if digest is not None:
            return state.content(digest, "the placing key")
    with database.writing() as state:
        # Another process may have drawn it meanwhile.
        digest = state.register.placing_key
        if digest is None:
            digest = state.keep(entropy.bytes(KEY))
            state.add(PlacingKeyDrawn(digest))
        return state.content(digest, "the placing key")
