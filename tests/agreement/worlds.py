"""The agreement on products, to be spoilt or given another protocol."""

from __future__ import annotations

from accord.datasets.starter import starter_text

TEXT = starter_text("products", "00000000")
RULE = "same(day) and same(brand) and hamming(name) <= 5"
PASSES = """[[blocking.pass]]
name = "day and brand"
parts = [{ kind = "key", field = ["day", "brand"], buckets = 300 }]

[[blocking.pass]]
parts = [{ kind = "key", field = "brand" }]

"""


def changed(protocol: str, rule: str = RULE, blocking: bool = True) -> str:
    """The agreement with another [protocol] table, rule, or no blocking; without greedy's demands."""
    head, rest = TEXT[: TEXT.index("[protocol]")], TEXT[TEXT.index("# What each side") :]
    head = head if blocking else head[: head.index("[[blocking]]")]
    return f"{head.replace(RULE, rule)}[protocol]\n{protocol}\n{rest}"


def with_passes() -> str:
    """The agreement with two passes."""
    return TEXT[: TEXT.index("[[blocking]]")] + PASSES + TEXT[TEXT.index("# The Laplace Protocol") :]
