"""`accord audit`: what can be computed of privacy without a run, for a noise and for an agreement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.ledger import open_ledger
from accord.cli.options import Json, example, named_state
from accord.cli.terminal import say
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.forecast.promises import Afterwards, Composed, SideFacts
    from accord.privacy.calibration import Setting

app = typer.Typer(
    help="Compute what a noise or an agreement promises.",
    epilog=example("accord audit agreement agreement.toml"),
    no_args_is_help=True,
)


@app.command(epilog=example("accord audit noise --epsilon 1.6 --delta 2^-40"))
def noise(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="geometric, gaussian, or auto for fewer dummies.")
    ] = "auto",
    epsilon: Annotated[str, typer.Option(help="The claimed ε.")] = "1.6",
    delta: Annotated[str, typer.Option(help="The claimed δ, such as 1e-9 or 2^-40.")] = "2^-40",
    bins_per_record: Annotated[int, typer.Option(help="Bins of each record.")] = 1,
    records_per_person: Annotated[int, typer.Option(help="Records of each person.")] = 1,
    as_json: Json = False,
) -> None:
    """Print the exact δ of a noise at every ε, and its dummies."""
    from accord.privacy.calibration import as_claimed, curve

    setting = as_claimed(name, epsilon, delta, bins_per_record, records_per_person=records_per_person)
    points = {float(e): delta for e, delta in curve(setting).items()}
    for warning in setting.warnings:
        say(f"Warning: {warning}", err=True)
    if as_json:
        rows = [{"epsilon": e, "delta": delta} for e, delta in points.items()]
        typer.echo(json.dumps(_noise_facts(setting) | {"curve": rows}, indent=2, ensure_ascii=False))
    else:
        say("\n".join([*_noise_lines(setting), "", "       ε   exact δ(ε)"]))
        say("\n".join(f"{e:8.4g}   {delta:.4g}" for e, delta in points.items()))


def _noise_facts(setting: Setting) -> dict[str, Any]:
    return {
        "noise": setting.name,
        "bins_per_record": setting.bins_per_record,
        "records_per_person": setting.records_per_person,
        "epsilon": float(setting.epsilon),
        "delta_claimed": float(setting.delta),
        "delta_exact": setting.delta_exact,
        "kept": setting.kept,
        "expected_dummies": setting.expected_dummies,
    }


def _noise_lines(setting: Setting) -> list[str]:
    from fractions import Fraction

    from accord.exact import text

    window, people = setting.noise.window, setting.records_per_person
    return [
        f"{setting.name} noise at ε = {text(setting.epsilon)}, bins per record {setting.bins_per_record}"
        + (f", records per person {people}" if people > 1 else ""),
        f"  δ claimed         {text(setting.delta)}",
        f"  δ exact           {setting.delta_exact:.6g}  ({'kept' if setting.kept else 'NOT kept'})",
        f"  dummies in a bin  {setting.expected_dummies:.1f} expected, sd {window.deviation:.1f}, "
        f"99.9 % at most {window.quantile(Fraction(999, 1000))}",
    ]


@app.command(epilog=example("accord audit agreement agreement.toml --records 5000"))
def agreement(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="AGREEMENT", help="The agreement, a TOML file.")],
    records: Annotated[
        int | None, typer.Option(min=1, help="Rows of a table, if they may be stated.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Your data set as the ledger knows it: what a run would add.",
        ),
    ] = None,
    party: Annotated[str | None, typer.Option(help="Whose data set it is: A, B or the party's name.")] = None,
    as_json: Json = False,
) -> None:
    """Say what an agreement promises and what is true of it.

    And who learns what, and what runs add up to.
    """
    from accord.agreement.file import read_agreement
    from accord.errors import AuditError
    from accord.forecast.promises import side_facts
    from accord.preparing.facts import facts_of
    from accord.side import Side

    agreed = read_agreement(file)
    sides = [side_facts(agreed, side, records) for side in Side]
    account = _account(agreed, records, dataset, party, named_state(context))
    facts = facts_of(agreed)
    if as_json:
        body = facts | {
            "sides": {s.side.value: _side_json(s) for s in sides},
            "account": _after_json(account),
        }
        typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
    else:
        say(_words(file, facts, sides, account))
    broken = [s.side.value for s in sides if s.noise is not None and not s.noise.kept]
    if broken:
        raise AuditError(problem=f"The promise to {' and '.join(broken)} is not kept by the noise.")
    if account is not None and account.refusal:
        raise AuditError(problem=f"The budget of '{account.dataset}' does not allow a run.")


def _account(
    agreed: Agreement, records: int | None, dataset: str | None, party: str | None, state: Path | None
) -> Afterwards | None:
    """What the ledger says of the data set, and would say after a run."""
    from accord.errors import UsageError
    from accord.forecast.promises import afterwards
    from accord.preparing.check import find_side

    if dataset is None:
        return None
    if party is None:
        raise UsageError(problem="Say with --party whose data set it is.")
    ledger = open_ledger(state)
    name = ledger.find_account(dataset)
    runs = [run for run in ledger.runs() if run.dataset == name]
    paid = [run.event for run in runs if run.paid]
    return afterwards(
        agreed, find_side(agreed, party), records, name, paid, len(runs), ledger.budgets()[name]
    )


def _words(path: Path, facts: dict[str, Any], sides: list[SideFacts], account: Afterwards | None) -> str:
    from accord.preparing.words import describe_learned

    lines = [
        str(path),
        f"Digest     {facts['digest']}",
        f"Protocol   {facts['protocol']}, {counted(facts['bins'], 'bin')}",
    ]
    for side in sides:
        lines += ["", f"The guarantee of {facts['parties'][side.side.value]} ({side.side.value})"]
        lines += [f"  {line}" for line in _side_lines(side)]
    if account is not None:
        lines += ["", f"The account of {account.dataset}"]
        lines += [f"  {line}" for line in _account_lines(account)]
    return "\n".join([*lines, *describe_learned(facts)])


def _side_lines(facts: SideFacts) -> list[str]:
    from accord.privacy.events import tell_unless
    from accord.privacy.number import show

    if facts.cost is None:
        return [f"none: {facts.tell_nothing()}"]
    epsilon, delta = facts.cost.epsilon, facts.cost.delta
    unless = tell_unless(facts.cost.unless)
    lines = [
        f"promise      (ε, δ) = ({show(epsilon)}, {show(delta)}) {facts.whom}{unless}",
        f"in words     {facts.tell_suspicion()}",
    ]
    if facts.noise is not None:
        noise = facts.noise
        lines += [
            f"δ exact      {noise.delta_exact:.4g}  ({'kept' if noise.kept else 'NOT kept'})",
            f"noise        {noise.name}, for records in up to {counted(noise.bins_per_record, 'bin')}",
            f"dummies      {noise.expected_dummies:.1f} in a bin, {facts.dummies:,.0f} in all, expected",
            "run again    under the same --snapshot: nothing more, since the same noise is used",
        ]
    if facts.again is not None:
        lines.append(f"{facts.again.releases} runs      {facts.again.tell()}, with other snapshots")
    return lines + [f"warning      {line}" for line in facts.warnings]


def _account_lines(account: Afterwards) -> list[str]:
    return [
        f"spent        {account.before.tell() if account.before.releases else 'nothing'}",
        f"after a run  {account.after.tell()}, unless its snapshot is paid for",
        f"verdict      {account.verdict}",
    ]


def _side_json(facts: SideFacts) -> dict[str, Any]:
    noise = facts.noise
    return {
        "epsilon": None if facts.cost is None else float(facts.cost.epsilon),
        "delta": None if facts.cost is None else float(facts.cost.delta),
        "unless": "" if facts.cost is None else facts.cost.unless,
        "records_per_person": facts.records_per_person,
        "delta_exact": noise.delta_exact if noise else None,
        "kept": noise.kept if noise else None,
        "beyond_epsilon": facts.beyond,
        "noise": noise.name if noise else None,
        "bins_per_record": noise.bins_per_record if noise else None,
        "expected_dummies": facts.dummies,
        "again": _composed_json(facts.again),
        "warnings": list(facts.warnings),
    }


def _after_json(account: Afterwards | None) -> dict[str, Any] | None:
    if account is None:
        return None
    return {
        "dataset": account.dataset,
        "before": _composed_json(account.before),
        "after": _composed_json(account.after),
        "allowed": not account.refusal,
        "refusal": account.refusal,
    }


def _composed_json(found: Composed | None) -> dict[str, Any] | None:
    from accord.privacy.number import round_off

    if found is None:
        return None
    sums = found.sums
    return {
        "releases": found.releases,
        "epsilon": None if sums is None else float(round_off(sums.epsilon)),
        "delta": None if sums is None else float(round_off(sums.delta)),
        "unless": "" if sums is None else sums.unless,
        "epsilon_composed": None if sums is None else found.epsilon,
    }
