"""Where two sides of a series stand: 512 bytes that are read as they were written, and what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import AccordError, PeerError, RefusedError
from accord.peer.handshake_series import (
    Opening,
    counts_digest,
    decode_opening,
    encode_opening,
    exchange_openings,
)
from accord.secure.party import Receive, Send
from accord.side import Side

COUNTS = counts_digest(np.array([3, 4]), np.array([5]))
OPENING = Opening("monthly", 3, (2, 2), 3, COUNTS, heard=2)
names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=100)


@given(names, st.integers(1, 99), st.integers(0, 99), st.integers(1, 99))
def test_an_opening_is_read_as_it_was_written(name: str, run: int, seen: int, total: int) -> None:
    own = Opening(name, run, (seen, seen + 1), total, COUNTS)
    written = encode_opening(own)
    assert len(written) == 512
    assert decode_opening(written) == own


def test_it_stands_as_the_page_says() -> None:
    written = encode_opening(OPENING)
    assert written[:8] == b"series 1"
    assert written[8:408].rstrip(b"\0") == b"monthly"
    assert struct.unpack_from("<QQQQ", written, 408) == (3, 2, 2, 3)
    assert written[440:472] == COUNTS
    assert struct.unpack_from("<Q", written, 472) == (2,)
    assert not any(written[480:])


@pytest.mark.parametrize("at", [0, 8, 480, 511])
def test_other_bytes_are_refused(at: int) -> None:
    wrong = bytearray(encode_opening(OPENING))
    wrong[at] = 0xFF
    with pytest.raises(PeerError, match="no opening of a series"):
        decode_opening(bytes(wrong))


def test_the_digest_tells_counts_and_sides_apart() -> None:
    some = [
        (np.array([3]), np.array([4])),
        (np.array([4]), np.array([3])),
        (np.array([3, 4]), np.array([0])[:0]),
    ]
    assert len({counts_digest(*both) for both in some}) == 3


def meet(**changes: Any) -> int:
    """A hears where B stands; how many batches B has."""
    party = exchange_openings(replace(OPENING, drawn=2), Side.A, "bob")
    assert isinstance(next(party), Send)
    assert isinstance(next(party), Receive)
    try:
        party.send(encode_opening(replace(OPENING, **changes)))
    except StopIteration as end:
        return int(end.value)
    raise AssertionError("it waits for more")


def test_two_that_stand_at_the_same_place_go_on() -> None:
    assert meet(total=5, name="MONTHLY") == 5


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"name": "yearly"}, RefusedError, "bob calls the series 'yearly', and you 'monthly'"),
        ({"run": 2}, RefusedError, "bob is at run 2 of the series 'monthly', and you are at run 3"),
        ({"run": 4}, RefusedError, "Otherwise you lost a run that bob kept"),
        ({"counts": bytes(32)}, RefusedError, "bob remembers other bin counts"),
        ({"seen": (1, 2)}, RefusedError, "bob remembers other bin counts"),
        ({"total": 2}, PeerError, "a number of batches that does not fit"),
        ({"total": 10**6}, PeerError, "a number of batches that does not fit"),
    ],
)
def test_two_that_do_not_are_told(changes: dict[str, Any], error: type[AccordError], told: str) -> None:
    with pytest.raises(error, match=told):
        meet(**changes)


def test_who_restored_an_older_copy_does_not_draw_again() -> None:
    """The partner has had counts, in a run that was cut, of a batch that this state has never drawn."""
    with pytest.raises(RefusedError, match="an older copy, and would draw noise again"):
        meet(heard=3)
