"""Runs from end to end of which other things come out than pairs for both, and how they are shown later."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from accord.agreement.document import Agreement
from accord.errors import DataError, UsageError
from accord.notices import Charged, Done
from accord.peer.channel import TlsChannel
from accord.privacy.events import UNLESS, Cost, NoisyAnswer
from accord.protocols.parts.outcome import Outcome
from accord.protocols.routed_pairs import SealedPasses
from accord.run.link import Linked
from accord.run.verbs import link
from accord.side import Side
from accord.state.ledger import Ledger
from accord.table.layout import Layout
from tests.cli.terminal import accord
from tests.protocols.test_routed_answers import NOBODY
from tests.run import faults, worlds
from tests.run.worlds import Organisation

pytestmark = pytest.mark.usefixtures("quick")

Promised = tuple[float | None, str]
COUNT = {"answer": "count", "epsilon": "1"}
TABLE = {"answer": "table", "epsilon": "2", "by": {"A": {"column": "x", "values": ["1", "9"]}}}
SUM = {"answer": "sum", "exact": True, "of": {"side": "B", "column": "y", "low": 0, "high": 20}}


def agreed_on(output: dict[str, Any], disclose: dict[str, Any] = NOBODY) -> Agreement:
    plain = faults.agreement("routed").model_dump(mode="json")
    return Agreement.model_validate(plain | {"output": output, "disclose": disclose})


def linked(
    tmp_path: Path, agreed: Agreement, **options: Any
) -> tuple[tuple[Organisation, Organisation], list[Linked]]:
    both = worlds.introduce(tmp_path, agreed)
    results = worlds.link_both(*both, agreed, **options)
    assert all(isinstance(one, Linked) for one in results), results
    return both, list(results)


def typed(own: Organisation, *words: str) -> str:
    done = accord(own.state.folder.parent, "--state", str(own.state.folder), *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pairs_of(tmp_path: Path) -> int:
    _, (found, _) = linked(tmp_path / "pairs", agreed_on({}))
    assert found.matches > 1
    return found.matches


def test_a_count_is_the_same_for_both_and_is_shown_again_as_it_was(tmp_path: Path) -> None:
    both, (a, b) = linked(tmp_path, agreed_on(COUNT), a_options={"out": tmp_path / "a.csv"})
    assert a.answer is not None
    assert a.answer == b.answer
    assert (a.matches, a.learns) == (0, False)
    assert a.charged == Cost(Fraction(1), Fraction(0))
    (cell,) = a.answer.cells
    told = f"matching pairs: {cell.value:,} ± {cell.within}"
    assert repr(a).startswith(f"<Linked: run {a.run}, answer {told}, ")
    assert f"<td>{cell.value}</td>" in a._repr_html_()
    assert pa.table(a).to_pylist() == a.answer.table().to_pylist()
    own = both[0]
    assert told in typed(own, "runs")
    assert f"Answer       {told}\n" in typed(own, "runs", a.run)
    (facts,) = json.loads(typed(own, "runs", "--json"))
    assert facts["matches"] is None
    assert facts["answer"] == [{"names": ["matching pairs"], "value": cell.value, "within": cell.within}]
    assert told in typed(own, "receipt", a.run)
    assert "holds exactly the answer" in typed(own, "receipt", a.run, "--out", str(tmp_path / "a.csv"))
    typed(own, "report", a.run, "--out", "own.html")
    typed(own, "report", a.run, "--out", "others.html", "--share")
    page = (tmp_path / "own.html").read_text()
    low, high = cell.value - cell.within, cell.value + cell.within
    assert f"{told}, so from {low:,} to {high:,} in 95 of 100 runs" in page
    assert told not in (tmp_path / "others.html").read_text()


SAID = [
    ({}, "routed", (0.0, UNLESS["leave-out"]), (0.0, UNLESS["leave-out"])),
    ({"to": "A"}, "routed", (0.0, ""), (0.0, UNLESS["leave-out"])),
    (COUNT, "routed", (1.0, ""), (1.0, "")),
    ({"answer": "count", "exact": True}, "routed", (None, ""), (None, "")),
    ({"answer": "count", "exact": True}, "all-pairs", (None, ""), (None, "")),
    ({}, "psi", (0.0, ""), (0.0, "")),
]


@pytest.mark.parametrize(("output", "protocol", "of_a", "of_b"), SAID)
def test_the_condition_is_kept_with_the_number(
    tmp_path: Path, output: dict[str, Any], protocol: str, of_a: Promised, of_b: Promised
) -> None:
    """In what is said at the end, in the ledger's runs and sums, in the receipt and in the reports."""
    agreed = faults.agreement("psi")
    if protocol != "psi":
        plain = agreed_on(output).model_dump(mode="json")
        other = {"protocol": {"name": protocol}, "blocking": []} if protocol == "all-pairs" else {}
        agreed = Agreement.model_validate(plain | other)
    both, results = linked(tmp_path, agreed)
    for own, result, (epsilon, unless), side in zip(both, results, (of_a, of_b), "AB", strict=True):
        ends = (own.told[-1], next(one for one in own.told if isinstance(one, Charged)))
        assert isinstance(ends[0], Done)
        assert (ends[0].epsilon, ends[0].unless) == (epsilon, unless)
        assert (ends[1].charged_epsilon, ends[1].unless) == (epsilon, unless)
        book = json.loads(typed(own, "ledger", "--json"))
        (account,), (run,) = book["accounts"], book["runs"]
        for cost in (run["cost"], account["spent"], *account["partners"].values()):
            expected = None if epsilon is None else {"epsilon": epsilon, "delta": 0.0, "unless": unless}
            assert cost == expected
        party = json.loads(typed(own, "receipt", result.run, "--json"))["parties"][side]
        assert (party["epsilon"], party["unless"]) == (None if epsilon is None else f"{epsilon:g}", unless)
        typed(own, "report", result.run, "--out", "own.html", "--force")
        page, shown = (tmp_path / "own.html").read_text(), typed(own, "ledger") + repr(result)
        assert (UNLESS["leave-out"] in page) == bool(of_a[1] or of_b[1])
        assert (UNLESS["leave-out"] in shown) == bool(unless)
        assert epsilon is not None or "ε = 0" not in shown


def test_an_answer_about_people(tmp_path: Path) -> None:
    """The consent, the ledger and the receipt say whom it hides, and somebody with more records is refused
    before anybody is called."""
    agreed = agreed_on(COUNT | {"records_per_person": 2})
    table = worlds.table(worlds.A_ROWS, "a")
    whose = {
        "data": table.append_column("who", pa.array(["p", "q", "p", "r"])),
        "layout": Layout(person="who"),
    }
    ids = {"layout": Layout(person="id")}
    both, (a, b) = linked(tmp_path, agreed, a_options=whose, b_options=ids)
    assert a.answer == b.answer
    for own, result in zip(both, (a, b), strict=True):
        (run,) = Ledger(own.state.database).runs()
        assert run.event == NoisyAnswer(Fraction(1), records_per_person=2)
        assert "a person, 2 records" in typed(own, "ledger")
        assert "for each person with up to 2 records" in typed(own, "receipt", result.run)
    for who, problem in (("p", "more than 2 records"), (None, "every record needs its person")):
        crowded = whose | {"data": table.append_column("who", pa.array(["p", "q", "p", who]))}
        refused = worlds.introduce(tmp_path / problem[:4], agreed)
        with pytest.raises(DataError, match=problem):
            link(**worlds.options(refused[0], worlds.A_ROWS, agreed) | crowded | {"connect": "127.0.0.1:1"})
        assert worlds.untouched(*refused)


def test_another_answer_is_not_the_signed_one(tmp_path: Path) -> None:
    both, (a, _) = linked(tmp_path, agreed_on(COUNT), a_options={"out": tmp_path / "a.csv"})
    assert a.answer is not None
    value, head = a.answer.cells[0].value, '"answer","value","low","high"\n'
    (tmp_path / "b.csv").write_text(f'{head}"matching pairs",{value + 1},0,0\n')
    words = ("receipt", a.run, "--out", str(tmp_path / "b.csv"))
    done = accord(tmp_path, "--state", str(both[0].state.folder), *words)
    assert done.returncode != 0
    assert "does not hold the answer" in done.stderr


def test_every_question_is_charged(tmp_path: Path) -> None:
    """Also of a snapshot by the same name: an answer depends on both tables, so no noise may come again."""
    agreed, named = agreed_on(COUNT), {"snapshot": "2024"}
    both = worlds.introduce(tmp_path, agreed)
    for _ in range(2):
        results = worlds.link_both(*both, agreed, a_options=named, b_options=named)
        assert all(isinstance(one, Linked) for one in results), results
    for own in both:
        assert [run.cost for run in Ledger(own.state.database).runs()] == [Cost(Fraction(1), Fraction(0))] * 2


def test_a_table_has_a_cell_for_each_category(tmp_path: Path) -> None:
    both, (a, b) = linked(tmp_path, agreed_on(TABLE))
    assert a.answer is not None
    assert a.answer == b.answer
    assert [cell.names for cell in a.answer.cells] == [("1",), ("9",), ("other",)]
    assert a.answer.table().column_names == ["x_a", "value", "low", "high"]
    assert Ledger(both[1].state.database).runs()[0].cost == Cost(Fraction(2), Fraction(0))


def test_an_exact_sum_promises_nothing_and_is_right(tmp_path: Path) -> None:
    _, (a, b) = linked(tmp_path, agreed_on(SUM))
    _, (found, _) = linked(tmp_path / "pairs", agreed_on({}, {"A": [], "B": ["y"]}))
    there = [int(y) for y in found.pairs["y_b"].to_pylist()]
    assert a.answer is not None
    assert a.answer == b.answer
    assert a.answer.values == (sum(there), len(there))
    assert (a.cost, a.charged) == (None, None)


def test_all_pairs_are_counted_exactly(tmp_path: Path) -> None:
    plain = agreed_on({"answer": "count", "exact": True}).model_dump(mode="json")
    agreed = Agreement.model_validate(plain | {"protocol": {"name": "all-pairs"}, "blocking": []})
    both, (a, b) = linked(tmp_path, agreed)
    assert a.answer is not None
    assert a.answer == b.answer
    assert a.answer.values == (pairs_of(tmp_path),)
    assert (a.cost, a.charged) == (None, None)
    told = typed(both[0], "runs", a.run)
    assert "matching pairs" in told


def test_only_one_side_learns_the_pairs(tmp_path: Path) -> None:
    agreed = agreed_on({"to": "A"}, {"A": [], "B": ["x"]})
    both, (a, b) = linked(tmp_path, agreed, a_options={"out": tmp_path / "a.csv"})
    assert a.matches == pairs_of(tmp_path)
    assert a.pairs.column_names == ["id_a", "id_b", "x_b"]
    assert (b.learns, b.matches, len(b.pairs)) == (False, 0, 0)
    assert "matches not told to this side" in repr(b)
    assert "not told to this side" in typed(both[1], "runs")
    assert "not told to this side" in typed(both[1], "receipt", b.run)
    assert f"{a.matches}, which only your side was told" in typed(both[0], "receipt", a.run)
    for own in both:
        typed(own, "report", a.run, "--out", "own.html", "--force")
        typed(own, "report", a.run, "--out", "others.html", "--share", "--force")
        typed(own, "receipt", a.run)
    assert "not told to this side" in (tmp_path / "own.html").read_text()
    words = ("receipt", a.run, "--out", str(tmp_path / "a.csv"))
    done = accord(tmp_path, "--state", str(both[0].state.folder), *words)
    assert done.returncode == 2
    assert "no digest of them was signed" in done.stderr


def test_no_connection_is_left_when_the_pairs_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long it takes, and whether it can be done, is not for the partner to see."""
    happened: list[str] = []
    close, unseal = TlsChannel.close, SealedPasses.unseal

    def closing(self: TlsChannel) -> None:
        close(self)
        happened.append(f"closed to {self._partner}")

    def opening(self: SealedPasses, *given: Any) -> Outcome:
        happened.append("opened")
        return unseal(self, *given)

    monkeypatch.setattr(TlsChannel, "close", closing)
    monkeypatch.setattr(SealedPasses, "unseal", opening)
    linked(tmp_path, agreed_on({"to": "A"}, disclose={"A": [], "B": ["x"]}))
    assert happened.index("closed to bob") < happened.index("opened")


def test_pseudonyms_go_to_files_and_databases(tmp_path: Path) -> None:
    agreed, place = agreed_on({"ids": "pseudonyms"}), f"duckdb:{tmp_path / 'b.duckdb'}?table=pairs"
    files = {"a_options": {"out": tmp_path / "a.csv"}, "b_options": {"out": place}}
    both, (a, b) = linked(tmp_path, agreed, **files)
    assert a.pairs.column_names == ["id_a", "id_b", "own_id_a"]
    ids = {*a.pairs["id_a"].to_pylist(), *a.pairs["id_b"].to_pylist()}
    assert not ids & {f"{side}{row}" for side in "ab" for row in range(4)}
    with duckdb.connect(str(tmp_path / "b.duckdb")) as base:
        rows = base.execute("select id_a, id_b, own_id_b from pairs").fetchall()
    assert {row[:2] for row in rows} == {(r["id_a"], r["id_b"]) for r in a.pairs.to_pylist()}
    assert {row[2] for row in rows} <= {"b0", "b1", "b2", "b3"}
    assert "holds exactly the pairs" in typed(both[0], "receipt", a.run, "--out", str(tmp_path / "a.csv"))
    assert b.matches == a.matches


def test_a_side_that_learns_nothing_is_told_that_nothing_would_be_written(tmp_path: Path) -> None:
    agreed = agreed_on({"to": "A"})
    _, b = worlds.introduce(tmp_path, agreed)
    given = worlds.options(b, worlds.B_ROWS, agreed) | {"listen": "127.0.0.1:0", "out": tmp_path / "b.csv"}
    with pytest.raises(UsageError, match="alone, so nothing would be written"):
        link(given.pop("data"), given.pop("agreement"), **given)


def test_whoever_shows_ids_beside_pseudonyms_is_told_before_the_yes(tmp_path: Path) -> None:
    agreed = agreed_on({"ids": "pseudonyms"}, {"A": ["number"], "B": []})
    a, _ = worlds.introduce(tmp_path, agreed)
    (tmp_path / "agreed.toml").write_text(agreed.to_toml())
    (tmp_path / "a.csv").write_text("number,x,y\nn1,1,1\nn2,9,9\n")
    (tmp_path / "a.csv.layout.toml").write_text('id = "number"\n')
    link_to = ("link", "a.csv", "--partner", agreed.party(Side.B), "--listen", "127.0.0.1:0")
    done = accord(
        tmp_path, "--state", str(a.state.folder), *link_to, "--agreement", "agreed.toml", "--out", "pairs.csv"
    )
    assert "Nobody can answer here" in done.stderr
    assert "Warning: The agreement has pseudonyms, but discloses 'number'" in done.stderr
