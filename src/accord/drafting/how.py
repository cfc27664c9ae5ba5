"""How the records of a draft or a template are compared: settled by the policy of planning, written as TOML.

A draft says which passes there may be; `settle` prices them for the expected sizes, with other bins, with all
pairs and what else the rule allows, and takes what `accord plan` would take. So the first plan of a draft
finds nothing better, as far as one change of it goes. All of it follows from public numbers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import tomli_w

from accord.agreement.blocking_text import write_blocking
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.products import FIRST_DAY, MOST_DAYS, count_days
from accord.datasets.starter import starter_text
from accord.planning.choose import COVERED, Wanted
from accord.planning.figures import Plan
from accord.planning.plan import PlanQuestion, agreed_network, price_agreed, route, settle
from accord.privacy.events import UNLESS
from accord.protocols.parts.output import Output
from accord.rules.blocking.base import Passes, PassSpec
from accord.rules.blocking.key import KeySpec

EPSILON, DELTA = "1.6", "2^-40"
_NOISY = """\
# Each side adds dummies, so that its bins tell little about any record that matches nothing. A smaller
# epsilon protects more and costs more comparisons. One epsilon covers all passes.
"""
_NOTHING = "# ε = 0: the partner learns nothing about records without a match{but}.\n# {why}\n"
_CAPPED = f",\n# unless {UNLESS['leave-out']}"
_SOON = "For tables of these sizes that is soon done; for much larger ones draft again."
_NO_KEY = "None of the fields can serve as a key that would save comparisons."
_TOLD = {
    "prune": "stop at this percentile of the bins' noisy sizes; 0 compares everything",
    "greedy": "true saves comparisons, and shows all the rule's fields of records that match",
    "noise": "whichever needs fewer dummies",
    "cap": "records of a side that meet in one key, where a pass does not say it",
    "over": "what becomes of more: left out of that pass, or the run is refused",
}
"""What is said of an option."""
_PASSES = """\
# Only records that meet in a bin are compared. The bins are public: listed values, hashes of what records
# hold, or cells of a map, as many as cost the least for the expected sizes.
"""
_KEYS = """\
# Only records that share the key of a pass are compared, and neither side learns which do. Up to `cap`
# records of a side meet in a key. If more share it, the same ones are left out of that pass in every run.
"""
_ROUTED = "Records that share a key are brought together in shares."
_NOBODY = "Nobody learns which match."
_EXPECTED = """\
# How many records each side expects to have: for prices that both see.
[expected]
A = {}
B = {}
"""
_COPIES = """\
# The most records that one person or thing usually has in the table of a side.
copies = {{ A = {}, B = {} }}
"""
_COUNT = """\
# What comes out: how many pairs match, and nothing else. Nobody is shown. Each side adds noise, so that the
# number tells little about any record, whether or not it matches: a run spends epsilon for every record. A
# smaller one protects more, and the number is less exact. Others are "table", by categories, and "sum".
"""
_MONTH = f"max = {FIRST_DAY + timedelta(days=MOST_DAYS - 1)}\n"
"""The last day of the template for products, which is that of the tables that are generated."""
MORE_COVERED = 0.999
"""Of synthetic records, in a draft for a table: real ones share more keys."""
_HOW = re.compile(r"# Only records .*?(?=^# What each side shows)", re.DOTALL | re.MULTILINE)
"""Of a template, from its blocking to its protocol."""


def settle_draft(
    agreement: Agreement, overlap: float | None, max_time: float | None, covered: float = MORE_COVERED
) -> tuple[Plan, bool]:
    """The plan whose choice the draft is, for the sizes that it expects; and whether no option keeps the time
    limit, which is ignored then."""
    assert agreement.expected is not None
    sizes = agreement.expected.A, agreement.expected.B
    asked = PlanQuestion(
        sizes, agreed_network(agreement), overlap, Wanted(max_time=max_time, covered=covered)
    )
    settled = settle(agreement, asked)
    if max_time is None or not settled.missed:
        return settled, False
    return settle(agreement, replace(asked, wish=Wanted(covered=covered))), True


def settle_routed(
    agreement: Agreement, output: Output, overlap: float | None, max_time: float | None
) -> tuple[Plan, bool] | None:
    """The same for an output that only routing gives; None where nothing serves as a key."""
    assert agreement.expected is not None
    asked = PlanQuestion((agreement.expected.A, agreement.expected.B), agreed_network(agreement), overlap)
    routed = route(agreement.model_copy(update={"output": output}), asked)
    return None if routed is None else settle_draft(routed, overlap, max_time)


def times_as_many(settled: Agreement, more: PassSpec) -> float:
    """How many times as many comparisons it takes with one more pass, with as many bins as the others."""
    assert settled.expected is not None
    buckets = [part.buckets or 1 for one in settled.passes for part in one.parts if isinstance(part, KeySpec)]
    fitted = {"buckets": max(buckets, default=1)}
    parts = (part.model_copy(update=fitted) if isinstance(part, KeySpec) else part for part in more.parts)
    passes = (*settled.passes, more.model_copy(update={"parts": tuple(parts)}))
    longer = settled.model_copy(update={"blocking": Passes.model_validate({"pass": passes})})
    asked = PlanQuestion((settled.expected.A, settled.expected.B), agreed_network(settled))
    made = [price_agreed(one, asked).agreed.comparisons.expected for one in (settled, longer)]
    return made[1] / made[0]


def write_passes(passes: str) -> str:
    """The Laplace Protocol over passes, which are written already."""
    promise = {"epsilon": EPSILON, "delta": DELTA, "noise": "auto"}
    options = {"name": "laplace", "sort": True, "prune": 0, "greedy": False, "A": promise, "B": promise}
    return f"{_PASSES}{passes}\n{_NOISY}{_write_protocol(options)}"


def write_all_pairs() -> str:
    """All pairs, since there is no key."""
    return _NOTHING.format(why=_NO_KEY, but="") + _write_protocol({"name": "all-pairs", "greedy": False})


def write_how(agreement: Agreement) -> str:
    """Blocking and protocol, with comments."""
    options = agreement.protocol.model_dump(mode="json", exclude_none=True)
    protocol = _write_protocol(options)
    if not agreement.passes:
        return _NOTHING.format(why=_SOON, but="") + protocol
    if agreement.output.answers:
        return f"{_KEYS}{write_blocking(agreement)}\n# {_ROUTED} {_NOBODY}\n{protocol}"
    if not agreement.protocol.lists_bins:
        return f"{_KEYS}{write_blocking(agreement)}\n{_NOTHING.format(why=_ROUTED, but=_CAPPED)}{protocol}"
    return f"{_PASSES}{write_blocking(agreement)}\n{_NOISY}{protocol}"


def _write_protocol(options: dict[str, Any]) -> str:
    lines = tomli_w.dumps({"protocol": options}).splitlines()
    return "".join(f"{_tell(line)}\n" for line in lines)


def _tell(line: str) -> str:
    """A line with what is said of its option."""
    told = _TOLD.get(line.partition(" = ")[0])
    return line if told is None else f"{line:<22} # {told}"


def write_expected(sizes: tuple[int, int], copies: tuple[int, int] = (1, 1)) -> str:
    """The sizes that both announce."""
    return _EXPECTED.format(*sizes) + (_COPIES.format(*copies) if max(copies) > 1 else "")


def write_count(epsilon: str) -> str:
    """What comes out where only how many match is asked for."""
    return f'{_COUNT}[output]\nanswer = "count"\nepsilon = "{epsilon}"\n'


def fit_template(kind: str, salt: str, sizes: tuple[int, int]) -> str:
    """A starter, with bins and protocol for these sizes."""
    mark = "# The agreed fields."
    plain = starter_text(kind, salt).replace(mark, f"{write_expected(sizes)}\n{mark}", 1)
    if kind == "products":
        last = FIRST_DAY + timedelta(days=count_days(max(sizes)) - 1)
        plain = plain.replace(_MONTH, f"max = {last}\n", 1)
    settled, _ = settle_draft(parse_agreement(plain, f"the {kind} starter"), None, None, COVERED)
    return _HOW.sub(lambda _: write_how(settled.choice.agreement) + "\n", plain, count=1)
