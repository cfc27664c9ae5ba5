"""What is told of a run: its pages, the summary, the impact assessment; and the card before it."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.disclosure import learned_about
from accord.agreement.document import Agreement
from accord.datasets.starter import starter, starter_text
from accord.errors import AccordError
from accord.privacy.events import NO_COST, Cost
from accord.privacy.number import show
from accord.protocols.parts.answers import decode_answer
from accord.report.card import OwnTable, describe_card, steps
from accord.report.dpia import assess
from accord.report.dpia_risks import CHEATING, OPEN
from accord.report.in_brief import tell_in_brief
from accord.report.receipt_page import share
from accord.report.run_page import describe_run
from accord.run.receipt import Receipt
from accord.run.remembered import Remembered, remember
from accord.secure.engines import BUILT_IN
from accord.side import Side
from accord.table.field_source import Source
from accord.table.layout import Layout
from accord.wording import lasting, sized
from tests.protocols.worlds import agreement
from tests.report.outline import TAG, Outline, require_quiet, spoil
from tests.run import faults
from tests.run.faults import Office
from tests.run.test_receipt import accord

NOBODY: dict[str, list[str]] = {"A": [], "B": []}
COUNT = {"answer": "count", "epsilon": "1"}
TABLE = {"answer": "table", "epsilon": "2", "by": {"A": {"column": "x", "values": ["1", "9"]}}}
SUM = {"answer": "sum", "exact": True, "of": {"side": "B", "column": "y", "low": 0, "high": 20}}
TO_A: dict[str, Any] = {"output": {"to": "A"}, "disclose": {"A": [], "B": ["x"]}}


def made(folder: Path, kind: str = "greedy") -> dict[Side, Office]:
    """Two organisations with a run that is done; tests only read them."""
    both = faults.offices(folder, kind)
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        faults.require_linked(faults.link(both))
    return both


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    return made(tmp_path_factory.mktemp("done"))


def remembered(office: Office) -> Remembered:
    assert office.run is not None
    found = remember(office.state, office.run.manifest.run)
    assert isinstance(found, Remembered)
    return replace(found, bytes=1_234_567)


@pytest.fixture(scope="module")
def known(done: dict[Side, Office]) -> Remembered:
    """As alice remembers it."""
    return remembered(done[Side.A])


def shared(known: Remembered) -> str:
    assert known.receipt is not None
    return share(known.agreement, known.receipt)


def agreed(kind: str = "routed", **changes: Any) -> Agreement:
    return Agreement.model_validate(faults.agreement(kind).model_dump(mode="json") | changes)


# -- the owner's page, and that for others ------------------------------------------------------------------


def test_its_owner_is_told_everything_and_others_what_both_sides_have(done: dict[Side, Office]) -> None:
    """Limits are those of the ledger."""
    known = remembered(done[Side.A])
    own, others = describe_run(known), shared(known)
    for page in (own, others):
        require_quiet(page)
    assert len(Outline(own).headings) == 10
    assert "missing" not in re.findall(r'class="(\w+)"', own)
    assert known.bins is not None
    canaries = (f"&#x27;{known.dataset}&#x27;", known.out, f"{int(known.bins.dummies.sum()):,} (")
    assert [(canary in own, canary in others) for canary in canaries] == [(True, False)] * 3
    assert {shared(remembered(done[side])) for side in Side} == {others}
    assert list(inspect.signature(share).parameters) == ["agreement", "receipt"]
    assert known.receipt is not None
    pruned = share(adjust(known.agreement, prune=90), known.receipt)
    assert ("prune = 90" in others, "prune = 90" in pruned) == (False, True), "what may be missed is said"
    assert known.account is not None
    pages = []
    for runs in (3, 8, None):
        account = replace(known.account, budget=replace(known.account.budget, runs=runs), left=None)
        pages.append(describe_run(replace(known, account=account)))
    assert ["2 runs" in page for page in pages] == [True, False, False]
    assert "7 runs" in pages[1]


@pytest.mark.parametrize("kind", ["plain", "greedy", "all-pairs"])
def test_the_funnel_has_no_bar_that_nobody_can_know(kind: str, tmp_path: Path, known: Remembered) -> None:
    """What greedy has spared is not kept; without it, the counts tell what was compared."""
    found = known if kind == "greedy" else remembered(made(tmp_path, kind)[Side.A])
    assert found.receipt is not None
    bars = describe_run(found).count("<dt>")
    if kind == "all-pairs":
        assert found.bins is None or not found.bins.dummies.sum()
        assert len(Outline(shared(found)).headings) <= len(Outline(shared(known)).headings)
        return
    assert found.bins is not None
    assert (found.bins.compared is None) == (kind == "greedy")
    if found.bins.compared is not None:
        assert found.receipt.facts["matches"] <= found.bins.compared <= found.receipt.facts["comparisons"]
        without = replace(found, bins=replace(found.bins, compared=None))
        assert describe_run(without).count("<dt>") == bars - 1


def test_the_receipt_of_another_run_is_none(done: dict[Side, Office], tmp_path: Path) -> None:
    office, other = made(tmp_path)[Side.A], done[Side.A].run
    assert office.run is not None
    assert other is not None
    office.run.keep({"receipt": other.read("receipt")})
    assert remembered(office).receipt is None
    run = office.run.manifest.run
    for typed in (["receipt", run], ["report", run, "--share", "--out", str(tmp_path / "x.html")]):
        with pytest.raises(AccordError):
            accord(office, *typed)
    accord(office, "forget", run, "--force")
    with pytest.raises(AccordError):
        accord(office, "report", run, "--dpia", "--out", str(tmp_path / "dpia.md"))


@pytest.mark.parametrize("ended", ["waits", "most_matches", "no_table"])
def test_a_run_that_is_not_done_is_not_told_as_if_it_were(known: Remembered, ended: Any) -> None:
    page = describe_run(replace(known, receipt=None, ended=ended))
    assert not set(Outline(page).headings) >= set(Outline(describe_run(known)).headings)
    bare = replace(known, receipt=None, bins=None, phases=None, account=None, ended=ended)
    assert re.findall(r'class="(\w+)"', describe_run(bare)).count("missing") == 5
    assert (f"accord resume {known.name}" in describe_run(bare)) == (ended == "waits")
    found, _, cost = tell_in_brief(replace(bare, bytes=None, matches=None))
    assert not re.search(r"\d", found)
    assert (cost == tell_in_brief(replace(bare, bytes=None, matches=None, ended="closed"))[2]) == (
        ended != "waits"
    )


def test_the_command_writes_for_its_owner_or_for_others(done: dict[Side, Office], tmp_path: Path) -> None:
    office = done[Side.A]
    assert office.run is not None
    run, out = office.run.manifest.run, tmp_path / "run.html"
    accord(office, "report", run, "--out", str(out))
    assert out.stat().st_mode & 0o77 == 0, "for its owner's eyes"
    for more in (("run.html",), ("run.md",), ("dpia.html", "--dpia")):
        with pytest.raises(AccordError):
            accord(office, "report", run, "--out", str(tmp_path / more[0]), *more[1:])
    accord(office, "report", run, "--out", str(out), "--share", "--force")
    assert out.read_text() == shared(remembered(office))
    before, dpia = tmp_path / "agreement.toml", tmp_path / "dpia.md"
    before.write_text(starter_text("people", "0" * 32))
    for what in (run, str(before)):
        said = accord(office, "report", what, "--dpia", "--force", "--out", str(dpia))
        assert said.split()[0] == str(dpia.read_text().count(OPEN))
        assert (run in dpia.read_text()) == (what == run)
        assert dpia.stat().st_mode & 0o044


# -- in brief -----------------------------------------------------------------------------------------------


def test_numbers_in_brief_are_those_of_the_run(known: Remembered) -> None:
    """Bins are spoken of where there are some, pairs to who learns them, and pseudonyms are no ids."""
    found, shown, cost = tell_in_brief(known)
    assert known.receipt is not None
    assert known.charged is not None
    assert known.phases is not None
    theirs = known.receipt.facts["parties"]["B"]["records"]
    for number in (known.receipt.facts["matches"], known.records, theirs):
        assert f" {number:,} " in found
    assert f"({known.records:,})" in shown
    assert "its id, x, y" in shown
    for number in (show(known.charged.epsilon), show(known.charged.delta), sized(1_234_567)):
        assert number in cost
    assert lasting(sum(known.phases.values())) in cost
    assert "ε = 2," in tell_in_brief(replace(known, charged=Cost(NO_COST.epsilon + 2, NO_COST.delta)))[2]
    free = replace(known, charged=NO_COST)
    assert tell_in_brief(free)[2] != tell_in_brief(replace(free, agreement=agreed("all-pairs")))[2]
    for kind in faults.KINDS:
        of = agreed(kind)
        shown = tell_in_brief(replace(known, agreement=of))[1]
        told = of.leakage(Side.A)
        assert (f"{told.bins} bins" in shown) == (told.guarantee.told == "noisy counts")
    mine = replace(known, agreement=agreed(**TO_A), matches=6)
    found, shown, _ = tell_in_brief(mine)
    assert " 6 " in found
    assert tell_in_brief(replace(known, receipt=None))[0] != tell_in_brief(known)[0]
    assert "its id" not in shown
    found, shown, _ = tell_in_brief(replace(mine, side=Side.B, matches=None))
    assert "6" not in found
    assert "its id, x" in shown
    assert tell_in_brief(replace(mine, matches=None))[0] != found
    named = agreed(output={"ids": "pseudonyms"}, disclose=NOBODY)
    assert "its id" not in tell_in_brief(replace(known, agreement=named))[1]


@pytest.mark.parametrize(
    ("output", "values"),
    [(COUNT, [(1_200, 49)]), (TABLE, [(4, 6), (3, 6), (17, 6)]), (SUM, [(140, 0), (9, 0)])],
)
def test_an_answer_is_told_with_how_near_it_is(
    known: Remembered, output: dict[str, Any], values: list[tuple[int, int]]
) -> None:
    of = agreed(output=output, disclose=NOBODY)
    run = replace(known, agreement=of, matches=None, answer=decode_answer(of.output, values))
    found, shown, _ = tell_in_brief(run)
    for value, within in values:
        assert f"{value:,} ± {within}" in found if within else f"{value:,}" in found
    assert "its id" not in shown
    assert "ε" not in tell_in_brief(replace(run, charged=None))[2] or "exact" not in output


# -- the impact assessment ----------------------------------------------------------------------------------


def all_pairs(**changes: Any) -> Agreement:
    return Agreement.model_validate(agreement(protocol="all-pairs").model_dump(mode="json") | changes)


AGREEMENTS = {
    **{kind: starter(kind) for kind in ("products", "people")},
    **{kind: agreed(kind) for kind in ("psi", "routed")},
    "all-pairs": all_pairs(),
    "bounded": all_pairs(most_matches={"A": 7, "B": "5%"}),
    "count": agreed(output=COUNT, disclose=NOBODY),
    "exact": agreed(output={"answer": "count", "exact": True}, disclose=NOBODY),
    "to A": agreed(**TO_A),
    "pseudonyms": agreed(output={"ids": "pseudonyms"}),
    **{f"engine {name}": all_pairs(engine=name) for name in CHEATING},
}


TAGS = {"h1", "h2", "h3", "p", "ul", "li", "strong", "code"}


@cache
def rendered(document: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").render(document)


def headings(document: str, depth: int = 2) -> list[str]:
    return [unescape(h) for h in re.findall(rf"<h{depth}>(.*?)</h{depth}>", rendered(document))]


def receipt_of(of: Agreement) -> Receipt:
    """As a run of it would have it, as far as it is told of."""
    parties = {
        side.value: {"records": 1235, "disclosed": list(of.disclosed(side)), "card": "ABCD-EFGH"}
        | {"time": "2026-11-18T12:00:00+00:00", "accord": "0.1"}
        for side in Side
    }
    both = of.output.learner is None and not of.output.answers
    facts: dict[str, Any] = {"run": "0123456789abcdef", "output": "f" * 64, "comparisons": 98_765}
    return Receipt(facts | {"matches": 1 if both else None, "parties": parties}, {}, {})


@pytest.mark.parametrize("name", AGREEMENTS)
def test_every_agreement_is_assessed_in_well_formed_markdown(name: str) -> None:
    of = AGREEMENTS[name]
    for receipt in (None, receipt_of(of)):
        document = assess(of, receipt)
        assert [heading[0] for heading in headings(document)] == [*"12345"]
        assert set(re.findall(r"<(\w+)", rendered(document))) <= TAGS
        assert "None" not in document
        assert "\n\n\n" not in document
        assert document.count(OPEN) == len(re.findall(rf"{re.escape(OPEN)}[^\[\]]+\]", document))
        text = unescape(re.sub("<[^>]*>", "", rendered(document)))
        for side in Side:
            assert [line for line in learned_about(of, side) if line.replace("`", "") not in text] == []
        assert ("1,235" in document) == (receipt is not None)
    assert ("e^ε =" in assess(of)) == (name in ("products", "people", "count"))


def test_risks_follow_the_agreement_and_hostile_names_stay_text(known: Remembered) -> None:
    told = {name: assess(of) for name, of in AGREEMENTS.items()}
    facts = {"products": ("= 4.96", "83.3 %"), "count": ("73.2 %",), "bounded": (" 7 of", " 5% of")}
    assert all(fact in told[name] for name, some in facts.items() for fact in some)
    assert set(headings(told["routed"], 3)) - set(headings(told["count"], 3)), "no record is disclosed"
    assert len(set(told.values())) == len(told) - 1, "ot is the engine of all-pairs"
    assert CHEATING.keys() == set(BUILT_IN)
    assert list(inspect.signature(assess).parameters) == ["agreement", "receipt"]
    bad = spoil(known)
    document = assess(bad.agreement, bad.receipt)
    assert set(re.findall(r"<(\w+)", rendered(document))) <= TAGS
    assert all(c.isprintable() or c == "\n" for c in document)


# -- cards --------------------------------------------------------------------------------------------------

_COST = "90,000 comparisons, 3.0 MB, 2 s"
_CANARY = "Zähler-Quokka"
PEOPLE = starter("people")


def own(column: str = _CANARY) -> OwnTable:
    return OwnTable("my table.csv", Layout(id="Nr", columns={PEOPLE.names[0]: Source(column=column)}))


def test_a_card_shows_an_owner_its_columns_and_a_partner_the_fields() -> None:
    mine = describe_card(PEOPLE, "agreement.toml", Side.A, _COST, own())
    needed = PEOPLE.fields[PEOPLE.names[0]].model_copy(update={"missing": "error"})
    strict = PEOPLE.model_copy(update={"fields": {**PEOPLE.fields, PEOPLE.names[0]: needed}})
    theirs = describe_card(strict, "$(id).toml", Side.B, _COST)
    hostile = describe_card(PEOPLE, "agreement.toml", Side.A, _COST, own(TAG))
    for page in (mine, theirs, hostile):
        require_quiet(page)
        assert _COST in page
    assert (_CANARY in mine, _CANARY in theirs, TAG in hostile) == (True, False, False)
    assert [name for name in PEOPLE.names if name not in theirs] == []
    assert theirs != describe_card(PEOPLE, "$(id).toml", Side.B, _COST)
    assert "--for $(id)" not in theirs


@pytest.mark.parametrize("side", Side)
def test_no_side_types_more_than_five_commands_and_the_last_one_links(side: Side) -> None:
    names = PEOPLE.parties.model_copy(update={"A": "North shop", "B": "South shop"})
    of = PEOPLE.model_copy(update={"parties": names, "output": PEOPLE.output.model_copy(update={"to": "A"})})
    for table in (None, own()):
        typed = [one.command for one in steps(of, "our agreement.toml", side, table)]
        assert len(typed) <= 5
        assert ("--for" in typed[0]) is (table is None)
        assert f"--partner '{of.party(side.other)}'" in typed[-1]
        assert "--agreement 'our agreement.toml'" in typed[-1]
        assert ("--listen" in typed[-1]) is (side is Side.A)
        # A side that learns nothing writes no pairs.
        assert ("--out" in typed[-1]) is (side is Side.A)
        page = describe_card(of, "our agreement.toml", side, _COST, table)
        assert len(re.findall(r"<li><code>(accord .*?)</code>", page)) == len(typed)
