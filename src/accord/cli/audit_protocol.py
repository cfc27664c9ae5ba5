"""`accord audit protocol`: try to tell two tables apart by what the partner sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from accord.cli.options import Json, read_own_layout
from accord.cli.pages import HtmlFile, require_page, write_page
from accord.cli.terminal import progress, say
from accord.side import Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.agreement.document import Agreement
    from accord.auditing.cases import Case
    from accord.auditing.histories import History
    from accord.auditing.protocol import CaseFinding, Verdict
    from accord.fields.columns import Records

EPSILON, DELTA = "1.6", "1e-5"
"""The paper's; for the built-in cases, and to judge what promises nothing."""

OVER_TIME = ("left-out", "move", "insert", "delete", "partners", "renamed")
_ALL_OVER_TIME = "over-time"
_Kind = Literal["one run", "over time"]


def protocol(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="laplace, all-pairs, psi, psi-expand, local-dp, blocking or laplace-suppress; or broken on "
            "purpose: unshuffled, half-noise, redrawn, forgotten-pass.",
            show_default=False,
        ),
    ],
    agreement: Annotated[
        Path | None, typer.Option("--agreement", help="Take the options, and what tables mean, from here.")
    ] = None,
    tables: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Tables of A and B to audit with, instead of built-in ones."),
    ] = None,
    neighbour: Annotated[
        tuple[Side, Path] | None,
        typer.Option(
            metavar="A|B FILE",
            help="The table of A, or of B, with one record replaced, which matches nothing; it is laid out "
            "like the other.",
        ),
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Another ε; 1.6 without an agreement.")] = None,
    delta: Annotated[str | None, typer.Option(help="Another δ; 1e-5 without an agreement.")] = None,
    case: Annotated[
        str | None,
        typer.Option(
            help=f"One built-in case: alone, matched, crowd, beside or passes; default: all of these. Of "
            f"several runs in a row, through loader and ledger: {', '.join(OVER_TIME)}, or all: over-time.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Runs with each table, in each case.")] = 2_000,
    confidence: Annotated[
        float, typer.Option(help="1 minus the rate of false alarms, all cases together.")
    ] = 0.999,
    seed: Annotated[int, typer.Option(help="Same seed, same audit.")] = 0,
    page: HtmlFile = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file of --html.")] = False,
    as_json: Json = False,
) -> None:
    """See how well the partner tells two neighbouring tables apart.

    Runs a protocol many times on each of them.
    """
    from accord.auditing.cases import Case, options
    from accord.auditing.programs import BROKEN, honest
    from accord.auditing.protocol import ask
    from accord.auditing.questions import OneRun
    from accord.errors import AuditError, UsageError
    from accord.privacy.calibration import promise

    base = "laplace" if name in BROKEN else name
    asked = promise(epsilon or EPSILON, delta or DELTA)
    _require_meant(base, epsilon, delta)
    if page is not None:
        read = (agreement, *(tables or ()), *((neighbour or ())[1:]))
        require_page(page, read, force)
    own = tables is not None or neighbour is not None
    if own and case is not None:
        raise UsageError(problem="--case names built-in tables; leave it out, or your own tables.")
    agreed = None if agreement is None else _adjust(base, agreement, epsilon, delta)
    if own:
        cases: Sequence[Case | History] = [_own_case(agreed, tables, neighbour)]
    else:
        taken = options(base, epsilon or EPSILON, delta or DELTA)
        if agreed is not None:
            taken = agreed.protocol.model_dump(mode="json")
        cases = _built_in(taken, case, _kind_of_case(name, case))
    maker = BROKEN.get(name, honest)
    questions = [OneRun.of(each, maker) if isinstance(each, Case) else each for each in cases]
    with progress("Auditing") as advance:
        verdict = ask(questions, trials, confidence, seed, asked, advance)
    for claimed in sorted({f.finding.epsilon_claimed for f in verdict.findings if not f.finding.can_refute}):
        say(f"Warning: {trials:,} runs cannot refute ε = {claimed:g}; use more.", err=True)
    if page is not None:
        from accord.report.audit_page import describe_protocol_audit

        write_page(page, describe_protocol_audit(name, verdict, trials), force, private=own)
    if as_json:
        typer.echo(_json(name, verdict, trials))
    else:
        say(_words(name, verdict, trials))
    if verdict.leaky:
        raise AuditError(problem=f"{name} leaks.")


def _require_meant(name: str, epsilon: str | None, delta: str | None) -> None:
    """Refuse an ε or a δ that would change nothing."""
    from accord.errors import UsageError
    from accord.protocols.registry import protocol_named

    kind = protocol_named(name)
    if kind.leaky:
        return
    if not kind.promises and (epsilon or delta):
        raise UsageError(problem=f"{name} has no ε and δ to choose; leave out --epsilon and --delta.")
    if "delta" not in kind.promises and delta:
        raise UsageError(problem=f"{name} promises δ = 0; leave out --delta.")


def _kind_of_case(name: str, case: str | None) -> _Kind:
    """What is audited: only what may be agreed on has an account."""
    from accord.auditing.programs import BROKEN
    from accord.errors import UsageError
    from accord.protocols.registry import protocol_named

    if case in (*OVER_TIME, _ALL_OVER_TIME):
        if name in BROKEN or protocol_named(name).leaky:
            raise UsageError(
                problem=f"{name} cannot be agreed on, so no ledger knows it; leave out --case {case}."
            )
        return "over time"
    return "one run"


def _built_in(taken: Mapping[str, object], case: str | None, kind: _Kind) -> Sequence[Case | History]:
    """The built-in tables or histories, under these options."""
    from accord.auditing.cases import built_in
    from accord.auditing.histories import histories
    from accord.errors import UsageError

    found: Sequence[Case | History] = histories(taken) if kind == "over time" else built_in(taken)
    chosen = [each for each in found if case in (None, each.name, _ALL_OVER_TIME)]
    if not chosen:
        known = ", ".join([*dict.fromkeys(each.name for each in found), *OVER_TIME, _ALL_OVER_TIME])
        raise UsageError(problem=f"There is no case '{case}'. The built-in ones are {known}.")
    return chosen


def _adjust(name: str, agreement: Path, epsilon: str | None, delta: str | None) -> Agreement:
    from accord.agreement.adjusting import adjust
    from accord.agreement.file import read_agreement
    from accord.protocols.registry import protocol_named

    # What promises nothing is judged by the ε and δ that are asked; they are no options of its own.
    options = protocol_named(name).promises
    return adjust(
        read_agreement(agreement),
        protocol=name,
        epsilon=epsilon if "epsilon" in options else None,
        delta=delta if "delta" in options else None,
    )


def _own_case(
    agreed: Agreement | None, tables: tuple[Path, Path] | None, neighbour: tuple[Side, Path] | None
) -> Case:
    """Tables of one's own, each laid out as the file next to it says."""
    from accord.auditing.cases import Case
    from accord.errors import UsageError
    from accord.fields.load import load_records

    if agreed is None or tables is None or neighbour is None:
        raise UsageError(
            problem="An audit on tables of your own needs --agreement, --tables A B and --neighbour A|B FILE."
        )
    of, (side, other) = dict(zip(Side, tables, strict=True)), neighbour
    layouts = {one: read_own_layout(agreed, None, table) for one, table in of.items()}
    if any(layout.make_ids for layout in layouts.values()):
        raise UsageError(
            problem="A table and its neighbour have the same ids where they have the same rows, and ids that "
            "are made are of one table: name a column of ids, --id of `accord check`."
        )

    def read(side: Side, file: Path) -> Records:
        return load_records(file, agreed.fields, agreed.salt, agreed.disclosed(side), layouts[side])

    three = read(side, of[side]), read(side, other), read(side.other, of[side.other])
    return Case("own", "your own tables", agreed, side, *three)


def _json(name: str, verdict: Verdict, trials: int) -> str:
    body = {
        "protocol": name,
        "leaky": verdict.leaky,
        "confidence": verdict.confidence,
        "trials": trials,
        "epsilon_lower": verdict.worst.finding.epsilon_lower,
        "cases": [_facts(found) for found in verdict.findings],
    }
    return json.dumps(body, indent=2, ensure_ascii=False)


def _facts(found: CaseFinding) -> dict[str, Any]:
    finding = found.finding
    return {
        "case": found.case.name,
        "side": found.case.side.value,
        "tables": found.case.why,
        "epsilon_claimed": finding.epsilon_claimed,
        "delta_claimed": finding.delta_claimed,
        "unless": found.case.unless,
        "epsilon_lower": finding.epsilon_lower,
        "epsilon_most": finding.epsilon_most,
        "can_refute": finding.can_refute,
        "delta_lower": finding.delta_lower,
        "leaky": finding.leaky,
        "test_trials": finding.trials,
        "event_hits": [finding.hits_p, finding.hits_q],
        "event_looks_at": list(found.looked_at),
    }


def _words(name: str, verdict: Verdict, trials: int) -> str:
    from accord.auditing.telling import NO_PROOF, tell_trials, tell_verdict

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
