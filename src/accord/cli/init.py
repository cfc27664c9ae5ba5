"""`accord init`: a draft of an agreement, from one's own table or from a template."""

from __future__ import annotations

import secrets
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.check_typed import DateFormats, Encoding, MakeIds
from accord.cli.options import named_state
from accord.cli.places import TABLE, find_table, layout_of
from accord.cli.terminal import say
from accord.cli.words import with_own_options
from accord.errors import UsageError


class Kind(StrEnum):
    products = "products"
    people = "people"


class Answer(StrEnum):
    PAIRS = "pairs"
    COUNT = "count"


_USUAL_EPSILON = "1"
_USUAL = Path("agreement.toml")
_Many = list[str] | None


def init(
    context: typer.Context,
    table: Annotated[
        str | None,
        typer.Option("--from", metavar="TABLE", help=f"Your own table: {TABLE}", path_type=str),
    ] = None,
    template: Annotated[
        Kind | None, typer.Option(help="Start without data, with an example about these.")
    ] = None,
    agreement: Annotated[
        Path | None,
        typer.Option("--for", metavar="AGREEMENT", help="Write only how your table fits this agreement."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the agreement.", show_default="agreement.toml")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept the guessed column types without asking.")
    ] = False,
    type_: Annotated[
        _Many, typer.Option("--type", metavar="COLUMN=TYPE", help="What a column is; repeatable.")
    ] = None,
    records: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="A B", help="About how many records each side has; written into the agreement."),
    ] = None,
    copies: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="A B", help="The most records that one person or thing usually has on a side."),
    ] = None,
    parties: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="The names of both parties.")
    ] = None,
    disclose: Annotated[
        _Many,
        typer.Option(
            metavar="FIELD", help="What a match shows besides its id; repeatable.", show_default=False
        ),
    ] = None,
    field: Annotated[
        _Many,
        typer.Option(
            metavar="FIELD.WORD=VALUE",
            help="What the agreement says of a field: values=V,V of a category or of sex; range=MIN..MAX of "
            "a date or a number; within=N, how far apart matching prices, dates or places may be; "
            "missing=differs|skip|error, what an empty cell means; missing_values=V,V, cells that count as "
            "empty; cardinality=few|hundreds|thousands|unique, how many different values; "
            "often_empty=yes|no, whether many records have none; repeatable.",
            show_default=False,
        ),
    ] = None,
    answer: Annotated[
        Answer | None,
        typer.Option(
            help="What comes out: the pairs, or only how many there are, with noise, and nobody is shown.",
            show_default="pairs",
        ),
    ] = None,
    answer_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="ε", help="With --answer count: what a run spends for every record.", show_default="1"
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            help="The share of the smaller table that is expected to match; a run shows at most twice that."
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="The least share of matches that should be right.", show_default="the best F1"),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="What a run may take; default: 600 s with ε = 0, else a day."),
    ] = None,
    allow_unplaced: Annotated[
        bool,
        typer.Option(
            "--allow-unplaced", help="Write a draft in which many of your records can meet no other."
        ),
    ] = False,
    allow_unreadable: Annotated[
        bool,
        typer.Option(
            "--allow-unreadable",
            help="Cells that are no date, number or agreed value count as empty, however many there are.",
        ),
    ] = False,
    make_ids: MakeIds = False,
    absent: Annotated[
        _Many,
        typer.Option(
            metavar="FIELD", help="With --for: your table has no such fields; repeatable.", show_default=False
        ),
    ] = None,
    date: DateFormats = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="The day that ages are of, such as 2024-06-30; it stays with you."),
    ] = None,
    layout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A layout file, where it is known how the table is written.",
            show_default=False,
        ),
    ] = None,
    encoding: Encoding = None,
) -> None:
    """Draft an agreement for your own table, or from a template.

    The draft follows from what you confirm about your columns and from your answers, and from nothing else in
    the table. On a terminal you are asked; in scripts answers are options.

    Types of columns: given, surname, surname_2, prefix, middle, name (whole), birth, birth_year, birth_month,
    birth_day, age, sex, street, house, city, postcode, place (both), address (all), phone, email, identifier,
    category, yesno, date, year, company, text, price, number, latitude, longitude; id, skip. Some can be
    named: category:brand.
    """
    if (table is None) == (template is None):
        problem = (
            "Say what to start from: your table, `accord init --from MY.csv`, or `accord init --template"
        )
        raise UsageError(problem=f"{problem} {'|'.join(Kind)}`.")
    if template is not None:
        answers = {
            "--for": agreement, "--type": type_, "--parties": parties, "--disclose": disclose,
            "--field": field, "--overlap": overlap, "--max-time": max_time,
            "--precision": precision,
            "--answer": answer, "--answer-epsilon": answer_epsilon,
            "--copies": copies, "--allow-unplaced": allow_unplaced,
            "--allow-unreadable": allow_unreadable,
            "--encoding": encoding,
            "--absent": absent,
        }  # fmt: skip
        if idle := [option for option, given in answers.items() if given]:
            raise UsageError(problem=f"{idle[0]} is for --from. Edit the example once it is written.")
        write_template(template, out or _USUAL, force, records)
        return
    assert table is not None
    from accord.cli.init_table import draft_from, lay_out_for
    from accord.cli.init_told import Told, read_day

    counts = answer is Answer.COUNT
    if answer_epsilon is not None and not counts:
        raise UsageError(problem="--answer-epsilon is for --answer count: pairs come without noise.")
    told = Told(
        table=find_table(table),
        typed=table,
        yes=yes,
        types=tuple(type_ or ()),
        records=records,
        copies=copies,
        absent=tuple(name for one in absent or () for name in one.replace(",", " ").split()),
        allow_unplaced=allow_unplaced,
        allow_unreadable=allow_unreadable,
        parties=parties,
        disclose=tuple(disclose or ()),
        fields=tuple(field or ()),
        count_epsilon=(answer_epsilon or _USUAL_EPSILON) if counts else None,
        overlap=overlap,
        precision=precision,
        max_time=max_time,
        make_ids=make_ids,
        dates=tuple(date or ()),
        as_of=read_day(as_of) if as_of else None,
        layout=layout,
        encoding=encoding,
        state=named_state(context),
    )
    if agreement is None:
        if absent:
            raise UsageError(problem="--absent is for --for: in a draft of your own, leave out the column.")
        with with_own_options():
            draft_from(told, out or _USUAL, force)
        return
    if out is not None:
        beside = layout_of(told.table)
        raise UsageError(problem=f"--for writes no agreement, only {beside}: leave out --out.")
    with with_own_options():
        lay_out_for(agreement, told, force)


def write_template(
    kind: Kind, out: Path, force: bool = False, records: tuple[int, int] | None = None
) -> None:
    """Write a commented agreement that fits the data of `accord generate`. Bins and protocol are those for so
    many records."""
    from accord.table.sinks.files import write_file

    salt = secrets.token_hex(16)
    if records is None:
        from accord.datasets.starter import starter_text

        text = starter_text(kind.value, salt)
    else:
        from accord.drafting.how import fit_template

        text = fit_template(kind.value, salt, records)
    write_file(out, text.encode(), replace=force)
    say(f"Wrote {out}. Edit it with your partner, then: `accord check {out}`.", err=True)
    if records is not None:
        _tell_cost(text)


def _tell_cost(text: str) -> None:
    """What a run of it comes to, and an account that allows one."""
    from accord.agreement.file import parse_agreement
    from accord.exact import text as written
    from accord.forecast.expected import look_ahead
    from accord.planning.choose import tell_trade
    from accord.planning.plan import PlanQuestion, agreed_network, make_plan
    from accord.privacy.events import describe_cost
    from accord.side import Side

    agreed = parse_agreement(text)
    if outlook := look_ahead(agreed, None, None):
        say(f"Expected: {outlook.describe()}.", err=True)
    assert agreed.expected is not None
    plan = make_plan(agreed, PlanQuestion((agreed.expected.A, agreed.expected.B), agreed_network(agreed)))
    if trade := tell_trade(plan.options, plan.choice):
        say(trade, err=True)
    told = agreed.leakage(Side.A)
    say(f"Promise: {describe_cost(told.cost)}.", err=True)
    epsilon, delta = (written(one or Fraction(0)) for one in (told.epsilon, told.delta))
    limit = f"--epsilon {epsilon} --delta {delta}"
    say(f"An account that allows one run: `accord ledger budget NAME {limit}`.", err=True)
