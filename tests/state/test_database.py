"""The database: what the log adds up to, for several who write, and after something failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.state.database import Database
from accord.state.register import (
    AccountSet,
    PartnerAdded,
    PartnerRemoved,
    Register,
    RunBegun,
    RunChanged,
    RunCharged,
    RunForgotten,
    decode_entry,
    encode_entry,
)
from tests.spent import SpentError

ACCOUNT = AccountSet("North", "5", "1/8", None)


def charged(run: str, key: str | None = "key", **more: object) -> RunCharged:
    return RunCharged(run, "event", "north", "p", "agreement", "2026-11-17", True, key, **more)  # type: ignore[arg-type]


def known(database: Database) -> Register:
    with database.reading() as state:
        return state.register


def test_entries_read_back() -> None:
    for entry in (ACCOUNT, charged("r", noise="ab" * 32), RunChanged("r", {"done": True}, {"a": "ab" * 32})):
        assert decode_entry(encode_entry(entry)) == entry


def test_who_writes_sees_what_others_wrote(tmp_path: Path) -> None:
    one, other = Database(tmp_path), Database(tmp_path)
    for number, database in enumerate((one, other, one, other)):
        with database.writing() as state:
            assert len(state.register.partners) == number
            state.add(PartnerAdded(f"p{number}", "card"))
    with one.writing() as state:
        state.add(PartnerRemoved("p0"))
    assert list(known(one).partners) == list(known(other).partners) == ["p1", "p2", "p3"]


def test_a_read_that_was_cut_short_is_not_half_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(tmp_path).writing() as state:
        for run in ("r1", "r2"):
            state.add(charged(run))
    database, take = Database(tmp_path), Register.take

    def stop(register: Register, body: bytes) -> None:
        take(register, body)
        if len(register.runs) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Register, "take", stop)
        with pytest.raises(KeyboardInterrupt):
            known(database)
    found = known(database)
    assert list(found.runs) == ["r1", "r2"]
    assert len(found.releases) == 1


def test_what_was_undone_is_not_remembered(tmp_path: Path) -> None:
    database = Database(tmp_path)

    def fail() -> None:
        with database.writing() as state:
            state.add(ACCOUNT)
            raise SpentError

    with pytest.raises(SpentError):
        fail()
    assert not known(database).accounts
    with database.writing() as state:
        state.add(ACCOUNT)
    assert known(database).accounts == known(Database(tmp_path)).accounts == {"north": ACCOUNT}


def test_a_run_is_begun_charged_changed_and_forgotten(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.writing() as state:
        shared, own = state.keep(b"agreement"), state.keep(b"secret")
        for run in ("r1", "r2"):
            state.add(RunBegun(run, {"done": False}, {"agreement": shared}))
        state.add(charged("r1", noise=state.keep(b"noise"), contents={"slots": own}))
        state.add(RunChanged("r1", {"done": True}))
    found_run = known(database).runs["r1"]
    assert (found_run.manifest, set(found_run.contents), found_run.release, found_run.kept) == (
        {"done": True}, {"agreement", "slots"}, 0, True,
    )  # fmt: skip
    with database.writing() as state:
        state.add(RunForgotten("r1"))
    found = known(database)
    assert not found.runs["r1"].kept
    assert found.release_of("key") is None
    with database.reading() as state:
        assert state.content(shared, "the agreement") == b"agreement", "another run has it, too"
    content = database.path.read_bytes()
    assert b"secret" not in content
    assert found.runs["r2"].contents == {"agreement": shared}


def test_every_content_has_a_name(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.writing() as state:
        state.add(charged("r1", noise=state.keep(b"n"), contents={"slots": state.keep(b"s")}))
    with database.reading() as state:
        assert sorted(state.register.contents().values()) == [
            "the noise of a release",
            "the slots of the run r1",
        ]
