"""Notices: the lines that `--json` promises, and every line that is written is read again, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.notices import Charged, Done, Listening, Notice, Progress, Waiting, decode_notice, encode_notice

LINES = (Path(__file__).parent / "notices.jsonl").read_text().splitlines()
"""As scripts read them."""
NOTICES = [decode_notice(line) for line in LINES]


def test_the_lines_that_scripts_read() -> None:
    assert [encode_notice(notice) for notice in NOTICES] == LINES
    for notice in (
        Listening("Bäcker", 7000),
        Waiting("bob", "example.org", 7000, "connection refused"),
        Charged("0123", None, None),
        Progress(0, 100, 0, 64, 0.5, None),
        Done("0123", 7, 100, 4096, 1.25, 1.6, 9e-13, 0.0, 0.0),
    ):
        assert notice in NOTICES


@given(st.one_of([st.from_type(type(notice)) for notice in NOTICES]))
def test_every_notice_is_read_again(notice: Notice) -> None:
    line = encode_notice(notice)
    assert "\n" not in line
    # NaN is no number of a run; it is written all the same, and is not equal to itself.
    assert encode_notice(decode_notice(line + "\n")) == line


@pytest.mark.parametrize(
    "line",
    [
        *("", "no JSON", "[]", "7", "null", "{}", '"connected"'),
        *('{"partner": "bob"}', '{"event": "gone"}', '{"event": ["connected"], "partner": "bob"}'),
        *('{"event": "connected"}', '{"event": "connected", "partner": 7}'),
        '{"event": "connected", "partner": "bob", "port": 7000}',
        '{"event": "listening", "partner": "bob", "port": "7000"}',
    ],
)
def test_what_is_no_notice_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decode_notice(line)


def test_a_line_without_one_of_its_facts_is_refused() -> None:
    for line in LINES:
        facts = json.loads(line)
        for name in facts:
            with pytest.raises(ValueError):
                decode_notice(json.dumps({key: value for key, value in facts.items() if key != name}))
