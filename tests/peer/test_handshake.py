"""The handshake on the in-memory pair: what fits goes on, all else ends with the same words on both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import AccordError, DifferentAgreementError, PeerError, RefusedError
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

AGREED = agreement()
A = Hello(Side.A, bytes.fromhex(AGREED.digest), b"a" * 32)
B = Hello(Side.B, bytes.fromhex(AGREED.digest), b"b" * 32)

hellos = st.builds(
    Hello,
    st.sampled_from(Side),
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=32, max_size=32),
    st.text("0123456789abcdef", max_size=16),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=64, max_size=64),
    st.binary(min_size=32, max_size=32),
)


@given(hellos)
def test_a_hello_is_read_as_it_was_written(hello: Hello) -> None:
    content = encode_hello(hello)
    assert len(content) == HELLO
    assert decode_hello(content, "bob") == hello


@given(st.binary(min_size=HELLO, max_size=HELLO))
def test_any_bytes_are_a_hello_or_refused(content: bytes) -> None:
    for body in (content, encode_hello(A)[:10] + content[10:]):
        try:
            hello = decode_hello(body, "bob")
        except AccordError:
            continue
        assert encode_hello(hello) == body


def test_both_meet_and_name_the_run_alike() -> None:
    wire = Wire()
    to_a, to_b = run_pair(greet(A, AGREED, True), greet(B, AGREED, False), wire)
    assert (to_a, to_b) == (B, A)
    assert wire.messages == 2, "more than two hellos passed"
    assert run_name(A, B) == run_name(B, A)
    assert run_name(A, replace(B, nonce=b"c" * 32)) != run_name(A, B)


def test_who_connects_waits_for_the_hello_of_who_listens() -> None:
    assert isinstance(next(greet(A, AGREED, True)), Send)
    assert isinstance(next(greet(A, AGREED, False)), Receive)


def test_different_agreements_exchange_nothing_but_themselves() -> None:
    other = agreement(prune=7)
    theirs = replace(B, digest=bytes.fromhex(other.digest))
    wire = Wire()
    found = []
    for first in (True, False):
        # Whoever the driver runs first comes to its end first.
        with pytest.raises(DifferentAgreementError) as caught:
            run_pair(greet(A, AGREED, first), greet(theirs, other, not first), wire)
        found.append(str(caught.value).splitlines()[-1].strip())
    assert sorted(found) == [
        "protocol.prune is 0 in ours and 7 in theirs.",
        "protocol.prune is 7 in ours and 0 in theirs.",
    ]
    sizes = {len(AGREED.to_toml().encode()), len(other.to_toml().encode()), 8, HELLO}
    assert set(wire.sizes[Side.A] + wire.sizes[Side.B]) <= sizes


def test_who_reads_texts_in_another_way_is_refused_before_the_agreements() -> None:
    other = agreement(prune=7)
    theirs = replace(B, digest=bytes.fromhex(other.digest), texts=bytes(32))
    for first in (True, False):
        wire = Wire()
        with pytest.raises(
            RefusedError, match=r"here are Python \S+ pyarrow \S+ and jellyfish \S+\. Install the same"
        ):
            run_pair(greet(A, AGREED, first), greet(theirs, other, not first), wire)
        assert wire.messages == 2, "more than two hellos passed"


def test_an_agreement_that_cannot_be_read_or_is_too_long() -> None:
    def liar(size: int, body: bytes) -> Party[None]:
        yield Receive(HELLO)
        yield Send(encode_hello(replace(B, digest=bytes(32))))
        yield Receive(8)
        yield Send(size.to_bytes(8, "little"))
        yield Receive(len(AGREED.to_toml().encode()))
        yield Send(body)

    for body in (b"\xff\xfe", b"not toml at all", b"version = 2", AGREED.to_toml().encode()):
        with pytest.raises(DifferentAgreementError):
            run_pair(greet(A, AGREED, True), liar(len(body), body))
    with pytest.raises(PeerError, match=r"bob sent something .* several megabytes"):
        run_pair(greet(A, AGREED, True), liar(1 << 40, b""))


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        ("", "ab", "resumes the run ab, but you start a new one"),
        ("ab", "", "starts a new run, but you resume ab"),
        ("ab", "cd", "resumes the run cd, but you ab"),
    ],
)
def test_both_mean_the_same_run(mine: str, theirs: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        require_same_run(replace(A, run=mine), replace(B, run=theirs), "bob")
    require_same_run(replace(A, run=mine), replace(B, run=mine), "bob")


@pytest.mark.parametrize("size", [2**31, 2**62 + 1, 2**64 - 1])
def test_a_size_that_no_table_has_is_refused(size: int) -> None:
    def liar() -> Party[None]:
        yield Send(size.to_bytes(8, "little"))
        yield Receive(8)

    with pytest.raises(RefusedError, match="more than can be linked"):
        run_pair(exchange_sizes(3, "bob"), liar())


def test_sizes() -> None:
    assert run_pair(exchange_sizes(3, "bob"), exchange_sizes(2**31 - 1, "alice")) == (2**31 - 1, 3)
