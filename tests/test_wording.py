"""Numbers with their nouns, and suggestions for typing errors."""

from __future__ import annotations

from accord.wording import counted, did_you_mean, lasting, nearest, sized, tell_kept


def test_one_is_one() -> None:
    assert [counted(n, "run") for n in (0, 1, 2, 1_000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert [counted(n, "match", "matches") for n in (1, 2)] == ["1 match", "2 matches"]


def test_bytes_are_in_units_that_can_be_read() -> None:
    told = [sized(octets) for octets in (1, 999, 12_700, 94 * 10**6, 8_123_000_000, 2 * 10**15)]
    assert told == ["1 byte", "999 bytes", "12.7 kB", "94.0 MB", "8.1 GB", "2,000.0 TB"]


def test_times_are_in_units_that_can_be_read() -> None:
    seconds = (0, 0.004, 0.5, 7.25, 59.4, 59.6, 130, 3_599.6, 7_260, 86_400, 950_400)
    assert [lasting(one) for one in seconds] == [
        *("0 s", "0 s", "0.5 s", "7.2 s", "59 s", "1 min", "2 min 10 s", "1 h", "2 h 1 min"),
        *("1 day", "11 days"),
    ]


def test_what_was_dropped_is_said() -> None:
    assert tell_kept(1_234, None) == "1,234"
    assert tell_kept(1_234, 5_678) == "1,234 kept one to one of 5,678 found"


def test_the_nearest_name_is_never_the_given_one() -> None:
    assert nearest("delimeter", ["delimiter", "id"]) == "delimiter"
    assert nearest("A", ["A", "B"]) is None
    assert nearest("zzz", ["delimiter"]) is None
    assert did_you_mean("ids", ["id"]) == "Did you mean 'id'?"
    assert did_you_mean("id", ["id", "ids"], "Remove it.") == "Remove it."
