"""Results in a notebook: each as a frame that asks for nothing, and a run only as others may see it."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import accord
from accord.report.notebook import frame
from tests.protocols.worlds import agreement
from tests.run.worlds import A_ROWS, B_ROWS, introduce, link_both, table


def framed(shown: str) -> str:
    """The page within the frame, which is the last thing that is shown."""
    (page,) = re.findall(r'<iframe sandbox srcdoc="([^"]*)" style="[^"]*"></iframe>$', shown)
    return html.unescape(page)


def test_a_page_cannot_leave_its_frame() -> None:
    page = '<p title="x">"</iframe><script>'
    assert framed(frame(page)) == page
    assert "<script>" not in frame(page)


def test_plans_and_simulations_are_drawn_with_their_pages() -> None:
    agreed = agreement()
    plan = accord.plan(agreed, records=(10, 10))
    assert "What a linkage would cost" in framed(plan._repr_html_())
    found = accord.simulate(table(A_ROWS, "a"), table(B_ROWS, "b"), agreed, seed=1)
    page = framed(found._repr_html_())
    assert "Simulation: 4 records (A)" in page
    assert "default-src 'none'" in page


def test_a_run_is_drawn_as_others_may_see_it(tmp_path: Path) -> None:
    agreed = agreement()
    one, other = introduce(tmp_path, agreed)
    linked, _ = link_both(one, other, agreed)
    page = framed(linked._repr_html_())
    assert "alice" in page
    assert "For your eyes only" not in page
    assert "Bins and dummies" not in page, "how bins are filled is for the owner alone"
    shutil.rmtree(one.state.folder)
    assert "<iframe" not in linked._repr_html_()
    assert not one.state.folder.exists(), "to be shown makes nothing"
