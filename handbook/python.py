"""The reference of the public face, from the docstrings of `accord`: Sphinx reads them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import accord

_GROUPS = {
    "From a table to an agreement": (
        *("propose", "Proposal", "Confirmation", "draft", "Draft", "Fit", "check", "Check"),
    ),
    "Verbs": ("link", "resume", "simulate", "plan", "learn", "set_budget"),
    "The agreement": ("Agreement", "read_agreement", "parse_agreement", "diff"),
    "The words of a rule": (
        *("Rule", "same", "within", "hamming", "dice", "jaccard", "cosine", "euclidean", "edit"),
        *("mismatches", "missing", "score", "compare", "either_way"),
    ),
    "One's own table": ("Layout", "read_layout", "Side"),
    "Consent": ("Offer", "ask", "agree"),
    "Results": ("Linked", "Simulation", "Promised", "Plan", "Learnt"),
    "While it runs": (
        *("Notice", "Reading", "Listening", "Waiting", "Connected", "Charged", "Progress", "Done"),
        *("Reach", "Patience"),
    ),
    "What goes wrong": ("AccordError",),
}


def python_reference() -> str:
    """All groups, as Markdown; a name without a group stands in the last."""
    left = {name for name in dir(accord) if not name.startswith("_")}
    page: list[str] = []
    for title, names in _GROUPS.items():
        there = [name for name in names if name in left]
        left -= set(there)
        page += [f"## {title}\n", *_documented(there)] if there else []
    return "\n".join([*page, *(["## More\n", *_documented(sorted(left))] if left else [])])


def _documented(names: list[str]) -> Iterator[str]:
    for name in names:
        kind = getattr(accord, name)
        directive = (
            "autofunction"
            if inspect.isfunction(kind)
            else "autoclass"
            if inspect.isclass(kind)
            else "autodata"
        )
        options = "\n   :members:\n   :undoc-members:" if directive == "autoclass" else ""
        yield f"```{{eval-rst}}\n.. {directive}:: accord.{name}{options}\n```\n"
