"""What anybody may be shown of a run: a function of the agreement and of the receipt, and of nothing else.

Both documents hold public facts alone, and both sides have them; so a page made of them tells its reader
nothing that either side would have to keep back. Whatever only one side knows (which slots were dummies, its
account, its files, its columns' own names) cannot be here, since it is not given to these functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from accord.agreement.disclosure import (
    CONDITION,
    EXACT,
    DisclosureStage,
    advice,
    finds_all,
    learned_by_stage,
    tell_answer,
    tell_rest,
)
from accord.agreement.document import Agreement
from accord.privacy.number import show
from accord.report.charts import Bar, bars
from accord.report.markup import Markup, element, join
from accord.report.page import Section, bullets, facts, page, paragraph, table, unfold
from accord.report.rule_table import TITLE, describe_rule
from accord.run.receipt import Receipt
from accord.side import Side
from accord.wording import counted

LEARNED = "What each side learned"
"""Of a run that is done."""


def share(agreement: Agreement, receipt: Receipt) -> str:
    """The page for others."""
    said = receipt.facts
    names = {side: agreement.party(side) for side in Side}
    lead = (
        f"{names[Side.A]} and {names[Side.B]} linked their tables: "
        f"{_tell_end(agreement, said)}. This page is made from the agreement and "
        "the receipt that both have signed, and from nothing else."
    )
    sections = [
        tell_agreement(agreement),
        guarantee(agreement),
        tell_learned(agreement, said, LEARNED),
        funnel(agreement, said, None),
        tell_signatures(agreement, receipt),
    ]
    return page(f"Linkage {said['run']}", lead, sections)


def _tell_end(agreement: Agreement, said: Mapping[str, Any]) -> str:
    """What came out, as far as both have signed it."""
    output = agreement.output
    if output.answers:
        return f"{output.asks}, which both learned and this page does not say"
    if output.learner is not None:
        return f"what matches, only {agreement.party(output.learner)} was told"
    return counted(said["matches"], "pair")


def tell_agreement(agreement: Agreement) -> Section:
    """What was agreed, in words."""
    plan = agreement.plan
    finds = "no match is missed" if finds_all(agreement) else "matches may be missed"
    passes = f" of {len(plan.passes)} passes" if len(plan.passes) > 1 else ""
    shown: list[tuple[str, Markup | str | int]] = [
        ("A", agreement.party(Side.A)),
        ("B", agreement.party(Side.B)),
        ("Fields", ", ".join(agreement.names)),
        ("Compared", f"{tell_compared(plan.bins)}{passes}; {finds}"),
        *tell_output(agreement),
        ("Protocol", f"{agreement.protocol.name}, with the engine {agreement.engine.name}"),
        ("Digest", element("code", agreement.digest)),
    ]
    whole = unfold("The whole agreement", agreement.to_toml())
    rule = [element("h3", TITLE), describe_rule(agreement.rule)]
    return Section("What was agreed", join([facts(shown), *rule, *_worth_knowing(agreement), whole]))


def tell_output(agreement: Agreement) -> list[tuple[str, str]]:
    """What comes out, and for whom."""
    output = agreement.output
    if output.answers:
        return [("What comes out", f"{tell_answer(agreement)}; nobody is shown")]
    called = "a name of this run alone" if output.ids == "pseudonyms" else "its id"
    shown = []
    for side in Side:
        to = "nothing" if output.learner is side else ", ".join([called, *_columns(agreement, side)])
        shown.append((f"{side.value} shows of a match", to))
    return shown


def tell_compared(bins: int) -> str:
    """Which pairs meet."""
    return f"records that share one of {bins:,} bins" if bins > 1 else "all records with all records"


def _columns(agreement: Agreement, side: Side) -> tuple[str, ...]:
    return tuple(agreement.disclosed(side))


def _worth_knowing(agreement: Agreement) -> list[Markup]:
    notes = advice(agreement)
    return [element("h3", "Worth knowing"), bullets(notes)] if notes else []


def guarantee(agreement: Agreement) -> Section:
    """The promise of each side, and its condition."""
    rows = []
    for side in Side:
        told = agreement.leakage(side)
        numbers = [show(x) if x is not None else "none" for x in (told.epsilon, told.delta)]
        who = f"{agreement.party(side)} ({side.value})"
        rows.append([who, *numbers, protected(agreement, side), told.unless or "–"])
    which = "" if agreement.output.answers else " that matches nothing in the other table"
    promise = (
        f"For each of those below{which}: whatever the partner saw, it would have seen with almost the same "
        "probability (up to a factor e^ε, plus δ) had it been something else."
    )
    if agreement.output.exact:
        promise = EXACT
    condition = CONDITION + (
        " It does not cover sizes."
        if agreement.output.answers
        else " It does not cover sizes, or records that match; those whose match is found are disclosed. It "
        "does not hold where the last column says so."
    )
    return Section(
        "What is guaranteed, and when",
        join(
            [
                paragraph(promise),
                element("p", element("strong", condition), _class="note"),
                table("The promise to each side", ["side", "ε", "δ", "for", "unless"], rows, numbers=False),
            ]
        ),
    )


def protected(agreement: Agreement, side: Side) -> str:
    """For whom the promise to a side is."""
    several = agreement.protocol.records_per_person(agreement.task, side) or 1
    return f"each person with up to {several:,} records" if several > 1 else "each record"


def tell_learned(
    agreement: Agreement, said: Mapping[str, Any] | None = None, title: str = "What each side learns"
) -> Section:
    """Who learns what, step by step; with the numbers of a receipt, if there is one."""
    parts = [paragraph("In the order in which it is learned. What matches nothing is never named.")]
    for side in Side:
        who, whose = agreement.party(side.other), agreement.party(side)
        steps = [_step(stage, agreement, side, said) for stage in learned_by_stage(agreement, side)]
        parts += [
            element("h3", f"{who} ({side.other.value}) about the table of {whose} ({side.value})"),
            element("ol", join(steps)),
        ]
        parts.append(paragraph(_capital(tell_rest(agreement, side))))
    return Section(f"{title}, step by step", join(parts))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _step(stage: DisclosureStage, agreement: Agreement, side: Side, said: Mapping[str, Any] | None) -> Markup:
    output = agreement.output
    if stage.name == "comparisons" and not (output.answers or output.learner is side):
        lines = ["which records match, and nothing about the others;"]
    else:
        lines = list(stage.lines) or ["nothing;"]
    if said is not None:
        lines += _in_numbers(stage, agreement, side, said)
    return element("li", element("strong", stage.when), bullets(lines))


def _in_numbers(
    stage: DisclosureStage, agreement: Agreement, side: Side, said: Mapping[str, Any]
) -> list[str]:
    """What the receipt says of a step, in numbers that both sides have."""
    party = said["parties"][side.value]
    if stage.name == "meeting":
        return [f"it said {party['records']:,}."]
    if stage.name == "bins" and agreement.leakage(side).guarantee.told == "noisy counts":
        return [f"it showed {party['noisy_total']:,} in all bins, dummies included."]
    if stage.name == "comparisons":
        return [f"{said['comparisons']:,} comparisons were made."]
    if stage.name == "matches" and said["matches"] is not None:
        return [f"{counted(said['matches'], 'pair is', 'pairs are')} in the output."]
    return []


def funnel(agreement: Agreement, said: Mapping[str, Any], real: int | None) -> Section:
    """From all pairs to the matches; `real` are the comparisons with a record of one's own, for own eyes."""
    drawn, made = _widest_bars(said)
    drawn.append(Bar("compared in secret", said["comparisons"]))
    if real is not None:
        drawn.append(Bar("with a real record of yours", real))
    if (found := said.get("matches_found")) is not None:
        drawn.append(Bar("found to match", found))
    says = f"{made}. "
    if said["matches"] is not None:
        drawn.append(Bar("matches in the output", said["matches"]))
        says = f"{made}, and {counted(said['matches'], 'pair is', 'pairs are')} in the output. "
    if pads(agreement):
        says += (
            "Neither side knows how many of those compared were candidates, two real records: the other's "
            "dummies are among them. "
        )
    return Section("From all pairs to the matches", bars("", says.strip(), drawn))


def pads(agreement: Agreement) -> bool:
    """Whether bins are padded with dummies, by noise."""
    return any(agreement.leakage(side).guarantee.told == "noisy counts" for side in Side)


def _widest_bars(said: Mapping[str, Any]) -> tuple[list[Bar], str]:
    """The beginning of the funnel, and what is said of it."""
    a, b = (said["parties"][side.value]["records"] for side in Side)
    says = (
        f"{counted(a, 'record')} and {counted(b, 'record')} make {a * b:,} pairs; "
        f"{said['comparisons']:,} comparisons were made{part_of(said['comparisons'], a * b)}"
    )
    return [Bar("all pairs", a * b)], says


def part_of(compared: int, pairs: int) -> str:
    """Which part of the pairs that is; with dummies, or with values that stand for many, it may be more."""
    if compared > pairs:
        return ", more than there are pairs"
    return f" ({compared / max(1, pairs):.2%})"


def tell_signatures(agreement: Agreement, receipt: Receipt) -> Section:
    """The receipt, and who signed it."""
    said = receipt.facts
    rows = []
    for side in Side:
        party = said["parties"][side.value]
        cells = [f"{party['name']} ({side.value})", party["card"], party["time"], f"Accord {party['accord']}"]
        rows.append(cells)
    totals = [f"{said['parties'][s.value]['noisy_total']:,}" for s in Side]
    about = facts(
        [
            ("Run", element("code", said["run"])),
            (
                "Output",
                join([element("code", said["output"]), ", a digest under a key that only the two have"]),
            ),
            *([("Noisy totals", " and ".join(totals))] if pads(agreement) else []),
            *((f"Signature of {s.value}", element("code", receipt.signatures[s].hex())) for s in Side),
        ]
    )
    names = ["signed by", "fingerprint of the card", "at, by its clock", "with"]
    held = paragraph(
        "Both signatures were valid when this page was made. Whoever must be sure asks for the receipt "
        "itself, since anybody can change a page, and verifies it with `accord receipt`. Only the "
        "owners know whether these are their cards: compare the fingerprints with them."
    )
    whole = unfold("What both have signed", json.dumps(said, indent=1, ensure_ascii=False))
    signatures = table("Who signed", names, rows, numbers=False)
    return Section("The receipt", join([about, signatures, held, whole]))
