"""Audits as pages: the verdict first, then what was tried or computed, drawn, and what it does not show."""

from __future__ import annotations

import math
from fractions import Fraction

from accord.agreement.document import Agreement
from accord.auditing.protocol import CaseFinding, Finding, Verdict
from accord.auditing.setting import AGAIN, Afterwards, SideFacts
from accord.auditing.telling import NO_PROOF, claim_of, tell_trials, tell_verdict
from accord.exact import text
from accord.privacy.calibration import Audit, Setting, audit, one_by_one
from accord.privacy.events import tell_unless
from accord.privacy.number import show
from accord.protocols.parts.people import whom
from accord.report import receipt_page
from accord.report.charts import Bar, bars
from accord.report.curves import Axis, CurveLine, lines
from accord.report.markup import Markup, join
from accord.report.page import Section, bullets, facts, page, paragraph, table
from accord.side import Side
from accord.wording import counted

Facts = list[tuple[str, Markup | str | int]]


def _verdict(good: bool, said: str) -> Markup:
    return paragraph(said, "good" if good else "bad")


# -- a noise ----------------------------------------------------------------------------------------------


def describe_noise_audit(found: Audit) -> str:
    """The page of a noise: what it claims, and what is true of it."""
    setting = found.setting
    lead = (
        "Computed exactly from the noise's distribution, every δ rounded up. It contains nobody's data, so "
        "it may be shown to anybody."
    )
    sections = [
        Section("The verdict", join([_kept(setting), *_warned(setting.warnings)])),
        Section("The noise", facts(_noise(setting))),
        Section("What holds at every ε", _curve(found)),
    ]
    return page(f"Audit of {setting.name} noise", lead, sections)


def _kept(setting: Setting) -> Markup:
    claim = f"(ε, δ) = ({text(setting.epsilon)}, {text(setting.delta)})"
    if setting.kept:
        return _verdict(True, f"Kept: {claim} is claimed, and δ is exactly {setting.delta_exact:.6g}.")
    return _verdict(False, f"Not kept: {claim} is claimed, but δ is {setting.delta_exact:.6g}.")


def _warned(warnings: tuple[str, ...]) -> list[Markup]:
    return [paragraph(f"Worth knowing: {line}", "note") for line in warnings]


def _noise(setting: Setting) -> Facts:
    window, apart = setting.noise.window, one_by_one(setting)
    shown: Facts = [
        ("Noise", setting.name),
        ("It hides", f"a record in up to {counted(setting.bins_per_record, 'bin')}"),
        ("The promise is", whom(setting.records_per_person)),
        (
            "Dummies in a bin",
            f"{setting.expected_dummies:.1f} expected, standard deviation {window.deviation:.1f}, in 99.9 % "
            f"of the bins at most {window.quantile(Fraction(999, 1000))}",
        ),
    ]
    if apart is not None:
        people = setting.records_per_person
        told = f"{apart.expected_dummies:.1f}, by the bound for groups at ε/{people} for single records"
        shown.append(("Otherwise they would be", told))
    return shown


def _curve(found: Audit) -> Markup:
    setting = found.setting
    claimed = float(setting.epsilon), float(setting.delta)
    last = float(found.curve[-1][0])
    drawn = [
        CurveLine("exact δ(ε)", [(float(e), d) for e, d in found.curve if d > 0]),
        CurveLine(f"claimed δ = {text(setting.delta)}", [(0.0, claimed[1]), (last, claimed[1])]),
        CurveLine(f"exact δ at the claimed ε = {text(setting.epsilon)}", [(claimed[0], setting.delta_exact)]),
    ]
    side = "below" if setting.kept else "above"
    says = (
        f"The exact δ at every ε. At the claimed ε it is {side} the claimed δ: {setting.delta_exact:.4g}. "
        "Each power of ten of δ takes the same height."
    )
    known = [line for line in drawn if all(y > 0 for _, y in line.points)]
    return lines("δ against ε", says, known, (Axis("ε"), Axis("δ", log=True)))


# -- an agreement -----------------------------------------------------------------------------------------


def describe_agreement_audit(agreement: Agreement, sides: list[SideFacts], account: Afterwards | None) -> str:
    """The page of an agreement: what is true of it without a run; with an account, for its owner's eyes."""
    lead = "By proof, not by experiment: what holds for this agreement before it is run. "
    lead += (
        "For your eyes only: your account is in it."
        if account is not None
        else "It is made from the agreement alone, and may be shown to the partner."
    )
    sections = [
        Section("The verdict", join([_judged(agreement, one) for one in sides] + _allowed(account))),
        *(_side(agreement, one) for one in sides),
        *([Section(f"The account of {account.dataset}", _account(account))] if account is not None else []),
        receipt_page.tell_agreement(agreement),
        receipt_page.guarantee(agreement),
        receipt_page.tell_learned(agreement),
    ]
    parties = " and ".join(agreement.party(side) for side in Side)
    return page(f"Audit of the agreement of {parties}", lead, sections)


def _judged(agreement: Agreement, found: SideFacts) -> Markup:
    who = f"{agreement.party(found.side)} ({found.side.value})"
    if found.cost is None:
        return _verdict(False, f"{who}: no promise; {found.tell_nothing()}.")
    claim = f"(ε, δ) = ({show(found.cost.epsilon)}, {show(found.cost.delta)})"
    if found.noise is None:
        unless = tell_unless(found.cost.unless)
        return _verdict(True, f"{who}: {claim} is promised, and holds by the protocol itself{unless}.")
    exact = f"δ is exactly {found.noise.delta_exact:.4g}"
    if found.noise.kept:
        return _verdict(True, f"{who}: {claim} is promised and kept; {exact}.")
    return _verdict(False, f"{who}: {claim} is promised and not kept; {exact}.")


def _allowed(account: Afterwards | None) -> list[Markup]:
    if account is None:
        return []
    told = account.verdict.rstrip(".")
    return [_verdict(not account.refusal, f"The account of {account.dataset}: {told}.")]


def _side(agreement: Agreement, found: SideFacts) -> Section:
    title = f"The guarantee of {agreement.party(found.side)} ({found.side.value})"
    if found.cost is None:
        return Section(title, paragraph("None."))
    epsilon, delta = show(found.cost.epsilon), show(found.cost.delta)
    unless = tell_unless(found.cost.unless)
    shown: Facts = [
        ("Promise", f"(ε, δ) = ({epsilon}, {delta}) {found.whom}{unless}"),
        ("In words", found.tell_suspicion()),
    ]
    if found.noise is not None:
        shown += _noise(found.noise)[:2]
        dummies = f"{found.noise.expected_dummies:.1f} in a bin, {found.dummies:,.0f} in all, expected"
        shown.append(("Dummies", dummies))
        shown.append(("Run again", "nothing more under the same snapshot, since the same noise is used"))
    if found.again is not None:
        shown.append((f"{AGAIN} runs", f"{found.again.tell()}, with other snapshots"))
    drawn = [_curve(audit(found.noise))] if found.noise is not None else []
    return Section(title, join([facts(shown), *_warned(found.warnings), *drawn]))


def _account(account: Afterwards) -> Markup:
    both = (("spent", account.before.sums), ("after a run", account.after.sums))
    drawn = [
        Bar(name, float(sums.epsilon), shown=f"ε = {show(sums.epsilon)}")
        for name, sums in both
        if sums is not None
    ]
    shown: Facts = [
        ("Spent", account.before.tell() if account.before.releases else "nothing"),
        ("After a run", f"{account.after.tell()}, unless its snapshot is paid for"),
        ("Verdict", account.verdict),
    ]
    return join([facts(shown), bars("ε of the account", "The sums of ε, before and after a run.", drawn)])


# -- a protocol -------------------------------------------------------------------------------------------


def describe_protocol_audit(name: str, verdict: Verdict, trials: int) -> str:
    """The page of a protocol: how well the partner told neighbouring tables apart."""
    said = tell_verdict(name, verdict)
    judged = [_verdict(not verdict.leaky, said[0].upper() + said[1:])]
    judged += [paragraph(line) for line in tell_trials(verdict, trials)]
    judged += [paragraph(f"Worth knowing: {line}", "note") for line in _too_few(verdict, trials)]
    worst = verdict.worst
    sections = [
        Section("The verdict", join([*judged, *([] if verdict.leaky else [paragraph(NO_PROOF, "note")])])),
        Section("What was tried", join([paragraph(_TRIED), bullets(_tried(verdict))])),
        Section("What each case shows", join([_bounds(verdict), _cases(verdict)])),
        Section(f"The worst case: {worst.case.name}, of {worst.case.side.value}", _shares(worst.finding)),
    ]
    return page(
        f"Audit of the protocol {name}", "By experiment: can the partner tell more than it may?", sections
    )


_TRIED = (
    "Two neighbouring tables of one side have the same size and differ in one record, or in those of one "
    "person, which match nothing either way; by the promise they must look alike. The protocol is run many "
    "times with each, and all that the partner receives is kept. One half of the runs serves to learn how to "
    "tell the two apart; the other half shows how well that works, which gives a bound on ε."
)


def _too_few(verdict: Verdict, trials: int) -> list[str]:
    claimed = {found.finding.epsilon_claimed for found in verdict.findings if not found.finding.can_refute}
    return [f"{trials:,} runs cannot refute ε = {each:g}; use more." for each in sorted(claimed)]


def _tried(verdict: Verdict) -> list[str]:
    """Each pair of tables once."""
    return list(dict.fromkeys(f"{found.case.name}: {found.case.why}" for found in verdict.findings))


def _bounds(verdict: Verdict) -> Markup:
    drawn = []
    for found in verdict.findings:
        shown, claimed = found.finding.epsilon_lower, found.finding.epsilon_claimed
        mark = "leaky" if found.finding.leaky else "no leak found"
        name = f"{_name(found)}: {mark}"
        drawn.append(Bar(name, shown, max(0.0, claimed - shown), f"{shown:.2f} of {claimed:g}"))
    says = "The least ε that each case proves, next to the claimed one: more than that is a leak."
    return bars("ε by case", says, drawn, ("proved at least", "what is left of the claim"))


def _name(found: CaseFinding) -> str:
    return f"{found.case.name}, of {found.case.side.value}"


def _cases(verdict: Verdict) -> Markup:
    rows = [
        [
            _name(found),
            f"{found.finding.epsilon_lower:.2f}",
            claim_of(found.finding),
            f"{found.finding.hits_p:,} and {found.finding.hits_q:,} of {found.finding.trials:,}",
            ", ".join(found.looked_at[:3]) or "nothing",
        ]
        for found in verdict.findings
    ]
    names = ["case", "ε at least", "claimed", "the event held in", "it looks at"]
    return table("All cases; the event is what tells the two tables apart, as learned", names, rows, False)


def _shares(finding: Finding) -> Markup:
    """The allowed pairs of shares, the learned score at every threshold and the one event that was tested."""
    tested = finding.hits_q / finding.trials, finding.hits_p / finding.trials
    drawn = [
        CurveLine("the learned score, at every threshold", list(finding.curve)),
        CurveLine(f"the event that was tested: ε ≥ {finding.epsilon_lower:.2f}", [tested]),
    ]
    axes = Axis("share of runs with the one table", 1), Axis("share with the other", 1)
    says = (
        f"How often an event holds with each table. The promise allows the shaded area; the event that was "
        f"tested held in {tested[0]:.1%} and in {tested[1]:.1%} of the runs."
    )
    allowed = CurveLine(f"allowed by {claim_of(finding)}", _allowed_shares(finding))
    return lines("Shares of runs", says, drawn, axes, area=allowed)


def _allowed_shares(finding: Finding) -> list[tuple[float, float]]:
    """Corners: along P ≤ e^ε·Q + δ and 1 − Q ≤ e^ε·(1 − P) + δ, whichever is less, and back on P = Q."""
    factor, delta = math.exp(finding.epsilon_claimed), finding.delta_claimed

    def most(q: float) -> float:
        return min(1.0, max(q, min(factor * q + delta, 1 - (1 - q - delta) / factor)))

    steps = [i / 100 for i in range(101)]
    return [(0.0, 0.0), *((q, most(q)) for q in steps), (1.0, 1.0)]
