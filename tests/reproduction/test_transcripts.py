"""Nothing that travels or is charged changes unnoticed, of what the laboratory plugs in."""

from __future__ import annotations

import json

import pytest

from tests.reproduction.transcripts import RECORDED, cases

_CASES = cases()
_RECORDED = json.loads(RECORDED.read_text())


def test_every_transcript_is_recorded() -> None:
    assert set(_RECORDED) == set(_CASES)


@pytest.mark.parametrize("name", _CASES)
def test_a_transcript_is_what_it_was(name: str) -> None:
    assert json.loads(json.dumps(_CASES[name]())) == _RECORDED[name]
