"""From a table to a draft: alike for every kind of table, without a cell behind it, and of a good quality.
Where agreed fields are found in a table, and `check`."""

from __future__ import annotations

import inspect
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.datasets.generated import Generated
from accord.datasets.people import whole_names
from accord.errors import AgreementError, DataError, DeclinedError, OutputError, UnreadableError, UsageError
from accord.preparing.draft import Draft
from accord.preparing.suggesting import suggest_answers
from accord.simulation.truth import score
from tests import prepared
from tests.planning.worlds import birth_key
from tests.prepared import PARTIES, people, products, shape, true_pairs
from tests.protocols.worlds import agreement
from tests.run import worlds as linking

TABLE = prepared.table("shop")
TYPES = prepared.types("shop")
CELLS = {str(cell) for name in TABLE.column_names[1:] for cell in TABLE[name].to_pylist() if cell}
ODD: dict[str, Any] = {"ranges": {"price": ("1",)}, "answer": "sum", "answer_epsilon": 1}
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
        offers.append(offer)
        return False

    given: dict[str, Any] = linking.options(own, [], draft.agreement) | {"listen": "127.0.0.1:0"}
    with pytest.raises(DeclinedError):
        accord.link(**given | {"data": make(), "layout": layout, "confirm": decline})
    assert offers[0].records == 3


# -- what a draft follows from ------------------------------------------------------------------------------


def test_a_draft_follows_from_answers_and_from_no_cell() -> None:
    proposal = accord.propose(TABLE)
    said = proposal.confirm(**GIVEN)
    answers, confirmed, proposed = (str(asdict(one)) for one in (said.answers, said, proposal))
    assert [cell for cell in CELLS if cell in confirmed + shape("shop").draft.text] == []
    assert [name in text for text in (confirmed, answers) for name in ("'maker'", "'sku'")] == [True] * 2 + [
        False
    ] * 2
    assert all(cell in proposed for cell in CELLS), "the search would find one"


def test_tables_with_equal_answers_give_equal_drafts() -> None:
    """Other columns in another order with other cells. `draft` is given nothing but the answers. What a table
    may suggest is guessed where it is not said."""
    words = {"Ware": ["Old lamp", "New lamp", "Desk 5"], "Firma": ["Canon", None, "Philips"]}
    other = pa.table({"Preis": ["1,20", "3", "x"], **words, "Nr": [7, 8, 9]})
    types = {"Nr": "id", "Ware": "text:title", "Firma": "category:brand", "Preis": "price"}
    said: dict[str, Any] = {
        "types": TYPES,
        "cardinality": {"brand": "few", "title": "unique", "price": "unique"},
        "copies": (1, 1),
        "ranges": {"price": (0, 1000)},
    }
    proposal = accord.propose(TABLE)
    ours = proposal.confirm(**GIVEN, **said).answers
    assert ours == accord.propose(other).confirm(**GIVEN, **said | {"types": types}).answers
    (argument,) = inspect.signature(accord.draft).parameters.values()
    assert argument.annotation == "Confirmation"
    assert not ours.as_guessed
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
        overlap=0.25,
    )
    given = said.answers
    assert (said.as_of, given.records, given.count_epsilon) == (date(2024, 6, 30), (100, 200), "1/2")
    assert given.overlap == 0.25
    assert (given.ranges, given.values["brand"]) == ({"price": ("0", "500")}, ("Sony", "Bose"))
    assert (given.missing, given.missing_values) == ({"price": "skip"}, {"title": ("n/a",)})


@pytest.mark.parametrize(
    ("error", "said", "given"),
    [
        (UsageError, "'phone'", {"types": {"fone": "skip"}}),
        (UsageError, "'fone'", {"types": {"phone": "fone"}}),
        (DataError, "", {"types": {"sku": "skip"}}),
        (UsageError, "", {"types": {"sku": "id"}, "make_ids": True}),
        (AgreementError, "'A'", {"parties": ("A", "B")}),
        (AgreementError, "birth", {"disclose": ["birth"]}),
        *((UsageError, f"`{name}=`", {name: value}) for name, value in ODD.items()),
    ],
)
def test_what_cannot_be_drafted_is_refused(error: type[Exception], said: str, given: dict[str, Any]) -> None:
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
    """Of a file without a header a name is a cell."""
    proposal = accord.propose(TABLE)
    fit = proposal.fit(shape("shop").draft)
    for shown in (repr(proposal), str(proposal), proposal._repr_html_(), repr(fit)):
        assert not [cell for cell in CELLS if cell in shown]
    assert ["maker" in shown for shown in (repr(proposal), proposal._repr_html_())] == [False, True]
    for shown in (repr(proposal.show()), proposal.show()._repr_html_()):
        assert all(cell in shown for cell in ("Bose Acoustimass 5", "unknown"))
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


# -- where agreed fields are found --------------------------------------------------------------------------

PARTNER = pa.table(
    [[7, 8], ["Sony PSLX 350", "Bose"], ["SONY", "Bose"], ["1,5", "2"]],
    ["Artikelnummer", "Bezeichnung", "Marke", "Preis"],
)


def agreed() -> accord.Agreement:
    return shape("shop").agreement


def test_the_partner_fits_its_own_columns() -> None:
    fit = accord.propose(PARTNER).fit(agreed())
    columns = [fit.layout.source(name).column for name in ("title", "brand", "price")]
    assert [fit.layout.id, *columns] == PARTNER.column_names
    assert fit.layout.source("price").decimal == ","
    assert "Marke" in fit._repr_html_()
    assert accord.check(agreed(), PARTNER, party="B", layout=fit.layout).clean
    renamed = PARTNER.rename_columns(["Artikelnummer", "words", "firm", "Preis"])
    fit = accord.propose(renamed).fit(agreed(), types={"words": "text:title", "firm": "category:brand"})
    assert fit.layout.source("brand").column == "firm"


def test_two_family_names_are_parts_of_one_column() -> None:
    plain = agreement(protocol="all-pairs").model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    text = {"type": "text", "encoder": "hash", "missing": "differs"}
    fields = {"surname": text, "surname_2": text}
    spanish = accord.Agreement.model_validate(plain | {"fields": fields, "rule": "same(surname)"})
    names = [["Ana", "Eva", "Luz"], ["Muñoz Gómez", "de la Cruz Ruiz", "Pardo"]]
    fit = accord.propose(pa.table([["1", "2", "3"], *names], ["id", "Nombre", "Apellidos"])).fit(spanish)
    told = [line.partition(" ")[0] for line in fit.told if "'Apellidos'" in line]
    assert told[:2] == ["surname", "surname_2"]


def test_fields_without_a_column_are_faults_with_their_candidates() -> None:
    words = {"Angabe": ["some words", "of a kind"], "Lager": ["here and there", "more words"]}
    for columns, near in (({"mail": ["a@b.example", "c@d.example"]}, []), (words, ["'Angabe'", "'Lager'"])):
        with pytest.raises(DataError) as raised:
            accord.propose(pa.table({"id": ["7", "8"], **columns})).fit(agreed())
        faults = {fault.place: fault for fault in raised.value.faults}
        assert [*faults] == ["field 'brand'", "field 'title'", "field 'price'"]
        assert "COLUMN=category:brand" in faults["field 'brand'"].mend
        assert all(name in faults["field 'brand'"].problem for name in near)
        assert not any(name in faults["field 'price'"].problem for name in near)


def test_a_field_is_absent_by_its_owners_word() -> None:
    """Another coding of the same is no value of the field, though a column is called so."""
    proposal = accord.propose(PARTNER)
    fit = proposal.fit(agreed(), absent=["brand"])
    assert fit.layout.source("brand").absent
    assert "'Marke'" in str(fit)
    few = proposal.fit(agreed(), absent=["brand", "title"])
    assert few.layout.source("price").column == "Preis"
    with pytest.raises(UsageError):
        proposal.fit(agreed(), absent=["colour"])


def test_a_layout_is_written_beside_its_file_or_into_a_folder(tmp_path: Path) -> None:
    pa.csv.write_csv(TABLE, tmp_path / "shop.csv")
    fit = accord.propose(tmp_path / "shop.csv").fit(shape("shop").draft)
    path = fit.write()
    assert path == tmp_path / "shop.csv.layout.toml"
    assert accord.read_layout(str(path)) == fit.layout
    with pytest.raises(OutputError):
        fit.write()
    assert fit.write(force=True) == path
    no_file = accord.propose(TABLE).fit(shape("shop").draft)
    with pytest.raises(UsageError):
        no_file.write()
    (tmp_path / "other").mkdir()
    assert accord.read_layout(no_file.write(tmp_path / "other")).source("brand").column == "maker"


def test_unreadable_cells_are_faults_or_count_as_empty(tmp_path: Path) -> None:
    broken = TABLE.set_column(3, "price", pa.array(["1e", "two", "x"]))
    with pytest.raises(DataError) as raised:
        accord.propose(broken).fit(shape("shop").draft)
    assert {fault.place.partition(",")[0] for fault in raised.value.faults} == {"column 'price'"}
    assert "`missing_values=`" in raised.value.__notes__[-1]
    fit = accord.propose(broken, layout=accord.Layout(unreadable="empty")).fit(shape("shop").draft)
    assert all(number in str(fit) for number in ("'price'", "2 of 3"))
    assert accord.check(agreed(), broken, layout=fit.layout).clean
    (tmp_path / "l.toml").write_text(fit.layout.to_toml())
    assert accord.read_layout(tmp_path / "l.toml").unreadable == "empty"
    assert "unreadable" not in accord.Layout().to_toml()


def test_passes_that_an_absent_field_or_a_crowd_makes_useless_are_told() -> None:
    made = people(600).a
    fit = accord.propose(made).fit(birth_key(), absent=["birth"])
    assert any("1 pass of 1" in line and "birth" in line for line in fit.told)
    key = {"kind": "key", "field": "birth", "buckets": 10}
    changes = {"expected": {"A": 600, "B": 600}, "blocking": [key]}
    agreed = accord.Agreement.model_validate(birth_key().model_dump(mode="json") | changes)
    of_people = replace(shape("people").draft.made, agreement=agreed)
    crowd = made.set_column(made.column_names.index("birth"), "birth", pa.array(["1950-01-31"] * 600))
    for rows, crowded in ((made, False), (crowd, True)):
        proposal = accord.propose(rows)
        fit = proposal.fit(Draft(of_people, proposal.confirm(records=(600, 600))))
        assert any("`ranges=`" in line for line in fit.told) == crowded


# -- check --------------------------------------------------------------------------------------------------


def test_a_clean_check_has_its_layout_and_says_who_learns_what() -> None:
    price = {"column": "price", "decimal": ".", "missing": ["unknown"]}
    layout = accord.Layout(id="sku", columns={"brand": "maker", "price": price})  # type: ignore[dict-item]
    check = accord.check(agreed(), TABLE, party="north", layout=layout)
    check.require_clean()
    assert (check.faults, check.layout, check.records) == ((), layout, 3)
    assert check.learned_about[accord.Side.A] == tuple(accord.learned_about(agreed(), accord.Side.A))
    assert all("3 records" in shown for shown in (repr(check), str(check)))
    assert all(line in str(check) for line in check.learned_about[accord.Side.A])
    assert "north" in check._repr_html_()


def test_all_faults_are_shown_and_none_is_raised() -> None:
    """Rows and columns are named, values are not. Who learns what does not depend on the table."""
    rows = pa.table({"id": ["a", "a", None], "x": [1, 99, 3], "y": ["1", "two", None]})
    check = accord.check(agreement(), rows, party="A")
    assert (check.clean, check.layout) == (False, None)
    places = [fault.place for fault in check.faults]
    assert all(any(f"'{name}'" in place for place in places) for name in ("id", "x", "y"))
    shown = str(check) + repr(check) + check._repr_html_()
    assert [word in shown for word in ("'id'", "two", "bob")] == [True, False, True]
    with pytest.raises(DataError) as raised:
        check.require_clean()
    assert raised.value.faults == check.faults


def test_a_check_finds_out_how_a_file_is_written(tmp_path: Path) -> None:
    assert (accord.check(agreement()).records, accord.check(agreement()).clean) == (None, True)
    path = tmp_path / "a.csv"
    path.write_text("id;x;y\n1;1;1\n2;9;9\n")
    check = accord.check(agreement(), path)
    assert check.layout is not None
    assert check.layout.delimiter == ";"
    for argument in ("`layout=`", "`party=`"):
        assert any(argument in line for line in check.advice)


def test_dates_of_two_readings_are_a_fault_until_named() -> None:
    made, days = people(2).a, pa.array(["01/02/1980", "03/04/1981"])
    rows = made.set_column(made.column_names.index("birth"), "birth", days)
    check = accord.check(birth_key(), rows)
    assert "birth='%d/%m/%Y'" in check.faults[0].mend
    named = accord.check(birth_key(), rows, dates={"birth": "%d/%m/%Y"})
    assert named.layout is not None
    assert named.layout.source("birth").format == "%d/%m/%Y"


def test_errors_that_are_no_faults_of_the_data_are_raised(tmp_path: Path) -> None:
    rows, intersection = linking.table(linking.A_ROWS, "a"), accord.adjust(agreement(), protocol="psi")
    for error, agreed, data, given in (
        (UsageError, agreement(), rows, {"party": "carol"}),
        (UsageError, agreement(), rows, {"layout": accord.Layout(columns={"z": "x"})}),
        (UnreadableError, agreement(), tmp_path / "nothing.csv", {}),
        (AgreementError, intersection, rows, {}),
    ):
        with pytest.raises(error):
            accord.check(agreed, data, **given)


# -- suggestions --------------------------------------------------------------------------------------------

TODAY = date(2026, 11, 19)


def customers(copies: int = 1, shops: int = 7) -> pa.Table:
    """400 records of persons, who have so many each, with a column of few values."""
    rows = [row // copies for row in range(400)]
    made = people(400).a.take(rows)
    ids, shop = pa.array([*map(str, range(400))]), pa.array([f"shop {row % shops}" for row in rows])
    return made.select(["surname", "birth"]).add_column(0, "id", ids).append_column("category", shop)


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
    plain, made = birth_key().model_dump(mode="json"), people(200).a
    plain["fields"]["postcode"]["cardinality"] = "thousands"
    agreed = accord.Agreement.model_validate(plain | {"expected": {"A": 200, "B": 200}})
    assert accord.check(agreed, made, party="A").clean
    one_town = made.set_column(made.column_names.index("postcode"), "postcode", pa.array(["10115"] * 200))
    (of_class,) = accord.check(agreed, one_town, party="A").faults
    assert of_class.place == "field 'postcode'"
    four = made.take([row // 4 for row in range(200)]).set_column(0, "id", made["id"])
    (of_copies,) = accord.check(agreed, four, party="B").faults
    assert "--copies" in of_copies.mend


# -- quality out of the box ---------------------------------------------------------------------------------


def f1_out_of_the_box(made: Generated, records: int) -> float:
    """What a draft finds whose owners say nothing but sizes, under a layout of each side."""
    proposal = accord.propose(made.a)
    draft = accord.draft(proposal.confirm(records=(records, records)))
    own, partner = proposal.fit(draft).layout, accord.propose(made.b).fit(draft.agreement).layout
    found = accord.simulate(made.a, made.b, draft.agreement, seed=1, layout_a=own, layout_b=partner)
    return score(found.found.ids(), true_pairs(made)).truth_f1 or 0.0


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
    a, b = (table.append_column("name", whole_names(table)) for table in (made.a, made.b))
    agreed = prepared.draft("name birth postcode phone", (20_000, 20_000)).agreement
    assert len(agreed.passes) >= 2
    scores = score(accord.simulate(a, b, agreed, seed=1).found.ids(), true_pairs(made))
    assert scores.truth_recall >= 0.7
    assert scores.truth_precision >= 0.95
