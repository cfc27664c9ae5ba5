"""Workers in a routed linkage: they compare what lies in shares, and come to the pairs of one alone."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.notices import Done
from accord.protocols import routed_passes
from accord.run.link import Linked
from accord.side import Side
from tests.run import faults, worlds
from tests.run.test_resume import EXPECTED
from tests.workers.test_workers import Death, meet, named, require_done
from tests.workers.threads import as_threads


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several rounds a pass, the last of them smaller than the others."""
    monkeypatch.setattr(routed_passes, "_FULL", 50)


@pytest.mark.usefixtures("quick", "small")
@pytest.mark.parametrize("kind", ["routed", "cascade"])
def test_two_workers_find_the_pairs_of_one(kind: str, tmp_path: Path) -> None:
    agreed = faults.agreement(kind)
    both = worlds.introduce(tmp_path, agreed)
    with as_threads():
        shared = worlds.link_both(*both, agreed, a_options={"workers": 2}, b_options={"workers": 3})
    assert [len(done.peak_mib) for own in both for done in own.heard(Done)] == [3, 3]
    alone = worlds.link_both(*both, agreed)
    for found, expected in zip(shared, alone, strict=True):
        assert isinstance(found, Linked), found
        assert isinstance(expected, Linked), expected
        assert found.pairs.equals(expected.pairs)
        assert len(found.pairs) == 2
        assert found.comparisons == expected.comparisons > 4 * 50


@pytest.mark.slow
def test_processes_share_the_bins(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "routed")
    meeting = meet(both, None, {Side.A: 2, Side.B: 3}, lambda started: started.see_workers(2))
    require_done(meeting, both, EXPECTED["routed"])
    for process in meeting.both.values():
        assert len(process.events[-1]["peak_mib"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "death", [Death(Side.A, 0, 0), Death(Side.B, 1, 1), Death(Side.B, None, 1)], ids=named
)
def test_a_pass_that_was_cut_is_done_again_by_other_workers(death: Death, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "routed")
    meeting = meet(both, None, dict.fromkeys(Side, 2), death)
    killed = -signal.SIGKILL if death.worker is None else 13
    assert meeting.ends[death.side][0] == killed, meeting.ends
    name = faults.common_run(both)
    assert name
    require_done(meet(both, name, {Side.A: 3, Side.B: 2}), both, EXPECTED["routed"])


def count_shared(tmp_path: Path, **options: Any) -> None:
    """What workers add up is what one alone does: an exact count, without anybody's pairs."""
    plain = faults.agreement("routed").model_dump(mode="json")
    hidden = {"output": {"answer": "count", "exact": True}, "disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | hidden)
    results = worlds.link_both(*worlds.introduce(tmp_path, agreed), agreed, **options)
    for found in results:
        assert isinstance(found, Linked), found
        assert found.answer is not None
        assert found.answer.values == (2,)


@pytest.mark.usefixtures("quick", "small")
def test_two_workers_count(tmp_path: Path) -> None:
    with as_threads():
        count_shared(tmp_path, a_options={"workers": 2}, b_options={"workers": 2})


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_processes_count(tmp_path: Path) -> None:
    count_shared(tmp_path, a_options={"workers": 2}, b_options={"workers": 2})
