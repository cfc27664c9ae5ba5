"""A card a side: one page on paper with what was agreed, and what this side types, in its order.

The owner of the drafting table gets a page with its own layout. The partner's page is made of the agreement
alone: it says which fields its table should have, and nothing of the table that the draft came from. So the
page may go to the partner as it is. Whoever has fitted a table gets a page with that table's layout.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from fractions import Fraction

from accord.agreement.disclosure import CONDITION, learned_about
from accord.agreement.document import Agreement
from accord.exact import text
from accord.privacy.events import describe_cost
from accord.report.markup import Markup, element, join, prose
from accord.report.page import Section, bullets, facts, page, paragraph
from accord.report.rule_table import describe_rule
from accord.side import Side
from accord.table.layout import Layout

TITLE = "Linking"
_TIGHT = Markup(
    "@page { size: A4; margin: 11mm; } @media print { body { font-size: 8pt; line-height: 1.25; } "
    "h1 { font-size: 13pt; margin: 0; } h2 { font-size: 10pt; margin: .5em 0 .1em; } "
    "p, ul, ol, dl, table { margin: .15em 0; } th, td { padding-top: .05em; padding-bottom: .05em; } "
    "dl { gap: 0 1rem; } }"
)
_OWN_EYES = "For your eyes only: it names columns of your table."
_PUBLIC = "Made of the agreement alone: it says nothing of the table that the agreement was drafted from."
_PORT = 7000


@dataclass(frozen=True)
class OwnTable:
    """A side's own table: what it is called on the command line, and how it is laid out."""

    typed: str
    layout: Layout


@dataclass(frozen=True)
class Step:
    """A command, and why it is typed."""

    command: str
    why: str


def describe_card(agreement: Agreement, file: str, side: Side, cost: str, own: OwnTable | None = None) -> str:
    """The page for one side of an agreement that is kept in this file; `own` is its table, where that has
    been fitted, and `cost` says what a run takes."""
    me, other = agreement.party(side), agreement.party(side.other)
    sections = [
        Section("What you type", _commands(steps(agreement, file, side, own))),
        Section("What is compared", describe_rule(agreement.rule)),
        Section("Your table" if own else "What your table should have", _table(agreement, file, own)),
        Section(f"What {other} learns about your table", bullets(learned_about(agreement, side))),
        Section(f"What you learn about {other}'s", _learned(agreement, side.other)),
        Section("What it costs", _costs(agreement, side, cost)),
    ]
    lead = f"The card of {me}. {_OWN_EYES if own else _PUBLIC}"
    made = page(f"{TITLE} {me} with {other}", lead, sections)
    return made.replace("</head>", f"{element('style', _TIGHT)}</head>", 1)


def steps(agreement: Agreement, file: str, side: Side, own: OwnTable | None) -> list[Step]:
    """What a side types, in its order: at most five commands."""
    me, other = agreement.party(side), agreement.party(side.other)
    typed, name = (own.typed if own else "TABLE.csv"), shlex.quote(file)
    epsilon, delta = _spent(agreement, side)
    own_name, other_name = shlex.quote(me), shlex.quote(other)
    limit = f"--epsilon {epsilon} --delta {delta}"
    fit = Step(
        f"accord init --from {shlex.quote(typed)} --for {name}", "Says which columns of your table are meant."
    )
    return [
        *([] if own else [fit]),
        Step(
            f"accord identity --name {own_name}",
            f"Makes {me}.card, by which {other} knows you: hand it over.",
        ),
        Step(
            f"accord partner add {other_name} {shlex.quote(f'{other}.card')}",
            "Trusts their card: compare the fingerprint over the phone.",
        ),
        Step(f"accord ledger budget {_account(own)} {limit}", "An account: what your table may release."),
        Step(_link(agreement, name, side, own), "Links. You are asked before anything leaves."),
    ]


def _spent(agreement: Agreement, side: Side) -> tuple[str, str]:
    """ε and δ of a run, as they are typed."""
    promised = agreement.leakage(side)
    return text(promised.epsilon or Fraction(0)), text(promised.delta or Fraction(0))


def _account(own: OwnTable | None) -> str:
    """An account called after the table, as far as that is plain to type."""
    last = re.split(r"[/\\:]", own.typed.partition("?")[0])[-1] if own else ""
    return re.sub(r"[^A-Za-z0-9]+", "-", last.partition(".")[0]).strip("-") or "table"


def _link(agreement: Agreement, name: str, side: Side, own: OwnTable | None) -> str:
    other = shlex.quote(agreement.party(side.other))
    table = shlex.quote(own.typed) if own else "TABLE.csv"
    where = f"--listen :{_PORT}" if side is Side.A else f"--connect THEIR-HOST:{_PORT}"
    learns = not agreement.output.answers and agreement.output.learner is not side.other
    out = " --out pairs.csv" if learns else ""
    return f"accord link {table} --agreement {name} --partner {other} {where}{out}"


def _commands(typed: list[Step]) -> Markup:
    lines = [element("li", element("code", one.command), " ", one.why) for one in typed]
    return element("ol", join(lines))


def _table(agreement: Agreement, file: str, own: OwnTable | None) -> Markup:
    if own is None:
        needed = [name for name, spec in agreement.fields.items() if spec.missing == "error"]
        lacks = "A field that your table does not have counts as missing"
        lacks += f", but for {', '.join(needed)}, which every record needs. " if needed else ". "
        said = (
            f"{lacks}Columns may be called as you like: `accord init --from TABLE.csv --for "
            f"{shlex.quote(file)}` says which is which, in a layout file that stays with you."
        )
        return join([paragraph(", ".join(agreement.names) + "."), paragraph(said)])
    read = [(name, own.layout.source(name).tell()) for name in agreement.names]
    return facts([("table", own.typed), ("names the records", own.layout.id_column), *read])


def _learned(agreement: Agreement, side: Side) -> Markup:
    """With what the promises of both sides rest on."""
    return join([bullets(learned_about(agreement, side)), paragraph(CONDITION, "quiet")])


def _costs(agreement: Agreement, side: Side, cost: str) -> Markup:
    spent = describe_cost(agreement.leakage(side).cost)
    each = agreement.expected
    sizes = (
        f"{each.A:,} of {agreement.parties.A}, {each.B:,} of {agreement.parties.B}" if each else "not said"
    )
    return facts(
        [("records expected", sizes), ("a run takes", prose(cost or "not known")), ("a run spends", spent)]
    )
