"""The one policy: ε = 0 if it is soon done, else the quickest; the nearest where none will do; warnings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from accord.datasets.starter import starter
from accord.planning.choose import Wanted, choose, explain, misses, tell_trade, warn
from accord.planning.figures import Option, Range, TimeSpent
from accord.protocols.parts.output import Output
from accord.protocols.routed import Routed
from accord.side import Side

AGREED = starter("products")


def option(**changes: object) -> Option:
    known: dict[str, object] = {
        "agreement": AGREED, "agreed": False, "protocol": "laplace", "blocking": "day", "greedy": False,
        "all_pairs": False, "epsilon": {side: 1.6 for side in Side}, "delta": {side: 1e-12 for side in Side},
        "recall": 1.0, "estimated": False, "covered": 1.0,
        "bins": 100, "dummies": Range(1, 1, 1), "comparisons": Range(9e5, 1e6, 2e6),
        "bytes": Range(1e7, 1e7, 1e7), "rounds": Range(9, 9, 9), "memory": Range(1, 1, 1),
        "seconds": Range(9, 10, 11), "work": TimeSpent(10, 1, 1),
    }  # fmt: skip
    known |= changes
    return Option(**{"usual": known["seconds"].expected} | known)  # type: ignore


def every_pair(seconds: float) -> Option:
    none: dict[Side, float | None] = {side: 0.0 for side in Side}
    cheap = Range(seconds, seconds, seconds)
    return option(
        protocol="all-pairs", blocking="", bins=0, all_pairs=True, epsilon=none, delta=none, seconds=cheap
    )


def test_a_few_seconds_are_not_worth_a_match() -> None:
    for seconds in (15, 16):
        agreed, other = replace(every_pair(seconds), agreed=True), routed(1.5)
        assert (choose([agreed, other], Wanted().no_worse_than(agreed))[0] is other) == (seconds > 15)


def codes(*options: Option, sizes: tuple[int, int] = (1000, 1000)) -> list[str]:
    wish = Wanted().no_worse_than(options[0])
    return [one.code for one in warn(options, choose(options, wish)[0], sizes)]


def taking(seconds: float, **changes: object) -> Option:
    return option(seconds=Range(seconds, seconds, seconds), **changes)


AS_AGREED = Wanted(recall=1.0, max_epsilon=1.6)
NOTHING: dict[Side, float | None] = {side: 0.0 for side in Side}


def routed(seconds: float, **changes: object) -> Option:
    known = {"protocol": "routed", "epsilon": NOTHING, "delta": NOTHING, "bins": 0, "estimated": True}
    return taking(seconds, **known | {"covered": 0.997, "recall": 0.99} | changes)


def test_what_covers_too_few_records_is_not_taken() -> None:
    agreed, crowded = every_pair(500), routed(10, covered=0.994)
    wish = Wanted().no_worse_than(replace(agreed, agreed=True))
    assert [miss.name for miss in misses(crowded, wish)] == ["recall", "covered"]
    assert choose([agreed, crowded], wish)[0] is agreed
    nearest, missed = choose([crowded], Wanted(recall=0.9, max_epsilon=0))
    assert (nearest, [miss.name for miss in missed]) == (crowded, ["covered"])
    assert choose([crowded], Wanted(recall=0.9, max_epsilon=0, covered=0.99))[1] == []
    unknown = routed(10, covered=None)
    assert [miss.name for miss in misses(unknown, Wanted(recall=0.9))] == ["covered"]


@pytest.mark.parametrize(
    ("seconds", "changes", "taken"),
    [
        (10, {}, True),
        (10.1, {}, False),
        (50, {"bytes": Range(1e6, 1e6, 1e6)}, True),
        (101, {"bytes": Range(1e6, 1e6, 1e6)}, False),
        (10, {"recall": 0.969}, False),
        (10, {"recall": 0.97}, True),
        (10, {"covered": 0.99}, False),
        (10, {"epsilon": {side: 0.1 for side in Side}}, False),
    ],
)
def test_a_tenth_of_the_time_is_worth_a_few_matches(
    seconds: float, changes: dict[str, object], taken: bool
) -> None:
    agreed, cheap = replace(every_pair(100), agreed=True), routed(seconds, **changes)
    wish = Wanted().no_worse_than(agreed)
    found, missed = choose([agreed, cheap], wish)
    assert (found is cheap, missed) == (taken, [])
    # Chosen once, it stays the choice.
    agreed, cheap = replace(agreed, agreed=False), replace(cheap, agreed=True)
    if taken:
        assert choose([agreed, cheap], Wanted().no_worse_than(cheap))[0] is cheap
    # A recall that somebody asks for is kept.
    assert choose([agreed, cheap], replace(wish, recall=1.0, by_default=False))[0] is agreed


def test_no_epsilon_is_spent_where_ten_minutes_are_enough() -> None:
    agreed = option(agreed=True)
    assert choose([agreed, every_pair(600)], AS_AGREED)[0].all_pairs
    assert choose([agreed, every_pair(601)], AS_AGREED) == (agreed, [])
    slow = taking(700, agreed=True)
    assert choose([slow, every_pair(690)], AS_AGREED)[0].all_pairs, "it is the quickest, too"


def test_the_owner_may_say_how_long_it_may_take() -> None:
    agreed = option(agreed=True)
    patient, hasty = (Wanted(recall=1.0, max_time=most, max_epsilon=1.6) for most in (3600, 60))
    assert choose([agreed, every_pair(3000)], patient)[0].all_pairs
    assert choose([agreed, every_pair(300)], hasty) == (agreed, [])


def test_the_quickest_that_meets_the_wish_is_chosen() -> None:
    agreed, lossy = option(agreed=True), taking(1, recall=0.9)
    dear, high = every_pair(6000), taking(2, epsilon={side: 9.0 for side in Side})
    every = [agreed, lossy, dear, high]
    assert choose(every, AS_AGREED) == (agreed, [])
    assert choose(every, Wanted(recall=0.85, max_epsilon=1.6)) == (lossy, [])
    assert choose(every, Wanted(max_epsilon=0)) == (dear, [])
    assert choose(every, Wanted(recall=1.0)) == (high, [])
    assert choose(every, Wanted(recall=1.0, max_epsilon=1.6, max_time=20, max_bytes=2e7))[0] is agreed


def test_what_nobody_wishes_otherwise_is_what_is_agreed() -> None:
    wish = Wanted().no_worse_than(option(agreed=True, recall=0.97, estimated=True))
    assert wish.recall is not None
    assert wish.recall == pytest.approx(0.9675), "estimates within half a percent say the same"
    again = Wanted().no_worse_than(option(agreed=True, recall=wish.recall + 1e-6, estimated=True))
    assert again.recall == wish.recall, "and it does not go down from plan to plan"
    assert wish.max_epsilon == 1.6
    assert Wanted(recall=0.5, max_epsilon=3).no_worse_than(option()) == Wanted(recall=0.5, max_epsilon=3)
    assert Wanted().no_worse_than(option(recall=None)).recall == 0


def test_the_choice_does_not_follow_from_the_machine() -> None:
    """Only what is written down decides, unless the owner of the machine sets a limit for it."""
    agreed, every = option(agreed=True), replace(every_pair(550), seconds=Range(900, 900, 900))
    assert choose([agreed, every], AS_AGREED)[0] is every
    limited = replace(AS_AGREED, max_time=700)
    assert choose([agreed, every], limited)[0] is agreed


def test_more_than_a_day_is_never_recommended() -> None:
    for days in (0.9, 1.1):
        alone = [taking(days * 86_400, agreed=True)]
        choice, missed = choose(alone, AS_AGREED)
        assert [miss.name for miss in missed] == ["max-time"] * (days > 1)
        why = explain(alone, choice, missed, AS_AGREED)
        assert why.startswith("Nothing sensible was found") == (days > 1)
        assert ("What would help: keys with more values, a larger ε, workers." in why) == (days > 1)


def test_what_cannot_be_met_is_said_with_the_nearest_that_can() -> None:
    every = [option(agreed=True), every_pair(60)]
    wish = Wanted(recall=1.0, max_epsilon=1.6, max_time=5)
    nearest, missed = choose(every, wish)
    assert nearest is every[0]
    assert [miss.name for miss in missed] == ["max-time"]
    why = explain(every, nearest, missed, wish)
    assert why.startswith(
        "Nothing sensible was found: of the 2 options none meets everything that is wanted. The nearest is "
        "laplace, day (ε = 1.6): it takes 10"
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
    assert choose(every, replace(AS_AGREED, max_time=0.001))[0] is every[0]
    assert choose(every, replace(AS_AGREED, max_bytes=1000))[0] is every[0]


def test_a_recall_that_nobody_knows_meets_no_wish_for_it() -> None:
    unknown = option(recall=None)
    assert [miss.name for miss in misses(unknown, AS_AGREED)] == ["recall"]
    assert misses(unknown, Wanted(recall=0)) == []


def test_the_paragraph_says_what_was_rejected_and_why() -> None:
    every = [
        option(agreed=True, seconds=Range(99, 99, 99)),
        option(),
        option(recall=0.5, seconds=Range(1, 1, 1)),
    ]
    choice, missed = choose(every, AS_AGREED)
    why = explain(every, choice, missed, AS_AGREED)
    assert "9.9 times as long" in why
    assert "rejected because it finds 50.0% of the matches, but 100.0% are wanted" in why


def test_the_choice_is_the_quickest_only_of_those_that_meet_the_wish() -> None:
    alone = [option(agreed=True)]
    assert explain(alone, alone[0], [], AS_AGREED).startswith(
        "Of the one option, laplace, day (ε = 1.6) is the quickest that"
    )
    every = [option(agreed=True, recall=0.9), every_pair(60)]
    why = explain(every, every[1], [], AS_AGREED)
    assert why.startswith("Of the 2 options, all-pairs (ε = 0) is the quickest with ε = 0 that meets ")
    assert "it spends ε = 1.6, which is not needed" in why


def test_warnings_have_stable_codes() -> None:
    fine = option(agreed=True)
    assert codes(fine, every_pair(6000)) == []
    assert codes(fine, every_pair(60)) == ["no-epsilon-needed"]
    assert codes(fine, option(bins=9, seconds=Range(1, 1, 1))) == ["too-many-bins"]
    assert codes(fine, option(bins=900, seconds=Range(1, 1, 1))) == ["too-few-bins"]
    assert codes(replace(fine, epsilon={side: 4.0 for side in Side})) == ["epsilon-high"]
    assert codes(replace(fine, epsilon={side: 12.0 for side in Side})) == ["epsilon-high"]
    assert codes(replace(fine, delta={side: 0.01 for side in Side})) == ["delta-above-one-over-n"]
    assert codes(replace(fine, recall=None)) == ["recall-unknown"]
    assert codes(replace(fine, recall=0.8, estimated=True)) == ["recall-low"]
    assert codes(replace(fine, recall=0.95, estimated=True)) == []
    assert codes(replace(fine, work=TimeSpent(10, 50, 1))) == ["network-bound"]
    assert codes(replace(fine, work=TimeSpent(10, 13, 1))) == [], "both take the time"
    assert codes(replace(fine, work=TimeSpent(0.1, 2, 1))) == [], "nobody minds"


def test_that_nothing_need_be_spent_comes_before_all_other_warnings() -> None:
    bad = option(agreed=True, epsilon={side: 12.0 for side in Side}, recall=None, work=TimeSpent(1, 50, 50))
    assert codes(bad, every_pair(5), option(bins=9, seconds=Range(1, 1, 1)))[0] == "no-epsilon-needed"


@pytest.mark.parametrize("cheaper", [option(bins=9, recall=0.5, seconds=Range(1, 1, 1))])
def test_fewer_bins_that_miss_more_are_no_advice(cheaper: Option) -> None:
    assert codes(option(agreed=True), cheaper) == []


def test_what_is_sure_to_find_all_is_not_praised_for_being_the_quickest() -> None:
    none: dict[Side, float | None] = {side: 0.0 for side in Side}
    routed = taking(13, protocol="routed", epsilon=none, delta=none, recall=0.97, estimated=True)
    every = [replace(every_pair(70), agreed=True), routed]
    for recall, sure in ((0.95, True), (1.0, False)):
        wish = Wanted(recall=recall, max_epsilon=0)
        choice, missed = choose(every, wish)
        assert choice.all_pairs
        why = explain(every, choice, missed, wish)
        assert ("the quickest with ε = 0 that is sure to find all matches" in why) == sure


@pytest.mark.parametrize("exact", [True, False])
def test_of_an_answer_no_coverage_is_traded(exact: bool) -> None:
    """No promise depends on it, and the side that asks sees no pair."""
    kinds = Output(answer="count", exact=exact, epsilon=None if exact else Fraction(1)), Output()
    protocol = Routed(name="routed")
    agreements = (AGREED.model_copy(update={"protocol": protocol, "output": one}) for one in kinds)
    options = [routed(1, agreement=one) for one in agreements]
    answer, pairs = (tell_trade([every_pair(60), one], one) for one in options)
    assert "covered" in pairs
    assert "pass" in pairs
    assert answer
    assert "cover" not in answer
    assert "pass" not in answer
