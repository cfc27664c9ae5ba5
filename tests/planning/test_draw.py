"""The pictures of a plan have their axes and every option that can be shown."""

from __future__ import annotations

import io

from accord.datasets.starter import starter
from accord.planning.draw import draw
from accord.planning.plan import make_plan, price_agreed
from tests.planning.worlds import question, speeds
from tests.protocols.worlds import agreement


def test_three_pictures_are_drawn() -> None:
    figure = draw(make_plan(agreement(), question(60, 50), speeds))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0] == "Cost against ε"
    assert titles[1].startswith("Recall against cost")
    assert titles[2] == "Where the time goes"
    written = io.BytesIO()
    figure.savefig(written, format="svg")
    assert written.getvalue().startswith(b"<?xml")


def test_a_plan_without_a_known_recall_is_drawn_too() -> None:
    figure = draw(price_agreed(starter("people"), question(60, 50), speeds))
    assert "not known" in figure.axes[1].get_title()
