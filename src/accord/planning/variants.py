"""From one agreement the sensible alternatives, each an agreement of its own.

Other protocols where the rule allows them; buckets of hashed keys around the number that costs the least
(agreement/by_pass.py); keys by value as buckets; cell sizes of grids by powers of two, in both styles;
passes, and parts of a pass, left out one at a time; with and without greedy; and another ε. Each blocking is
judged as one that was read from a file, and left out where it is not sound. Whether it still finds all
matches is for `recall.py` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import inf, isqrt
from typing import Any

from accord.agreement.by_pass import best_buckets
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import AccordError, AgreementError
from accord.exact import text
from accord.fields.schema import is_shown
from accord.protocols.base import Protocol
from accord.protocols.registry import BUILT_IN
from accord.rules.blocking.base import AnyPart, Passes, PassSpec
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeyPart, KeySpec
from accord.rules.implied import reach
from accord.rules.rule import fields_of
from accord.rules.thresholds import step_of
from accord.secure.engine import AtOnceEngine
from accord.side import Side

EPSILONS = tuple(Fraction(text) for text in ("0.3", "1", "3"))
MOST_BLOCKINGS = 16
_CELLS = ("2", "1/2", "4", "1/4", "1/8")
_DELTA = "2^-40"
_EPSILON = "1.6"
"""Where the agreed protocol has none of its own, those of the starters."""


def other_protocols(agreement: Agreement) -> Iterator[Agreement]:
    """All protocols that the rule and the blocking allow beside the agreed one, with usual options."""
    for name, kind in BUILT_IN.items():
        # What is routed has keys of its own (routes.py).
        if name != agreement.protocol.name and not kind.leaky and kind.lists_bins:
            yield from _sound([_with_protocol(agreement, kind)])


def blockings(agreement: Agreement, sizes: tuple[int, int], fewer: bool = False) -> list[Agreement]:
    """The agreement with other blockings; without the agreed one. `fewer`: also with a pass left out, which
    made-up errors may not miss and real ones would: only for who says how much is to be found."""
    if not agreement.passes:
        return []
    known = {agreement.digest}
    found = []
    for one in _sound(_blockings(agreement, sizes, fewer)):
        if one.digest not in known:
            known.add(one.digest)
            found.append(one)
        if len(found) == MOST_BLOCKINGS:
            break
    return found


def greedy_variants(agreement: Agreement) -> list[Agreement]:
    """With greedy and without, the agreed first; the agreement alone where there is no such choice.

    Greedy shows the fields of rule and blocking, and a plan does not decide to show more than was agreed.
    """
    protocol: Any = agreement.protocol
    at_once = isinstance(agreement.engine.build(), AtOnceEngine)
    chosen = "greedy" in protocol.options and not (agreement.output.answers or at_once)
    if not chosen or not (protocol.greedy or _shows_all(agreement)):
        return [agreement]
    changed = protocol.model_copy(update={"greedy": not protocol.greedy})
    return [agreement, agreement.model_copy(update={"protocol": changed})]


def _shows_all(agreement: Agreement) -> bool:
    """Whether a match shows every field of rule and blocking, on both sides."""
    names = (*fields_of(agreement.rule), *agreement.blocking_fields)
    return all(is_shown(name, agreement.disclosed(side), agreement.fields) for side in Side for name in names)


def with_epsilon(agreement: Agreement, epsilon: Fraction) -> Agreement | None:
    """The same promise to both sides with another ε; None where the protocol has none, or it is the same."""
    protocol = agreement.protocol
    if "epsilon" not in protocol.promises or "epsilon" not in protocol.side_options:
        return None
    sides: dict[str, Any] = {}
    for side in ("A", "B"):
        options = getattr(protocol, side)
        if options.epsilon is None:
            return None
        sides[side] = options.model_copy(update={"epsilon": epsilon})
    changed = protocol.model_copy(update=sides)
    return None if changed == protocol else agreement.model_copy(update={"protocol": changed})


def tell_blocking(agreement: Agreement) -> str:
    """The blocking in a few words; empty where everything is compared."""
    caps = [_tell_cap(one, getattr(agreement.protocol, "cap", None)) for one in agreement.passes]
    told = (" × ".join(_tell(part) for part in one.parts) for one in agreement.passes)
    return "; ".join(words + cap for words, cap in zip(told, caps, strict=True))


def _tell_cap(one: PassSpec, usual: int | None) -> str:
    """The cap of a pass, by side if it has two; `usual` where the pass has none, None without caps."""
    if usual is None:
        return ""
    caps = dict.fromkeys(Side, usual) if one.caps is None else one.caps
    return f" (cap {'/'.join(dict.fromkeys(str(caps[side]) for side in Side))})"


def _tell(part: AnyPart) -> str:
    match part:
        case KeySpec():
            names = " + ".join(part.names)
            return names if part.buckets is None else f"{names} in {part.buckets:,} buckets"
        case GridSpec():
            return f"{', '.join(part.fields)} in cells of {text(part.cell)}, {part.style}"


def _sound(drafts: Iterable[Agreement | None]) -> Iterator[Agreement]:
    for draft in drafts:
        if draft is None:
            continue
        try:
            parse_agreement(draft.to_toml(), "a variant")
        except AgreementError:
            continue
        yield draft


def _with_protocol(agreement: Agreement, kind: type[Protocol]) -> Agreement | None:
    old: Any = agreement.protocol
    epsilon = getattr(getattr(old, "A", None), "epsilon", None)
    promise = _EPSILON if epsilon is None else text(epsilon)
    options = kind.draft(promise, _DELTA, {})
    common = {"greedy"}.intersection(kind.options)
    options |= {name: getattr(old, name) for name in common if hasattr(old, name)}
    if "greedy" in common and not hasattr(old, "greedy"):
        # It shows the rule's fields, which a plan does not decide.
        options["greedy"] = False
    try:
        changed = {"protocol": kind.model_validate(options)}
        return agreement.model_copy(update=changed if kind.blocked else changed | {"blocking": ()})
    except ValueError:
        return None


# -- blockings ----------------------------------------------------------------------------------------------


def _blockings(agreement: Agreement, sizes: tuple[int, int], fewer: bool) -> Iterator[Agreement | None]:
    hashed = _hashed(agreement)
    best = _best(hashed, sizes)
    for times in (1.0, 2.0, 0.5, 4.0, 0.25):
        yield _with_passes(
            agreement,
            [
                _bucket(agreement, old, one, k, times)
                for old, one, k in zip(agreement.passes, hashed.passes, best, strict=True)
            ],
        )
    yield from _grids(agreement)
    yield from _fewer_parts(agreement)
    for one in range(len(agreement.passes) if fewer and len(agreement.passes) > 1 else 0):
        yield _with_passes(hashed, [p for i, p in enumerate(hashed.passes) if i != one])


def _with_passes(agreement: Agreement, passes: list[PassSpec]) -> Agreement:
    """The same with other passes, written as they were."""
    blocking: Any = tuple(passes[0].parts)
    if isinstance(agreement.blocking, Passes):
        blocking = agreement.blocking.model_copy(update={"passes": tuple(passes)})
    return agreement.model_copy(update={"blocking": blocking})


def _hashed(agreement: Agreement) -> Agreement:
    """Keys by value as hashed ones, where a pass has no other."""
    return _with_passes(agreement, [_hash_key(one) for one in agreement.passes])


def _hash_key(one: PassSpec) -> PassSpec:
    keys = [part for part in one.parts if isinstance(part, KeySpec)]
    if any(key.buckets is not None for key in keys) or not keys:
        return one
    first = keys[0]
    parts = tuple(p.model_copy(update={"buckets": 1000}) if p is first else p for p in one.parts)
    return one.model_copy(update={"parts": parts})


def _best(agreement: Agreement, sizes: tuple[int, int]) -> list[int | None]:
    try:
        return best_buckets(agreement, sizes)
    except AccordError:
        return [None] * len(agreement.passes)


def _bucket(agreement: Agreement, old: PassSpec, one: PassSpec, best: int | None, times: float) -> PassSpec:
    count = 1 if best is None else round(best * times)
    keys = [part for part in one.parts if isinstance(part, KeySpec) and part.buckets is not None]
    values = min((_values(agreement, key) for key in keys), default=count)
    if not 2 <= count <= values:
        # One bucket is no key, since the part may be left out; nor do more serve than there are values.
        return old
    parts = tuple(
        part.model_copy(update={"buckets": count})
        if isinstance(part, KeySpec) and part.buckets is not None
        else part
        for part in one.parts
    )
    return one.model_copy(update={"parts": parts})


def _values(agreement: Agreement, key: KeySpec) -> float:
    """How many different values a key can have."""
    return KeyPart(key, agreement.fields).values or inf


def _grids(agreement: Agreement) -> Iterator[Agreement | None]:
    """Every grid with other cells, and in the other style."""
    for number, one in enumerate(agreement.passes):
        for place, part in enumerate(one.parts):
            if isinstance(part, GridSpec):
                for grid in _other_grids(agreement, part):
                    parts = (*one.parts[:place], grid, *one.parts[place + 1 :])
                    passes = list(agreement.passes)
                    passes[number] = one.model_copy(update={"parts": parts})
                    yield _with_passes(agreement, passes)


def _other_grids(agreement: Agreement, grid: GridSpec) -> Iterator[GridSpec]:
    step = step_of(agreement.fields[grid.fields[0]])
    widest = max(getattr(agreement.fields[name], "high", 0) for name in grid.fields)
    far = reach(agreement.rule, grid.fields, agreement.fields)
    needed = grid.reach if far is None else (1 + isqrt(far - 1) if far else 0) * step
    other = "neighbours" if grid.style == "replicate" else "replicate"
    for times, style in (*((Fraction(n), grid.style) for n in _CELLS), (Fraction(1), other)):
        cell = max(1, round(grid.cell * times / step)) * step
        if cell / step > widest or (style == "replicate" and needed is None):
            # One cell is no grid: the part may be left out.
            continue
        chosen = needed if style == "replicate" else None
        yield grid.model_copy(update={"cell": cell, "style": style, "reach": chosen})


def _fewer_parts(agreement: Agreement) -> Iterator[Agreement]:
    """A part of a pass left out: fewer bins, and more pairs in each."""
    if len(agreement.passes) != 1 or len(agreement.passes[0].parts) < 2:
        return
    one = agreement.passes[0]
    for place in range(len(one.parts)):
        parts = tuple(part for at, part in enumerate(one.parts) if at != place)
        yield _with_passes(agreement, [one.model_copy(update={"parts": parts})])
