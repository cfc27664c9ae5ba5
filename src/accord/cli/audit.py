"""`accord audit`: check a claim, by computation or by experiment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.audit_agreement import agreement
from accord.cli.audit_protocol import protocol
from accord.cli.options import example
from accord.cli.pages import HtmlFile, require_page, write_page
from accord.cli.terminal import say

if TYPE_CHECKING:
    from accord.privacy.calibration import Audit, Setting

app = typer.Typer(
    help="Test the privacy claims of noise, agreements and protocols.",
    epilog=example("accord audit agreement agreement.toml"),
    no_args_is_help=True,
)


@app.callback()
def audits() -> None:
    """Test the privacy claims of noise, agreements and protocols."""


app.command(epilog=example("accord audit agreement agreement.toml --records 5000"))(agreement)
app.command(epilog=example("accord audit protocol laplace --case crowd --trials 500"))(protocol)


@app.command(epilog=example("accord audit noise --epsilon 1.6 --delta 2^-40"))
def noise(
    noise: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="geometric, gaussian, paper, paper-2017 or negligible; default: the least noise.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[str, typer.Option(help="The claimed ε.")] = "1.6",
    delta: Annotated[str, typer.Option(help="The claimed δ, such as 1e-9 or 2^-40.")] = "2^-40",
    bins_per_record: Annotated[int, typer.Option(help="Bins that one record falls into.")] = 1,
    records_per_person: Annotated[
        int, typer.Option(help="Records of one person that are hidden at once.")
    ] = 1,
    records: Annotated[int | None, typer.Option(help="Rows of the table, if they may be stated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    page: HtmlFile = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file of --html.")] = False,
) -> None:
    """Print the exact δ(ε) curve of a noise against the claim."""
    from accord.privacy.calibration import as_claimed, audit
    from accord.privacy.noise import AUTO

    if page is not None:
        require_page(page, (), force)
    name = noise or AUTO
    found = audit(as_claimed(name, epsilon, delta, bins_per_record, records, records_per_person))
    if page is not None:
        from accord.report.audit_page import describe_noise_audit

        write_page(page, describe_noise_audit(found), force, private=False)
    for warning in found.setting.warnings:
        say(f"Warning: {warning}", err=True)
    if as_json:
        typer.echo(_json(found))
    else:
        say(_text(found))


def _json(found: Audit) -> str:
    from accord.exact import text
    from accord.privacy.calibration import one_by_one

    setting = found.setting
    apart = one_by_one(setting)
    parameters = {name: str(value) for name, value in vars(setting.noise).items() if name != "window"}
    body = {
        "noise": setting.name,
        "parameters": parameters,
        "bins_per_record": setting.bins_per_record,
        "records_per_person": setting.records_per_person,
        "epsilon": float(setting.epsilon),
        "delta_claimed": float(setting.delta),
        "delta_claimed_exactly": text(setting.delta),
        "delta_exact": setting.delta_exact,
        "kept": setting.kept,
        "expected_dummies": setting.expected_dummies,
        "expected_dummies_one_by_one": apart.expected_dummies if apart is not None else None,
        "curve": [{"epsilon": float(e), "delta": d} for e, d in found.curve],
        "warnings": list(setting.warnings),
    }
    return json.dumps(body, indent=2, ensure_ascii=False)


def _one_by_one(apart: Setting, people: int) -> str:
    return (
        f"{apart.expected_dummies:.1f} expected, if noise for single records at ε/{people} had to do by the "
        "bound for groups"
    )


def _text(found: Audit) -> str:
    from fractions import Fraction

    from accord.exact import text
    from accord.privacy.calibration import one_by_one

    setting, window = found.setting, found.setting.noise.window
    most = window.quantile(Fraction(999, 1000))
    people, apart = setting.records_per_person, one_by_one(setting)
    of_people = f", records per person {people}" if people > 1 else ""
    lines = [
        f"{setting.name} noise at ε = {text(setting.epsilon)}, bins per record {setting.bins_per_record}"
        + of_people,
        f"  δ claimed         {text(setting.delta)}",
        f"  δ exact           {setting.delta_exact:.6g}  ({'kept' if setting.kept else 'NOT kept'})",
        f"  dummies in a bin  {setting.expected_dummies:.1f} expected, sd {window.deviation:.1f}, "
        f"99.9 % at most {most}",
        *([f"  one by one        {_one_by_one(apart, people)}"] if apart is not None else []),
        "",
        "       ε   exact δ(ε)",
    ]
    eighths = [(e, d) for e, d in found.curve if (8 * e / setting.epsilon).denominator == 1]
    return "\n".join(lines + [f"{float(e):8.4g}   {d:.4g}" for e, d in eighths])
