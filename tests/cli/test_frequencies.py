"""`accord frequencies`: a list of a public table, the lines for the agreement, and nothing without a word."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from accord.agreement.disclosure import advice
from accord.agreement.file import parse_agreement
from accord.cli.frequencies import _ask, _require_said
from accord.errors import UsageError
from accord.fields.frequencies import read_frequencies
from tests.cli.terminal import accord
from tests.simulation.test_pair import RARE

ROWS = "Surname,n\nMüller,30\n MÜLLER ,5\nRare,2\nSmith,8\n"
GIVEN = ("frequencies", "people.csv", "--column", "Surname", "--count-column", "n", "--out", "list.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path


def test_the_lines_are_those_of_an_agreement_that_says_so(folder: Path) -> None:
    done = accord(folder, *GIVEN, "--public", "INSEE, noms 2021")
    assert done.returncode == 0, done.stderr
    assert "2 values with a count of at least 5; 2 more without a name" in done.stderr
    assert "`accord check AGREEMENT DATA --list list=list.csv`" in done.stderr
    head, _, rest = RARE.replace("RULE", "same(surname)").replace("ENGINE", "ot").partition("[fields.rarity]")
    agreed = parse_agreement(head + done.stdout + rest[rest.index("[protocol]") :])
    spec = agreed.fields["surname_rarity"].model_dump()
    assert spec["digest"] == read_frequencies(folder / "list.csv").digest
    assert "The list 'list' is said to be made of public data: INSEE, noms 2021." in advice(agreed)
    facts = json.loads(accord(folder, *GIVEN, "--public", "x", "--force", "--json").stdout)
    assert (facts["digest"], facts["values"], facts["rest"]) == (spec["digest"], 2, 2)


def test_without_a_word_that_it_is_public_nothing_is_counted(folder: Path) -> None:
    refused = accord(folder, *GIVEN)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "tells of the people who were counted" in refused.stderr
    assert "without double quotes" in accord(folder, *GIVEN, "--public", 'my "own"').stderr
    assert not (folder / "list.csv").exists()


def test_what_is_read_or_there_is_not_replaced(folder: Path) -> None:
    assert accord(folder, *GIVEN[:-1], "people.csv", "--public", "x", "--force").returncode != 0
    assert (folder / "people.csv").read_text(encoding="utf-8") == ROWS
    (folder / "list.csv").write_text("mine")
    assert "--force" in accord(folder, *GIVEN, "--public", "x").stderr
    assert (folder / "list.csv").read_text() == "mine"
    done = accord(folder, "frequencies", "people.csv", "--column", "name", "--out", "l.csv", "--public", "x")
    assert "Name columns that are there with --column and --count-column." in done.stderr


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("sure", [True, False])
def test_at_a_terminal_it_asks(folder: Path, monkeypatch: pytest.MonkeyPatch, sure: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("y\n census \n" if sure else "n\n"))
    if sure:
        assert _require_said(_ask(folder / "people.csv")) == "census"
    else:
        with pytest.raises(UsageError, match="so it is made of a public table"):
            _ask(folder / "people.csv")
