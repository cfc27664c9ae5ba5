"""From a table to a draft: alike for every kind of table, without a cell behind it, and of a good quality."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.datasets.generated import Generated
from accord.errors import AgreementError, DataError, DeclinedError, OutputError, UsageError
from accord.preparing.suggesting import suggest_answers
from accord.simulation.truth import score
from tests import prepared
from tests.planning.worlds import birth_key
from tests.prepared import PARTIES, people, products, shape, true_pairs
from tests.run import worlds as linking

TABLE = prepared.table("shop")
TYPES = prepared.types("shop")
CELLS = {str(cell) for name in TABLE.column_names[1:] for cell in TABLE[name].to_pylist() if cell}
GIVEN: dict[str, Any] = {"parties": PARTIES, "records": (100, 100)}


def shop(form: str, folder: Path) -> Any:
    """The table as Python has it."""
    if form == "file":
        pa.csv.write_csv(TABLE, folder / "shop.csv")
        return folder / "shop.csv"
    return TABLE.to_reader() if form == "stream" else TABLE.to_pandas()


@pytest.mark.parametrize("form", ["file", "stream", "pandas"])
def test_every_verb_takes_every_kind_of_table(form: str, tmp_path: Path) -> None:
    def make() -> Any:
        return shop(form, tmp_path)

    proposal, draft = accord.propose(make()), shape("shop").draft
    assert proposal.types == TYPES | {"phone": "phone"}
    assert proposal.rows == 3
    layout = proposal.fit(draft).layout
    assert layout.source("price").missing == ("unknown",)
    check = accord.check(draft.agreement, make(), party="north", layout=layout)
    assert (check.clean, check.records, check.layout) == (True, 3, layout)
    found = accord.simulate(make(), TABLE, draft.agreement, layout_a=layout, layout_b=layout)
    assert found.pairs["id_a"].to_pylist()[:2] == found.pairs["id_b"].to_pylist()[:2] == ["s1", "s2"]
    # It counts the records before it finds them too few.
    both: dict[str, Any] = {"other": make(), "layout": layout, "other_layout": layout}
    with pytest.raises(UsageError):
        accord.learn(draft.agreement, make(), learnt_from="A", **both)
    own, _ = linking.introduce(tmp_path, draft.agreement)
    offers: list[accord.Offer] = []

    def decline(offer: accord.Offer) -> bool:
        return bool(offers.append(offer))

    given: dict[str, Any] = linking.options(own, [], draft.agreement) | {"listen": "127.0.0.1:0"}
    with pytest.raises(DeclinedError):
        accord.link(**given | {"data": make(), "layout": layout, "confirm": decline})
    assert offers[0].records == 3


# -- what a draft follows from ------------------------------------------------------------------------------


def texts_in(thing: object) -> list[str]:
    """All texts that a value holds, however deep."""
    if isinstance(thing, str) and not isinstance(thing, Enum):
        return [thing]
    if is_dataclass(thing):
        return [text for one in fields(thing) for text in texts_in(getattr(thing, one.name))]
    if isinstance(thing, dict):
        return [text for pair in thing.items() for one in pair for text in texts_in(one)]
    return [text for one in thing for text in texts_in(one)] if isinstance(thing, tuple | list) else []


def test_a_draft_follows_from_answers_and_from_no_cell() -> None:
    proposal = accord.propose(TABLE)
    answers = proposal.confirm(**GIVEN)
    assert not {*texts_in(answers)} & CELLS
    assert {"maker", "sku"} <= {*texts_in(answers)}
    assert not {*texts_in(answers.answers)} & {"maker", "sku"}
    assert {*texts_in(proposal)} >= CELLS, "the search would find one"
    assert not any(cell in shape("shop").draft.text for cell in CELLS)


SAID: dict[str, Any] = {
    "cardinality": {"brand": "few", "title": "unique", "price": "unique"},
    "copies": (1, 1),
    "ranges": {"price": (0, 1000)},
}
"""All that a table may suggest."""


def test_tables_with_equal_answers_give_equal_drafts() -> None:
    """Other columns in another order with other cells. `draft` is given nothing but the answers."""
    words = {"Ware": ["Old lamp", "New lamp", "Desk 5"], "Firma": ["Canon", None, "Philips"]}
    other = pa.table({"Preis": ["1,20", "3", "x"], **words, "Nr": [7, 8, 9]})
    types = {"Nr": "id", "Ware": "text:title", "Firma": "category:brand", "Preis": "price"}
    ours, theirs = (
        accord.propose(table).confirm(types=kinds, **GIVEN, **SAID)
        for table, kinds in ((TABLE, TYPES), (other, types))
    )
    assert ours.answers == theirs.answers
    (argument,) = inspect.signature(accord.draft).parameters.values()
    assert argument.annotation == "Confirmation"


def test_unnamed_types_classes_and_limits_are_guessed() -> None:
    proposal, said = accord.propose(TABLE), {"types": TYPES, **SAID}
    assert not proposal.confirm(**GIVEN, **said).answers.as_guessed
    assert proposal.confirm(**GIVEN, **said | {"types": {"phone": "skip"}}).answers.as_guessed
    for name in said:
        lacking = {key: value for key, value in said.items() if key != name}
        assert proposal.confirm(**GIVEN, **lacking).answers.as_guessed, name


def test_answers_are_those_that_were_given() -> None:
    said = accord.propose(TABLE).confirm(
        records=[100, 200],
        values={"brand": ["Sony", "Bose"]},
        ranges={"price": (0, 500)},
        missing={"price": "skip"},
        missing_values={"title": ["n/a"]},
        answer="count",
        answer_epsilon="1/2",
        as_of=date(2024, 6, 30),
    )
    given = said.answers
    assert (said.as_of, given.records, given.count_epsilon) == (date(2024, 6, 30), (100, 200), "1/2")
    assert (given.ranges, given.values["brand"]) == ({"price": ("0", "500")}, ("Sony", "Bose"))
    assert (given.missing, given.missing_values) == ({"price": "skip"}, {"title": ("n/a",)})


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"types": {"fone": "skip"}}, UsageError, "'phone'"),
        ({"types": {"phone": "fone"}}, UsageError, "'fone'"),
        ({"types": {"sku": "skip"}}, DataError, ""),
        ({"types": {"sku": "id"}, "make_ids": True}, UsageError, ""),
        ({"parties": ("A", "B")}, AgreementError, "'A'"),
        ({"disclose": ["birth"]}, AgreementError, "birth"),
        ({"ranges": {"price": ("1",)}}, UsageError, "`ranges=`"),
        ({"answer": "sum"}, UsageError, "`answer=`"),
        ({"answer_epsilon": 1}, UsageError, "`answer_epsilon=`"),
    ],
)
def test_answers_of_which_nothing_can_be_drafted(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        accord.propose(TABLE).confirm(**{"records": (100, 100)} | given)
    assert said in str(raised.value)


def test_a_layout_says_what_is_known_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("nr;naam;code\n1;Müller;a\n2;Groß;b\n".encode("cp1252"))
    proposal = accord.propose(path, layout=accord.Layout(id="code", encoding="cp1252"))
    assert proposal.types["code"] == "id"
    assert proposal.layout.delimiter == ";"
    with pytest.raises(UsageError):
        proposal.confirm(records=(10, 10), make_ids=True)


# -- what its owner sees ------------------------------------------------------------------------------------


def test_cells_are_shown_to_their_owner_on_request_alone() -> None:
    proposal = accord.propose(TABLE)
    fit = proposal.fit(shape("shop").draft)
    for shown in (repr(proposal), str(proposal), proposal._repr_html_(), repr(fit)):
        assert not [cell for cell in CELLS if cell in shown]
    assert "maker" not in repr(proposal), "of a file without a header a name is a cell"
    assert "maker" in proposal._repr_html_()
    for shown in (repr(proposal.show()), proposal.show()._repr_html_()):
        assert "Bose Acoustimass 5" in shown
        assert "unknown" in shown
    assert "Bose" not in repr(proposal.show(0))


def test_a_cell_is_no_markup_and_steers_no_terminal() -> None:
    rows = pa.table({"id": ["1", "2"], "title": ["<b>bold</b>", "\x1b[2J red"], "<i>": ["x", "y"]})
    proposal = accord.propose(rows)
    assert "<b>" not in proposal.show()._repr_html_()
    assert not [tag for tag in ("<b>", "<i>") if tag in proposal._repr_html_()]
    assert "\x1b" not in repr(proposal.show())


def test_a_draft_tells_its_recall_and_is_written_once(tmp_path: Path) -> None:
    draft = shape("shop").draft
    assert 0 < draft.recall <= 1
    assert f"{draft.recall:.1%}" in repr(draft)
    assert f"{draft.precision:.1%}" in str(draft)
    assert draft.agreement.protocol.name == "all-pairs"
    assert "<iframe sandbox" in draft._repr_html_()
    path = draft.write(tmp_path)
    assert path == tmp_path / "agreement.toml"
    assert accord.read_agreement(path) == draft.agreement
    with pytest.raises(OutputError):
        draft.write(tmp_path)
    draft.write(tmp_path, force=True)


# -- suggestions --------------------------------------------------------------------------------------------

TODAY = date(2026, 11, 19)


def customers(copies: int = 1, shops: int = 7) -> pa.Table:
    """400 records of persons, who have so many each, with a column of few values."""
    rows = [row // copies for row in range(400)]
    made = people(400).a.take(rows)
    shop = pa.array([f"shop {row % shops}" for row in rows])
    return (
        made.select(["surname", "birth"])
        .add_column(0, "id", pa.array([*map(str, range(400))]))
        .append_column("category", shop)
    )


def suggested(table: pa.Table) -> Any:
    return suggest_answers(accord.propose(table).typed(["category=category"], False), None, TODAY)


def test_classes_and_limits_are_coarse() -> None:
    suggestion = suggested(customers())
    assert suggestion.cardinality == {"surname": "unique", "birth": "unique", "category": "few"}
    assert suggestion.ranges == {"birth": ("1900-01-01", "2026-12-31")}
    assert suggested(customers(shops=90)).cardinality["category"] == "hundreds"
    assert suggestion.often_empty == ()
    assert [suggested(customers(copies)).copies for copies in (1, 2, 4)] == [1, 2, 4]
    births = pa.array([None if row % 3 else "1950-01-02" for row in range(400)])
    assert suggested(customers().set_column(2, "birth", births)).often_empty == ("birth",)


def test_a_table_refutes_a_class_and_copies() -> None:
    plain = birth_key().model_dump(mode="json") | {"expected": {"A": 200, "B": 200}}
    plain["fields"]["postcode"]["cardinality"] = "thousands"
    agreed, made, ids = (
        accord.Agreement.model_validate(plain),
        people(200).a,
        pa.array([*map(str, range(200))]),
    )
    assert accord.check(agreed, made, party="A").clean
    one_town = made.set_column(made.column_names.index("postcode"), "postcode", pa.array(["10115"] * 200))
    (of_class,) = accord.check(agreed, one_town, party="A").faults
    assert of_class.place == "field 'postcode'"
    four = made.take([row // 4 for row in range(200)]).set_column(0, "id", ids)
    (of_copies,) = accord.check(agreed, four, party="B").faults
    assert "--copies" in of_copies.mend


# -- quality out of the box ---------------------------------------------------------------------------------


def f1_out_of_the_box(made: Generated, records: int) -> float:
    """What a draft finds whose owners say nothing but sizes, under a layout of each side."""
    proposal = accord.propose(made.a)
    draft = accord.draft(proposal.confirm(records=(records, records)))
    own, partner = proposal.fit(draft).layout, accord.propose(made.b).fit(draft.agreement).layout
    found = accord.simulate(made.a, made.b, draft.agreement, seed=1, layout_a=own, layout_b=partner)
    f1 = score(found.found.ids(), true_pairs(made)).truth_f1
    assert f1 is not None
    return f1


@pytest.mark.parametrize(("generate", "bar"), [(people, 0.94), (products, 0.95)])
def test_a_draft_out_of_the_box_finds_small_sets(
    generate: Any, bar: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With weights from few synthetic records F1 is .99 and 1.0: the bars have a margin of .05."""
    prepared.search_briefly(monkeypatch)
    assert f1_out_of_the_box(generate(200), 200) >= bar


@pytest.mark.slow
@pytest.mark.usefixtures("as_many_as_usual")
@pytest.mark.parametrize(("generate", "bar"), [(people, 0.95), (products, 0.95)])
def test_a_draft_out_of_the_box_finds_larger_sets(generate: Any, bar: float) -> None:
    assert f1_out_of_the_box(generate(2_000), 2_000) >= bar


@pytest.mark.slow
def test_whole_names_are_found_by_passes() -> None:
    made = people(600, seed=6)
    whole = []
    for table in (made.a, made.b):
        names = [
            " ".join(filter(None, pair))
            for pair in zip(*(table[one].to_pylist() for one in ("given", "surname")), strict=True)
        ]
        whole.append(table.append_column("name", pa.array(names)))
    agreed = prepared.draft("name birth postcode phone", (20_000, 20_000)).agreement
    assert len(agreed.passes) >= 2
    scores = score(accord.simulate(whole[0], whole[1], agreed, seed=1).found.ids(), true_pairs(made))
    assert scores.truth_recall >= 0.7
    assert scores.truth_precision >= 0.95
