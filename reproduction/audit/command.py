"""`python -m reproduction audit`: try to tell two tables apart by what the partner sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AuditError, UsageError

if TYPE_CHECKING:
    from reproduction.audit.protocol import Verdict
    from reproduction.audit.questions import Question

EPSILON, DELTA = "1.6", "1e-5"
"""The paper's, for the built-in cases, and to judge a protocol that promises nothing."""
OVER_TIME = "over-time"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def audit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A protocol; or one that is broken on purpose: unshuffled, half-noise, redrawn, "
            "forgotten-pass.",
            show_default=False,
        ),
    ],
    case: Annotated[
        str | None,
        typer.Option(
            help="One built-in case (default: all of one run), one of several runs in a row, or all of "
            f"several runs: {OVER_TIME}.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Another ε than 1.6.")] = None,
    delta: Annotated[str | None, typer.Option(help="Another δ than 1e-5.")] = None,
    trials: Annotated[int, typer.Option(help="Runs with each table, in each case.")] = 2_000,
    confidence: Annotated[
        float, typer.Option(help="1 minus the rate of false alarms, all cases together.")
    ] = 0.999,
    seed: Annotated[int, typer.Option(help="Same seed, same audit.")] = 0,
) -> None:
    """See how well the partner tells two neighbouring tables apart.

    Runs a protocol many times on each of them.
    """
    from accord.privacy.calibration import promise
    from reproduction.audit.programs import BROKEN
    from reproduction.audit.protocol import ask
    from reproduction.progress import progress

    asked = promise(epsilon or EPSILON, delta or DELTA)
    _require_meant("laplace" if name in BROKEN else name, epsilon, delta)
    questions = questions_of(name, case, epsilon or EPSILON, delta or DELTA)
    with progress("Auditing") as watch:
        verdict = ask(questions, trials, confidence, seed, asked, watch)
    for claimed in sorted({f.finding.epsilon_claimed for f in verdict.findings if not f.finding.can_refute}):
        typer.echo(f"Warning: {trials:,} runs cannot refute ε = {claimed:g}; use more.", err=True)
    typer.echo(describe(name, verdict, trials))
    if verdict.leaky:
        raise AuditError(problem=f"{name} leaks.")


def _require_meant(name: str, epsilon: str | None, delta: str | None) -> None:
    """Refuse an ε or a δ that would change nothing."""
    from accord.protocols.registry import protocol_named

    kind = protocol_named(name)
    if kind.leaky:
        return
    if not kind.promises and (epsilon or delta):
        raise UsageError(problem=f"{name} has no ε and δ to choose; leave out --epsilon and --delta.")
    if "delta" not in kind.promises and delta:
        raise UsageError(problem=f"{name} promises δ = 0; leave out --delta.")


def questions_of(name: str, case: str | None, epsilon: str, delta: str) -> Sequence[Question]:
    """The built-in cases of one run under the protocol, or the histories, as far as `case` names them."""
    from reproduction.audit.cases import built_in, options
    from reproduction.audit.histories import HISTORIES, histories
    from reproduction.audit.programs import BROKEN, honest
    from reproduction.audit.questions import OneRun

    taken = options("laplace" if name in BROKEN else name, epsilon, delta)
    questions: Sequence[Question]
    if case in (*HISTORIES, OVER_TIME):
        _require_account(name, case)
        questions = histories(taken)
    else:
        questions = [OneRun.of(each, BROKEN.get(name, honest)) for each in built_in(taken)]
    chosen = [each for each in questions if case in (None, each.name, OVER_TIME)]
    if not chosen:
        known = ", ".join([*dict.fromkeys(each.name for each in questions), *HISTORIES, OVER_TIME])
        raise UsageError(problem=f"There is no case '{case}'. The built-in ones are {known}.")
    return chosen


def _require_account(name: str, case: str | None) -> None:
    """Only a protocol that may be agreed on has an account."""
    from accord.protocols.registry import protocol_named
    from reproduction.audit.programs import BROKEN

    if name in BROKEN or protocol_named(name).leaky:
        raise UsageError(
            problem=f"{name} cannot be agreed on, so no ledger knows it; leave out --case {case}."
        )


def describe(name: str, verdict: Verdict, trials: int) -> str:
    """The verdict, what was tried, and the cases as a table."""
    from reproduction.audit.telling import NO_PROOF, tell_trials, tell_verdict

    lines = [
        tell_verdict(name, verdict),
        *tell_trials(verdict, trials),
        "",
        "case      of  ε at least  claimed  the two tables differ in",
    ]
    for found in verdict.findings:
        finding = found.finding
        lines.append(
            f"{found.case.name:8}  {found.case.side.value:2}  {finding.epsilon_lower:10.2f}  "
            f"{finding.epsilon_claimed:7g}  {found.case.why}"
        )
        if finding.leaky:
            lines.append(f"{'':35}told apart by: {', '.join(found.looked_at[:3])}")
    if not verdict.leaky:
        lines += ["", NO_PROOF]
    return "\n".join(lines)
