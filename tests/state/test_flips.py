"""No bit of a state changes what a run comes to: it is told, or nothing is different.

A flip is judged by everything that reads the state: a new run, the rest of a run that was cut, the accounts
and reports, and `accord state check`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from accord.errors import AccordError
from accord.run.inspection import inspect_state
from accord.run.stages import Linked
from accord.side import Side
from accord.state.runs import find_waiting
from tests.run import faults
from tests.run.faults import EXPECTED, Office, Wire
from tests.run.matrix import views
from tests.state.damage import flip

pytestmark = pytest.mark.usefixtures("quick")
Both = dict[Side, Office]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Two offices with a run that is done and one that was cut."""
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        made = faults.offices(tmp_path_factory.mktemp("flips"), "plain")
        faults.require_linked(faults.link(made))
        faults.link(made, Wire(frames=20))
    return made


@pytest.fixture
def whole(both: Both) -> Iterator[dict[Side, bytes]]:
    """Both states, put back when a test ends."""
    found = {side: office.state.store.path.read_bytes() for side, office in both.items()}
    yield found
    write(both, found)


def write(both: Both, contents: dict[Side, bytes]) -> None:
    for side, content in contents.items():
        both[side].state.store.path.write_bytes(content)


def end(both: Both, name: str | None) -> list[Linked | BaseException | None]:
    """How both sides of a run end, a new one or one that goes on."""
    for office in both.values():
        office.out.unlink(missing_ok=True)
    wire = Wire(told=True)
    try:
        return [*(faults.resume(both, name, wire) if name else faults.link(both, wire)).values()]
    except AccordError as error:
        return [error]


def judge(office: Office, both: Both, name: str | None, seen: dict[str, object]) -> bool:
    """Whether a flip is told; fail where it is not and anything is different."""
    told = bool(inspect_state(office.state).damages)
    for view, result in views(office).items():
        told |= isinstance(result, AccordError)
        assert isinstance(result, AccordError) or result == seen[view], view
    charged = [len(one.ledger.runs()) for one in both.values()] if not told else []
    for result in (ending := end(both, name)):
        assert isinstance(result, Linked | AccordError), repr(result)
    if all(isinstance(result, Linked) for result in ending):
        assert {one.out.read_bytes() for one in both.values()} == {EXPECTED["plain"]}
        if charged:
            assert [len(one.ledger.runs()) for one in both.values()] == [n + (name is None) for n in charged]
    else:
        told = True
    return told


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("count", [30, pytest.param(2500, marks=pytest.mark.slow)])
def test_no_flip_is_silent(side: Side, count: int, both: Both, whole: dict[Side, bytes]) -> None:
    office, random, told = both[side], np.random.default_rng([68, ord(side.value)]), 0
    seen, (waiting,) = views(office), find_waiting(office.state)
    for number, at in enumerate(random.integers(0, 8 * len(whole[side]), count).tolist()):
        write(both, whole | {side: flip(whole[side], at // 8, 1 << at % 8)})
        told += judge(office, both, waiting.run if number % 2 else None, seen)
    assert told
