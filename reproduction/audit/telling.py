"""What an audit of a protocol found, in words: the same on a terminal and on a page."""

from __future__ import annotations

from accord.privacy.events import tell_unless
from reproduction.audit.histories import History
from reproduction.audit.protocol import Finding, Verdict

NO_PROOF = (
    "An audit can find a leak but cannot prove that there is none; the proof is under 'Privacy' in Accord's "
    "documentation."
)
_COMPOSED = (
    "What is claimed for a history is its composed promise: ε and δ as the ledger adds them up over all runs "
    "that it charged; a run that repeats a paid snapshot adds nothing."
)


def tell_verdict(name: str, verdict: Verdict) -> str:
    """Leaky, or not seen to be."""
    if not verdict.leaky:
        return f"no leak found: {name} at {' and '.join(_claims(verdict))}."
    worst = verdict.worst.finding
    claim = f"{claim_of(worst)}{tell_unless(verdict.worst.case.unless)}"
    return f"leaky: {name} does not keep {claim}; ε is at least {worst.epsilon_lower:.2f}."


def tell_trials(verdict: Verdict, trials: int) -> list[str]:
    """How much was tried, what it could have shown, and what is claimed of several runs in a row."""
    most = min(found.finding.epsilon_most for found in verdict.findings)
    tried = (
        f"{trials:,} runs with each table, confidence {100 * verdict.confidence:g} %; that many could show "
        f"an ε of at most {most:.1f}."
    )
    over_time = any(isinstance(found.case, History) for found in verdict.findings)
    return [tried, *([_COMPOSED] if over_time else [])]


def claim_of(finding: Finding) -> str:
    """What was claimed."""
    return f"(ε, δ) = ({finding.epsilon_claimed:g}, {finding.delta_claimed:g})"


def _claims(verdict: Verdict) -> list[str]:
    """What was claimed: once if it is the same for both sides."""
    by_side = {
        found.case.side.value: f"{claim_of(found.finding)}{tell_unless(found.case.unless)}"
        for found in verdict.findings
    }
    if len(set(by_side.values())) == 1:
        return [next(iter(by_side.values()))]
    return [f"{claim} for {side}" for side, claim in sorted(by_side.items())]
