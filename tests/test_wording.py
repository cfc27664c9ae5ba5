"""Numbers with their nouns."""

from __future__ import annotations

from accord.wording import counted, tell_kept


def test_one_is_one() -> None:
    assert [counted(n, "run") for n in (0, 1, 2, 1_000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert [counted(n, "match", "matches") for n in (1, 2)] == ["1 match", "2 matches"]


def test_what_was_dropped_is_said() -> None:
    assert tell_kept(1_234, None) == "1,234"
    assert tell_kept(1_234, 5_678) == "1,234 kept one to one of 5,678 found"
