"""Paillier's encryption: right, fresh, and wary of what a peer sends."""

from __future__ import annotations

from typing import Any

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import PeerError
from reproduction.engines import encryption as paillier
from reproduction.engines.encryption import BITS, PublicKey, key_from_wire, new_key
from tests.secure.worlds import Fixed

KEY = new_key(256, Fixed("key"))
PUBLIC = PublicKey(KEY.n, KEY.bits)


@given(st.lists(st.integers(-(1 << 300), 1 << 300), max_size=5), st.booleans())
def test_what_is_encrypted_is_decrypted_mod_n(values: list[int], owner: bool) -> None:
    sent = (KEY if owner else PUBLIC).encrypt(values, Fixed("x"))
    assert KEY.decrypt(sent) == [value % KEY.n for value in values]


@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(-(1 << 20), 1 << 20)), max_size=6))
def test_a_combination_of_ciphertexts_is_one_of_plaintexts(terms: list[tuple[int, int]]) -> None:
    sent = KEY.encrypt([value for value, _ in terms], Fixed("x"))
    rows = [[multiplier for _, multiplier in terms], [0] * len(terms)]
    combined = PUBLIC.combine(sent, rows, 21)
    assert KEY.decrypt(combined) == [sum(value * by for value, by in terms) % KEY.n, 0]


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_multipliers_up_to_their_width(width: int) -> None:
    most = (1 << width) - 1
    sent = KEY.encrypt([5, 7], Fixed("x"))
    rows = [[x, y] for x in {-most, -1, 0, 1, most} for y in (-most, most)]
    assert KEY.decrypt(PUBLIC.combine(sent, rows, width)) == [(5 * x + 7 * y) % KEY.n for x, y in rows]


def test_every_multiplier_takes_the_same_multiplications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros, ones, signs and sizes show neither in their number nor in the lengths of what is multiplied."""
    seen: list[int] = []
    true = paillier._times

    def watched(total: Any, factors: list[Any], modulus: Any) -> Any:
        seen.extend(int(factor).bit_length() for factor in factors)
        return true(total, factors, modulus)

    monkeypatch.setattr(paillier, "_times", watched)
    sent = KEY.encrypt([1, 2, 3], Fixed("x"))
    PUBLIC.combine(sent, [[0, 0, 0], [1, -1, 1], [-15, 15, 7]], 4)
    assert len(seen) == 3 * 3 * 3
    assert min(seen) > 2 * PUBLIC.bits - 20


def test_the_owners_masks_are_the_public_ones_and_hide_zero() -> None:
    """The shortcut through p and q gives the very numbers, from the same randomness."""
    assert KEY.masks(5, Fixed("m")) == PUBLIC.masks(5, Fixed("m"))
    assert KEY.decrypt(PUBLIC.masks(5, Fixed("m"))) == [0] * 5
    assert len(set(PUBLIC.encrypt([7] * 20, Fixed("m")))) == 20


def test_a_key_has_two_different_primes_and_the_agreed_length() -> None:
    for bits in (256, 512):
        key = new_key(bits, Fixed("k"))
        assert key.n == key.p * key.q
        assert key.p != key.q
        assert key.n.bit_length() == bits
        assert all(gmpy2.is_prime(p) for p in (key.p, key.q))
    assert new_key(256, Fixed("other")).n != KEY.n
    assert BITS >= 2048


def test_ciphertexts_travel_in_whole_bytes_and_bad_ones_are_refused() -> None:
    sent = KEY.encrypt([1, 2, 3], Fixed("x"))
    data = PUBLIC.to_wire(sent)
    assert len(data) == 3 * PUBLIC.size == 3 * 64
    assert PUBLIC.from_wire(data) == sent
    for bad in (bytes(64), b"\xff" * 64, int(KEY.square).to_bytes(64, "little")):
        with pytest.raises(PeerError, match="outside"):
            PUBLIC.from_wire(data + bad)
    with pytest.raises(PeerError, match="no inverse"):
        PUBLIC.combine([KEY.n], [[-1]], 1)


def test_a_key_of_another_length_is_refused() -> None:
    data = int(KEY.n).to_bytes(32, "little")
    assert key_from_wire(data, 256).n == KEY.n
    for bad in (bytes(32), b"\xfe" + b"\xff" * 31, b"\xff" * 31 + b"\x7f"):
        with pytest.raises(PeerError, match="256 bits"):
            key_from_wire(bad, 256)
