"""Notices: the lines that `--json` promises, and every line that is written is read again, and no other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.notices import (
    Charged,
    Connected,
    Done,
    Dropped,
    Listening,
    Mended,
    Notice,
    Progress,
    Reading,
    Waiting,
    decode_notice,
    encode_notice,
)

LINES: list[tuple[Notice, str]] = [
    (Reading(300_000), '{"event": "reading", "rows": 300000, "done": false}'),
    (Listening("Bäcker", 7000), '{"event": "listening", "partner": "Bäcker", "port": 7000}'),
    (
        Waiting("bob", "example.org", 7000, "connection refused"),
        '{"event": "waiting", "partner": "bob", "host": "example.org", "port": 7000, '
        '"reason": "connection refused"}',
    ),
    (
        Dropped("bob", "192.0.2.7", "it showed no card", 3),
        '{"event": "dropped", "partner": "bob", "host": "192.0.2.7", "reason": "it showed no card", '
        '"dropped": 3}',
    ),
    (Mended("0123", 7), '{"event": "mended", "run": "0123", "step": 7}'),
    (Connected("bob"), '{"event": "connected", "partner": "bob"}'),
    (
        Charged("0123", 1.6, 9e-13),
        '{"event": "charged", "run": "0123", "charged_epsilon": 1.6, "charged_delta": 9e-13, "unless": ""}',
    ),
    (
        Charged("0123", None, None),
        '{"event": "charged", "run": "0123", "charged_epsilon": null, "charged_delta": null, "unless": ""}',
    ),
    (
        Progress(0, 100, 0, 64, 0.5, None),
        '{"event": "progress", "comparisons": 0, "most_comparisons": 100, "matches": 0, "bytes": 64, '
        '"seconds": 0.5, "seconds_left": null, "rates": []}',
    ),
    (
        Done("0123", 7, 100, 4096, 1.25, 1.6, 9e-13, 0.0, 0.0),
        '{"event": "done", "run": "0123", "matches": 7, "comparisons": 100, "bytes": 4096, "seconds": 1.25, '
        '"epsilon": 1.6, "delta": 9e-13, "charged_epsilon": 0.0, "charged_delta": 0.0, "unless": "", '
        '"matches_found": null, "peak_mib": [], "answer": null}',
    ),
]


@pytest.mark.parametrize(
    ("notice", "line"), LINES, ids=[f"{n}-{notice.event}" for n, (notice, _) in enumerate(LINES)]
)
def test_the_lines_that_scripts_read(notice: Notice, line: str) -> None:
    assert encode_notice(notice) == line
    assert decode_notice(line + "\n") == notice


@given(st.one_of([st.from_type(type(notice)) for notice, _ in LINES]))
def test_every_notice_is_read_again(notice: Notice) -> None:
    line = encode_notice(notice)
    assert "\n" not in line
    # NaN is no number of a run; it is written all the same, and is not equal to itself.
    assert encode_notice(decode_notice(line)) == line


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


@pytest.mark.parametrize("notice", [notice for notice, _ in LINES])
def test_a_line_without_one_of_its_facts_is_refused(notice: Notice) -> None:
    facts = json.loads(encode_notice(notice))
    for name in facts:
        with pytest.raises(ValueError):
            decode_notice(json.dumps({key: value for key, value in facts.items() if key != name}))
