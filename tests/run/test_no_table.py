"""A table or a store that cannot be made closes the run on both sides: no attempt follows [MATHS §10.4]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ClosedByChanceError, NoTableError, StoppedError
from accord.protocols import routing
from accord.run.link import Linked
from accord.run.verbs import resume
from accord.secure.okvs.tables import failed
from accord.secure.prf import oblivious, programmed
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import open_run
from tests.cli import terminal
from tests.run import faults, worlds

pytestmark = pytest.mark.usefixtures("quick")

CASES: dict[str, tuple[str, tuple[Any, str], Side]] = {
    "the asker's bins": ("routed", (routing, "place"), Side.A),
    "the lister's store": ("routed", (programmed, "Encoder"), Side.B),
    "an intersection": ("psi", (oblivious, "Encoder"), Side.A),
}
"""What is linked, what cannot be made, and for whom."""


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_made_closes_the_run(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, where, side = CASES[case]
    agreed, tried = faults.agreement(kind), []

    def fails(*arguments: object) -> object:
        tried.append(case)
        raise failed("their rows are dependent")

    both = worlds.introduce(tmp_path, agreed)
    with monkeypatch.context() as patch:
        patch.setattr(*where, fails)
        results = dict(zip(Side, worlds.link_both(*both, agreed), strict=True))
    mine, theirs = results[side], results[side.other]
    assert (type(mine), mine.exit_code) == (NoTableError, 17)
    assert "their rows are dependent" in str(mine)
    assert "resume" not in "".join([str(mine), *getattr(mine, "__notes__", ())])
    assert (type(theirs), theirs.exit_code) == (StoppedError, 17)
    assert "stopped: by chance, no table holds its values. The run is closed here, too" in str(theirs)
    for own in both:
        (row,) = Ledger(own.state.database).runs()
        found = open_run(own.state, row.run).manifest
        assert (found.state, found.closed, found.wrong) == ("no_table", True, 0)
        with pytest.raises(ClosedByChanceError, match=f"The run {row.run} is closed: no table held"):
            resume(row.run, state=own.state.folder, connect="127.0.0.1:1")
    assert len(tried) == 1
    # The way out: a new run has other seeds.
    assert all(isinstance(result, Linked) for result in worlds.link_both(*both, agreed))


def test_a_run_that_is_closed_by_chance_is_told_in_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed = faults.agreement("routed")
    both = worlds.introduce(tmp_path, agreed)

    def fails(*arguments: object) -> object:
        raise failed("the queries have too few bins among them")

    monkeypatch.setattr(routing, "place", fails)
    worlds.link_both(*both, agreed)
    for own in both:
        (row,) = Ledger(own.state.database).runs()

        def accord(*typed: str, folder: Path = own.state.folder) -> terminal.Done:
            return terminal.accord(folder, "--state", str(folder), *typed)

        listed = accord("runs")
        assert "closed: no table held its values" in " ".join(listed.stdout.split())
        assert "Continue" not in listed.stderr
        (told,) = json.loads(accord("runs", "--json").stdout)
        assert (told["ended"], told["done"], told["closed"]) == ("no_table", False, True)
        assert "No run waits" in accord("resume").stderr
        refused = accord("resume", row.run, "--connect", "127.0.0.1:1", "--data", "none.csv")
        assert refused.returncode == 17
        assert "Both run `accord link` again" in " ".join(refused.stderr.split())
        shown = accord("receipt", row.run)
        assert "by chance no table held the values of a side" in " ".join(shown.stderr.split())
