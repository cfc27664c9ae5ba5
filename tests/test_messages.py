"""The catalogue of all that Accord says when something is wrong, read from the source and judged at once.

Other tests ask for an error's class and its facts (a row, a column, a name); that messages are sentences, say
what to do and show no value of a record is asked here, of every one of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from accord import errors

SOURCE = Path(__file__).parents[1] / "src" / "accord"
OURS = {name for name in vars(errors) if name.endswith("Error")} | {"Fault"}
VALUES = {"value", "values", "cell", "cells", "record", "records[row]", "row_values"}
"""What code calls that which stands in a table."""


@dataclass(frozen=True)
class Message:
    """What is given to an error where it is made: text with … for what is filled in."""

    kind: str
    place: str
    facts: dict[str, str]
    filled: frozenset[str]


def read(node: ast.expr) -> str | None:
    """The text of an expression, if it is one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def made(path: Path) -> Iterator[Message]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        kind = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if kind in OURS:
            names = ("place", "problem", "mend") if kind == "Fault" else ("what",)
            given = {
                **dict(zip(names, node.args, strict=False)),
                **{k.arg or "": k.value for k in node.keywords},
            }
            inside = [part for one in given.values() for part in ast.walk(one)]
            yield Message(
                kind,
                f"{path.relative_to(SOURCE)}:{node.lineno}",
                {name: text for name, one in given.items() if (text := read(one)) is not None},
                frozenset(ast.unparse(part.value) for part in inside if isinstance(part, ast.FormattedValue)),
            )


CATALOGUE = [message for path in sorted(SOURCE.rglob("*.py")) for message in made(path)]


def test_the_catalogue_is_whole() -> None:
    """Hundreds of messages, of most of the classes that there are."""
    assert len(CATALOGUE) > 400
    assert len({message.kind for message in CATALOGUE}) > len(OURS) / 2


def wrong_with(message: Message) -> Iterator[str]:
    for name, text in message.facts.items():
        if (
            not text.replace("\n", "").isprintable()
            or "  " in text.replace("\n  ", "")
            or text != text.strip()
        ):
            yield f"{name} is not plain text"
        spoken = name in ("problem", "mend") and message.kind in ("Fault", "UsageError") and text
        if spoken and not re.search(r"[.:?…`)]$", text):
            yield f"{name} does not end like a sentence"
        if name == "reason" and text.endswith("."):
            yield "a reason stands in the middle of a sentence"
    if shown := message.filled & VALUES:
        yield f"shows {', '.join(sorted(shown))}"


def test_each_is_plain_text_ends_like_a_sentence_and_shows_no_value() -> None:
    found = [f"{one.place}: {one.kind}: {fault}" for one in CATALOGUE for fault in wrong_with(one)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "facts",
    [
        {"problem": "It is  odd."},
        {"problem": "It is odd"},
        {"problem": "It is odd. "},
        {"reason": "it is odd."},
    ],
)
def test_what_is_wrong_with_a_message_would_be_seen(facts: dict[str, str]) -> None:
    assert list(wrong_with(Message("UsageError", "x.py:1", facts, frozenset())))
    assert list(wrong_with(Message("Fault", "x.py:1", {}, frozenset({"value"}))))


def test_what_each_class_says_is_sentences() -> None:
    """Its docstring with the facts filled in, the last of which may be a sentence itself."""
    for name in OURS - {"Fault"}:
        told = " ".join((getattr(errors, name).__doc__ or "").split())
        assert re.search(r"[.:}]$", told), name
        assert told[0].isupper() or told[0] == "{", name
