"""Seeds: what follows from them, and that they show themselves to nobody."""

from __future__ import annotations

import pytest

from accord.accountable.seed import Seed, decode_seed, draw_seed, encode_seed
from accord.entropy import System
from accord.side import Side

SEED = Seed(bytes(range(96)))
RUN, DIGEST = "0123456789abcdef", "00" * 32


def test_it_shows_itself_to_nobody() -> None:
    assert repr(SEED) == str(SEED) == "Seed()"
    with pytest.raises(TypeError):
        bool(SEED)
    with pytest.raises(TypeError):
        _ = SEED == SEED
    with pytest.raises(TypeError):
        hash(SEED)
    with pytest.raises(AttributeError):
        SEED.other = 1  # type: ignore[attr-defined]


def test_a_file_has_it_whole_or_is_refused() -> None:
    content = encode_seed(SEED)
    assert decode_seed(content).reveal() == SEED.reveal()
    for wrong in (content[:-1], content + b"\0", content[1:], b""):
        with pytest.raises(ValueError, match="not a seed"):
            decode_seed(wrong)


def test_every_connection_and_every_attempt_has_a_key_of_its_own() -> None:
    nonces = [bytes(64), bytes(63) + b"\1"]
    keys = {SEED.connection(n, attempt, nonce) for n in range(3) for attempt in (1, 2) for nonce in nonces}
    assert len(keys) == 12
    assert SEED.slots().bytes(32) not in keys
    assert SEED.slots().bytes(32) == SEED.slots().bytes(32)


def test_commitments_are_salted_and_name_their_side() -> None:
    """The same seed and the same table under other salts, or on the other side, have others."""
    table = b"digest of a table"
    made = SEED.commitments(Side.A, table)
    salted = Seed(SEED.reveal()[:32] + bytes(64)).commitments(Side.A, table)
    for part in (slice(0, 32), slice(32, 64)):
        assert made[part] != salted[part]
        assert made[part] != SEED.commitments(Side.B, table)[part]
    assert made[:32] != SEED.commitments(Side.A, b"another")[:32]
    assert made[32:] == SEED.commitments(Side.A, b"another")[32:]
    assert len({draw_seed(System()).reveal() for _ in range(4)}) == 4
