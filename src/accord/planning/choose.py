"""The one policy: which option to take, why, and what is worth a warning.

An option must meet every wish: a share of the matches, a share of covered records, time, bytes, ε. The
defaults are those of the agreement: no larger ε, and no fewer matches, but for one in a hundred of them at
ε = 0 if the agreed blocking loses some anyway; at least 99.5 % covered records; and at most a day. Of the
options that meet them,

    1. the quickest with ε = 0, if it takes at most ten minutes, or the stated limit; of these rather one that
       is sure to find all matches, unless that takes over 15 seconds and another one is a *bargain*: it is
       quicker, takes a tenth of the seconds or of the bytes, is expected to find 97 % of its matches, or as
       many as stated, and covers as many records as wished;
    2. else the quickest.

Where none does, the nearest is shown, which keeps the ε and fails by the least, with what would help: that is
no recommendation. Times are those of a machine that is written down (machine.py), so that both sides, and
`init`, `check`, `plan` and the consent to a linkage, choose alike.

Warnings are ordered by what they cost their reader: first what makes the agreed run pointless or impossible,
then what it risks, then what it wastes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, prod

from accord.agreement.disclosure import needed_by_passes
from accord.planning.figures import Option, Warning, cost
from accord.privacy.calibration import WORRYING_EPSILON
from accord.wording import counted, lasting, sized

_SLACK = 1e-9
SOON = 600.0
"""Seconds that ε = 0 may take, if nobody says."""
DAY = 86_400.0
"""Seconds that anything may take, if nobody says."""
_LEVELS = 200
"""Estimates of a recall that are the same in so many parts say the same: half a percent."""
COVERED = 0.995
"""The least share of covered records by default."""
_TENTH, _MOST_OF_THEM = 0.1, 0.97
"""Of the seconds or bytes, and of the matches of another option, for a bargain."""
_NEARLY = 0.01
"""Of all matches, those that may be missed for it if nothing need be told at all: estimates are no better."""
_LOW = 0.9
"""A recall worth a word."""
_MOMENT = 15.0
"""Runs shorter than this need no justification (seconds)."""
_BOUND = 1.5
"""How many times as long as the processor the network must take, to be what a run waits for."""
_WORTH = 2.0
"""How many times cheaper another option must be to be worth a word."""


@dataclass(frozen=True)
class Wanted:
    """What the choice must meet."""

    recall: float | None = None
    """By default what the agreement finds as it is written."""
    max_time: float | None = None
    """By default a day, and ten minutes with ε = 0."""
    max_bytes: float | None = None
    """None where anything will do."""
    max_epsilon: float | None = None
    """By default the agreed one."""
    covered: float = COVERED
    """The share of records on either side for which the promise is expected to hold."""
    spared: float = 0.0
    """By how much less may be found where nothing is told (ε = 0) than where something is."""
    by_default: bool = False
    """Whether the recall is that of the agreement, so that a bargain may find less."""

    def no_worse_than(self, agreed: Option) -> Wanted:
        """With what is agreed where nothing else is wished for."""
        recall = agreed.recall or 0.0
        if agreed.estimated:
            # The least that is the same: whatever is chosen by it has the same least again.
            recall = max(0.0, (round(_LEVELS * recall) - 0.5) / _LEVELS)
        epsilon = agreed.largest_epsilon
        return replace(
            self,
            recall=recall if self.recall is None else self.recall,
            max_epsilon=epsilon if self.max_epsilon is None else self.max_epsilon,
            spared=_NEARLY if self.recall is None and agreed.estimated and epsilon else 0.0,
            by_default=self.recall is None,
        )


ANY = Wanted()
"""What is agreed."""


@dataclass(frozen=True)
class Miss:
    """A wish that an option does not meet, and by which factor."""

    name: str
    words: str
    factor: float


def misses(option: Option, wish: Wanted) -> list[Miss]:
    """What of the wish an option does not meet."""
    found, epsilon, recall = [], option.largest_epsilon, wish.recall or 0.0
    if option.largest_epsilon == 0:
        recall -= wish.spared
    if option.recall is None and recall > 0:
        found.append(Miss("recall", "nobody can tell what it finds", inf))
    elif option.recall is not None and option.recall < recall - _SLACK:
        wanted = f"the agreement finds {recall:.1%}" if wish.by_default else f"{recall:.1%} are wanted"
        words = f"it finds {option.recall:.1%} of the matches, but {wanted}"
        found.append(Miss("recall", words, recall / max(option.recall, _SLACK)))
    if wish.covered and (option.covered is None or option.covered < wish.covered - _SLACK):
        share = "an unknown share" if option.covered is None else f"{1 - option.covered:.2%}"
        words = f"it leaves {share} of the records uncovered, but at most {1 - wish.covered:.2%} is wanted"
        factor = inf if not option.covered else wish.covered / option.covered
        found.append(Miss("covered", words, factor))
    if wish.max_epsilon is not None and (epsilon is None or epsilon > wish.max_epsilon + _SLACK):
        words = "it promises nothing" if epsilon is None else f"its ε is {epsilon:g}"
        factor = inf if epsilon is None else epsilon / max(wish.max_epsilon, _SLACK)
        found.append(Miss("max-epsilon", f"{words}, but at most {wish.max_epsilon:g} is wanted", factor))
    seconds, most = _seconds(option, wish), DAY if wish.max_time is None else wish.max_time
    if seconds > most:
        words = _more("takes", seconds, most, lasting, "seconds")
        found.append(Miss("max-time", words, seconds / most))
    if wish.max_bytes is not None and option.bytes.expected > wish.max_bytes:
        words = _more("sends", option.bytes.expected, wish.max_bytes, lambda n: sized(round(n)), "bytes")
        found.append(Miss("max-bytes", words, option.bytes.expected / wish.max_bytes))
    return found


def _seconds(option: Option, wish: Wanted) -> float:
    """What a limit is for: on this machine if its owner says it."""
    return option.usual if wish.max_time is None else option.seconds.expected


def is_as_good(option: Option, agreed: Option) -> bool:
    """Whether it finds as much as what is agreed."""
    return not any(miss.name == "recall" for miss in misses(option, ANY.no_worse_than(agreed)))


def _more(verb: str, is_: float, most: float, shown: Callable[[float], str], unit: str) -> str:
    """That a number is above its limit; in full where both would be shown alike."""
    has, wanted = shown(is_), shown(most)
    if has == wanted:
        has, wanted = (f"{number:,.10g} {unit}" for number in (is_, most))
    return f"it {verb} {has}, but at most {wanted} is wanted"


def choose(options: Sequence[Option], wish: Wanted) -> tuple[Option, list[Miss]]:
    """What the policy takes, or the nearest and what it misses."""
    missed = {id(option): misses(option, wish) for option in options}
    good = [option for option in options if not missed[id(option)]]
    soon = [one for one in good if one.free and (wish.max_time or one.usual <= SOON)]
    sure = [one for one in soon if one.recall == 1.0 and not one.estimated]
    if good:
        best = min(sure or soon or good, key=_preference)
        return min(_bargains(options, best, wish), key=_preference, default=best), []
    nearest = min(options, key=lambda one: (_distance(missed[id(one)]), cost(one)))
    return nearest, missed[id(nearest)]


def _preference(option: Option) -> tuple[float, float, bool, float]:
    return *cost(option), not option.agreed, -(option.recall or 0.0)


def _bargains(options: Sequence[Option], best: Option, wish: Wanted) -> list[Option]:
    """Options with ε = 0 that find a little less than the best one, at a fraction of its cost."""
    if not best.free or not best.recall or best.usual <= _MOMENT:
        return []
    return [
        one
        for one in options
        if one.free
        and one.usual < best.usual
        and min(one.usual / best.usual, one.bytes.expected / best.bytes.expected) <= _TENTH
        and (not wish.by_default or (one.recall or 0.0) >= _MOST_OF_THEM * best.recall)
        and all(wish.by_default and miss.name == "recall" for miss in misses(one, wish))
    ]


def _distance(missed: list[Miss]) -> tuple[bool, float]:
    """How far an option is from the wish: by all factors together. Neither a promise nor matches are traded
    for time."""
    firm = ("max-epsilon", "recall", "covered")
    return any(miss.name in firm for miss in missed), prod(miss.factor for miss in missed)


def explain(options: Sequence[Option], choice: Option, missed: list[Miss], wish: Wanted) -> str:
    """Why this one, and why not the others, in one paragraph."""
    parts = []
    if missed:
        what = "; ".join(miss.words for miss in missed)
        parts.append(
            f"Nothing sensible was found: of {_priced(options)} none meets everything that is wanted. The "
            f"nearest is {choice.tell()}: {what}. {_help(choice, missed)}"
        )
    else:
        parts.append(
            f"{_praise(options, choice, wish)}: {lasting(choice.seconds.expected)}, "
            f"{sized(round(choice.bytes.expected))}, "
            f"{counted(round(choice.comparisons.expected), 'comparison')}{choice.comparisons.tell_most()}."
        )
    if trade := tell_trade(options, choice):
        parts.append(trade)
    if told := choice.tell_widths():
        parts.append(f"Its answer: {told}.")
    agreed = next(option for option in options if option.agreed)
    if choice is agreed:
        parts.append("It is the agreement as written.")
    else:
        parts.append(f"The agreement as written {_against(agreed, choice, wish)}.")
    if cheaper := _cheaper_rejected(options, choice, wish):
        parts.append(f"Quicker was {cheaper[0].tell()}, rejected because {cheaper[1][0].words}.")
    return " ".join(parts)


def tell_trade(options: Sequence[Option], choice: Option) -> str:
    """What routing gives up beside all pairs, and what it saves."""
    every = min((one for one in options if one.all_pairs), key=cost, default=None)
    if every is None or choice.recall is None or choice.covered is None or not choice.keys:
        return ""
    saved = f"All pairs would take {lasting(every.seconds.expected)} and {sized(round(every.bytes.expected))}"
    missed = f"about {1 - choice.recall:.1%} of the matches are missed"
    if choice.agreement.output.answers:
        # No promise depends on coverage, and no pair is seen.
        return f"{saved} and find every match. Here, among synthetic records, {missed}."
    passes, task = counted(choice.keys, "pass", "passes"), choice.agreement.task
    seen = f"the side that asks sees in which of the {passes} a pair met"
    if task.protocol.cascades(task):
        seen = f"both sides see in which of the {passes} a pair first met"
    return (
        f"{saved}, find every match and cover every record. Here, among synthetic records, {missed} and "
        f"{1 - choice.covered:.2%} of the records are not covered, which is more in a crowded table; and "
        f"{seen}."
    )


def _help(choice: Option, missed: list[Miss]) -> str:
    """What would make a way that meets the wishes."""
    ways = []
    names = {miss.name for miss in missed}
    if names & {"max-time", "max-bytes"} and choice.all_pairs:
        ways.append("passes over keys that few records share, as `accord init --records` drafts them")
    elif names & {"max-time", "max-bytes"}:
        ways += ["keys with more values", "a larger ε"]
    if "max-time" in names:
        slow = choice.work.network + choice.work.waiting > choice.work.processor
        ways.append("a faster line" if slow else "workers")
    if "covered" in names:
        ways.append("keys that fewer records share, or larger caps")
    if "recall" in names:
        ways.append("a further pass, over another key")
    if "max-epsilon" in names:
        ways.append("a larger ε, or all pairs with more time")
    return f"What would help: {', '.join(ways)}."


def _praise(options: Sequence[Option], choice: Option, wish: Wanted) -> str:
    """What the choice is among the options; it meets the wish, but quicker ones may not, or are less sure."""
    quickest = "the quickest with ε = 0" if choice.largest_epsilon == 0 else "the quickest"
    quicker = [one for one in options if one.free and cost(one) < cost(choice)]
    unsure = choice.free and any(not misses(one, wish) for one in quicker)
    sure = "is sure to find all matches and " if unsure else ""
    return f"Of {_priced(options)}, {choice.tell()} is {quickest} that {sure}meets everything that is wanted"


def _priced(options: Sequence[Option]) -> str:
    return "the one option" if len(options) == 1 else f"the {counted(len(options), 'option')}"


def _against(agreed: Option, choice: Option, wish: Wanted) -> str:
    # What the choice misses as much is no reason against the agreement.
    also = {miss.name: miss.factor for miss in misses(choice, wish)}
    found = [miss for miss in misses(agreed, wish) if miss.factor > also.get(miss.name, 0.0)]
    reasons = [miss.words for miss in found]
    if choice.largest_epsilon == 0 and agreed.largest_epsilon:
        reasons.append(f"it spends ε = {agreed.largest_epsilon:g}, which is not needed")
    times = agreed.seconds.expected / max(choice.seconds.expected, _SLACK)
    if times >= 1.05 and not any(miss.name == "max-time" for miss in found):
        reasons.append(f"it takes {lasting(agreed.seconds.expected)}, {times:,.1f} times as long")
    return "was not chosen: " + "; ".join(reasons) if reasons else "costs about the same"


def _cheaper_rejected(
    options: Sequence[Option], choice: Option, wish: Wanted
) -> tuple[Option, list[Miss]] | None:
    """The cheapest of all that cost less, and what it misses."""
    below = [one for one in options if not one.agreed and cost(one) < cost(choice) and misses(one, wish)]
    return min(((one, misses(one, wish)) for one in below), key=lambda found: cost(found[0]), default=None)


# -- warnings -----------------------------------------------------------------------------------------------


def warn(options: Sequence[Option], choice: Option, sizes: tuple[int, int]) -> Iterator[Warning]:
    """What a careful person would say of the agreement as it stands, the most important first."""
    agreed = next(option for option in options if option.agreed)
    yield from _epsilon(agreed, choice)
    yield from _promise(agreed, sizes)
    yield from _bins(options, agreed)
    yield from _recall(agreed)
    yield from (Warning("one-field", text) for text in needed_by_passes(agreed.agreement))
    slow = agreed.work.network + agreed.work.waiting
    if slow > max(_BOUND * agreed.work.processor, _MOMENT):
        yield Warning(
            "network-bound",
            f"With the agreement as written the network takes the time, not the processor: {lasting(slow)} "
            f"against {lasting(agreed.work.processor)}. A faster line helps, a faster machine does not.",
        )


def _epsilon(agreed: Option, choice: Option) -> Iterator[Warning]:
    """Whether nothing need be told at all."""
    if choice.largest_epsilon != 0 or not agreed.largest_epsilon or choice.usual > SOON:
        return
    times = agreed.comparisons.expected / max(choice.comparisons.expected, _SLACK)
    more = f", {times:,.1f} times as many," if times >= 1.05 and choice.all_pairs else ""
    yield Warning(
        "no-epsilon-needed",
        f"No ε need be spent: {choice.tell()} takes {lasting(choice.seconds.expected)} for "
        f"{counted(round(choice.comparisons.expected), 'comparison')}, where the agreement as it is written "
        f"takes {agreed.comparisons.expected:,.0f}{more} in {lasting(agreed.seconds.expected)}. Agree on "
        f'protocol "{choice.protocol}".',
    )


def _recall(agreed: Option) -> Iterator[Warning]:
    if agreed.recall is None:
        yield Warning(
            "recall-unknown",
            "The blocking may miss matches that the rule accepts; how many, only data can tell: `accord "
            "simulate` on tables that you may see.",
        )
    elif agreed.recall < _LOW:
        about = "About " if agreed.estimated else ""
        yield Warning(
            "recall-low",
            f"{about}{1 - agreed.recall:.0%} of the matches are missed. Add a pass over another key.",
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
