"""Encapsulation with given messages: what the standard says, for keys that the library made and opens."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

from accord.secure.transfer.base_kem import CIPHERTEXT
from tests.secure.transfer.encapsulation import encapsulate

ACCUMULATED = {
    100: "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
    10_000: "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc",
}
"""Of the tests of Go's crypto/mlkem: a hash over keys, ciphertexts and secrets from so many seeds."""


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_published_vectors_of_keys_ciphertexts_and_secrets(count: int) -> None:
    size = 64 + 32 + CIPHERTEXT
    stream, total = hashlib.shake_128().digest(count * size), hashlib.shake_128()
    drawn = [stream[at : at + size] for at in range(0, len(stream), size)]
    pairs = [MLKEM768PrivateKey.from_seed_bytes(one[:64]) for one in drawn]
    keys = [pair.public_key().public_bytes_raw() for pair in pairs]
    made = encapsulate(keys, [one[64:96] for one in drawn])
    for one, pair, key, (secret, ciphertext) in zip(drawn, pairs, keys, made, strict=True):
        assert pair.decapsulate(ciphertext) == secret
        total.update(key + ciphertext + secret + pair.decapsulate(one[96:]))
    assert total.hexdigest(32) == ACCUMULATED[count]


def test_a_vector_of_the_standards_authors() -> None:
    vector = json.loads((Path(__file__).parent / "mlkem768.json").read_text())
    key, message, ciphertext, secret = (bytes.fromhex(vector[name]) for name in ("ek", "m", "c", "k"))
    assert encapsulate([key], [message]) == [(secret, ciphertext)]
