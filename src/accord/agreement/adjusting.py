"""An agreement under other settings: to see what they would find and cost, before anybody agrees on them."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import tomli_w

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.arguments import require, require_flag, require_text_or_none
from accord.errors import AgreementError, UsageError
from accord.exact import Number
from accord.protocols.base import Protocol
from accord.protocols.registry import protocol_named

ANSWERS = ("pairs", "count")
_OF_PAIRS = ("disclose", "one_to_one", "most_matches")
"""What nothing can be asked for with an answer."""
_LINE = re.compile(r"line \d+, ")


def adjust(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    agreement: Agreement,
    *,
    protocol: str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    prune: int | None = None,
    greedy: bool | None = None,
    records_per_person: int | None = None,
    cap: int | None = None,
    answer: str | None = None,
    answer_epsilon: Number | None = None,
) -> Agreement:
    """The agreement with another protocol or other options: to see what they would find and cost.

    With `answer="count"` only how many match is asked for, with noise of `answer_epsilon`, 1 by default.
    Also with one that no two parties may agree on, since it leaks: the result says what.
    """
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    require_text_or_none("protocol", protocol, "all-pairs")
    given: dict[str, object] = {"epsilon": epsilon, "delta": delta, "prune": prune, "greedy": greedy}
    given |= {"records_per_person": records_per_person, "cap": cap}
    for name, value in given.items():
        _require_kind(name, value)
    changed = agreement.model_dump(mode="json")
    if answer is not None or answer_epsilon is not None:
        changed = _asking(changed, answer, answer_epsilon)
    options = changed["protocol"]
    kind = protocol_named(options["name"] if protocol is None else protocol)
    if protocol is not None and protocol != options["name"]:
        options = _carry_over(options, kind.draft("1.6", "2^-40", {}), kind)
    if not kind.blocked:
        changed["blocking"] = []
    elif not kind.lists_bins:
        changed["blocking"] = _by_value(changed["blocking"])
    output = changed.get("output", {})
    for name, value in given.items():
        if value is None:
            continue
        if name == "records_per_person" and output.get("epsilon") is not None:
            output[name] = value
        else:
            _set_option(kind, options, name, value)
    text = tomli_w.dumps(_without_none(changed | {"protocol": options}))
    try:
        return parse_agreement(text, "What is asked for", simulated=True)
    except AgreementError as error:
        # The lines are those of a text that nobody sees.
        faults = [replace(fault, place=_LINE.sub("", fault.place)) for fault in error.faults]
        raise AgreementError("What is asked for", faults) from None


def _asking(changed: dict[str, Any], answer: str | None, epsilon: Number | None) -> dict[str, Any]:
    """The agreement with an answer, and without what is for pairs alone."""
    require_text_or_none("answer", answer, "count")
    _require_kind("answer_epsilon", epsilon)
    if answer not in (None, *ANSWERS):
        problem = f"`answer=` is {' or '.join(ANSWERS)}; a table or a sum is written in the agreement."
        raise UsageError(problem=problem)
    asked = changed.get("output", {}) if answer is None else {"answer": answer}
    if asked.get("answer", "pairs") == "pairs":
        if epsilon is not None:
            raise UsageError(problem="`answer_epsilon=` is for answers: pairs come without noise.")
        return changed | {"output": {}}
    kept = {name: value for name, value in changed.items() if name not in _OF_PAIRS}
    noise = {"epsilon": "1" if epsilon is None else str(epsilon), "exact": False}
    return kept | {"output": asked | noise}


def _require_kind(name: str, value: object) -> None:
    """Raise for an option of a wrong kind."""
    if name in ("epsilon", "delta", "answer_epsilon") and value is not None:
        require(name, value, "a number, or a text such as '2^-40'", int, float, str, Fraction, Decimal)
    elif name == "greedy" and value is not None:
        require_flag(name, value)
    elif value is not None:
        require(name, value, "a whole number", int)


def _set_option(kind: type[Protocol], options: dict[str, Any], name: str, value: object) -> None:
    """Set an option of the protocol, or say that it has none of that name."""
    if name in kind.side_options:
        for side in ("A", "B"):
            options.setdefault(side, {})[name] = value if isinstance(value, int) else str(value)
    elif name in kind.options:
        options[name] = str(value) if name == "epsilon" else value
    else:
        raise UsageError(problem=f"{options['name']} has no option {name}: leave it out.")


def _carry_over(old: dict[str, Any], draft: dict[str, Any], kind: type[Protocol]) -> dict[str, Any]:
    """The usual options of another protocol, and those of the present one that both have."""
    common = {"greedy"}.intersection(kind.options)
    return draft | {name: old[name] for name in common if name in old}


def _by_value(blocking: Any) -> Any:
    """The same blocking whose keys are values, in no buckets."""
    if isinstance(blocking, dict):
        passes = [one | {"parts": _by_value(one["parts"])} for one in blocking["pass"]]
        return blocking | {"pass": passes}
    return [{name: value for name, value in part.items() if name != "buckets"} for part in blocking]


def _without_none(value: Any) -> Any:
    """TOML has no word for nothing."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
