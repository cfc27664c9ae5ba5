"""What belongs to an installation as a whole: its identity, and the placing key.

The placing key says which records of a full key are placed in every run (protocols/parts/priorities.py). It
is drawn once, before the first run of a protocol that places records. No run, partner, account or agreement
has a key of its own, and nothing that forgets a run forgets it.
"""

from __future__ import annotations

from accord.entropy import KEY, Entropy
from accord.state.store import Store

INSTALLATION = ""
"""The owner of these parts: no run is called so."""
_PLACING, _IDENTITY = "placing key", "identity"


def find_placing_key(store: Store, entropy: Entropy) -> bytes:
    """The placing key of an installation, drawn if there is none yet. Raises `DamagedError` if it is not what
    was kept."""
    with store.writing() as state:
        found = state.content("part", INSTALLATION, _PLACING)
        if found is None:
            found = bytearray(entropy.bytes(KEY))
            state.keep("part", INSTALLATION, _PLACING, (found,))
        return bytes(found)


def read_identity(store: Store) -> bytes | None:
    """The key and the card, once they were made."""
    with store.reading() as state:
        found = state.content("part", INSTALLATION, _IDENTITY)
    return None if found is None else bytes(found)


def keep_identity(store: Store, content: bytes) -> None:
    """Keep key and card; former ones are replaced."""
    with store.writing() as state:
        state.keep("part", INSTALLATION, _IDENTITY, (content,))
