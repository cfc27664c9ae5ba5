"""Replays of accountable runs: who followed the protocol is never convicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import UnreadableError
from accord.run.remembered import Remembered, remember
from accord.side import Side
from accord.state.folder import State
from accord.table.sources.opening import ids_file
from tests.replay.replays import done, offices, replayed, require_honest, the_run
from tests.run import faults
from tests.run.faults import KINDS, Wire
from tests.state.damage import take_content

pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize("kind", [*(kind for kind in KINDS if kind != "routed"), *faults.INTERSECTIONS])
def test_an_honest_run_of_each_protocol(kind: str, tmp_path: Path) -> None:
    both = offices(tmp_path, kind)
    done(faults.link(both))
    require_honest(both)


@pytest.mark.parametrize(
    "engine", ["garbled", "paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)]
)
def test_an_honest_run_of_each_engine(engine: str, tmp_path: Path) -> None:
    both = offices(tmp_path, "all-pairs", engine=engine)
    for side, office in both.items():
        office.data.write_text(f"id,x,y\n{side.value}0,1,1\n{side.value}1,9,9\n")
    done(faults.link(both))
    require_honest(both)


def test_an_honest_run_of_dual(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain", engine="dual")
    done(faults.link(both))
    require_honest(both)


def test_an_honest_run_of_randomised_responses(tmp_path: Path) -> None:
    part = {"kind": "key", "field": "x"}
    commitment = {"epsilon": "2"}
    protocol = {"name": "local-dp", "window": 3, "A": commitment, "B": commitment}
    both = offices(tmp_path, "greedy", blocking=[part], protocol=protocol, rule="same(x)")
    done(faults.link(both))
    require_honest(both)
    state, name = both[Side.A].state, faults.common_run(both)
    assert name
    assert is_replayable(state, name)
    take_content(state, name, "seed")
    assert not is_replayable(state, name)


def test_an_honest_run_with_made_ids(tmp_path: Path) -> None:
    """They are a part of the table, which may be sorted; whoever lacks them is not convicted, nor helped."""
    both = offices(tmp_path, "plain")
    faults.drop_ids(both)
    done(faults.link(both))
    for office in both.values():
        header, *rows = office.data.read_text().splitlines()
        office.data.write_text("\n".join([header, *sorted(rows)]) + "\n")
    require_honest(both)
    a = both[Side.A]
    ids_file(a.data).unlink()
    with pytest.raises(UnreadableError, match=r"it is not there. It belongs next to the table"):
        replayed(both, Side.A, the_run(both))
    assert not ids_file(a.data).exists()


def is_replayable(state: State, name: str) -> bool:
    """What a report says of it."""
    known = remember(state, name)
    assert isinstance(known, Remembered)
    return known.replayable


def frames(folder: Path, kind: str) -> int:
    """How many frames a run of this kind has."""
    wire = Wire()
    done(faults.link(offices(folder, kind), wire))
    return len(wire.passed)


def require_honest_after_cut(folder: Path, kind: str, at: int) -> None:
    """A run that is cut after so many frames, goes on, and is then replayed with its cut attempt."""
    both = offices(folder, kind)
    faults.link(both, Wire(frames=at, told=True))
    name = faults.common_run(both)
    if name is None:
        return
    require_honest(both, least=0, unsigned=True)
    done(faults.resume(both, name))
    require_honest(both)


@pytest.mark.parametrize(
    "share", [0.6, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.3, 0.9))]
)
def test_an_honest_run_that_was_cut(share: float, tmp_path: Path) -> None:
    count = frames(tmp_path / "whole", "greedy")
    require_honest_after_cut(tmp_path / "cut", "greedy", int(share * count))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "plain", "all-pairs"])
def test_an_honest_run_that_was_cut_anywhere(kind: str, tmp_path: Path) -> None:
    count = frames(tmp_path / "whole", kind)
    for at in range(1, count):
        require_honest_after_cut(tmp_path / str(at), kind, at)


def test_a_run_that_is_done_again_for_its_receipt(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    done(faults.resume(both, the_run(both)))
    require_honest(both, least=2)


def test_a_killed_side_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, wire = offices(tmp_path / "whole", "greedy"), Wire()
    with faults.deaths(monkeypatch, wire, Side.A, None, before=True) as writes:
        done(faults.link(whole, wire))
    both, wire = offices(tmp_path / "killed", "greedy"), Wire()
    with faults.deaths(monkeypatch, wire, Side.A, int(0.7 * len(writes)), before=True):
        faults.link(both, wire)
    require_honest(both, least=0)
    done(faults.resume(both, the_run(both)))
    require_honest(both, least=2)
