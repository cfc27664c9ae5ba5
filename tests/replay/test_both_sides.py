"""Both sides replayed against each other, without any stored message."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.accountable.stored import attempts
from accord.errors import DepartedError, StateError, UsageError
from accord.replay.both_sides import replay_both
from accord.replay.pledged import PledgedSide, open_pledged_side
from accord.side import Side
from accord.state.runs import open_run
from tests.replay.replays import CHEATS, SHOWN, accountable, done, offices, the_run
from tests.run import cheats, faults
from tests.run.faults import Office, Wire
from tests.state.damage import take_content

pytestmark = pytest.mark.usefixtures("quick")


def cases(both: dict[Side, Office]) -> dict[Side, PledgedSide]:
    """Both sides, without the messages that they received."""
    name = the_run(both)
    for office in both.values():
        for attempt in attempts(open_run(office.state, name)):
            for path in attempt.folder.glob("*.received"):
                path.unlink()
    return {side: open_pledged_side(office.state, name, None) for side, office in both.items()}


@pytest.mark.parametrize("kind", ["greedy", "psi-expand"])
def test_two_honest_sides(kind: str, tmp_path: Path) -> None:
    both = offices(tmp_path, kind)
    done(faults.link(both))
    found = replay_both(cases(both))
    assert {one.party for one in found.values()} == {"alice", "bob"}
    assert all(one.messages > 5 and one.signatures >= 3 for one in found.values())


def test_two_honest_sides_that_were_cut(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=60, told=True))
    done(faults.resume(both, the_run(both)))
    assert all(one.attempts == 2 for one in replay_both(cases(both)).values())


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_told_from_whom_it_cheats(cheat: str, tmp_path: Path) -> None:
    made, options = CHEATS[cheat]
    both = accountable(cheats.offices(tmp_path, cheats.agreement(**options)))
    with made():
        done(faults.link(both))
    with pytest.raises(DepartedError, match=SHOWN) as found:
        replay_both(cases(both))
    assert "bob departed" in str(found.value)


def test_who_empties_its_record_is_told_all_the_same(tmp_path: Path) -> None:
    both = accountable(cheats.offices(tmp_path, cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    state, name = both[Side.B].state, the_run(both)
    (attempt,) = attempts(open_run(state, name))
    (attempt.folder / "0.sent").write_bytes(b"accord sent 1\n")
    (attempt.folder / "0.seals").write_bytes(b"accord seals 1\n")
    with pytest.raises(DepartedError, match=f"bob departed .* {SHOWN}"):
        replay_both(cases(both))
    take_content(state, name, "opening-1")
    with pytest.raises(StateError, match="bob lacks an attempt"):
        replay_both(cases(both))


@pytest.mark.parametrize("side", Side)
def test_who_departs_between_two_signatures_is_told_by_what_the_other_received(
    side: Side, tmp_path: Path
) -> None:
    """In the engine, where nothing shows it: by its next signature a cheat has other answers. Its own record
    is not needed; without the other's nobody can tell who it was, and nobody is convicted."""
    both = offices(tmp_path, "plain")
    with cheats.change_message(8, side):
        faults.link(both)
    name = the_run(both)
    (attempt,) = attempts(open_run(both[side].state, name))
    (attempt.folder / "0.received").unlink()
    known = {each: open_pledged_side(office.state, name, None) for each, office in both.items()}
    with pytest.raises(DepartedError, match=f"{both[side].agreement.party(side)} departed .* message 8 "):
        replay_both(known)
    with pytest.raises(StateError, match="is not what two honest sides come to, and not by whom"):
        replay_both(cases(both))


def test_sides_of_two_runs_are_refused(tmp_path: Path) -> None:
    one, two = offices(tmp_path / "1", "plain"), offices(tmp_path / "2", "plain")
    done(faults.link(one))
    done(faults.link(two))
    with pytest.raises(UsageError, match="not the two sides of one run"):
        replay_both({Side.A: cases(one)[Side.A], Side.B: cases(two)[Side.B]})
