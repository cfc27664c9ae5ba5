"""Thresholds of a rule in steps of its fields."""

from __future__ import annotations

import pytest

from accord.fields.schema import NumberField
from accord.rules.rule import Within
from accord.rules.text import parse_rule
from accord.rules.thresholds import within_steps

AMOUNT = {"type": "number", "min": -2, "max": 5, "step": "0.001", "missing": "differs"}


@pytest.mark.parametrize(("share", "steps"), [("0", 0), ("0.01", 4), ("0.1", 41), ("1", 301), ("9", 1000)])
def test_an_amount_of_logarithms_is_a_share(share: str, steps: int) -> None:
    rule = parse_rule(f"within(price, {share})")
    assert isinstance(rule, Within)
    logarithms = {"price": NumberField.model_validate(AMOUNT | {"derive": "log"})}
    assert within_steps(rule, logarithms) == steps
    plain = {"price": NumberField.model_validate(AMOUNT)}
    assert within_steps(rule, plain) == 1000 * int(float(share) * 100) // 100
