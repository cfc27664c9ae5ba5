"""Audits as pages: the verdict as the terminal has it, what was tried, and a drawing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accord.agreement.document import Agreement
from accord.auditing.cases import built_in, options
from accord.auditing.programs import honest
from accord.auditing.protocol import CaseFinding, Finding, Verdict
from accord.auditing.questions import OneRun
from accord.auditing.setting import afterwards, side_facts
from accord.auditing.telling import NO_PROOF
from accord.cli import app
from accord.datasets.starter import starter
from accord.exact import text
from accord.privacy.budget import Budget
from accord.privacy.calibration import as_claimed, audit
from accord.report.audit_page import describe_agreement_audit, describe_noise_audit, describe_protocol_audit
from accord.report.markup import escape
from accord.side import Side
from tests.report.outline import Outline, require_quiet, rows_of


def verdict(lower: float) -> Verdict:
    """Of the case 'alone' on both sides, where A's proves an ε of at least `lower`."""
    curve = tuple((i / 40, min(1.0, 2 * i / 40)) for i in range(41))
    finding = Finding(100, 90, 3, 1.6, 1e-5, lower, 3.0, 0.1, curve, (0,))
    calm = replace(finding, epsilon_lower=0.0, hits_p=50, hits_q=49)
    cases = [OneRun.of(case, honest) for case in built_in(options("laplace", "1.6", "1e-5"))[:2]]
    found = zip(cases, (finding, calm), strict=True)
    return Verdict(tuple(CaseFinding(case, each, ("<messages>",)) for case, each in found), 0.999)


def agreement_page(agreed: Agreement, budget: Budget | None = None) -> str:
    sides = [side_facts(agreed, side, 5000) for side in Side]
    account = None if budget is None else afterwards(agreed, Side.A, None, "patients", [], 0, budget)
    return describe_agreement_audit(agreed, sides, account)


def test_a_noise_that_keeps_its_promise_and_one_that_does_not() -> None:
    found = audit(as_claimed("geometric", "1.6", "2^-40"))
    kept = describe_noise_audit(found)
    require_quiet(kept)
    drawn = {("exact δ(ε)", f"{float(e):,.4g}", f"{d:,.4g}") for e, d in found.curve if d > 0}
    claimed = (f"claimed δ = {text(found.setting.delta)}", "0", f"{float(found.setting.delta):,.4g}")
    assert drawn | {claimed} <= rows_of(kept)
    assert Outline(kept).headings[1:] == ["The verdict", "The noise", "What holds at every ε"]
    assert 'class="good">Kept' in kept
    broken = replace(found, setting=replace(found.setting, delta_exact=1e-3))
    page = describe_noise_audit(broken)
    assert 'class="bad">Not kept' in page
    assert "above the claimed δ" in page


def test_a_leak_is_the_first_thing_on_the_page() -> None:
    page = describe_protocol_audit("<laplace>", verdict(2.45), 200)
    require_quiet(page)
    assert 'class="bad">Leaky: &lt;laplace&gt; does not keep' in page
    assert page.index("Leaky") < page.index("What was tried")
    assert "2.45 of 1.6" in page
    assert "&lt;messages&gt;" in page
    assert "allowed by (ε, δ) = (1.6, 1e-05)" in page
    score = "the learned score, at every threshold"
    drawn = {(score, f"{q:,.4g}", f"{p:,.4g}") for q, p in verdict(2.45).worst.finding.curve}
    assert drawn | {("the event that was tested: ε ≥ 2.45", "0.03", "0.9")} <= rows_of(page)
    assert escape(NO_PROOF) not in page


def test_no_leak_found_is_not_called_a_proof() -> None:
    page = describe_protocol_audit("laplace", verdict(0.5), 200)
    assert 'class="good">No leak found' in page
    assert escape(NO_PROOF) in page
    assert "2 runs" not in page
    few = verdict(0.5)
    weak = replace(few.findings[0], finding=replace(few.findings[0].finding, epsilon_most=1.0))
    assert "cannot refute ε = 1.6" in describe_protocol_audit("laplace", replace(few, findings=(weak,)), 60)


def test_an_agreement_and_an_account_that_does_not_allow_it() -> None:
    agreed = starter("people")
    page = agreement_page(agreed)
    require_quiet(page)
    assert page.count('class="good"') == 2
    assert "may be shown to the partner" in page
    assert page.count("δ against ε") >= 2
    small = agreement_page(agreed, Budget(None, 0))
    assert "For your eyes only" in small
    assert 'class="bad">The account of patients: no new release' in small


@pytest.mark.parametrize("name", ["noise", "agreement"])
def test_the_commands_write_pages_and_replace_none(tmp_path: Path, name: str) -> None:
    out, given = tmp_path / "audit.html", list[str]()
    if name == "agreement":
        given = [str(tmp_path / "agreement.toml")]
        Path(given[0]).write_text(starter("people").to_toml())
    typed = ["audit", name, *given, "--html", str(out)]
    assert CliRunner().invoke(app, typed).exit_code == 0
    require_quiet(out.read_text())
    again = CliRunner().invoke(app, typed)
    assert "the file already exists" in str(again.exception)
    assert CliRunner().invoke(app, [*typed, "--force"]).exit_code == 0
    other = CliRunner().invoke(app, [*typed[:-1], str(tmp_path / "audit.pdf")])
    assert ".html" in str(other.exception)
