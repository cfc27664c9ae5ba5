"""Errors speak to people, and each has an exit code that the docs list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from accord import errors
from accord.errors import AccordError, DataError, Fault, UnreadableError

DOCS = Path(__file__).parents[1] / "docs" / "exit-codes.md"


def tree(kind: type[AccordError]) -> Iterator[type[AccordError]]:
    """Accord's own; whoever builds on it, like the laboratory, documents what it adds."""
    if kind.__module__.split(".")[0] == "accord":
        yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def test_the_docstring_is_the_message() -> None:
    error = UnreadableError(path="a.csv", reason="it is a folder", mend="Name the file inside it.")
    assert str(error) == "a.csv cannot be read: it is a folder. Name the file inside it."


def test_faults_are_listed_and_counted() -> None:
    one = DataError("a.csv", [Fault("row 1", "is odd.", "Fix it.")])
    assert str(one) == "a.csv has 1 fault:\n  row 1: is odd. Fix it."
    many = DataError("a.csv", [Fault(f"row {i}", "is odd.") for i in range(1000)])
    assert "has 1,000 faults" in str(many)
    assert str(many).endswith("… and 980 more kinds.")
    wrong = DataError("a.csv", [Fault("rows 1, 2 and 998 more", "are odd.", count=1000)])
    assert "has 1,000 faults" in str(wrong)


def test_every_error_of_the_tree_has_words_and_a_documented_exit_code() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", DOCS.read_text(), re.M)}
    for kind in tree(AccordError):
        assert kind.__doc__, kind
        assert kind.exit_code in documented, kind
    assert {0, 1, 2, 130} <= documented
    raised = {name for name in vars(errors) if name.endswith("Error")}
    assert {kind.__name__ for kind in tree(AccordError)} <= raised


def test_the_page_says_after_which_exit_codes_to_try_again() -> None:
    again = {int(code) for code in re.findall(r"^\| (\d+) \| .* \| \*\*again\*\*", DOCS.read_text(), re.M)}
    assert again == errors.RETRIED
