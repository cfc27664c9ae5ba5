"""Which option to take, why, and what is worth a warning.

The choice is the cheapest option that meets every wish: by default the agreed ε, and every match found. Where
none does, the nearest is taken, which keeps the ε and fails by the least, and the plan says by what. Warnings
are ordered by what they cost their reader: first what makes the agreed run pointless or impossible, then what
it risks, then what it wastes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, prod

from accord.planning.figures import Option, Warning, cost
from accord.privacy.calibration import WORRYING_EPSILON
from accord.wording import counted, lasting, sized

_SLACK = 1e-9
_CLEARLY = 2
"""So many times as fast is faster, whatever the error of the two estimates."""
_SOON = 10.0
"""Seconds that nobody minds."""
_BOUND = 1.5
"""How many times as long as the processor the network must take, to be what a run waits for."""
_WORTH = 2.0
"""How many times cheaper another option must be to be worth a word."""


@dataclass(frozen=True)
class Wanted:
    """What the choice must meet; None where anything will do."""

    recall: float = 1.0
    max_time: float | None = None
    max_bytes: float | None = None
    max_epsilon: float | None = None
    """By default the agreed one."""


ANY = Wanted()
"""Every match, at the agreed ε, whatever it costs."""


@dataclass(frozen=True)
class Miss:
    """A wish that an option does not meet, and by which factor."""

    name: str
    words: str
    factor: float


def misses(option: Option, wish: Wanted) -> list[Miss]:
    """What of the wish an option does not meet."""
    found, epsilon = [], option.largest_epsilon
    if option.recall is None and wish.recall > 0:
        found.append(Miss("recall", "nobody knows its recall without data", inf))
    elif option.recall is not None and option.recall < wish.recall - _SLACK:
        words = f"it finds {option.recall:.1%} of the matches, but {wish.recall:.1%} are wanted"
        found.append(Miss("recall", words, wish.recall / max(option.recall, _SLACK)))
    if wish.max_epsilon is not None and (epsilon is None or epsilon > wish.max_epsilon + _SLACK):
        words = "it promises nothing" if epsilon is None else f"its ε is {epsilon:g}"
        factor = inf if epsilon is None else epsilon / max(wish.max_epsilon, _SLACK)
        found.append(Miss("max-epsilon", f"{words}, but at most {wish.max_epsilon:g} is wanted", factor))
    if wish.max_time is not None and option.seconds.expected > wish.max_time:
        words = _more("takes", option.seconds.expected, wish.max_time, lasting, "seconds")
        found.append(Miss("max-time", words, option.seconds.expected / wish.max_time))
    if wish.max_bytes is not None and option.bytes.expected > wish.max_bytes:
        words = _more("sends", option.bytes.expected, wish.max_bytes, lambda n: sized(round(n)), "bytes")
        found.append(Miss("max-bytes", words, option.bytes.expected / wish.max_bytes))
    return found


def _more(verb: str, is_: float, most: float, shown: Callable[[float], str], unit: str) -> str:
    """That a number is above its limit; in full where both would be shown alike."""
    has, wanted = shown(is_), shown(most)
    if has == wanted:
        has, wanted = (f"{number:,.10g} {unit}" for number in (is_, most))
    return f"it {verb} {has}, but at most {wanted} is wanted"


def choose(options: Sequence[Option], wish: Wanted) -> tuple[Option, list[Miss]]:
    """The cheapest that meets the wish, or the nearest and what it misses."""
    missed = {id(option): misses(option, wish) for option in options}
    good = [option for option in options if not missed[id(option)]]
    if good:
        return min(good, key=lambda one: (*cost(one), not one.agreed)), []
    nearest = min(options, key=lambda one: (_distance(missed[id(one)]), cost(one)))
    return nearest, missed[id(nearest)]


def _distance(missed: list[Miss]) -> tuple[bool, float]:
    """How far an option is from the wish: by all factors together. A promise is not traded for time."""
    return any(miss.name == "max-epsilon" for miss in missed), prod(miss.factor for miss in missed)


def explain(options: Sequence[Option], choice: Option, missed: list[Miss], wish: Wanted) -> str:
    """Why this one, and why not the others, in one paragraph."""
    parts = []
    if missed:
        what = "; ".join(miss.words for miss in missed)
        parts.append(f"No option meets everything that is wanted. The nearest is {choice.tell()}: {what}.")
    else:
        parts.append(
            f"{_praise(options, choice)}: {lasting(choice.seconds.expected)}, "
            f"{sized(round(choice.bytes.expected))}, "
            f"{counted(round(choice.comparisons.expected), 'comparison')}."
        )
    agreed = next(option for option in options if option.agreed)
    if choice is agreed:
        parts.append("It is the agreement as written.")
    else:
        parts.append(f"The agreement as written {_against(agreed, choice, wish)}.")
    if cheaper := _cheaper_rejected(options, choice, wish):
        parts.append(f"Cheaper was {cheaper[0].tell()}, rejected because {cheaper[1][0].words}.")
    return " ".join(parts)


def _praise(options: Sequence[Option], choice: Option) -> str:
    """What the choice is among the options; it meets the wish, but cheaper ones may not."""
    told = choice.tell()
    if len(options) == 1:
        alone = "is the only option that was priced, and meets everything that is wanted"
        return f"{told[0].upper()}{told[1:]} {alone}"
    priced = f"the {counted(len(options), 'option')} that were priced"
    return f"Of {priced}, {told} is the cheapest that meets everything that is wanted"


def _against(agreed: Option, choice: Option, wish: Wanted) -> str:
    # What the choice misses as much is no reason against the agreement.
    also = {miss.name: miss.factor for miss in misses(choice, wish)}
    found = [miss for miss in misses(agreed, wish) if miss.factor > also.get(miss.name, 0.0)]
    reasons = [miss.words for miss in found]
    times = agreed.seconds.expected / max(choice.seconds.expected, _SLACK)
    if times >= 1.05 and not any(miss.name == "max-time" for miss in found):
        reasons.append(f"takes {lasting(agreed.seconds.expected)}, {times:,.1f} times as long")
    return "was not chosen: " + "; ".join(reasons) if reasons else "costs about the same"


def _cheaper_rejected(
    options: Sequence[Option], choice: Option, wish: Wanted
) -> tuple[Option, list[Miss]] | None:
    """The cheapest of all that cost less, and what it misses."""
    below = [one for one in options if not one.agreed and cost(one) < cost(choice) and misses(one, wish)]
    return min(((one, misses(one, wish)) for one in below), key=lambda found: cost(found[0]), default=None)


# -- warnings -----------------------------------------------------------------------------------------------


def warn(options: Sequence[Option], sizes: tuple[int, int]) -> Iterator[Warning]:
    """What a careful person would say of the agreement as it stands, the most important first."""
    agreed = next(option for option in options if option.agreed)
    yield from _all_pairs(options, agreed)
    yield from _promise(agreed, sizes)
    yield from _bins(options, agreed)
    if agreed.recall is None:
        yield Warning(
            "recall-unknown",
            "The blocking may miss matches that the rule accepts; how many, only data can tell: plan with "
            "your own table, or `accord simulate` on made-up ones.",
        )
    slow = agreed.work.network + agreed.work.waiting
    if slow > max(_BOUND * agreed.work.processor, _SOON):
        yield Warning(
            "network-bound",
            f"With the agreement as written the network takes the time, not the processor: {lasting(slow)} "
            f"against {lasting(agreed.work.processor)}. A faster line helps, a faster machine does not.",
        )


def _all_pairs(options: Sequence[Option], agreed: Option) -> Iterator[Warning]:
    if not agreed.bins:
        return
    every = [one for one in options if one.all_pairs and one.greedy == agreed.greedy]
    every = every or [one for one in options if one.all_pairs]
    cheapest = min(every, key=cost, default=None)
    if cheapest is None or cost(cheapest) >= cost(agreed):
        return
    # Both are estimates: with more comparisons it must be faster beyond doubt.
    fewer = cheapest.comparisons.expected <= agreed.comparisons.expected
    if fewer or _CLEARLY * cheapest.seconds.expected < agreed.seconds.expected:
        yield Warning(
            "all-pairs-is-cheaper",
            "All pairs is cheaper than the agreement as it is written, and has ε = 0: "
            f"{counted(round(cheapest.comparisons.expected), 'comparison')} in "
            f"{lasting(cheapest.seconds.expected)}, where the agreed blocking takes "
            f"{agreed.comparisons.expected:,.0f} and {lasting(agreed.seconds.expected)}. It reveals nothing "
            'about records that match nothing: agree on protocol "all-pairs", without blocking.',
        )


def _promise(agreed: Option, sizes: tuple[int, int]) -> Iterator[Warning]:
    epsilons = [value for value in agreed.epsilon.values() if value is not None]
    if epsilons and max(epsilons) > WORRYING_EPSILON:
        yield Warning(
            "epsilon-high",
            f"ε = {max(epsilons):g} is more than one can defend: what the partner sees may be over "
            f"{exp(WORRYING_EPSILON):,.0f} times as likely with a record as without it. Take 1 to 3, at most "
            f"{WORRYING_EPSILON}.",
        )
    elif epsilons and max(epsilons) > 3:
        worst = max(epsilons)
        yield Warning(
            "epsilon-high",
            f"ε = {worst:g} lets what the partner sees be up to {exp(worst):,.0f} times as likely with a "
            "record as without it: hard to defend above 3.",
        )
    for value, records in zip(agreed.delta.values(), sizes, strict=True):
        if value is not None and value * records > 1:
            yield Warning(
                "delta-above-one-over-n",
                f"δ = {value:.3g} is more than 1/n = 1/{records:,}: a mechanism that publishes a random "
                "record would also keep this promise. Take 2^-40.",
            )
            return


def _bins(options: Sequence[Option], agreed: Option) -> Iterator[Warning]:
    """Whether another number of bins is much cheaper, at the same promise and recall."""
    alike = [
        one
        for one in options
        if one.protocol == agreed.protocol
        and one.greedy == agreed.greedy
        and one.epsilon == agreed.epsilon
        and one.bins != agreed.bins
        and (one.recall or 0) >= (agreed.recall or 0)
    ]
    best = min(alike, key=cost, default=None)
    if best is None or not agreed.bins or cost(best)[0] * _WORTH > cost(agreed)[0]:
        return
    fewer = best.bins < agreed.bins
    yield Warning(
        "too-many-bins" if fewer else "too-few-bins",
        f"The blocking has {counted(agreed.bins, 'bin')}, far too {'many' if fewer else 'few'}: "
        f"{best.blocking} has {best.bins:,} and takes {best.comparisons.expected:,.0f} comparisons instead "
        f"of {agreed.comparisons.expected:,.0f}.",
    )
