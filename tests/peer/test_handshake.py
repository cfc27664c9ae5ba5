"""The handshake on the in-memory pair: what fits goes on, all else ends on both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import AccordError, DifferentAgreementError, OtherRunError, PeerError, RefusedError
from accord.peer.frames import HEADER, Kind, Reason, decode_header, encode_header
from accord.peer.handshake import (
    HELLO,
    Hello,
    decode_hello,
    encode_hello,
    exchange_sizes,
    greet,
    require_same_run,
    run_name,
)
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from tests.protocols.worlds import agreement

AGREED, OTHER = agreement(), agreement(prune=7)
A = Hello(Side.A, bytes.fromhex(AGREED.digest), b"a" * 32)
B = Hello(Side.B, bytes.fromhex(AGREED.digest), b"b" * 32)
THEIRS = replace(B, digest=bytes.fromhex(OTHER.digest))


@given(st.binary(min_size=HELLO, max_size=HELLO))
def test_any_bytes_are_read_as_they_are_written_or_refused(content: bytes) -> None:
    for body in (content, encode_hello(A)[:10] + content[10:]):
        try:
            hello = decode_hello(body, "bob")
        except AccordError:
            continue
        assert encode_hello(hello) == body
    try:
        frame = decode_header(content[:HEADER])
    except PeerError:
        return
    assert encode_header(frame.kind, frame.length) == content[:HEADER]


def test_every_reason_has_words_of_its_own_and_a_frame_a_length() -> None:
    assert len({reason.words for reason in Reason}) == len(Reason)
    for length in (-1, 1 << 56):
        with pytest.raises(ValueError):
            encode_header(Kind.MESSAGE, length)


def test_both_meet_and_name_the_run_alike() -> None:
    wire = Wire()
    to_a, to_b = run_pair(greet(A, AGREED, True), greet(B, AGREED, False), wire=wire)
    assert (to_a, to_b) == (B, A)
    assert wire.messages == 2, "more than two hellos passed"
    assert run_name(A, B) == run_name(B, A)
    assert run_name(A, replace(B, nonce=b"c" * 32)) != run_name(A, B)
    assert isinstance(next(greet(A, AGREED, True)), Send), "who listens speaks first"
    assert isinstance(next(greet(A, AGREED, False)), Receive)


def test_different_agreements_exchange_nothing_but_themselves() -> None:
    wire = Wire()
    found = []
    for first in (True, False):
        # Whoever the driver runs first comes to its end first.
        with pytest.raises(DifferentAgreementError) as caught:
            run_pair(greet(A, AGREED, first), greet(THEIRS, OTHER, not first), wire=wire)
        (difference,) = caught.value.differences
        assert difference.startswith("protocol.prune")
        found.append([difference.index(value) for value in ("0", "7")])
    assert sorted(low < high for low, high in found) == [False, True], "each side names its own first"
    sizes = {len(AGREED.to_toml().encode()), len(OTHER.to_toml().encode()), 8, HELLO}
    assert set(wire.sizes[Side.A] + wire.sizes[Side.B]) <= sizes


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("theirs", [replace(THEIRS, texts=bytes(32)), replace(THEIRS, side=Side.A)])
def test_other_libraries_and_the_same_side_are_refused_before_the_agreements(
    theirs: Hello, first: bool
) -> None:
    wire = Wire()
    with pytest.raises(RefusedError):
        run_pair(greet(A, AGREED, first), greet(theirs, OTHER, not first), wire=wire)
    assert wire.messages == 2, "more than two hellos passed"


def test_an_agreement_that_cannot_be_read_or_is_too_long() -> None:
    def liar(size: int, body: bytes) -> Party[None]:
        yield Receive(HELLO)
        yield Send(encode_hello(replace(B, digest=bytes(32))))
        yield Receive(8)
        yield Send(size.to_bytes(8, "little"))
        yield Receive(len(AGREED.to_toml().encode()))
        yield Send(body)

    hostile = AGREED.to_toml().replace('"alice"', f'"{"a" * 900}"').encode()
    for body in (b"\xff\xfe", b"not toml at all", b"version = 2", AGREED.to_toml().encode(), hostile):
        with pytest.raises(DifferentAgreementError) as caught:
            run_pair(greet(A, AGREED, True), liar(len(body), body))
        assert all(len(line) < 500 for line in caught.value.differences)
    with pytest.raises(PeerError) as refused:
        run_pair(greet(A, AGREED, True), liar(1 << 40, b""))
    assert str(refused.value).startswith("bob")


@pytest.mark.parametrize(("mine", "theirs"), [("", "ab"), ("ab", ""), ("ab", "cd")])
def test_both_mean_the_same_run(mine: str, theirs: str) -> None:
    with pytest.raises(OtherRunError) as caught:
        require_same_run(replace(A, run=mine), replace(B, run=theirs), "bob")
    assert caught.value.theirs == theirs
    require_same_run(replace(A, run=mine), replace(B, run=mine), "bob")


def test_sizes_are_exchanged_and_one_that_no_table_has_is_refused() -> None:
    assert run_pair(exchange_sizes(3, "bob"), exchange_sizes(2**31 - 1, "alice")) == (2**31 - 1, 3)
    for size in (2**31, 2**62 + 1, 2**64 - 1):

        def liar(size: int = size) -> Party[None]:
            yield Send(size.to_bytes(8, "little"))
            yield Receive(8)

        with pytest.raises(RefusedError):
            run_pair(exchange_sizes(3, "bob"), liar())
