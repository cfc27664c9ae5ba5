"""From a table to what its owner confirms: alike for every kind of table, and without a cell behind it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.errors import AgreementError, DataError, DeclinedError, UsageError
from tests.preparing.worlds import CELLS, FORMS, PARTIES, ROWS, TYPES, drafted, shop
from tests.run import worlds as linking


@pytest.mark.parametrize("form", FORMS)
def test_every_verb_takes_every_kind_of_table(form: str, tmp_path: Path) -> None:
    def make() -> Any:
        return FORMS[form](tmp_path)

    proposal = accord.propose(make())
    assert proposal.types == TYPES | {"phone": "phone"}
    assert proposal.rows == len(ROWS)
    draft = drafted()
    fit = proposal.fit(draft)
    assert fit.layout.source("price").missing == ("unknown",)
    check = accord.check(draft.agreement, make(), party="north", layout=fit.layout)
    assert (check.clean, check.records, check.layout) == (True, 3, fit.layout)
    found = accord.simulate(make(), shop(), draft.agreement, layout_a=fit.layout, layout_b=fit.layout)
    assert found.pairs["id_a"].to_pylist()[:2] == found.pairs["id_b"].to_pylist()[:2] == ["s1", "s2"]
    # It counts the records before it finds them too few.
    with pytest.raises(UsageError, match="learning needs at least"):
        accord.learn(
            draft.agreement, make(), other=make(), layout=fit.layout, other_layout=fit.layout, learnt_from="A"
        )
    own, _ = linking.introduce(tmp_path, draft.agreement)
    offers: list[accord.Offer] = []

    def decline(offer: accord.Offer) -> bool:
        offers.append(offer)
        return False

    given: dict[str, Any] = linking.options(own, [], draft.agreement) | {"listen": "127.0.0.1:0"}
    given |= {"data": make(), "layout": fit.layout, "confirm": decline}
    with pytest.raises(DeclinedError):
        accord.link(**given)
    assert offers[0].records == 3


def texts_in(thing: object) -> list[str]:
    """All texts that a value holds, however deep."""
    if isinstance(thing, str) and not isinstance(thing, Enum):
        return [thing]
    if is_dataclass(thing):
        return [text for one in fields(thing) for text in texts_in(getattr(thing, one.name))]
    if isinstance(thing, dict):
        return [text for pair in thing.items() for one in pair for text in texts_in(one)]
    return [text for one in thing for text in texts_in(one)] if isinstance(thing, tuple | list) else []


def test_what_is_confirmed_holds_no_cell_and_what_drafts_no_name_of_a_column() -> None:
    proposal = accord.propose(shop())
    answers = proposal.confirm(parties=PARTIES, records=(100, 100))
    assert not {*texts_in(answers)} & {*CELLS}
    assert {"maker", "sku"} <= {*texts_in(answers)}
    assert not {*texts_in(answers.answers)} & {"maker", "sku"}
    assert {*texts_in(proposal)} >= {*CELLS}, "the search would find one"
    assert not any(cell in drafted().text for cell in CELLS)


def test_cells_are_shown_to_whoever_asks_and_to_nobody_else() -> None:
    proposal = accord.propose(shop())
    for shown in (repr(proposal), str(proposal), proposal._repr_html_(), repr(proposal.fit(drafted()))):
        assert not [cell for cell in CELLS if cell in shown]
    assert "maker" not in repr(proposal), "of a file without a header a name is a cell"
    assert "maker" in proposal._repr_html_()
    for shown in (repr(proposal.show()), proposal.show()._repr_html_()):
        assert "Bose Acoustimass 5" in shown
        assert "unknown counts as empty" in shown
    assert "Bose" not in repr(proposal.show(0))


def test_what_a_cell_holds_is_no_markup_and_steers_no_terminal() -> None:
    rows = pa.table({"id": ["1", "2"], "title": ["<b>bold</b>", "\x1b[2J red"], "<i>": ["x", "y"]})
    shown = accord.propose(rows).show()
    assert "<b>" not in shown._repr_html_() + accord.propose(rows)._repr_html_()
    assert "<i>" not in accord.propose(rows)._repr_html_()
    assert "\x1b" not in repr(shown)


def test_types_that_nobody_named_are_said_to_be_guessed() -> None:
    proposal, given = accord.propose(shop()), {"parties": PARTIES, "records": (100, 100)}
    said = {
        "cardinality": {"brand": "few", "title": "unique", "price": "unique"},
        "copies": (1, 1),
        "ranges": {"price": (0, 1000)},
    }
    assert proposal.confirm(types=TYPES, **given, **said).answers.as_guessed is False  # type: ignore[arg-type]
    assert proposal.confirm(types=TYPES, **given).answers.as_guessed is True  # type: ignore[arg-type]
    assert proposal.confirm(types={"phone": "skip"}, **given).answers.as_guessed is True  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"types": {"fone": "skip"}}, UsageError, "There is no column 'fone'. Did you mean 'phone'"),
        ({"types": {"phone": "fone"}}, UsageError, "'fone' is not a column type"),
        ({"types": {"sku": "skip"}}, DataError, "No column names the records"),
        ({"types": {"sku": "id"}, "make_ids": True}, UsageError, "not both"),
        ({"parties": ("A", "B")}, AgreementError, "cannot be a party's name"),
        ({"disclose": ["birth"]}, AgreementError, "names no such field"),
        ({"ranges": {"price": ("1",)}}, UsageError, "`ranges=` is a dictionary by field of two limits"),
        ({"answer": "sum"}, UsageError, "`answer=` is 'pairs' or 'count'"),
        ({"answer_epsilon": 1}, UsageError, "pairs come without noise"),
    ],
)
def test_answers_of_which_nothing_can_be_drafted(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(").replace("'", "'")):
        accord.propose(shop()).confirm(**{"records": (100, 100)} | given)


def test_answers_reach_the_draft() -> None:
    said = accord.propose(shop()).confirm(
        types={"phone": "skip"},
        records=[100, 200],
        values={"brand": ["Sony", "Bose"]},
        ranges={"price": (0, 500)},
        missing={"price": "skip"},
        missing_values={"title": ["n/a"]},
        answer="count",
        answer_epsilon="1/2",
        overlap=0.5,
        max_time=60,
        as_of=date(2024, 6, 30),
    )
    assert said.answers.records == (100, 200)
    assert said.answers.ranges == {"price": ("0", "500")}
    assert said.answers.count_epsilon == "1/2"
    assert (said.as_of, said.answers.values["brand"]) == (date(2024, 6, 30), ("Sony", "Bose"))


def test_a_layout_says_what_is_known_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("nr;naam;code\n1;Müller;a\n2;Groß;b\n".encode("cp1252"))
    known = accord.Layout(id="code", encoding="cp1252")
    proposal = accord.propose(path, layout=known)
    assert proposal.types["code"] == "id"
    assert proposal.layout.delimiter == ";"
    with pytest.raises(UsageError, match="not both"):
        proposal.confirm(records=(10, 10), make_ids=True)
