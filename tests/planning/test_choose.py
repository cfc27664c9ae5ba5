"""The cheapest that meets every wish; the nearest where none does; warnings with stable codes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accord.datasets.starter import starter
from accord.planning.choose import Wanted, choose, explain, misses, warn
from accord.planning.figures import Option, Range, TimeSpent
from accord.side import Side

AGREED = starter("products")


def option(**changes: object) -> Option:
    known: dict[str, object] = {
        "agreement": AGREED, "agreed": False, "protocol": "laplace", "blocking": "day", "greedy": False,
        "all_pairs": False, "epsilon": {side: 1.6 for side in Side}, "delta": {side: 1e-12 for side in Side},
        "recall": 1.0, "bins": 100, "dummies": Range(1, 1, 1), "comparisons": Range(9e5, 1e6, 2e6),
        "bytes": Range(1e7, 1e7, 1e7), "rounds": Range(9, 9, 9), "memory": Range(1, 1, 1),
        "seconds": Range(9, 10, 11), "work": TimeSpent(10, 1, 1),
    }  # fmt: skip
    return Option(**known | changes)  # type: ignore[arg-type]


def every_pair(seconds: float) -> Option:
    none: dict[Side, float | None] = {side: 0.0 for side in Side}
    cheap = Range(seconds, seconds, seconds)
    return option(
        protocol="all-pairs", blocking="", bins=0, all_pairs=True, epsilon=none, delta=none, seconds=cheap
    )


def codes(*options: Option, sizes: tuple[int, int] = (1000, 1000)) -> list[str]:
    return [one.code for one in warn(options, sizes)]


def test_the_cheapest_that_meets_the_wish_is_chosen() -> None:
    agreed, lossy = option(agreed=True), option(recall=0.9, seconds=Range(1, 1, 1))
    dear, high = every_pair(60), option(epsilon={side: 9.0 for side in Side}, seconds=Range(2, 2, 2))
    every = [agreed, lossy, dear, high]
    assert choose(every, Wanted(max_epsilon=1.6)) == (agreed, [])
    assert choose(every, Wanted(recall=0.85, max_epsilon=1.6)) == (lossy, [])
    assert choose(every, Wanted(max_epsilon=0)) == (dear, [])
    assert choose(every, Wanted()) == (high, [])
    assert choose(every, Wanted(max_epsilon=1.6, max_time=20, max_bytes=2e7))[0] is agreed


def test_what_cannot_be_met_is_said_with_the_nearest_that_can() -> None:
    every = [option(agreed=True), every_pair(60)]
    wish = Wanted(max_epsilon=1.6, max_time=5)
    nearest, missed = choose(every, wish)
    assert nearest is every[0]
    assert [miss.name for miss in missed] == ["max-time"]
    why = explain(every, nearest, missed, wish)
    assert why.startswith(
        "No option meets everything that is wanted. The nearest is laplace, day (ε = 1.6): it takes 10"
    )
    assert "at most 5 s is wanted" in why


def test_numbers_that_look_alike_are_told_in_full() -> None:
    agreed, other = option(agreed=True), option(bytes=Range(1e7, 1e7 - 2, 1e7), seconds=Range(20, 20, 20))
    wish = Wanted(max_epsilon=1.6, max_bytes=1e7 - 1)
    choice, missed = choose([agreed, other], wish)
    assert (choice, missed) == (other, [])
    why = explain([agreed, other], choice, missed, wish)
    assert "it sends 10,000,000 bytes, but at most 9,999,999 bytes is wanted" in why


def test_what_the_choice_misses_too_is_no_reason_against_the_agreement() -> None:
    every = [option(agreed=True), option(seconds=Range(9, 9, 9))]
    wish = Wanted(max_epsilon=1.6, max_bytes=1000)
    choice, missed = choose(every, wish)
    assert choice is every[1]
    why = explain(every, choice, missed, wish)
    assert why.count("it sends") == 1
    assert "1.1 times as long" in why


def test_no_promise_is_traded_for_time_and_no_recall_for_a_little_of_it() -> None:
    loose = option(epsilon={side: 10.0 for side in Side}, seconds=Range(1, 1, 1))
    blind = option(recall=0.002, seconds=Range(8, 8, 8), bytes=Range(9e6, 9e6, 9e6))
    every = [option(agreed=True), loose, blind]
    assert choose(every, Wanted(max_epsilon=1.6, max_time=0.001))[0] is every[0]
    assert choose(every, Wanted(max_epsilon=1.6, max_bytes=1000))[0] is every[0]


def test_a_recall_that_nobody_knows_meets_no_wish_for_it() -> None:
    unknown = option(recall=None)
    assert [miss.name for miss in misses(unknown, Wanted())] == ["recall"]
    assert misses(unknown, Wanted(recall=0)) == []


def test_the_paragraph_says_what_was_rejected_and_why() -> None:
    every = [
        option(agreed=True, seconds=Range(99, 99, 99)),
        option(),
        option(recall=0.5, seconds=Range(1, 1, 1)),
    ]
    choice, missed = choose(every, Wanted(max_epsilon=1.6))
    why = explain(every, choice, missed, Wanted(max_epsilon=1.6))
    assert "9.9 times as long" in why
    assert "rejected because it finds 50.0% of the matches, but 100.0% are wanted" in why


def test_the_choice_is_the_cheapest_only_of_those_that_meet_the_wish() -> None:
    alone = [option(agreed=True)]
    assert "is the only option that was priced, and meets" in explain(alone, alone[0], [], Wanted())
    every = [option(agreed=True, recall=0.9), every_pair(60)]
    why = explain(every, every[1], [], Wanted())
    assert why.startswith("Of the 2 options that were priced, all-pairs (ε = 0) is the cheapest that meets ")


def test_warnings_have_stable_codes() -> None:
    fine = option(agreed=True)
    assert codes(fine, every_pair(60)) == []
    assert codes(fine, every_pair(5)) == ["all-pairs-is-cheaper"]
    assert codes(fine, option(bins=9, seconds=Range(1, 1, 1))) == ["too-many-bins"]
    assert codes(fine, option(bins=900, seconds=Range(1, 1, 1))) == ["too-few-bins"]
    assert codes(replace(fine, epsilon={side: 4.0 for side in Side})) == ["epsilon-high"]
    assert codes(replace(fine, epsilon={side: 12.0 for side in Side})) == ["epsilon-high"]
    assert codes(replace(fine, delta={side: 0.01 for side in Side})) == ["delta-above-one-over-n"]
    assert codes(replace(fine, recall=None)) == ["recall-unknown"]
    assert codes(replace(fine, work=TimeSpent(10, 50, 1))) == ["network-bound"]
    assert codes(replace(fine, work=TimeSpent(10, 13, 1))) == [], "both take the time"
    assert codes(replace(fine, work=TimeSpent(0.1, 2, 1))) == [], "nobody minds"


def test_all_pairs_comes_before_all_other_warnings() -> None:
    bad = option(agreed=True, epsilon={side: 12.0 for side in Side}, recall=None, work=TimeSpent(1, 50, 50))
    assert codes(bad, every_pair(5), option(bins=9, seconds=Range(1, 1, 1)))[0] == "all-pairs-is-cheaper"


@pytest.mark.parametrize("cheaper", [option(bins=9, recall=0.5, seconds=Range(1, 1, 1))])
def test_fewer_bins_that_miss_more_are_no_advice(cheaper: Option) -> None:
    assert codes(option(agreed=True), cheaper) == []
