"""Frames: every header that is written is read again, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import PeerError
from accord.peer.frames import HEADER, Frame, Kind, Reason, decode_header, decode_reason, encode_header


@given(st.integers(0, (1 << 56) - 1))
def test_a_message_of_any_length(length: int) -> None:
    header = encode_header(Kind.MESSAGE, length)
    assert len(header) == HEADER
    assert decode_header(header) == Frame(Kind.MESSAGE, length)


@given(st.binary(min_size=HEADER, max_size=HEADER))
def test_any_eight_bytes_are_a_frame_or_refused(header: bytes) -> None:
    try:
        frame = decode_header(header)
    except PeerError:
        return
    assert encode_header(frame.kind, frame.length) == header


@pytest.mark.parametrize(("kind", "length"), [(Kind.PING, 1), (Kind.STOP, 0), (Kind.STOP, 2)])
def test_pings_and_stops_have_one_length(kind: Kind, length: int) -> None:
    with pytest.raises(PeerError, match="wrong length"):
        decode_header(encode_header(kind, length))


def test_lengths_that_no_frame_has() -> None:
    for length in (-1, 1 << 56):
        with pytest.raises(ValueError):
            encode_header(Kind.MESSAGE, length)


def test_reasons_are_a_closed_list_of_words() -> None:
    for reason in Reason:
        assert decode_reason(bytes([reason])) is reason
        assert reason.words
    with pytest.raises(PeerError, match="unknown reason"):
        decode_reason(b"\xff")
