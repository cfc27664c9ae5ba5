"""Results as a notebook shows them: a table at first sight, and the page of a report in a frame below it.

The frame is a document of its own, without scripts and without requests (page.py), so that no style of it
reaches the notebook and opening it tells nobody. A viewer that takes no frames shows the table. What is shown
is kept by a notebook: no cell of a table is in it but for pairs that a run found, and for what its owner
asked for by `show`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from accord.errors import AccordError
from accord.planning.figures import Plan
from accord.preparing.check import Check
from accord.preparing.draft import Draft, tell_draft
from accord.preparing.fit import Fit
from accord.preparing.proposal import Proposal, ShownColumns
from accord.report.charts import Bar, bars
from accord.report.markup import Markup, element, join
from accord.report.page import Section, bullets, page, paragraph
from accord.report.plan_page import describe_plan
from accord.report.receipt_page import share
from accord.report.rule_table import tell_rule
from accord.report.simulation_page import describe_simulation
from accord.rules.breakdown import tell_shortly
from accord.run.remembered import Forgotten, remember
from accord.run.result import Linked
from accord.side import Side
from accord.simulation.pair import Simulation
from accord.state.folder import State
from accord.wording import tell_share

_HEIGHT = "32em"


def frame(document: str, height: str = _HEIGHT) -> Markup:
    """A page within a notebook."""
    # The document is escaped as a whole: within the attribute it is text.
    style = f"width: 100%; height: {height}; border: 1px solid #8a9299"
    return Markup(f'<iframe sandbox srcdoc="{html.escape(document)}" style="{style}"></iframe>')


def show_plan(plan: Plan) -> str:
    """The charts of a plan."""
    return frame(describe_plan(plan))


def show_simulation(result: Simulation) -> str:
    """The charts of a simulation, without a value of a record."""
    return frame(describe_simulation(result, None))


def show_linked(linked: Linked) -> str:
    """What may be shown to others of a run, drawn from its receipt: a notebook is passed on. Nothing where
    the run's folder is gone."""
    if not linked.receipt.exists():
        return ""
    try:
        found = remember(State(linked.receipt.parents[2]), linked.run)
    except AccordError:
        return ""
    if isinstance(found, Forgotten) or found.receipt is None:
        return ""
    return frame(share(found.agreement, found.receipt))


def show_columns(shown: ShownColumns) -> str:
    """Columns with their types, and with the cells that were asked for."""
    names = ["", "column", "type", "such as", "note"]
    return _table(names, [ShownColumns.row(number, one) for number, one in enumerate(shown.columns, 1)])


def show_proposal(proposal: Proposal) -> str:
    """What columns are taken for: names and types alone."""
    rows = [[str(number), name, kind] for number, (name, kind) in enumerate(proposal.types.items(), 1)]
    lead = "What your columns look like. With some cells, for your eyes: `.show()`."
    return join([element("p", lead), _table(["", "column", "type"], rows)])


def show_fit(fit: Fit) -> str:
    """Where each agreed field is found."""
    layout = fit.layout
    rows = [[name, ", ".join(layout.source(name).names) or "nowhere"] for name in fit.agreement.names]
    rows.insert(0, ["id", "made, and kept next to the file" if layout.make_ids else layout.id])
    lead = f"{fit.records:,} records fit. What was found out about cells, for your eyes: print it."
    return join([element("p", lead), _table(["agreed", "your column"], rows)])


def show_draft(draft: Draft) -> str:
    """What a draft finds and costs, with bars."""
    told = [*tell_draft(draft)]
    found = [
        Bar("pairs that the rule finds", draft.recall, shown=f"{draft.recall:.1%}"),
        Bar("of what it finds, right", draft.precision, shown=f"{draft.precision:.1%}"),
        Bar("of what it accepts, brought together", draft.made.met, shown=f"{draft.made.met:.1%}"),
        Bar("all", 1.0, shown="100%"),
    ]
    says = "Among made-up records with these fields, for tables of the expected sizes."
    sections = [
        Section("What it will find", bars("Found", says, found)),
        Section("What to know", bullets(told)),
        Section("The text", element("pre", draft.text)),
    ]
    names = f"{draft.agreement.parties.A} and {draft.agreement.parties.B}"
    facts = _table(["draft", ""], [[name, value] for name, value in draft._facts().items()])
    return join([facts, frame(page(f"A draft for {names}", "It may be shown to the partner.", sections))])


def show_check(check: Check) -> str:
    """The faults of a table or how it fits, and who learns what."""
    first = [["this check", check.brief()]]
    if check.faults:
        rows = [[fault.place, fault.problem, fault.mend] for fault in check.faults]
        parts = [_table(["check", ""], first), _table(["where", "what is wrong", "what to do"], rows)]
        parts.append(element("p", check.mend))
    else:
        facts = check.facts
        first.append(["a match is", tell_shortly(check.agreement.rule)])
        promises = {facts["promise"][s.value]["words"] for s in Side if check.side in (None, s)}
        first += [["promise", words] for words in sorted(promises)]
        if uncovered := facts.get("data", {}).get("uncovered"):
            first.append(["not covered", tell_share(uncovered, facts["data"]["records"])])
        if "expected" in facts:
            first.append(["expected", facts["expected"]["words"]])
        parts = [_table(["check", ""], first)]
    sections = [tell_rule(check.agreement.rule)]
    sections += [_learned(check, side) for side in Side if check.side in (None, side)]
    sections.append(Section("Under which condition", paragraph(check.facts["condition"])))
    if check.advice:
        sections.append(Section("Worth knowing", bullets([*check.advice])))
    return join([*parts, frame(page("Who learns what", "For your eyes.", sections), "24em")])


def _learned(check: Check, side: Side) -> Section:
    agreed = check.agreement
    other, own = agreed.party(side.other), agreed.party(side)
    return Section(f"What {other} will learn about the table of {own}", bullets([*check.learned_about[side]]))


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A plain table, which takes the style of the notebook."""
    left = "text-align: left"
    head = element("tr", join([element("th", name, style=left) for name in names]))
    body = [element("tr", join([element("td", cell, style=left) for cell in row])) for row in rows]
    return element("table", element("thead", head), element("tbody", join(body)))
