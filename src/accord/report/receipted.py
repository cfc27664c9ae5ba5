"""What anybody may be shown of a run: a function of the agreement and of the receipt, and of nothing else.

Both documents hold public facts alone, and both sides have them; so a page made of them tells its reader
nothing that either side would have to keep back. Whatever only one side knows (which slots were dummies, its
account, its files, its columns' own names) cannot be here, since it is not given to these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.agreement.disclosure import CONDITION, learned_about
from accord.agreement.document import Agreement
from accord.privacy.number import show
from accord.report.charts import Bar, bars
from accord.report.markup import Markup, element, join
from accord.report.page import Section, bullets, facts, page, paragraph, table, unfold
from accord.session.receipt import Receipt, tell_accountable
from accord.side import Side
from accord.wording import counted


def share(agreement: Agreement, receipt: Receipt) -> str:
    """The page for others."""
    said = receipt.facts
    names = {side: agreement.party(side) for side in Side}
    lead = (
        f"{names[Side.A]} and {names[Side.B]} linked their tables: "
        f"{counted(said['matches'], 'pair')}. This page is made of the agreement and of "
        "the receipt that both have signed, and of nothing else."
    )
    sections = [
        agreed(agreement),
        guarantee(agreement),
        learned(agreement),
        funnel(said, None),
        signed(receipt),
    ]
    return page(f"Linkage {said['run']}", lead, sections)


def agreed(agreement: Agreement) -> Section:
    """What was agreed, in words."""
    plan = agreement.plan
    finds = "no match is missed" if not plan.losses(agreement.rule) else "matches may be missed"
    passes = f" of {len(plan.passes)} passes" if len(plan.passes) > 1 else ""
    shown: list[tuple[str, Markup | str | int]] = [
        ("A", agreement.party(Side.A)),
        ("B", agreement.party(Side.B)),
        ("A match is", element("code", str(agreement.rule))),
        ("Fields", ", ".join(agreement.names)),
        ("Compared", f"records that share one of {counted(plan.bins, 'bin')}{passes}; {finds}"),
        ("Protocol", f"{agreement.protocol.name}, with the engine {agreement.engine.name}"),
        ("Digest", element("code", agreement.digest)),
    ]
    whole = unfold("The whole agreement", agreement.to_toml())
    return Section("What was agreed", join([facts(shown), whole]))


def guarantee(agreement: Agreement) -> Section:
    """The promise of each side, and its condition."""
    rows = []
    for side in Side:
        told = agreement.leakage(side)
        several = agreement.protocol.records_per_person(side) or 1
        whom = f"each person with up to {several:,} records" if several > 1 else "each record"
        numbers = [show(x) if x is not None else "none" for x in (told.epsilon, told.delta)]
        rows.append([f"{agreement.party(side)} ({side.value})", *numbers, whom])
    promise = (
        "For everything below that matches nothing in the other table, whatever the partner saw is at most "
        "e^ε times as likely as if it had been something else, but for a probability of δ."
    )
    condition = f"{CONDITION} It is not for records that match, which are disclosed, nor for sizes."
    return Section(
        "What is guaranteed, and when",
        join(
            [
                paragraph(promise),
                element("p", element("strong", condition), _class="note"),
                table("The promise to each side", ["side", "ε", "δ", "for"], rows, numbers=False),
            ]
        ),
    )


def learned(agreement: Agreement) -> Section:
    """Who learnt what."""
    parts = []
    for side in Side:
        who, whose = agreement.party(side.other), agreement.party(side)
        parts += [element("h3", f"{who} about the table of {whose}"), bullets(learned_about(agreement, side))]
    return Section("What each side learnt", join(parts))


def funnel(said: Mapping[str, Any], real: int | None) -> Section:
    """From all pairs to the matches; `real` are the comparisons with a record of one's own, for own eyes."""
    sizes = [said["parties"][side.value]["records"] for side in Side]
    drawn = [Bar("all pairs", sizes[0] * sizes[1]), Bar("compared in secret", said["comparisons"])]
    if real is not None:
        drawn.append(Bar("with a real record of yours", real))
    if (found := said.get("matches_found")) is not None:
        drawn.append(Bar("found to match", found))
    drawn.append(Bar("matches in the output", said["matches"]))
    share = said["comparisons"] / max(1, sizes[0] * sizes[1])
    says = (
        f"{counted(sizes[0], 'record')} and {counted(sizes[1], 'record')} make "
        f"{sizes[0] * sizes[1]:,} pairs; "
        f"{said['comparisons']:,} comparisons were made ({share:.2%}), those with dummies included, and "
        f"{said['matches']:,} pairs are in the output. Each power of ten takes the same length."
    )
    return Section("From all pairs to the matches", bars("Pairs", says, drawn, log=True))


def signed(receipt: Receipt) -> Section:
    """The receipt, and who signed it."""
    said = receipt.facts
    rows = []
    for side in Side:
        party = said["parties"][side.value]
        cells = [f"{party['name']} ({side.value})", party["card"], party["time"], f"Accord {party['accord']}"]
        rows.append(cells)
    about = facts(
        [
            ("Run", element("code", said["run"])),
            (
                "Output",
                join([element("code", said["output"]), ", a digest under a key that only the two have"]),
            ),
            ("Noisy totals", " and ".join(f"{said['parties'][s.value]['noisy_total']:,}" for s in Side)),
        ]
    )
    names = ["signed by", "fingerprint of the card", "at, by its clock", "with"]
    held = paragraph(
        "Both signatures hold. Whether these are the cards of the two, their owners know: compare the "
        "fingerprints with them."
    )
    replay = paragraph(tell_accountable(receipt))
    return Section(
        "The receipt", join([about, table("Signatures", names, rows, numbers=False), held, replay])
    )
