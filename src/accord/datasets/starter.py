"""Commented starter agreements that fit the generated data."""

from __future__ import annotations

from importlib import resources

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement


def starter_text(kind: str, salt: str) -> str:
    """The starter's file, with its comments."""
    template = resources.files("accord.datasets").joinpath(f"{kind}.toml").read_text(encoding="utf-8")
    return template.replace("{salt}", salt)


def starter(kind: str, salt: str = "00000000") -> Agreement:
    """The starter as an agreement."""
    return parse_agreement(starter_text(kind, salt), f"the {kind} starter")
