"""The seed of an accountable run: all that a side draws for the protocol follows from it.

    slots        the order of the slots and the salts of their commitments      drawn once a run
    connection   masks, scalars, keys, of one connection in one attempt         a key of its own for each

A connection's key is HMAC-SHA256 under the seed of which connection it is, the number of the attempt, and the
nonces of both hellos. The own nonce is the system's, so a run that is cut, or whose folder was restored from
an old copy, never draws the same masks twice. Not from the seed: TLS, nonces and times; and the noise, which
the ledger may keep for many runs and which the opened counts fix together with the table.

A side is committed to its table and to its seed (pledge.py): both commitments are SHA-256 under salts of 32
bytes, so that neither tells anything of what it fixes. The seed is as secret as the table: whoever has it and
saw the messages reads the inputs. It stands in the database, with the run, and goes to nobody; a worker gets
the key of its own connection.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NoReturn

from accord.entropy import Derived, Entropy
from accord.side import Side

_FILE = b"accord seed 1\n"
_SLOTS = b"accord seed slots 1\n"
_CONNECTION = b"accord seed connection 1\n"
_SEED_TAG = b"accord commit seed 1\n"
_TABLE_TAG = b"accord commit table 1\n"
_PART = 32


class Seed:
    """A seed with the salts of its commitments. It shows itself to nobody: `reveal` alone opens it."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        if len(content) != 3 * _PART:
            raise ValueError("not a seed")
        self._content = content

    def __repr__(self) -> str:
        return "Seed()"

    def __bool__(self) -> NoReturn:
        raise TypeError("a seed is neither true nor false")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("seeds are not compared; their commitments are")

    __hash__ = None  # type: ignore[assignment]

    def reveal(self) -> bytes:
        """The secret bytes: for the file in the run's folder, and for nothing else."""
        return self._content

    @property
    def _key(self) -> bytes:
        return self._content[:_PART]

    def slots(self) -> Derived:
        """What the slots are drawn from."""
        return Derived(hmac.digest(self._key, _SLOTS, "sha256"))

    def connection(self, number: int, attempt: int, nonces: bytes) -> bytes:
        """The key of one connection: 0 is the coordinators', the others are those of workers 1, 2, …"""
        which = number.to_bytes(4, "little") + attempt.to_bytes(8, "little")
        return hmac.digest(self._key, _CONNECTION + which + nonces, "sha256")

    def commitments(self, side: Side, table: bytes) -> bytes:
        """To a table with this digest, and to the seed: 64 bytes."""
        to_table, to_seed = self._content[_PART : 2 * _PART], self._content[2 * _PART :]
        of = side.value.encode()
        return (
            hashlib.sha256(_TABLE_TAG + of + to_table + table).digest()
            + hashlib.sha256(_SEED_TAG + of + to_seed + self._key).digest()
        )


def draw_seed(entropy: Entropy) -> Seed:
    """A fresh seed. *Requires*: entropy of the system."""
    return Seed(entropy.bytes(3 * _PART))


def encode_seed(seed: Seed) -> bytes:
    """The seed as a file."""
    return _FILE + seed.reveal()


def decode_seed(content: bytes) -> Seed:
    """The seed in these bytes; raises ValueError unless `encode_seed` wrote them."""
    if not content.startswith(_FILE):
        raise ValueError("not a seed")
    return Seed(content[len(_FILE) :])
