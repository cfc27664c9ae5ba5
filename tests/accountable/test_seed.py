"""Seeds: what follows from them, that they show themselves to nobody, and pledges."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.accountable.seed import (
    PLEDGE,
    Seed,
    decode_pledge,
    decode_seed,
    draw_seed,
    encode_pledge,
    encode_seed,
    exchange_pledges,
    require_pledge,
)
from accord.entropy import System
from accord.errors import PeerError
from accord.secure.party import run_pair
from accord.side import Side
from tests.run import faults
from tests.run.faults import card

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


def test_pledges_are_exchanged_and_signed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    cards = {side: card(office) for side, office in both.items()}
    made = {side: SEED.commitments(side, b"table") for side in Side}

    def pledge(side: Side, digest: str = DIGEST):  # type: ignore[no-untyped-def]
        return exchange_pledges(both[side].state, side, cards, RUN, digest, made[side])

    a, b = run_pair(pledge(Side.A), pledge(Side.B))
    assert a == b
    assert {side: found.commitments for side, found in a.items()} == made
    assert len(encode_pledge(a[Side.A])) == PLEDGE
    assert decode_pledge(encode_pledge(a[Side.A])) == a[Side.A]
    with pytest.raises(ValueError, match="not a pledge"):
        decode_pledge(bytes(PLEDGE + 1))
    for wrong in (("f" * 16, DIGEST, Side.A), (RUN, "11" * 32, Side.A), (RUN, DIGEST, Side.B)):
        with pytest.raises(ValueError, match="does not fit"):
            require_pledge(a[Side.A], cards[Side.A], *wrong)
    with pytest.raises(PeerError, match="did not sign"):
        run_pair(pledge(Side.A), pledge(Side.B, "11" * 32))
