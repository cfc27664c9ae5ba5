"""One bit of a state folder is another: it is told, or nothing at all is different.

Each world is two organisations at some moment: a run that is done, or one that was cut. A bit is flipped in
one of the two state folders, and then its owner does all that owners do, in processes that know nothing of
before. What is raised must be one of our errors; what is not raised must be what it is without the flip: the
same accounts, the same runs, the same pairs, the same noisy counts before the partner's eyes.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from accord.errors import AccordError, DamagedError
from accord.run.remembered import Remembered, remember
from accord.run.stages import Linked
from accord.side import Side
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from accord.state.runs import find_waiting, list_runs
from tests.run import faults
from tests.run.faults import Ending, Office, Wire

pytestmark = pytest.mark.usefixtures("quick")
Both = dict[Side, Office]


@dataclass(frozen=True)
class World:
    """Two organisations at some moment, and what either of them does then."""

    make: Callable[[Path], Both]
    do: Callable[[Both, Side], dict[str, Callable[[], object]]]


def accounts(state: State) -> object:
    ledger = Ledger(state.database)
    return [(e.run, e.partner, e.cost, e.stored) for e in ledger.runs()], ledger.budgets()


def runs(state: State) -> object:
    found, broken = list_runs(state)
    if broken:
        raise DamagedError(path=state.folder, reason="a run is broken", mend="")
    return sorted((repr(run.manifest), run.steps()) for run in found)


def report(state: State) -> object:
    """What reports of all runs are made of; one that lacks its receipt says so."""
    return [_remember(state, entry.run) for entry in Ledger(state.database).runs()]


def _remember(state: State, name: str) -> object:
    found = remember(state, name)
    assert isinstance(found, Remembered)
    if found.receipt is None and found.ended == "done":
        raise DamagedError(path=state.folder, reason="a report says that the receipt cannot be read", mend="")
    return {key: repr(value) for key, value in vars(found).items()}


def ended(ending: Ending) -> object:
    """The pairs of both, and whether anything was charged for them; raises what either side raised."""
    for result in ending.values():
        if isinstance(result, BaseException):
            raise result
    linked = [result for result in ending.values() if isinstance(result, Linked)]
    if len(linked) < 2:
        raise DamagedError(path=Path(), reason="one side waits for the other", mend="")
    pairs = [sorted(map(str, one.found.table().to_pylist())) for one in linked]
    return pairs, [one.charged for one in linked]


def released(both: Both) -> object:
    """The noisy counts of every run, as the partner sees them."""
    return [sorted(run.slots().counts.tolist() for run in list_runs(o.state)[0]) for o in both.values()]


def link_again(both: Both) -> object:
    """Under the same name: the partner is shown the very same counts."""
    found = ended(faults.link(both))
    return found, released(both)


def of_any(both: Both, side: Side) -> dict[str, Callable[[], object]]:
    state = both[side].state
    return {
        "ledger": lambda: accounts(state),
        "runs": lambda: runs(state),
        "report": lambda: report(state),
        "link": lambda: link_again(both),
    }


def of_cut(both: Both, side: Side) -> dict[str, Callable[[], object]]:
    def resume() -> object:
        waiting = [run.run for run in find_waiting(both[side].state)]
        (name,) = waiting
        return ended(faults.resume(both, name)), released(both)

    state = both[side].state
    return {"ledger": lambda: accounts(state), "runs": lambda: runs(state), "resume": resume}


def done(folder: Path) -> Both:
    both = faults.offices(folder, "plain")
    faults.link(both)
    return both


def cut(folder: Path) -> Both:
    both = faults.offices(folder, "plain")
    faults.link(both, Wire(frames=14))
    assert all(find_waiting(office.state) for office in both.values())
    return both


WORLDS = {
    "done": World(done, of_any),
    "cut": World(cut, of_cut),
}


def anew(both: Both, kept: Path) -> Both:
    """The same two as they were kept, to processes that are new."""
    found = {}
    for side, office in both.items():
        home = office.data.parent
        shutil.rmtree(home)
        shutil.copytree(kept / side.value, home)
        found[side] = replace(office, state=open_state(office.state.folder, {}))
    return found


def files(folder: Path) -> list[Path]:
    """All that hold anything, from the folder on."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    return [path.relative_to(folder) for path in found]


def outcomes(
    both: Both, world: World, side: Side, flip: tuple[Path, int] | None, kept: Path
) -> dict[str, object]:
    """What comes of all that an owner does, each thing by itself; what is raised is there as an error."""
    found: dict[str, object] = {}
    for name in world.do(both, side):
        here = anew(both, kept)
        if flip is not None:
            path = here[side].state.folder / flip[0]
            content = bytearray(path.read_bytes())
            content[flip[1] // 8] ^= 1 << flip[1] % 8
            path.write_bytes(content)
        try:
            found[name] = world.do(here, side)[name]()
        except AccordError as error:
            found[name] = error
    return found


def check(
    both: Both, world: World, side: Side, flip: tuple[Path, int], kept: Path, expected: dict[str, object]
) -> bool:
    """Whether a flip is told by anything that its owner does; raises if it changes anything untold."""
    got = outcomes(both, world, side, flip, kept)
    told = {name for name, result in got.items() if isinstance(result, AccordError)}
    for name in set(got) - told:
        assert got[name] == expected[name], f"{name} is another after {flip} of {side}"
    return bool(told)


def sweep(kind: str, folder: Path, flips: int, seed: str) -> int:
    """Flip so many bits anywhere; how many of them were told."""
    world, dice = WORLDS[kind], random.Random(seed)
    both, kept = world.make(folder / "world"), folder / "kept"
    shutil.copytree(folder / "world", kept)
    expected = {side: outcomes(both, world, side, None, kept) for side in Side}
    for side in Side:
        wrong = {name: result for name, result in expected[side].items() if isinstance(result, AccordError)}
        assert not wrong, wrong
    told = 0
    for _ in range(flips):
        side = dice.choice(list(Side))
        state = kept / side.value / "state"
        sizes = {path: (state / path).stat().st_size for path in files(state)}
        # Small files as often as large ones, and every place of them.
        path = dice.choice(list(sizes))
        flip = path, dice.randrange(8 * sizes[path])
        told += check(both, world, side, flip, kept, expected[side])
    return told


@pytest.mark.parametrize("kind", WORLDS)
def test_a_flip_in_each_kind_of_file(kind: str, tmp_path: Path) -> None:
    world = WORLDS[kind]
    both, kept = world.make(tmp_path / "world"), tmp_path / "kept"
    shutil.copytree(tmp_path / "world", kept)
    expected = outcomes(both, world, Side.A, None, kept)
    state = kept / "A" / "state"
    told = set()
    for path in files(state):
        bits = 8 * (state / path).stat().st_size
        if check(both, world, Side.A, (path, bits // 3), kept, expected):
            told.add(path.name)
    assert told >= {"journal", "identity.pem"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
def test_thousands_of_flips(kind: str, tmp_path: Path) -> None:
    assert sweep(kind, tmp_path, 1000, "5,000 in all") > 250
