"""Certificates of workers: fixed in size, read again, and refused if they hold anything else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accord.errors import PeerError
from accord.peer.identity import draw_identity
from accord.secure.party import run_pair
from accord.workers.certificates import (
    CERTIFICATE,
    WorkerCertificate,
    decode_certificate,
    encode_certificate,
    exchange_certificates,
)


def certificate(name: str) -> WorkerCertificate:
    return WorkerCertificate(draw_identity(name, datetime.now(UTC))[1].der, name.encode().ljust(32, b"."))


def test_both_sides_know_the_others_workers() -> None:
    sides = [[certificate(f"{side}{number}") for number in range(3)] for side in "AB"]
    assert run_pair(exchange_certificates(sides[0]), exchange_certificates(sides[1])) == (sides[1], sides[0])
    assert {len(encode_certificate(one)) for side in sides for one in side} == {CERTIFICATE}


def test_what_is_no_certificate_is_refused() -> None:
    good = encode_certificate(certificate("worker"))
    assert encode_certificate(decode_certificate(good)) == good
    for wrong in (
        bytes(CERTIFICATE),
        b"\xff\xff" + good[2:],
        good[:900] + b"\1" + good[901:],
        b"\1\0" + good[2:],
    ):
        with pytest.raises(PeerError, match="certificate of a worker"):
            decode_certificate(wrong)


def test_a_token_is_not_shown() -> None:
    assert "worker....." not in repr(certificate("worker"))
