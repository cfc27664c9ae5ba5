"""The agreement on products, to be spoilt or given another protocol, and the faults that are found in one."""

from __future__ import annotations

import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text
from accord.errors import AgreementError

TEXT = starter_text("products", "00000000")
RULE = "same(day) and same(brand) and hamming(name) <= 5"
PASSES = """[[blocking.pass]]
name = "day and brand"
parts = [{ kind = "key", field = ["day", "brand"], buckets = 300 }]

[[blocking.pass]]
parts = [{ kind = "key", field = "brand" }]

"""


def faults(text: str) -> list[str]:
    """What is wrong with an agreement, each with its place."""
    with pytest.raises(AgreementError) as caught:
        parse_agreement(text)
    assert caught.value.exit_code == 3
    return [str(fault) for fault in caught.value.faults]


def line_of(needle: str, text: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)


def changed(protocol: str, rule: str = RULE, blocking: bool = True) -> str:
    """The agreement with another [protocol] table, rule, or no blocking; without greedy's demands."""
    head, rest = TEXT[: TEXT.index("[protocol]")], TEXT[TEXT.index("# What each side") :]
    head = head if blocking else head[: head.index("[[blocking]]")]
    return f"{head.replace(RULE, rule)}[protocol]\n{protocol}\n{rest}"


def with_passes(*changes: tuple[str, str]) -> str:
    """The agreement with two passes, or with others in their place."""
    start, end = TEXT.index("[[blocking]]"), TEXT.index("# The Laplace Protocol")
    passes = PASSES
    for old, new in changes:
        assert old in passes
        passes = passes.replace(old, new, 1)
    return TEXT[:start] + passes + TEXT[end:]
