"""`accord link --resume-first`: both sides come to the same, wherever a run was cut."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from accord.cli.waiting import UNATTENDED, Wanted, reconsider, resume_or_link
from accord.errors import NotResumedError, OtherRunError
from accord.side import Side
from accord.state.runs import open_run
from tests.run import faults
from tests.run.faults import Office, Wire

pytestmark = pytest.mark.usefixtures("quick")


def wanted(office: Office, **other: Any) -> Wanted:
    whole = Wanted(office.state, office.partner, office.agreement.to_toml(), "table")
    return replace(whole, **other)


def decide(both: dict[Side, Office]) -> tuple[str | None, str | None]:
    """What both attempt in the end: at first what each knows of, then by what the other attempted."""
    runs = {side: wanted(office) for side, office in both.items()}
    first = {side: run.find() for side, run in runs.items()}
    if first[Side.A] == first[Side.B]:
        return first[Side.A], first[Side.B]
    a, b = (reconsider(runs[side], first[side], first[side.other] or "") for side in Side)
    return a, b


def require_same(folder: Path, wire: Wire) -> None:
    """Both attempt the same, and no charge of a run that is not done on both sides is given up."""
    both = cut(folder, wire)
    a, b = decide(both)
    assert a == b
    charged = {row.run for office in both.values() for row in office.ledger.runs()}
    done = [office.run is not None and office.run.manifest.done for office in both.values()]
    assert a is None if all(done) else {a} - {None} == charged or not charged


def cut(folder: Path, wire: Wire) -> dict[Side, Office]:
    both = faults.offices(folder)
    faults.link(both, wire)
    return both


@pytest.mark.parametrize(
    ("moment", "lost"), [(1, True), (3, False), (4, True), (5, True), (6, False), (7, True)]
)
def test_wherever_it_is_cut_both_attempt_the_same(moment: int, lost: bool, tmp_path: Path) -> None:
    require_same(tmp_path, Wire(moment, lost))


@pytest.mark.slow
def test_at_every_moment_and_with_frames_that_reach_one_side_alone(tmp_path: Path) -> None:
    cut(tmp_path / "whole", whole := Wire())
    for n in range(len(whole.passed)):
        for lost in (False, True):
            require_same(tmp_path / f"{n}-{lost}", Wire(n, lost))
        for side in Side:
            require_same(tmp_path / f"{n}-{side}", Wire(to={side: n}, told=True))


@dataclass
class UntilDone(Wire):
    """Ends, with all that is on its way, as soon as one side is done."""

    both: dict[Side, Office] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return any(office.run is not None and office.run.manifest.done for office in self.both.values())


def test_a_side_that_is_done_helps_the_one_that_was_cut_before_the_receipt(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    faults.link(both, UntilDone(lost=True, both=both))
    assert [o.run.manifest.done for o in both.values() if o.run].count(True) == 1
    a, b = decide(both)
    assert a == b == faults.common_run(both)


def test_only_runs_of_the_same_agreement_partner_and_account_are_continued(tmp_path: Path) -> None:
    office = cut(tmp_path, Wire(12))[Side.A]
    name = wanted(office).find()
    assert name is not None
    assert wanted(office, dataset=None).find() == wanted(office, dataset="Table").find() == name
    for other in ({"agreement": "other"}, {"partner": "carol"}, {"dataset": "other"}):
        assert wanted(office, **other).find() is None
        assert wanted(office, **other).known(name) is None
    assert wanted(office).known("0123456789abcdef") is None


def calls(runs: Wanted, *theirs: str) -> list[str | None]:
    """What is attempted, in turn; each time the partner turns out to do something else."""
    found: list[str | None] = []
    answers = iter(theirs)

    def go_on(name: str | None = None) -> Any:
        found.append(name)
        for other in answers:
            raise OtherRunError(problem="Something else.", theirs=other)
        return "linked"

    linked: Any = resume_or_link(runs, go_on, go_on)
    assert linked == "linked"
    return found


def test_what_waits_is_resumed_until_it_is_left_to_a_person(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    office = both[Side.A]
    assert calls(wanted(office)) == [None]
    faults.link(both, Wire(12))
    name = wanted(office).find()
    assert name is not None
    assert calls(wanted(office)) == [name]
    # The partner began anew; a run that was charged is attempted once more, and then it is given to a person.
    assert calls(wanted(office), "") == [name, name]
    with pytest.raises(OtherRunError):
        calls(wanted(office), "", "")
    run = open_run(office.state, name)
    run.change(resumes=UNATTENDED - 1)
    assert calls(wanted(office)) == [name]
    run.change(resumes=UNATTENDED)
    with pytest.raises(NotResumedError):
        calls(wanted(office))
    run.change(wrong=3)
    assert calls(wanted(office)) == [None], "it is closed"
    # One that is done here goes on with a partner that asks for it.
    both = faults.offices(tmp_path / "done")
    faults.link(both)
    name, office = faults.the_run(both), both[Side.A]
    assert calls(wanted(office), name) == [None, name]
    open_run(office.state, name).change(resumes=UNATTENDED)
    with pytest.raises(NotResumedError):
        calls(wanted(office), name)


def test_a_run_that_was_given_up_before_it_was_charged_is_not_tried_again(tmp_path: Path) -> None:
    """Else it would be refused as soon as the table changes, at every turn."""
    for moment in range(12):
        office = cut(tmp_path / str(moment), Wire(moment))[Side.A]
        name = wanted(office).find()
        if name is not None and not open_run(office.state, name).charged:
            break
    assert calls(wanted(office), "") == [name, None]
    assert wanted(office).find() is None
    assert calls(wanted(office)) == [None]
