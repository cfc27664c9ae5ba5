"""The skeleton of an impact assessment: whole for every protocol and engine, and silent about every record.

The canaries, and the run that they are planted in, are those of the shared page (`test_receipt_page.py`).
"""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from accord.agreement.disclosure import learned_about
from accord.agreement.document import Agreement
from accord.datasets.starter import starter, starter_text
from accord.errors import AccordError
from accord.report.dpia import assess
from accord.report.dpia_risks import CHEATING, OPEN
from accord.run.receipt import Receipt
from accord.run.remembered import Remembered
from accord.secure.engines import BUILT_IN
from accord.side import Side
from tests.protocols.test_routed_answers import NOBODY
from tests.protocols.worlds import agreement
from tests.report import test_receipt_page as canaries
from tests.report.hostile import spoil
from tests.run import faults
from tests.run.faults import Office
from tests.run.test_receipt import accord

known = canaries.known
HEADINGS = [
    "1 The processing (Article 35(7)(a))",
    "2 Necessity and proportionality (Article 35(7)(b))",
    "3 Risks to the rights and freedoms of data subjects (Article 35(7)(c))",
    "4 Measures (Article 35(7)(d))",
    "5 Advice, approval, review",
]


def _changed(agreed: Agreement, **changes: Any) -> Agreement:
    return Agreement.model_validate(agreed.model_dump(mode="json") | changes)


ROUTED = faults.agreement("routed")
AGREEMENTS = {
    **{kind: starter(kind) for kind in ("products", "people")},
    "psi": faults.agreement("psi"),
    "all-pairs": agreement(protocol="all-pairs"),
    "routed": ROUTED,
    "count": _changed(ROUTED, output={"answer": "count", "epsilon": "1"}, disclose=NOBODY),
    "exact": _changed(ROUTED, output={"answer": "count", "exact": True}, disclose=NOBODY),
    "to A": _changed(ROUTED, output={"to": "A"}, disclose={"A": [], "B": ["x"]}),
    "pseudonyms": _changed(ROUTED, output={"ids": "pseudonyms"}),
    "bounded": _changed(agreement(protocol="all-pairs"), most_matches={"A": 7, "B": "5%"}),
    **{f"engine {name}": _changed(agreement(protocol="all-pairs"), engine=name) for name in CHEATING},
}


def _receipt(agreed: Agreement) -> Receipt:
    """As a run of it would have it, as far as it is told of."""
    parties = {
        side.value: {
            "records": 1234 + len(side.value),
            "disclosed": list(agreed.disclosed(side)),
            "card": "ABCD-EFGH",
            "time": "2026-11-18T12:00:00+00:00",
            "accord": "0.1",
        }
        for side in Side
    }
    both = agreed.output.learner is None and not agreed.output.answers
    facts: dict[str, Any] = {"run": "0123456789abcdef", "output": "f" * 64, "comparisons": 98_765}
    facts |= {"matches": 1 if both else None, "parties": parties}
    return Receipt(facts, {}, {})


def _rendered(document: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(document)


def _headings(document: str, depth: int = 2) -> list[str]:
    return [unescape(h) for h in re.findall(rf"<h{depth}>(.*?)</h{depth}>", _rendered(document))]


@pytest.mark.parametrize("with_receipt", [False, True])
@pytest.mark.parametrize("name", AGREEMENTS)
def test_every_agreement_is_told_in_well_formed_markdown(name: str, with_receipt: bool) -> None:
    agreed = AGREEMENTS[name]
    document = assess(agreed, _receipt(agreed) if with_receipt else None)
    assert _headings(document) == HEADINGS
    tags = set(re.findall(r"<(\w+)", _rendered(document)))
    assert tags <= {"h1", "h2", "h3", "p", "ul", "li", "strong", "code"}
    assert "None" not in document
    assert "\n\n\n" not in document
    assert document.endswith("\n")
    assert document.count(OPEN) == len(re.findall(r"\[to be filled in by [^\[\]]+\]", document))
    text = unescape(re.sub("<[^>]*>", "", _rendered(document)))
    for side in Side:
        for line in learned_about(agreed, side):
            assert line.replace("`", "") in text
    assert ("1,235" in document) == with_receipt


def test_every_engine_is_told_of() -> None:
    assert CHEATING.keys() == set(BUILT_IN)


def test_the_promise_is_told_in_odds() -> None:
    document = assess(starter("products"))
    assert "at most e^ε = 4.96: a suspicion of 50 % about such a record can rise to 83.3 %" in document
    assert "Ten come to: for north-shop ε = 16" in document
    assert "e^ε =" not in assess(AGREEMENTS["all-pairs"])
    assert "Many runs" not in assess(AGREEMENTS["all-pairs"])
    assert "can rise to 73.2 %, not further" in assess(AGREEMENTS["count"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bounded", "alice shows at most 7 of its records and bob shows at most 5% of its records"),
        ("all-pairs", "No bound was agreed on how many records are shown"),
        ("psi", "up to 1.3 times as many as it announced records"),
        ("routed", "invented keys"),
        ("count", "weigh one record so heavily"),
        ("exact", "The answer tells of single people"),
        ("exact", "alice: no promise; bob: no promise"),
        ("exact", "Nothing is promised against it"),
        ("count", "learns what they add to the answer"),
        ("all-pairs", "does not depend on records that match nothing. What else is told"),
        ("to A", "alice sees which of its records match"),
        ("engine dual", "at most one bit in a run"),
        ("products", "how many fall into a bin is seen up to the noise"),
    ],
)
def test_risks_follow_the_agreement(name: str, said: str) -> None:
    assert said in assess(AGREEMENTS[name], _receipt(AGREEMENTS[name]))


def test_an_answer_discloses_no_record() -> None:
    assert "Matching records are disclosed" in _headings(assess(AGREEMENTS["routed"]), 3)
    assert "Matching records are disclosed" not in _headings(assess(AGREEMENTS["count"]), 3)


def test_it_is_given_agreement_and_receipt_alone() -> None:
    assert list(inspect.signature(assess).parameters) == ["agreement", "receipt"]


@pytest.mark.parametrize("side", list(Side))
def test_it_holds_no_canary_of_either_side(known: dict[Side, Remembered], side: Side) -> None:
    document = assess(known[side].agreement, known[side].receipt)
    # Numbers of articles, and others that the agreement alone brings, are no secret.
    told = canaries._numbers(document) - canaries._numbers(assess(known[side].agreement))
    assert len(told) >= 3
    for owner in Side:
        for kind, words in canaries._words(owner, known[owner]).items():
            assert words
            assert [word for word in words if word in document] == [], kind
        assert told & canaries._secret_numbers(known[owner]) == set()
    canary = canaries._words(side, known[side])["note"][0]
    assert canary in document.replace("Purpose", canary), "the search would find it"


def test_both_sides_get_the_same(known: dict[Side, Remembered]) -> None:
    assert len({assess(one.agreement, one.receipt) for one in known.values()}) == 1


def test_hostile_names_stay_text(known: dict[Side, Remembered]) -> None:
    bad = spoil(known[Side.A])
    document = assess(bad.agreement, bad.receipt)
    assert set(re.findall(r"<(\w+)", _rendered(document))) <= {
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "strong",
        "code",
    }
    assert _headings(document) == HEADINGS
    assert all(c.isprintable() or c == "\n" for c in document)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.require_done(faults.link(both), both, both[Side.A].out.read_bytes())
    return both


def test_the_command_writes_it_and_replaces_nothing(done: dict[Side, Office], tmp_path: Path) -> None:
    office = done[Side.A]
    assert office.run is not None
    run, out = office.run.manifest.run, tmp_path / "dpia.md"
    said = accord(office, "report", run, "--dpia", "--out", str(out))
    assert f"{out.read_text().count(OPEN)} points are open" in said
    assert "may be shown to others" in said
    assert out.stat().st_mode & 0o044
    with pytest.raises(AccordError, match="the file already exists"):
        accord(office, "report", run, "--dpia", "--out", str(out))
    accord(office, "report", run, "--dpia", "--share", "--force", "--out", str(out))
    assert run in out.read_text()
    with pytest.raises(AccordError, match=r"\.md"):
        accord(office, "report", run, "--dpia", "--out", str(tmp_path / "dpia.html"))
    with pytest.raises(AccordError, match=r"\.html"):
        accord(office, "report", run, "--out", str(tmp_path / "run.md"))


def test_it_is_begun_with_an_agreement_before_any_run(tmp_path: Path, done: dict[Side, Office]) -> None:
    office, agreement, out = done[Side.A], tmp_path / "agreement.toml", tmp_path / "dpia.md"
    agreement.write_text(starter_text("people", "0" * 32))
    assert "points are open" in accord(office, "report", str(agreement), "--dpia", "--out", str(out))
    assert "no receipt of a run was at hand" in out.read_text()


def test_a_run_that_is_not_done_leaves_it_open(known: dict[Side, Remembered]) -> None:
    waits = replace(known[Side.A], receipt=None)
    document = assess(waits.agreement, waits.receipt)
    assert "no receipt of a run was at hand" in document
    assert "both sign one at the end of a run]" in document


def test_a_run_that_was_forgotten_cannot_be_told(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    faults.link(both)
    office = both[Side.A]
    assert office.run is not None
    run = office.run.manifest.run
    accord(office, "forget", run, "--force")
    with pytest.raises(AccordError, match="was forgotten; its agreement is not kept"):
        accord(office, "report", run, "--dpia", "--out", str(tmp_path / "dpia.md"))
