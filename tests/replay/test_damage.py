"""One bit that a disk has flipped: it convicts nobody who is honest, and clears nobody who is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from accord.errors import DamagedError, DepartedError, StateError, TrustError, UsageError
from accord.replay.both_sides import replay_both
from accord.replay.one_side import Replayed, make_evidence, replay_side
from accord.replay.pledged import PledgedSide, open_pledged_side
from accord.secure.ot import engine as ot_engine
from accord.side import Side
from accord.state.folder import State
from tests.replay import test_series
from tests.replay.replays import done, offices, the_run
from tests.run import faults
from tests.run.test_series import A_TABLES, B_TABLES
from tests.state.damage import flip, flip_content
from tests.workers.worker_cheating import hide

pytestmark = pytest.mark.usefixtures("quick")


@dataclass(frozen=True)
class Kept:
    """A run as both sides keep it, with their tables; tests copy what they change."""

    states: dict[Side, State]
    tables: dict[Side, Path]
    name: str

    def copied(self, folder: Path) -> Kept:
        states = {}
        for side, state in self.states.items():
            shutil.copytree(state.folder, folder / side.value)
            states[side] = State(folder / side.value)
        return Kept(states, self.tables, self.name)

    def case(self, side: Side) -> PledgedSide:
        return open_pledged_side(self.states[side], self.name, self.tables[side])

    def alone(self, side: Side) -> Replayed:
        return replay_side(self.case(side))

    def before_evidence(self, side: Side) -> Replayed:
        return replay_side(self.case(side), make_evidence(self.states[side.other], self.name))

    def against(self) -> dict[Side, Replayed]:
        return replay_both({side: self.case(side) for side in Side})

    @property
    def judgements(self) -> list[Callable[[], object]]:
        """All ways to judge B."""
        return [lambda: self.alone(Side.B), lambda: self.before_evidence(Side.B), self.against]

    def file(self, side: Side, name: str) -> Path:
        return self.states[side].run(self.name) / name


def linked(folder: Path) -> Kept:
    both = offices(folder, "plain")
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        done(faults.link(both))
    states = {side: State(office.state.folder) for side, office in both.items()}
    return Kept(states, {side: office.data for side, office in both.items()}, the_run(both))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return linked(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def cheated(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """B says that nothing matches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ot_engine, "run_b", hide)
        return linked(tmp_path_factory.mktemp("cheated"))


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The second run of a series."""
    both = test_series.offices(tmp_path_factory.mktemp("series"))
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        *_, name = [test_series.link(both, a, b) for a, b in zip(A_TABLES[:2], B_TABLES[:2], strict=True)]
    states = {side: State(office.state.folder) for side, office in both.items()}
    return Kept(states, {side: test_series.kept_table(office, name) for side, office in both.items()}, name)


NEEDED = ["agreement", "seed", "noise", "pledges", "card-A", "card-B", "opening-1"]


@pytest.mark.parametrize("name", [*NEEDED, "receipt"])
def test_what_a_replay_needs(name: str, honest: Kept, tmp_path: Path) -> None:
    kept = honest.copied(tmp_path)
    flip_content(kept.states[Side.B], kept.name, name)
    for judge in kept.judgements:
        with pytest.raises(StateError):
            judge()
    assert kept.alone(Side.A) == honest.alone(Side.A)


@pytest.mark.parametrize("name", NEEDED)
def test_who_cheated_is_not_cleared(name: str, cheated: Kept, tmp_path: Path) -> None:
    kept = cheated.copied(tmp_path)
    flip_content(kept.states[Side.B], kept.name, name)
    for judge in kept.judgements:
        with pytest.raises(StateError):
            judge()


@pytest.mark.parametrize("name", ["slots", "receipt", "journal"])
def test_what_no_verdict_hangs_on(name: str, honest: Kept, cheated: Kept, tmp_path: Path) -> None:
    """Slots and answers follow from the rest, and who signed for a wrong message is convicted by that."""
    for of in (honest, cheated):
        kept = of.copied(tmp_path / of.name)
        if name == "journal":
            flip(kept.file(Side.B, "journal"), -5)
        else:
            flip_content(kept.states[Side.B], kept.name, name)
        if of is cheated:
            for judge in kept.judgements:
                with pytest.raises(DepartedError, match="bob departed"):
                    judge()
        elif name != "receipt":
            assert kept.alone(Side.B) == kept.before_evidence(Side.B) == honest.alone(Side.B)
            assert kept.against() == honest.against()


@pytest.mark.parametrize("name", ["looks", "counts", "before", "shown", "seed", "pledges"])
def test_what_a_run_of_a_series_needs(name: str, series: Kept, tmp_path: Path) -> None:
    kept = series.copied(tmp_path)
    flip_content(kept.states[Side.B], kept.name, name)
    for judge in kept.judgements:
        with pytest.raises(DamagedError, match=f"the {name} of the run {kept.name} is not what was written"):
            judge()
    assert kept.alone(Side.A) == series.alone(Side.A)


@pytest.mark.parametrize("name", ["slots", "pairs"])
def test_what_a_run_of_a_series_does_not_need(name: str, series: Kept, tmp_path: Path) -> None:
    kept = series.copied(tmp_path)
    flip_content(kept.states[Side.B], kept.name, name)
    assert kept.before_evidence(Side.B) == series.before_evidence(Side.B)


def test_an_entry_of_the_log(honest: Kept, tmp_path: Path) -> None:
    kept = honest.copied(tmp_path)
    path = kept.states[Side.B].folder / "state.sqlite"
    flip(path, path.read_bytes().index(b'"partner_records":') + 20)
    for judge in kept.judgements:
        with pytest.raises(DamagedError, match=r"entry \d+ of its log is not what was written"):
            judge()


def verdict(judge: Callable[[], object]) -> str:
    """What is said of a side."""
    try:
        judge()
    except DepartedError:
        return "departed"
    except (StateError, TrustError, UsageError):
        return "nothing"
    return "followed"


def places(path: Path, count: int) -> list[int]:
    """So many bytes of a file behind its tag, from the first to the last."""
    size = path.stat().st_size
    return [20 + (size - 21) * n // (count - 1) for n in range(count)]


def said(kept: Kept, path: Path, count: int) -> list[list[str]]:
    """What each way to judge B says where a bit is flipped in so many places of a file."""
    found = []
    for at in places(path, count):
        flip(path, at)
        # Each looks anew at what is there.
        now = Kept({side: State(state.folder) for side, state in kept.states.items()}, kept.tables, kept.name)
        found.append([verdict(judge) for judge in now.judgements])
        flip(path, at)
    return found


@pytest.mark.parametrize(
    ("kind", "verdicts"),
    [
        ("received", ["nothing", "nothing", "followed"]),
        ("sent", ["followed", "followed", "followed"]),
        ("seals", ["nothing", "followed", "nothing"]),
    ],
)
def test_the_own_record(kind: str, verdicts: list[str], honest: Kept, tmp_path: Path) -> None:
    """Links are of no weight, and with both tables no stored message is needed."""
    kept = honest.copied(tmp_path)
    for found in said(kept, kept.file(Side.B, f"record/0001/0.{kind}"), 4):
        assert all(one in (due, "followed") for one, due in zip(found, verdicts, strict=True)), found


@pytest.mark.parametrize(
    ("kind", "verdicts"),
    [
        ("received", ["nothing", "nothing", "departed"]),
        ("sent", ["departed", "departed", "departed"]),
        ("seals", ["nothing", "departed", "nothing"]),
    ],
)
def test_the_own_record_of_a_cheat(kind: str, verdicts: list[str], cheated: Kept, tmp_path: Path) -> None:
    kept = cheated.copied(tmp_path)
    for found in said(kept, kept.file(Side.B, f"record/0001/0.{kind}"), 4):
        assert all(one in (due, "departed") for one, due in zip(found, verdicts, strict=True)), found


@pytest.mark.parametrize("kind", ["received", "sent", "seals"])
def test_the_record_of_who_accuses(kind: str, honest: Kept, tmp_path: Path) -> None:
    kept = honest.copied(tmp_path)
    for alone, *others in said(kept, kept.file(Side.A, f"record/0001/0.{kind}"), 4):
        assert alone == "followed"
        assert "departed" not in others


@pytest.mark.slow
def test_any_bit_of_a_state_folder(honest: Kept, cheated: Kept, tmp_path: Path) -> None:
    """Wherever it is: an honest side is never convicted, and who cheated is never cleared."""
    for of, never in ((honest, "departed"), (cheated, "followed")):
        kept = of.copied(tmp_path / of.name)
        files = [path for path in sorted(kept.states[Side.B].folder.rglob("*")) if path.is_file()]
        for path in files:
            for found in said(kept, path, 20) if path.stat().st_size > 21 else ():
                assert never not in found, path
