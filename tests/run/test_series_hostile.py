"""Partners of a series that lie, and folders of its runs that were changed: each time it is said so."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import DamagedError, DepartedError, PeerError, StateError
from accord.peer import handshake_series
from accord.peer.handshake_series import Opening
from accord.protocols.parts.batches import Batch, Look, decode_looks, encode_looks
from accord.protocols.parts.disclosed import Disclosed
from accord.protocols.parts.shown import Shown
from accord.protocols.series_greedy import SeriesGreedy
from accord.replay.series import Earlier
from accord.run import series
from accord.run.series import OwnSeries
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import open_run
from tests.replay.test_series import Both, change_look, link, offices, replayed
from tests.run import faults, test_series_cuts
from tests.run.faults import Wire
from tests.run.test_series import A_TABLES, B_TABLES
from tests.run.test_series_cuts import copied, go_on, hold, pairs
from tests.state.damage import add_run, flip_content

pytestmark = pytest.mark.usefixtures("quick")


def lie(patch: pytest.MonkeyPatch, change: Callable[[OwnSeries], Shown]) -> None:
    """B begins with other disclosed records than it should."""
    true = OwnSeries.__init__

    def init(self: OwnSeries, *given: Any, **parts: Any) -> None:
        true(self, *given, **parts)
        if self.side is Side.B and not self.past_digest:
            object.__setattr__(self, "shown", change(self))

    patch.setattr(OwnSeries, "__init__", init)


def keep_back(own: OwnSeries) -> Shown:
    """B says that it has shown one more of its records, which then has no slots."""
    shown = own.shown
    return replace(shown, own=np.append(shown.own, np.setdiff1d(own.entered.rows.member, shown.own)[:1]))


def test_who_keeps_a_record_back_in_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path)
    with monkeypatch.context() as patch:
        lie(patch, keep_back)
        name = link(both, A_TABLES[0], B_TABLES[0], Wire(told=True))
    with pytest.raises(DepartedError, match="disclosed"):
        replayed(both, Side.B, name)


def second(both: Both, patch: pytest.MonkeyPatch) -> tuple[str, str]:
    first = link(both, A_TABLES[0], B_TABLES[0])
    with patch.context() as patch:
        lie(patch, keep_back)
        return first, link(both, A_TABLES[1], B_TABLES[1], Wire(told=True))


@pytest.mark.parametrize("change", [{"done": False}, {"partner": "carol"}])
def test_who_hides_what_was_disclosed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """What the run before ended with is not there, or in a run that never was: who changes its own record is
    not cleared by that."""
    both = offices(tmp_path)
    first, name = second(both, monkeypatch)
    with pytest.raises(DepartedError, match="disclosed"):
        replayed(both, Side.B, name)
    state = both[Side.B].state
    began = open_run(state, name).read("before")
    add_run(state, first, state, "another", {"shown": began}, run="another")
    open_run(state, first).change(**change)
    assert replayed(both, Side.B, name).earlier == Earlier(1, 1)


def test_who_pledges_another_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path)
    true = OwnSeries.pledged

    def pledged(self: OwnSeries, table: bytes, run: Any) -> bytes:
        if self.side is Side.B:
            self = replace(self, past=replace(self.past, runs=0))
        return true(self, table, run)

    monkeypatch.setattr(OwnSeries, "pledged", pledged)
    _, name = second(both, monkeypatch)
    open_run(both[Side.B].state, name).change(series_run=1)
    with pytest.raises(DepartedError, match="disclosed"):
        replayed(both, Side.B, name)


def test_an_earlier_run_that_is_there_twice(tmp_path: Path) -> None:
    both = offices(tmp_path)
    names = [link(both, a, b) for a, b in zip(A_TABLES, B_TABLES, strict=True)]
    state = both[Side.B].state
    add_run(state, names[0], state, names[1], {}, look=2)
    assert replayed(both, Side.B, names[2]).earlier == Earlier(1, 1)


def test_a_batch_that_was_drawn_twice(tmp_path: Path) -> None:
    """B takes its state back to before a run that it had cut, and brings another batch; both are kept."""
    both = offices(tmp_path)
    link(both, A_TABLES[0], B_TABLES[0])
    home, copy = both[Side.B].state.folder, tmp_path / "copy"
    shutil.copytree(home, copy)
    first = link(both, A_TABLES[1], B_TABLES[1], Wire(frames=60, told=True))
    replayed(both, Side.B, first)
    kept = tmp_path / "kept"
    shutil.move(home, kept)
    shutil.copytree(copy, home)
    both[Side.B].state = State(home)
    with cheats_of_the_heard():
        second = link(both, A_TABLES[1], B_TABLES[1] | {"z": (9, 9)})
    replayed(both, Side.B, second)
    add_run(State(kept), first, both[Side.B].state, first, {})
    for name in (first, second):
        with pytest.raises(DepartedError, match="the batches that it went on with are not those of its run"):
            replayed(both, Side.B, name)
        replayed(both, Side.A, name)


@contextmanager
def cheats_of_the_heard() -> Iterator[None]:
    """B does not mind that A has heard of more batches than it knows."""
    true = handshake_series.exchange_openings

    def exchange(own: Opening, side: Side, partner: str) -> Party[int]:
        return true(replace(own, drawn=own.drawn + (side is Side.B)), side, partner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series, "exchange_openings", exchange)
        yield


def test_an_older_record_that_suddenly_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B moves a record of its first batch, within its bin, beside one that A has shown, to see what else is
    there."""
    both, other = (test_series_cuts.offices(tmp_path / name, "greedy") for name in ("both", "other"))
    moved = B_TABLES[0] | {"v": (2, 1)}
    for some, table in ((both, moved | {"v": (4, 4)}), (other, moved)):
        some[Side.A].hold(A_TABLES[0])
        some[Side.B].hold(table)
        pairs(go_on(some, Wire(), resuming=False))
    (invented,) = other[Side.B].batches
    assert invented.batch is not None
    members = invented.batch.members
    change_look(both[Side.B], lambda look: Look(Batch(members, look.batch.counts), look.gone))
    true = SeriesGreedy._match_new

    def match_all(self: SeriesGreedy, known: Disclosed) -> Any:
        if self._mine.side is Side.B:
            self._new = np.ones_like(self._new)
        return true(self, known)

    monkeypatch.setattr(SeriesGreedy, "_match_new", match_all)
    both[Side.B].hold(moved)
    ending = go_on(both, Wire(told=True), resuming=False)
    assert isinstance(ending[Side.A], PeerError)
    assert "a record of an earlier batch" in str(ending[Side.A])


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Both, list[str]]:
    """Two runs of an accountable series; tests copy what they change."""
    both = offices(tmp_path_factory.mktemp("two"))
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        return both, [link(both, a, b) for a, b in zip(A_TABLES[:2], B_TABLES[:2], strict=True)]


Two = tuple[Both, list[str]]


def changed(two: Two, folder: Path, number: int, name: str, change: Callable[[bytes], bytes]) -> Both:
    """The same two, of which B keeps something else of its run with this number, as if it had always."""
    found = copied(two[0], folder)
    run = open_run(found[Side.B].state, two[1][number])
    run.keep({name: change(run.read(name))})
    return found


def damaged(two: Two, folder: Path, number: int, name: str) -> Both:
    """The same two, of which B has one bit flipped in what it keeps of its run with this number."""
    found = copied(two[0], folder)
    flip_content(found[Side.B].state, two[1][number], name)
    return found


def without_the_end(content: bytes) -> bytes:
    return content[:-8]


@pytest.mark.parametrize("name", ["looks", "before", "shown", "receipt"])
def test_a_cut_content_convicts_nobody(name: str, two_runs: Two, tmp_path: Path) -> None:
    both = changed(two_runs, tmp_path / "earlier", 0, name, without_the_end)
    found = replayed(both, Side.B, two_runs[1][1]).earlier
    assert found == Earlier(int(name == "shown"), 1)


@pytest.mark.parametrize("name", ["looks", "before", "receipt", "seed", "pledges"])
def test_a_flipped_bit_convicts_nobody(name: str, two_runs: Two, tmp_path: Path) -> None:
    """What cannot be opened of an earlier run is missing, and that is said."""
    both = damaged(two_runs, tmp_path / "earlier", 0, name)
    assert replayed(both, Side.B, two_runs[1][1]).earlier == Earlier(0, 1)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("name", ["looks", "before", "counts"])
def test_a_damaged_content_of_the_run_itself(name: str, flipped: bool, two_runs: Two, tmp_path: Path) -> None:
    if flipped:
        both = damaged(two_runs, tmp_path / "itself", 1, name)
    else:
        both = changed(two_runs, tmp_path / "itself", 1, name, without_the_end)
    said = f"the {name} of the run .* is not what was written" if flipped else "cannot be read"
    with pytest.raises(DamagedError if flipped else StateError, match=said):
        replayed(both, Side.B, two_runs[1][1])
    if name != "looks":
        with pytest.raises(DamagedError if flipped else StateError, match=said):
            faults.resume(dict[Side, faults.Office](both), two_runs[1][1])


def huge(content: bytes) -> bytes:
    start = len(b"accord shown 1\n") + 32
    body = b"\xff" * 8 + content[start + 8 :]
    return content[: start - 32] + hashlib.sha256(body).digest() + body


def never_there(content: bytes) -> bytes:
    return encode_looks([Look(look.batch, np.array([1 << 40])) for look in decode_looks(content)])


INVENTED = [("before", huge), ("looks", never_there)]


@pytest.mark.parametrize(("name", "change"), INVENTED)
def test_numbers_that_cannot_be(
    name: str, change: Callable[[bytes], bytes], two_runs: Two, tmp_path: Path
) -> None:
    """Who replays a folder may not trust it."""
    with pytest.raises(StateError, match="cannot be read"):
        replayed(changed(two_runs, tmp_path / "numbers", 1, name, change), Side.B, two_runs[1][1])


def test_a_number_of_a_run_that_cannot_be(two_runs: Two, tmp_path: Path) -> None:
    both, name = copied(two_runs[0], tmp_path / "numbers"), two_runs[1][1]
    open_run(both[Side.B].state, name).change(series_run=-1)
    with pytest.raises(StateError, match=f"what is kept of the run {name} cannot be read"):
        replayed(both, Side.B, name)


def test_what_was_disclosed_in_a_later_run(two_runs: Two, tmp_path: Path) -> None:
    """A file of another run, that somebody put back into the wrong folder."""
    both, names = two_runs
    later = open_run(both[Side.B].state, names[1]).read("shown")
    mixed = changed(two_runs, tmp_path / "mixed", 1, "before", lambda _: later)
    hold(mixed, 2)
    with pytest.raises(StateError, match=r"the before of the run .* cannot be read"):
        go_on(mixed, Wire(), resuming=False)
