"""Noise as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from accord.state.noise import decode_noise, encode_noise


@pytest.mark.parametrize("noise", [[], [0], [1, 2, 3], [2**32 - 1]])
def test_stored_noise_reads_back(noise: list[int]) -> None:
    data = encode_noise(np.array(noise, dtype=np.int64))
    assert decode_noise(data).tolist() == noise
    for wrong in (
        data + b"\0",
        data[:-1],
        b"",
        data.replace(b"v1", b"v2"),
        b"accord noise v1\0" + b"\xff" * 8,
    ):
        with pytest.raises(ValueError, match="version 1"):
            decode_noise(wrong)


def test_noise_that_does_not_fit_is_not_stored() -> None:
    for wrong in (np.array([2**32]), np.array([-1]), np.array([[1]])):
        with pytest.raises(ValueError, match="noise is"):
            encode_noise(wrong)
