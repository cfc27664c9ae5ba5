"""Targets: files and addresses, and what a run keeps of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import OutputError, UsageError
from accord.table.address import Address, Database
from accord.table.sinks.targets import as_target, as_target_or_none, folder_of, require_free, settled


def test_a_text_is_a_file_or_an_address() -> None:
    assert as_target("out", "pairs.csv") == as_target("out", Path("pairs.csv")) == Path("pairs.csv")
    table = Address(Database.SQLITE, "own.sqlite", "pairs")
    for given in ("sqlite:own.sqlite?table=pairs", Path("sqlite:own.sqlite?table=pairs"), table):
        assert as_target("out", given) == table
    assert as_target_or_none("out", None) is None
    with pytest.raises(UsageError, match="`out=` is a path"):
        as_target("out", 7)


@pytest.mark.parametrize("given", ["sqlite:own.sqlite", "duckdb:own.duckdb?query=SELECT 1", "postgres:"])
def test_nothing_is_written_to_a_query(given: str) -> None:
    with pytest.raises(UsageError, match="table=NAME"):
        as_target("out", given)


def test_what_a_run_keeps_is_the_same_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.sqlite").touch()
    (tmp_path / "link").symlink_to("own.sqlite")
    kept = settled(as_target("out", "sqlite:link?table=some pairs"))
    assert kept == f"sqlite:{tmp_path.resolve()}/own.sqlite?table=some pairs"
    assert settled(as_target("out", kept)) == kept
    assert settled(Path("pairs.csv")) == str(tmp_path.resolve() / "pairs.csv")
    server = "postgres:there?table=pairs&schema=own"
    assert settled(as_target("out", server)) == server
    assert folder_of(as_target("out", kept)) == folder_of(Path("pairs.csv")) == tmp_path.resolve()
    assert folder_of(as_target("out", server)) is None


def test_a_file_in_which_the_table_is_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("")
    read = Address(Database.SQLITE, str(tmp_path / "own.csv"), "people")
    with pytest.raises(OutputError, match="which is read"):
        require_free(tmp_path / "own.csv", [read], [], force=True)
