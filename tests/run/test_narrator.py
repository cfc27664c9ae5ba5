"""A run in words: every notice has some, and how far it is is told now and then."""

from __future__ import annotations

import pytest

import accord
from accord.notices import (
    _KINDS,
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
)
from accord.run.narrator import Narrator

TOLD: list[tuple[Notice, str]] = [
    (Reading(300_000), "Read 300,000 rows so far."),
    (Reading(400_000, done=True), "Read 400,000 rows."),
    (Listening("bob", 7000), "Waiting for bob at port 7000."),
    (Waiting("bob", "host", 7000, "refused"), "Waiting for bob to listen at host, port 7000: refused."),
    (
        Dropped("bob", "host", "no card", 2),
        "Dropped a caller from host: no card. Still waiting for bob; 2 dropped so far.",
    ),
    (Connected("bob"), "Connected to bob; both cards are right."),
    (
        Mended("64b0", 3),
        "The journal of run 64b0 ended in an answer that was cut while it was written, which never counted: "
        "step 3 is done again.",
    ),
    (Charged("64b0", 1.6, 0), "Run 64b0."),
    (
        Progress(50, 200, 1, 7_400_000, 3.0, 9.0),
        "Comparing: 25%, 1 comparison matched, 7.4 MB, at most about 9 s left.",
    ),
    (Progress(0, 0, 0, 0, 0.0, None), "Comparing: 100%, 0 comparisons matched, 0 bytes."),
    (
        Done("64b0", 1, 200, 5_000, 4.25, 1.6, 0, 1.6, 0),
        "200 comparisons, 5.0 kB, 4.2 s. Receipt of run 64b0 is kept.",
    ),
]


def test_every_notice_has_words() -> None:
    lines: list[str] = []
    for notice, _ in TOLD:
        Narrator(lines.append, lambda: 0.0).tell(notice)
    assert lines == [words for _, words in TOLD]
    assert {type(notice) for notice, _ in TOLD} == set(_KINDS)


def test_how_far_it_is_is_told_now_and_then() -> None:
    lines: list[str] = []
    now = 0.0
    narrator = Narrator(lines.append, lambda: now)
    for second in range(60):
        now = second / 2
        narrator.tell(Progress(second, 60, 0, 0, now, None))
    assert 4 <= len(lines) <= 8
    narrator.tell(Connected("bob"))
    assert lines[-1] == "Connected to bob; both cards are right."


def test_words_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    accord.narrate()(Connected("bob"))
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "Connected to bob; both cards are right.\n")
