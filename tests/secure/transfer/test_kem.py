"""Encapsulation: what the standard says, for keys that the library made and opens."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.secure.transfer import kem
from accord.secure.transfer.kem import CIPHERTEXT, LENGTH, RHO, STREAM, VECTOR, Q
from tests.secure.worlds import Fixed

ACCUMULATED = {
    100: "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
    10_000: "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc",
}
"""Of the tests of Go's crypto/mlkem: a hash over keys, ciphertexts and secrets from so many seeds."""


def encapsulate(keys: list[bytes], messages: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The ciphertext and the secret of each, with its own ρ."""
    whole = np.frombuffer(bytearray(b"".join(keys)), np.uint8).reshape(len(keys), VECTOR + RHO)
    drawn = np.frombuffer(bytearray(b"".join(messages)), np.uint8).reshape(len(keys), 1, -1)
    found = kem.encapsulate(whole[:, VECTOR:], kem.unpack(whole[:, :VECTOR])[:, None], drawn)
    return [(c.tobytes(), s.tobytes()) for c, s in zip(*found, strict=True)]


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_published_vectors_of_keys_ciphertexts_and_secrets(count: int) -> None:
    size = 64 + 32 + CIPHERTEXT
    stream, total = hashlib.shake_128().digest(count * size), hashlib.shake_128()
    drawn = [stream[at : at + size] for at in range(0, len(stream), size)]
    pairs = [MLKEM768PrivateKey.from_seed_bytes(one[:64]) for one in drawn]
    keys = [pair.public_key().public_bytes_raw() for pair in pairs]
    made = encapsulate(keys, [one[64:96] for one in drawn])
    for one, pair, key, (ciphertext, secret) in zip(drawn, pairs, keys, made, strict=True):
        assert pair.decapsulate(ciphertext) == secret
        total.update(key + ciphertext + secret + pair.decapsulate(one[96:]))
    assert total.hexdigest(32) == ACCUMULATED[count]


def test_a_vector_of_the_standards_authors() -> None:
    vector = json.loads((Path(__file__).parent / "mlkem768.json").read_text())
    key, message, ciphertext, secret = (bytes.fromhex(vector[name]) for name in ("ek", "m", "c", "k"))
    assert encapsulate([key], [message]) == [(ciphertext, secret)]


def test_what_the_library_encapsulates_is_no_other_than_what_it_opens() -> None:
    """Its own encapsulation, which takes no message, agrees with its keys as ours does."""
    pair = MLKEM768PrivateKey.from_seed_bytes(Fixed("k").bytes(64))
    secret, ciphertext = pair.public_key().encapsulate()
    assert pair.decapsulate(ciphertext) == secret
    assert len(ciphertext) == CIPHERTEXT


def test_several_keys_with_one_rho_are_what_each_is_alone() -> None:
    random = np.random.default_rng(1)
    vectors = random.integers(0, Q, (3, 2, LENGTH)).astype(np.uint16)
    rhos = random.integers(0, 256, (3, RHO)).astype(np.uint8)
    messages = random.integers(0, 256, (3, 2, 32)).astype(np.uint8)
    together = kem.encapsulate(rhos, vectors, messages)
    for which in range(2):
        alone = kem.encapsulate(rhos, vectors[:, which : which + 1], messages[:, which : which + 1])
        for one, both in zip(alone, together, strict=True):
            assert (one[:, 0] == both[:, which]).all()


def plainly_encrypted(
    left: NDArray[np.int64], y: NDArray[np.int64], added: NDArray[np.int64], bits: int
) -> bytes:
    """left·y + added in `bits` bits a number, with polynomials multiplied as such; left is (3, 256), as it is
    in the domain of the NTT."""
    roots = [pow(17, 2 * int(f"{number:07b}"[::-1], 2) + 1, Q) for number in range(128)]
    powers = np.array([[pow(root, place, Q) for place in range(128)] for root in roots])
    back = np.array([[pow(root, -place, Q) * 3303 % Q for root in roots] for place in range(128)])
    total = added.copy()
    for one, other in zip(left, y, strict=True):
        plain = np.stack([back @ one[::2] % Q, back @ one[1::2] % Q], axis=1).reshape(-1)
        whole = np.convolve(plain, other)
        whole = np.append(whole, 0)
        total += whole[:256] - whole[256:]
    assert (powers @ back % Q == np.eye(128)).all()
    small = ((total % Q * (1 << bits) * 2 + Q) // (2 * Q)) % (1 << bits)
    return sum(int(value) << bits * place for place, value in enumerate(small)).to_bytes(32 * bits, "little")


@pytest.mark.parametrize("number", [0, 1, Q - 1, -1])
@pytest.mark.parametrize("noise", [0x00, 0x33, 0xCC, 0x3C, -1])
def test_the_largest_numbers_and_noise_fit(number: int, noise: int) -> None:
    random = np.random.default_rng(3)
    matrix, vector = (
        random.integers(0, Q, (of, 256)) if number < 0 else np.full((of, 256), number) for of in (9, 3)
    )
    stream = random.integers(0, 256, (7, 128)) if noise < 0 else np.full((7, 128), noise)
    message = np.full(32, 255)
    result = np.empty((1, CIPHERTEXT), np.uint8)
    kem._encrypt(
        matrix.astype(np.uint16)[None],
        vector.astype(np.uint16)[None],
        stream.astype(np.uint8)[None],
        message.astype(np.uint8)[None],
        kem._roots(),
        result,
    )
    bits = (
        np.unpackbits(stream.astype(np.uint8), axis=1, bitorder="little").astype(np.int64).reshape(7, 256, 4)
    )
    small = bits[..., 0] + bits[..., 1] - bits[..., 2] - bits[..., 3]
    rows = [*matrix.reshape(3, 3, 256), vector]
    added = [*small[3:6], small[6] + (Q + 1) // 2]
    expected = b"".join(
        plainly_encrypted(row, small[:3], more, 10 if place < 3 else 4)
        for place, (row, more) in enumerate(zip(rows, added, strict=True))
    )
    assert result.tobytes() == expected


def test_a_division_by_the_modulus_is_exact_as_far_as_it_is_used() -> None:
    tops = np.unique(np.concatenate([np.arange(1, 1 << 12), (1 << 31) // Q - np.arange(1 << 12)])) * Q
    for value in (tops - 1)[::37].tolist() + tops[::41].tolist() + [0, 1, Q - 1, (1 << 31) - 1]:
        assert kem._rest(value) == value % Q


def test_vectors_are_written_and_read() -> None:
    vectors = np.random.default_rng(5).integers(0, Q, (4, LENGTH)).astype(np.uint16)
    packed = kem.pack(vectors)
    assert packed.shape == (4, VECTOR)
    assert (kem.unpack(packed) == vectors).all()
    MLKEM768PublicKey.from_public_bytes(packed[0].tobytes() + bytes(RHO))


@pytest.mark.parametrize("place", [0, 1, 400, LENGTH - 1])
@pytest.mark.parametrize("value", [Q, 4095])
def test_a_number_that_is_not_below_the_modulus_is_refused_as_the_library_does(
    place: int, value: int
) -> None:
    vectors = np.zeros((2, LENGTH), np.uint16)
    vectors[1, place] = value
    packed = kem.pack(vectors)
    with pytest.raises(PeerError, match="not below its modulus"):
        kem.unpack(packed)
    with pytest.raises(ValueError, match="ML-KEM-768"):
        MLKEM768PublicKey.from_public_bytes(packed[1].tobytes() + bytes(RHO))


def test_numbers_are_the_first_below_the_modulus() -> None:
    streams = np.frombuffer(bytearray(Fixed("d").bytes(5 * STREAM)), np.uint8).reshape(5, STREAM)
    drawn = kem.draw_numbers(streams, LENGTH)
    for stream, found in zip(streams, drawn, strict=True):
        whole = int.from_bytes(stream[: STREAM // 3 * 3].tobytes(), "little")
        every = [whole >> 12 * place & 4095 for place in range(STREAM // 3 * 2)]
        assert found.tolist() == [value for value in every if value < Q][:LENGTH]
    with pytest.raises(RuntimeError, match="too few"):
        kem.draw_numbers(np.full((1, STREAM), 255, np.uint8), LENGTH)
    assert kem.draw_numbers(streams[:0], LENGTH).shape == (0, LENGTH)
