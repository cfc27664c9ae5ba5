"""Levels that no compared pair reaches."""

from __future__ import annotations

import pytest

from accord.agreement.file import parse_agreement
from accord.drafting.reached import leave_out_unreached

TEXT = """
version = 2
salt = "00000000"
engine = "ot"
rule = "score(date: same -> 6, within 3 days -> 4; price: same -> 5) >= 8"
[parties]
A = "one"
B = "two"
[protocol]
name = "laplace"
greedy = false
[protocol.A]
epsilon = 1
noise = "auto"
delta = "2^-40"
[protocol.B]
epsilon = 1
noise = "auto"
delta = "2^-40"
[fields.date]
type = "date"
min = "2020-01-01"
max = "2029-12-31"
missing = "differs"
[fields.price]
type = "number"
min = 0
max = 100000
step = 1
missing = "differs"
[blocking]
"""


@pytest.mark.parametrize(
    ("passes", "kept"),
    [
        ('[[blocking.pass]]\nparts = [{ kind = "key", field = "date" }]', ["same"]),
        (
            '[[blocking.pass]]\nparts = [{ kind = "key", field = "date" }]\n'
            '[[blocking.pass]]\nparts = [{ kind = "key", field = "price" }]',
            ["same", "within(date, 3 days)"],
        ),
    ],
)
def test_levels_beyond_the_passes_are_left_out(passes: str, kept: list[str]) -> None:
    agreed = parse_agreement(TEXT + passes)
    rule = str(leave_out_unreached(agreed))
    levels = rule.partition(";")[0]
    for level in ("same", "within(date, 3 days)"):
        assert (level in levels) == (level in kept), rule
