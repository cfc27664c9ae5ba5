"""What a protocol needs of the rule and of the blocking: everything that is missing, with its mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from accord.errors import UsageError
from accord.matching.blocking import build_blocking
from accord.matching.blocking_grid import GridSpec
from accord.matching.blocking_key import KeySpec
from accord.matching.rule import And, Not, Or, Rule, Same
from accord.matching.thresholds import Fields
from accord.protocols.balls import MOST_LINES, ball_faults, expansion
from accord.protocols.spec import AnyProtocol, Leaky, LocalDp, Psi, PsiExpand

Place = tuple[str | int, ...]
MOST_PAIRS = 10_000_000
"""Of bins, in the window of local-dp: as many as memory should hold."""


def protocol_faults(
    spec: AnyProtocol,
    rule: Rule,
    fields: Fields | None,
    blocking: Sequence[KeySpec | GridSpec],
    simulated: bool,
) -> Iterator[tuple[Place, str]]:
    """(where, what) for each fault. *Requires* a rule that fits the fields, which are None where not all
    have the right shape."""
    match spec:
        case Psi():
            yield from ((("rule",), fault) for fault in _psi_faults(rule, simulated))
        case PsiExpand():
            yield from ((("rule",), fault) for fault in _expansion_faults(rule, fields))
        case LocalDp():
            yield from _report_faults(spec, fields, blocking)
    if isinstance(spec, Leaky) and not simulated:
        yield (
            ("protocol", "name"),
            f"{spec.name} leaks, so no agreement may name it; try it with `accord simulate --protocol`.",
        )


def _psi_faults(rule: Rule, simulated: bool) -> Iterator[str]:
    if simulated:
        if _negates(rule):
            yield "psi finds records whose fields are equal, which a rule with 'not' may deny."
        return
    parts = rule.parts if isinstance(rule, And) else (rule,)
    for part in parts:
        if not isinstance(part, Same):
            yield f"psi finds equal values and not '{part}'; join same(...)s by and, or take 'psi-expand'."


def _report_faults(
    spec: LocalDp, fields: Fields | None, blocking: Sequence[KeySpec | GridSpec]
) -> Iterator[tuple[Place, str]]:
    if spec.A.public and spec.B.public:
        yield ("protocol",), "local-dp protects nothing if both sides are public; give one side an epsilon."
    if not all(isinstance(part, KeySpec) for part in blocking):
        yield (
            ("blocking", 0),
            "local-dp needs one bin a record, the same for a match; block by key alone.",
        )
    elif fields is not None and _fits(blocking, fields):
        bins = build_blocking(tuple(blocking), fields).bins
        if spec.window > bins:
            yield ("protocol", "window"), f"the window must be at most the {bins:,} bins."
        elif bins * spec.window > MOST_PAIRS:
            pairs = f"{bins:,} bins with a window of {spec.window:,}"
            yield ("protocol", "window"), f"{pairs} are too many pairs of bins; take buckets."
    if spec.spread is not None and spec.spread > spec.window:
        yield ("protocol", "spread"), "the spread must be at most the window."


def _fits(blocking: Sequence[KeySpec | GridSpec], fields: Fields) -> bool:
    known = all(name in fields for part in blocking for name in part.names)
    return known and not any(list(part.faults(fields)) for part in blocking)


def _negates(rule: Rule) -> bool:
    return isinstance(rule, Not) or (isinstance(rule, And | Or) and any(map(_negates, rule.parts)))


def _expansion_faults(rule: Rule, fields: Fields | None) -> Iterator[str]:
    faults = list(ball_faults(rule))
    yield from faults
    if faults or fields is None:
        return
    try:
        size = expansion(rule, fields)
    except UsageError as error:
        yield str(error)
        return
    if size > MOST_LINES:
        yield (
            f"the rule accepts {size:,} values for every record, and psi-expand lists at most {MOST_LINES:,} "
            f"for a whole table. Take a smaller threshold or another protocol."
        )
