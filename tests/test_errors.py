"""Errors: each has an exit code that the docs list, facts, and no value of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from accord import errors
from accord.errors import SHOWN_FAULTS, AccordError, DataError, Fault, UnreadableError

DOCS = Path(__file__).parents[1] / "docs" / "exit-codes.md"


def tree(kind: type[AccordError]) -> Iterator[type[AccordError]]:
    """Accord's own; whoever builds on it, like the laboratory, documents what it adds."""
    if kind.__module__.split(".")[0] == "accord":
        yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def test_faults_are_listed_and_counted_and_facts_are_kept() -> None:
    error = UnreadableError(path="a.csv", reason="it is a folder", mend="Name the file inside it.")
    assert error.facts == {"path": "a.csv", "reason": "it is a folder", "mend": "Name the file inside it."}
    assert [str(fact) in str(error) for fact in error.facts.values()] == [True] * 3
    many = DataError("a.csv", [Fault(f"row {i}", "is odd.", count=2) for i in range(1000)])
    first, *listed, last = str(many).splitlines()
    assert "2,000" in first
    assert len(listed) == SHOWN_FAULTS
    assert "980" in last


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


CALL = re.compile(r"(?:\bFault|\w+Error)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
VALUE = re.compile(r"\{(?:values?|cells?|record|records\[row\]|row_values)[}!:]")
"""What code calls that which stands in a table, where it is filled into a text."""


def test_no_message_shows_a_value_of_a_record() -> None:
    sources = (DOCS.parents[1] / "src" / "accord").rglob("*.py")
    calls = [call for path in sources for call in CALL.findall(path.read_text())]
    assert len(calls) > 500
    assert [call for call in calls if VALUE.search(call)] == []
    assert VALUE.search('Fault(place, f"is {value}.")'), "the search would find one"
