"""The one policy (`choices.toml`): ε = 0 if it is soon done, else the quickest, by public numbers alone."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from accord.datasets.starter import starter
from accord.planning.choose import Wanted, choose, explain, is_as_good, misses, tell_trade, warn
from accord.planning.figures import Option, Range, TimeSpent
from accord.protocols.parts.output import Output
from accord.protocols.routed import Routed
from accord.side import Side

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("choices.toml").read_text("utf-8"))
AGREED = starter("products")
ROUTED = AGREED.model_copy(update={"protocol": Routed(name="routed")})
FREE = {"epsilon": 0.0, "delta": 0.0, "bins": 0}
KINDS: dict[str, dict[str, Any]] = {
    "agreed": {"agreed": True},
    "option": {},
    "all": {**FREE, "protocol": "all-pairs", "all_pairs": True, "blocking": ""},
    "routed": {
        **FREE, "protocol": "routed", "agreement": ROUTED, "estimated": True, "covered": 0.997,
        "recall": 0.99,
    },
}  # fmt: skip


def even(number: float) -> Range:
    return Range(number, number, number)


def option(kind: str = "option", seconds: float = 10, changes: dict[str, Any] | None = None) -> Option:
    """An option with the usual figures, but for its changes."""
    known: dict[str, Any] = {
        "agreement": AGREED, "agreed": False, "protocol": "laplace", "blocking": "day", "greedy": False,
        "all_pairs": False, "epsilon": 1.6, "delta": 1e-12, "recall": 1.0, "estimated": False, "covered": 1.0,
        "bins": 100, "comparisons": 1e6, "bytes": 1e7, "work": (10, 1, 1), "seconds": seconds,
    }  # fmt: skip
    known |= KINDS[kind] | (changes or {})
    if unknown := known.pop("unknown", None):
        known[unknown] = None
    known.setdefault("usual", known["seconds"])
    known |= {name: dict.fromkeys(Side, known[name]) for name in ("epsilon", "delta")}
    known |= {name: even(known[name]) for name in ("comparisons", "bytes", "seconds")}
    known |= {name: even(9) for name in ("dummies", "rounds", "memory")}
    return Option(**known | {"work": TimeSpent(*known["work"])})


def options(case: dict[str, Any]) -> tuple[list[Option], Wanted]:
    """The options of a case, and what is wished for: what is agreed, if nothing is."""
    some = [option(*one) for one in case["options"]]
    agreed = next((one for one in some if one.agreed), some[0])
    return some, Wanted(**case["wish"]) if "wish" in case else Wanted().no_worse_than(agreed)


@pytest.mark.parametrize("cases", CASES["choice"], ids=lambda one: one["of"])
def test_the_choice(cases: dict[str, Any]) -> None:
    for case in cases["cases"]:
        some, wish = options(case)
        choice, missed = choose(some, wish)
        assert some.index(choice) == case["taken"], case
        assert missed == (misses(choice, wish) if "nothing" in cases else [])
        assert bool(missed) == ("nothing" in cases)
        assert choose(some[::-1], wish)[0] is choice, "it follows from no order"


@pytest.mark.parametrize("case", CASES["misses"][0]["cases"], ids=str)
def test_what_an_option_misses_and_by_how_much(case: dict[str, Any]) -> None:
    found = misses(option(changes=case["option"]), Wanted(**case["wish"]))
    assert {miss.name: miss.factor for miss in found} == pytest.approx(case["missed"])


def test_the_default_wish_is_what_is_agreed() -> None:
    lossy = option("agreed", changes={"recall": 0.97, "estimated": True})
    wish = Wanted().no_worse_than(lossy)
    assert wish.recall == pytest.approx(0.9675), "estimates within half a percent say the same"
    again = Wanted().no_worse_than(replace(lossy, recall=(wish.recall or 0) + 1e-6))
    assert again.recall == wish.recall, "and it does not go down from plan to plan"
    assert (wish.max_epsilon, wish.by_default) == (1.6, True)
    assert Wanted(recall=0.5, max_epsilon=3).no_worse_than(option()) == Wanted(recall=0.5, max_epsilon=3)
    assert Wanted().no_worse_than(replace(lossy, recall=None)).recall == 0
    # Without ε one match in a hundred may be missed, where the agreement misses some.
    for recall, taken in ((0.96, True), (0.95, False)):
        assert is_as_good(option("routed", 9, {"recall": recall}), lossy) == taken
        assert not is_as_good(option(changes={"recall": recall}), lossy)
    assert not is_as_good(option("routed"), option("agreed"))
    assert not is_as_good(option("routed", 9, {"recall": 0.96}), replace(lossy, estimated=False))


@pytest.mark.parametrize("cases", CASES["why"], ids=lambda one: one["of"])
def test_the_paragraph_has_the_figures_that_decide(cases: dict[str, Any]) -> None:
    for case in cases["cases"]:
        wish = {"max_epsilon": 1.6} | case["wish"]
        some, wanted = options(case | {"wish": wish})
        choice, missed = choose(some, wanted)
        why = explain(some, choice, missed, wanted)
        assert [part for part in case.get("there", []) if part not in why] == []
        assert [part for part in case.get("absent", []) if part in why] == []
        assert all(why.count(part) == 1 for part in case.get("once", []))
        assert choice.tell() in why


@pytest.mark.parametrize("exact", [None, True, False])
def test_the_trade_of_routing_is_told_in_its_figures(exact: bool | None) -> None:
    """Of an answer no coverage is traded: no promise depends on it, and no side sees a pair."""
    count = {"answer": "count", "exact": exact, "epsilon": None if exact else Fraction(1)}
    output = Output() if exact is None else Output.model_validate(count)
    one = option("routed", 1, {"agreement": ROUTED.model_copy(update={"output": output})})
    every = option("all", 60)
    trade = tell_trade([every, one, option("all", 600)], one)
    assert all(figure in trade for figure in ("1 min", "1.0%"))
    assert ("0.30%" in trade) == (exact is None)
    for some in ([one], [every, replace(one, covered=None)], [every, option("agreed")]):
        assert tell_trade(some, some[-1]) == ""


@pytest.mark.parametrize("case", CASES["warning"][0]["cases"], ids=str)
def test_warnings_by_their_codes_and_figures(case: dict[str, Any]) -> None:
    some, wish = options(case)
    found = [*warn(some, choose(some, wish)[0], (1000, 1000))]
    assert [one.code for one in found] == case["codes"].split()
    assert [figure for figure in case.get("figures", []) if figure not in found[0].text] == []
