"""`python -m reproduction audit` as a user meets it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from accord.errors import UsageError
from reproduction.__main__ import main
from reproduction.audit.cases import built_in, options
from reproduction.audit.command import describe, questions_of
from reproduction.audit.histories import HISTORIES, histories
from reproduction.audit.programs import honest
from reproduction.audit.protocol import CaseFinding, Finding, Verdict
from reproduction.audit.questions import OneRun

Audit = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Audit:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reproduction", "audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


@pytest.mark.slow
def test_a_leak_is_named(audit: Audit) -> None:
    code, out, err = audit("unshuffled", "--case", "matched", "--trials", "400")
    assert (code, err) == (12, "reproduction: unshuffled leaks.\n")
    assert out.startswith("leaky: unshuffled does not keep (ε, δ) = (1.6, 1e-05); ε is at least ")
    assert "told apart by: place" in out


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("--case", "alone"), ["alone"]),
        pytest.param((), ["alone", "matched", "crowd", "beside", "passes"], marks=pytest.mark.slow),
    ],
    ids=["one", "all"],
)
def test_no_leak(audit: Audit, chosen: tuple[str, ...], names: list[str]) -> None:
    code, out, err = audit("all-pairs", *chosen, "--trials", "40")
    assert (code, err) == (0, "")
    assert out.startswith("no leak found: all-pairs at (ε, δ) = (0, 0).\n40 runs with each table")
    rows = [line.split()[:2] for line in out.split("differ in\n")[1].split("\n\n")[0].splitlines()]
    assert rows == [[name, side] for name in names for side in "AB"]


@pytest.mark.slow
def test_too_few_runs_to_convict_are_warned_of(audit: Audit) -> None:
    few = ("laplace", "--case", "alone", "--trials", "40")
    assert audit(*few)[2] == "Warning: 40 runs cannot refute ε = 1.6; use more.\n"
    assert audit(*few, "--epsilon", "0.5")[2] == ""


@pytest.mark.slow
def test_a_protocol_that_promises_nothing_is_judged_by_the_epsilon_asked(audit: Audit) -> None:
    asked = ("--epsilon", "1", "--delta", "1e-6", "--case", "alone")
    code, out, err = audit("blocking", *asked, "--trials", "60")
    assert (code, err) == (12, "reproduction: blocking leaks.\n")
    assert out.startswith("leaky: blocking does not keep (ε, δ) = (1, 1e-06); ε is at least ")
    assert "told apart by: " in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laplace", "--case", "odd"), "alone, matched, crowd, beside"),
        (("lapalce",), "lapalce"),
        (("laplace", "--trials", "3"), "40 trials"),
        (("psi", "--epsilon", "1"), "leave out --epsilon and --delta"),
        (("laplace", "--epsilon", "0"), "ε must be above 0"),
        (("laplace", "--epsilon", "100"), "promises nothing"),
        (("laplace", "--epsilon", "much"), "ε"),
        (("laplace", "--delta", "2"), "δ must lie between 0 and 1"),
    ],
)
def test_an_odd_question_is_refused(audit: Audit, words: tuple[str, ...], said: str) -> None:
    code, _, err = audit(*words)
    assert (code, said in err) == (2, True)


def test_cases_of_several_runs_are_chosen_by_name() -> None:
    for name in ("over-time", *HISTORIES):
        chosen = {question.name for question in questions_of("laplace", name, "0.3", "1e-3")}
        assert chosen == ({*HISTORIES} if name == "over-time" else {name})
        with pytest.raises(UsageError, match=f"leave out --case {name}"):
            questions_of("blocking", name, "0.3", "1e-3")


def test_the_claim_of_a_history_is_explained() -> None:
    finding = Finding(20, 0, 0, 3.2, 2e-5, 0.0, 1.7, 0.0, (), ())
    taken = options("laplace", "1.6", "1e-5")
    for questions, explained in ((histories(taken), True), ([OneRun.of(built_in(taken)[0], honest)], False)):
        verdict = Verdict(tuple(CaseFinding(question, finding, ()) for question in questions[:1]), 0.999)
        told = describe("laplace", verdict, 40)
        assert ("its composed promise: ε and δ as the ledger adds them up" in told) is explained
