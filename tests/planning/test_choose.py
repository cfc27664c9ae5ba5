"""The one policy: ε = 0 if it is soon done, else the quickest. Every choice follows from public numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import pytest

from accord.datasets.starter import starter
from accord.planning.choose import Wanted, choose, explain, is_as_good, misses, tell_trade, warn
from accord.planning.figures import Option, Range, TimeSpent
from accord.protocols.parts.output import Output
from accord.protocols.routed import Routed
from accord.side import Side

AGREED = starter("products")
ROUTED = AGREED.model_copy(update={"protocol": Routed(name="routed")})
WISH = Wanted(recall=1.0, max_epsilon=1.6)


def even(number: float) -> Range:
    return Range(number, number, number)


def both(number: float | None) -> dict[Side, float | None]:
    return dict.fromkeys(Side, number)


def option(seconds: float = 10, usual: float | None = None, **changes: Any) -> Option:
    """The agreement as written, with other figures."""
    known: dict[str, Any] = {
        "agreement": AGREED, "agreed": False, "protocol": "laplace", "blocking": "day", "greedy": False,
        "all_pairs": False, "epsilon": both(1.6), "delta": both(1e-12), "recall": 1.0, "estimated": False,
        "covered": 1.0, "bins": 100, "dummies": even(1), "comparisons": Range(9e5, 1e6, 2e6),
        "bytes": even(1e7), "rounds": even(9), "memory": even(1), "work": TimeSpent(10, 1, 1),
        "seconds": even(seconds), "usual": seconds if usual is None else usual,
    }  # fmt: skip
    return Option(**known | changes)


def agreed(seconds: float = 10, **changes: Any) -> Option:
    return option(seconds, agreed=True, **changes)


def every_pair(seconds: float, **changes: Any) -> Option:
    free = {"epsilon": both(0.0), "delta": both(0.0), "protocol": "all-pairs", "all_pairs": True}
    return option(seconds, blocking="", bins=0, **free | changes)


def routed(seconds: float, **changes: Any) -> Option:
    free = {"epsilon": both(0.0), "delta": both(0.0), "protocol": "routed", "bins": 0}
    found = {"agreement": ROUTED, "estimated": True, "covered": 0.997, "recall": 0.99}
    return option(seconds, **free | found | changes)


def named(option: Option, wish: Wanted) -> list[str]:
    return [miss.name for miss in misses(option, wish)]


@pytest.mark.parametrize(
    ("others", "wish", "taken"),
    [
        # ε = 0 is chosen up to ten minutes, or the limit that its owner names. Else the quickest.
        ([every_pair(600)], WISH, 1),
        ([every_pair(601)], WISH, 0),
        ([every_pair(3000)], replace(WISH, max_time=3600), 1),
        ([every_pair(300)], replace(WISH, max_time=60), 0),
        # The quickest of all that meet the wish.
        ([option(1, recall=0.9), every_pair(6000), option(2, epsilon=both(9.0))], WISH, 0),
        ([option(1, recall=0.9), every_pair(6000)], Wanted(recall=0.85, max_epsilon=1.6), 1),
        ([option(1, recall=0.9), every_pair(6000)], Wanted(max_epsilon=0), 2),
        ([option(1, recall=0.9), option(2, epsilon=both(9.0))], Wanted(recall=1.0), 2),
        ([option(1, recall=0.9)], replace(WISH, max_time=20, max_bytes=2e7), 0),
        # Times of the machine that is written down choose, unless there is a limit for this one.
        ([every_pair(900, usual=550)], WISH, 1),
        ([every_pair(900, usual=550)], replace(WISH, max_time=700), 0),
        # Of two that cost the same the agreed one, then the one that finds more.
        ([option()], WISH, 0),
        ([option(recall=0.99), option(20)], Wanted(recall=0.8), 0),
        ([option(5, recall=0.9), option(5, recall=0.95)], Wanted(recall=0.8), 2),
        ([routed(5, recall=0.98), routed(5, recall=0.985)], Wanted(recall=0.95, max_epsilon=0), 2),
        # One that is sure to find all is preferred among those with ε = 0.
        ([every_pair(70), routed(13)], Wanted(recall=0.95, max_epsilon=0), 1),
        ([every_pair(700), routed(13)], Wanted(recall=0.95, max_epsilon=0), 2),
        ([every_pair(70), routed(13, recall=1.0)], Wanted(recall=0.95, max_epsilon=0), 1),
    ],
)
def test_the_choice(others: Sequence[Option], wish: Wanted, taken: int) -> None:
    options = [agreed(), *others]
    choice, missed = choose(options, wish)
    assert options.index(choice) == taken
    assert missed == misses(choice, wish)
    # It follows from no order.
    assert choose(options[::-1], wish)[0] is choice


def test_a_few_seconds_are_not_worth_a_match() -> None:
    for seconds in (15, 16):
        every, other = every_pair(seconds, agreed=True), routed(1.5)
        assert (choose([every, other], Wanted().no_worse_than(every))[0] is other) == (seconds > 15)


@pytest.mark.parametrize(
    ("seconds", "changes", "taken"),
    [
        (10, {}, True),
        (10.1, {}, False),
        (50, {"bytes": even(1e6)}, True),
        (50, {"bytes": even(1.1e6)}, False),
        (101, {"bytes": even(1e6)}, False),
        (10, {"recall": 0.969}, False),
        (10, {"recall": 0.97}, True),
        (10, {"covered": 0.99}, False),
        (10, {"epsilon": both(0.1)}, False),
    ],
)
def test_a_tenth_of_the_cost_is_worth_a_few_matches(
    seconds: float, changes: dict[str, object], taken: bool
) -> None:
    every, cheap = every_pair(100, agreed=True), routed(seconds, **changes)
    wish = Wanted().no_worse_than(every)
    found, missed = choose([every, cheap], wish)
    assert (found is cheap, missed) == (taken, [])
    # Chosen once, it stays the choice.
    every, cheap = replace(every, agreed=False), replace(cheap, agreed=True)
    if taken:
        assert choose([every, cheap], Wanted().no_worse_than(cheap))[0] is cheap
    # A recall that somebody asks for is kept.
    assert choose([every, cheap], replace(wish, recall=1.0, by_default=False))[0] is every


@pytest.mark.parametrize(
    ("changes", "wish", "missed"),
    [
        ({"recall": None}, WISH, {"recall": inf}),
        ({"recall": None}, Wanted(recall=0), {}),
        ({"recall": 0.8}, WISH, {"recall": 1.25}),
        ({"recall": 0.9}, Wanted(recall=0.9), {}),
        ({"covered": None}, Wanted(), {"covered": inf}),
        ({"covered": 0.796}, Wanted(), {"covered": 1.25}),
        ({"covered": 0.994}, Wanted(), {"covered": 0.995 / 0.994}),
        ({"covered": 0.995}, Wanted(), {}),
        ({"covered": 0.5}, Wanted(covered=0), {}),
        ({"epsilon": both(None)}, WISH, {"max-epsilon": inf}),
        ({"epsilon": {Side.A: 1.0, Side.B: 3.2}}, WISH, {"max-epsilon": 2}),
        ({"seconds": 20, "usual": 1}, Wanted(max_time=10), {"max-time": 2}),
        ({"usual": 86_400}, Wanted(), {}),
        ({"usual": 2 * 86_400}, Wanted(), {"max-time": 2}),
        ({"bytes": even(150)}, Wanted(max_bytes=100), {"max-bytes": 1.5}),
        ({"bytes": even(100)}, Wanted(max_bytes=100), {}),
        ({"recall": 0.5, "covered": 0.199}, WISH, {"recall": 2, "covered": 5}),
    ],
)
def test_what_an_option_misses_and_by_how_much(
    changes: dict[str, Any], wish: Wanted, missed: dict[str, float]
) -> None:
    assert {miss.name: miss.factor for miss in misses(option(**changes), wish)} == pytest.approx(missed)


def test_the_default_wish_is_what_is_agreed() -> None:
    wish = Wanted().no_worse_than(agreed(recall=0.97, estimated=True))
    assert wish.recall is not None
    assert wish.recall == pytest.approx(0.9675), "estimates within half a percent say the same"
    again = Wanted().no_worse_than(agreed(recall=wish.recall + 1e-6, estimated=True))
    assert again.recall == wish.recall, "and it does not go down from plan to plan"
    assert (wish.max_epsilon, wish.by_default) == (1.6, True)
    assert Wanted(recall=0.5, max_epsilon=3).no_worse_than(option()) == Wanted(recall=0.5, max_epsilon=3)
    assert Wanted().no_worse_than(option(recall=None)).recall == 0


def test_without_epsilon_one_match_in_a_hundred_may_be_missed() -> None:
    lossy = agreed(recall=0.97, estimated=True)
    for recall, taken in ((0.96, True), (0.95, False)):
        assert is_as_good(routed(9, recall=recall), lossy) == taken
        assert not is_as_good(option(recall=recall), lossy)
    assert not is_as_good(routed(9, recall=0.99), agreed()), "nothing is spared where nothing is estimated"
    asked = Wanted(recall=0.97).no_worse_than(lossy)
    assert named(routed(9, recall=0.96), asked) == ["recall"]


@pytest.mark.parametrize(
    ("others", "wish", "nearest"),
    [
        # No promise, match or coverage is traded for time or bytes.
        ([option(1, epsilon=both(10.0)), option(8, recall=0.002)], replace(WISH, max_time=0.001), 0),
        ([option(1, epsilon=both(10.0)), option(8, recall=0.002)], replace(WISH, max_bytes=1000), 0),
        ([option(1, covered=0.5)], replace(WISH, max_time=0.001), 0),
        # Of what is left the least by all factors together, then the quickest.
        ([every_pair(60)], replace(WISH, max_time=5), 0),
        ([option(20, bytes=even(2e3))], replace(WISH, max_time=5, max_bytes=1e3), 1),
        ([option(9)], replace(WISH, max_bytes=1000), 1),
    ],
)
def test_the_nearest_where_nothing_meets_the_wish(
    others: Sequence[Option], wish: Wanted, nearest: int
) -> None:
    options = [agreed(), *others]
    choice, missed = choose(options, wish)
    assert options.index(choice) == nearest
    assert missed == misses(choice, wish) != []


# -- the paragraph ------------------------------------------------------------------------------------------


def told(options: Sequence[Option], wish: Wanted) -> str:
    choice, missed = choose(options, wish)
    return explain(options, choice, missed, wish)


@pytest.mark.parametrize(
    ("options", "wish", "there", "absent"),
    [
        ([agreed()], WISH, ["one option", "day (ε = 1.6)", "10 s"], ["times", "Quicker", "would help"]),
        # The choice with its figures, and what speaks against the agreement.
        ([agreed(99), option()], WISH, ["2 options", "9.9 times", "1,000,000"], ["ε = 1.6, which", "ε = 0"]),
        ([every_pair(500, agreed=True), routed(60)], Wanted(recall=0.9), ["with ε = 0"], ["1.0%"]),
        ([every_pair(900, agreed=True), routed(20)], Wanted(recall=0.9), ["1.0%", "15 min"], []),
        ([agreed(10.4), option()], WISH, [], ["times"]),
        ([agreed(10.5), option()], WISH, ["1.1 times"], []),
        ([agreed(), every_pair(60)], WISH, ["ε = 1.6, which", "all-pairs (ε = 0)"], ["times as long"]),
        # What is quicker and rejected, by the first of its misses.
        ([agreed(), option(1, recall=0.5)], WISH, ["50.0%", "100.0%"], []),
        ([agreed(), option(1, recall=0.5), option(2, recall=0.6)], WISH, ["50.0%"], ["60.0%"]),
        ([agreed(), option(10, recall=0.5)], WISH, [], ["50.0%"]),
        # Nothing meets the wish: the nearest, by how much, and what would help.
        ([agreed(), every_pair(60)], replace(WISH, max_time=5), ["2 options", "at most 5 s", "workers"], []),
        ([agreed(work=TimeSpent(1, 5, 5))], replace(WISH, max_time=5), ["line", "larger ε"], ["workers"]),
        ([every_pair(60, agreed=True)], Wanted(max_time=5), ["--records", "workers"], ["larger ε"]),
        ([agreed(covered=0.9)], WISH, ["10.00%", "larger caps"], ["workers", "further pass"]),
        ([agreed(recall=0.9)], WISH, ["90.0%", "further pass"], ["larger caps"]),
        ([agreed()], Wanted(max_epsilon=1), ["at most 1 ", "larger ε, or"], ["workers"]),
        ([agreed(2 * 86_400)], WISH, ["2 d", "1 d"], []),
        # What the choice misses as much is no reason against the agreement.
        ([agreed(), option(9)], replace(WISH, max_bytes=1000), ["1.1 times"], ["1.0 times", "sends 10 MB; "]),
        # Numbers that look alike are told in full.
        (
            [agreed(), option(20, bytes=even(1e7 - 2))], replace(WISH, max_bytes=1e7 - 1),
            ["10,000,000", "9,999,999"], [],
        ),
    ],
)  # fmt: skip
def test_the_paragraph_has_the_figures_that_decide(
    options: list[Option], wish: Wanted, there: list[str], absent: list[str]
) -> None:
    why = told(options, wish)
    assert [part for part in there if part not in why] == []
    assert [part for part in absent if part in why] == []
    assert choose(options, wish)[0].tell() in why


@pytest.mark.parametrize("exact", [None, True, False])
def test_the_trade_of_routing_is_told_in_its_figures(exact: bool | None) -> None:
    """Of an answer no coverage is traded: no promise depends on it, and no side sees a pair."""
    count = {"answer": "count", "exact": exact, "epsilon": None if exact else Fraction(1)}
    output = Output() if exact is None else Output.model_validate(count)
    one = routed(1, agreement=ROUTED.model_copy(update={"output": output}))
    trade = tell_trade([every_pair(60), one, every_pair(600)], one)
    assert all(figure in trade for figure in ("1 min", "1.0%"))
    assert ("0.30%" in trade) == (exact is None)
    assert tell_trade([one], one) == ""
    assert tell_trade([every_pair(60), replace(one, covered=None)], replace(one, covered=None)) == ""
    assert tell_trade([every_pair(60), agreed()], agreed()) == ""


# -- warnings -----------------------------------------------------------------------------------------------

FINE = agreed()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([FINE, every_pair(6000)], ""),
        ([FINE, every_pair(60)], "no-epsilon-needed"),
        ([FINE, every_pair(601)], ""),
        ([every_pair(60, agreed=True), every_pair(50)], ""),
        ([FINE, option(5, bins=9)], "too-many-bins"),
        ([FINE, option(5, bins=900)], "too-few-bins"),
        ([FINE, option(5.1, bins=9)], ""),
        ([FINE, option(1, bins=9, recall=0.5)], ""),
        ([FINE, option(1, bins=9, greedy=True)], ""),
        ([agreed(epsilon=both(3.0))], ""),
        ([agreed(epsilon=both(4.0))], "epsilon-high"),
        ([agreed(epsilon={Side.A: 0.5, Side.B: 12.0})], "epsilon-high"),
        ([agreed(delta=both(0.01))], "delta-above-one-over-n"),
        ([agreed(delta=both(0.0015))], "delta-above-one-over-n"),
        ([agreed(delta=both(0.001))], ""),
        ([agreed(recall=None)], "recall-unknown"),
        ([agreed(recall=0.8, estimated=True)], "recall-low"),
        ([agreed(recall=0.9, estimated=True)], ""),
        ([agreed(work=TimeSpent(10, 40, 10))], "network-bound"),
        ([agreed(work=TimeSpent(10, 13, 1))], ""),
        ([agreed(work=TimeSpent(10, 10, 5))], ""),
        ([agreed(work=TimeSpent(0.1, 2, 1))], ""),
        (
            [agreed(epsilon=both(12.0), recall=None, work=TimeSpent(1, 50, 50)), every_pair(5)],
            "no-epsilon-needed epsilon-high recall-unknown network-bound",
        ),
    ],
)  # fmt: skip
def test_warnings_by_their_codes_the_most_important_first(options: list[Option], found: str) -> None:
    choice, _ = choose(options, Wanted().no_worse_than(options[0]))
    assert [one.code for one in warn(options, choice, (1000, 1000))] == found.split()


@pytest.mark.parametrize(
    ("options", "figures"),
    [
        ([FINE, every_pair(60, comparisons=even(2e5))], ["200,000", "1,000,000", "5.0 times", '"all-pairs"']),
        ([agreed(epsilon=both(12.0))], ["12", "10"]),
        ([agreed(epsilon=both(4.0))], ["4", "55"]),
        ([agreed(delta=both(0.01))], ["0.01", "1/1,000"]),
        ([agreed(recall=0.8, estimated=True)], ["20%"]),
        ([FINE, option(5, bins=9, comparisons=even(2e5))], ["100 bins", "9", "200,000", "1,000,000"]),
        ([agreed(work=TimeSpent(10, 40, 10))], ["50 s", "10 s"]),
    ],
)
def test_a_warning_has_its_figures(options: list[Option], figures: list[str]) -> None:
    choice, _ = choose(options, Wanted().no_worse_than(options[0]))
    (warning,) = warn(options, choice, (1000, 1000))
    assert [figure for figure in figures if figure not in warning.text] == []
