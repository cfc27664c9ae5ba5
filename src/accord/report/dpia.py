"""The skeleton of a data protection impact assessment, in the order of GDPR Article 35(7).

It is a function of the agreement and, where there is one, of the receipt: so it holds public facts alone, no
value of a record and no id, and may be shown to the partner. What a program can say is filled in: what is
processed, what each side learns, what the promise means, what is signed. What only people can say stands in
square brackets, with whose part it is. Risks and measures are in `dpia_risks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.agreement.disclosure import CONDITION, advice, finds_all, learned_about
from accord.agreement.document import Agreement
from accord.report import dpia_risks
from accord.report.dpia_risks import ALL, BOTH, CONTROLLER, OFFICER, to_fill
from accord.report.markdown import Markdown, bullets, code, heading, labelled, paragraph
from accord.report.receipt_page import tell_compared, tell_output
from accord.run.receipt import Receipt
from accord.side import Side
from accord.wording import counted


def assess(agreement: Agreement, receipt: Receipt | None = None) -> str:
    """The document; without a receipt what it would tell is left open."""
    said = receipt.facts if receipt is not None else None
    parts = [
        *_begin(agreement, said),
        *_processing(agreement, said),
        *_necessity(agreement),
        *dpia_risks.risks(agreement),
        *dpia_risks.measures(agreement, receipt),
        *_open_points(),
    ]
    return "".join(parts).lstrip("\n")


def _begin(agreement: Agreement, said: Mapping[str, Any] | None) -> list[Markdown]:
    names = " and ".join(agreement.party(side) for side in Side)
    made = "from the agreement alone: no receipt of a run was at hand"
    if said is not None:
        made = f"from the agreement and the receipt of the run {said['run']}, and from nothing else"
    return [
        heading(1, f"Data protection impact assessment: linkage of {names}"),
        paragraph(
            f"A skeleton after Article 35(7) GDPR. Accord wrote it {made}; it holds no value of a record. It "
            "is neither complete nor legal advice. An assessment is due before the processing begins. What "
            "is open stands in square brackets, with whose part it is."
        ),
    ]


def _processing(agreement: Agreement, said: Mapping[str, Any] | None) -> list[Markdown]:
    learned = [
        part
        for side in Side
        for part in (
            paragraph(
                f"What {agreement.party(side.other)} learns about the table of {agreement.party(side)}:"
            ),
            bullets(learned_about(agreement, side)),
        )
    ]
    return [
        heading(2, "1 The processing (Article 35(7)(a))"),
        bullets(_tell_context(agreement)),
        heading(3, "What is compared, and what comes out"),
        bullets([*_tell_data(agreement), *_tell_numbers(agreement, said)]),
        heading(3, "What each side learns"),
        *learned,
        paragraph(CONDITION),
    ]


def _tell_context(agreement: Agreement) -> list[Markdown]:
    names = " and ".join(f"{agreement.party(side)} ({side.value})" for side in Side)
    return [
        labelled(
            "Parties",
            f"{names}.",
            to_fill(BOTH, "joint controllers, Article 26; separate ones; or a processor, Article 28"),
        ),
        labelled("Purpose", to_fill(CONTROLLER, "what the linked records are for")),
        labelled("Legal basis", to_fill(CONTROLLER, "Article 6 and, where it applies, Article 9")),
        labelled("Data subjects", to_fill(CONTROLLER, "who they are, and whether they are vulnerable")),
        labelled("Retention", to_fill(CONTROLLER, "how long the output and the state folder are kept")),
        labelled(
            "Places",
            "Each table stays on its owner's machines; there is no third party and no server.",
            to_fill(CONTROLLER, "where the machines are; transfers, Chapter V"),
        ),
    ]


def _tell_data(agreement: Agreement) -> list[Markdown]:
    fields = ", ".join(f"{name} ({spec.type})" for name, spec in agreement.fields.items())
    passes = f" in {len(agreement.plan.passes)} passes" if len(agreement.plan.passes) > 1 else ""
    return [
        labelled(
            "Fields that are compared",
            f"{fields}.",
            to_fill(CONTROLLER, "special categories among them, Articles 9 and 10"),
        ),
        labelled("A match is", code(str(agreement.rule))),
        labelled("Compared are", f"{tell_compared(agreement.plan.bins)}{passes}."),
        labelled("Protocol", f"{agreement.protocol.name}, with the engine {agreement.engine.name}."),
        *(labelled(name, f"{shown}.") for name, shown in tell_output(agreement)),
        labelled("Agreement", "its digest is", code(agreement.digest)),
    ]


def _tell_numbers(agreement: Agreement, said: Mapping[str, Any] | None) -> list[Markdown]:
    """Sizes and numbers, as both have signed them."""
    if said is None:
        return [labelled("Records", to_fill(ALL, "how many each table has; the receipt of a run says it"))]
    each = " and ".join(
        f"{said['parties'][side.value]['records']:,} of {agreement.party(side)}" for side in Side
    )
    shown = [labelled("Records", f"{each}, in the run.")]
    shown.append(labelled("Comparisons", f"{said['comparisons']:,}, without showing what was compared."))
    if said["matches"] is not None:
        shown.append(labelled("In the output", f"{counted(said['matches'], 'pair')}."))
    return shown


def _necessity(agreement: Agreement) -> list[Markdown]:
    return [
        heading(2, "2 Necessity and proportionality (Article 35(7)(b))"),
        bullets(
            [
                labelled("Necessity", to_fill(CONTROLLER, "why the purpose cannot be reached with less")),
                labelled("Data minimisation", _tell_minimised(agreement), to_fill(CONTROLLER, "why no less")),
                labelled(
                    "Accuracy", _tell_accuracy(agreement), to_fill(CONTROLLER, "who checks pairs, and how")
                ),
                labelled(
                    "Storage limitation",
                    "The journal of a run holds what the partner answered, with its matching records where "
                    "they are shown, until `accord forget RUN`; what was spent stays in the ledger.",
                    to_fill(CONTROLLER, "when each is removed"),
                ),
                labelled("Information of data subjects", to_fill(CONTROLLER, "Articles 13 and 14")),
                labelled(
                    "Rights of data subjects",
                    "Accord keeps no directory of persons; records are changed in their source.",
                    to_fill(CONTROLLER, "access, erasure, objection, also at the partner"),
                ),
            ]
        ),
        heading(3, "Worth knowing about this agreement"),
        bullets(advice(agreement) or ["nothing beyond the above."]),
    ]


def _tell_minimised(agreement: Agreement) -> str:
    output = agreement.output
    if output.answers:
        return "Nobody is shown: both sides learn numbers alone."
    shown = {side: agreement.disclosed(side) for side in Side if output.learner is not side}
    told = "; ".join(
        f"{agreement.party(side)} shows {', '.join(columns) or 'no column'} of a match"
        for side, columns in shown.items()
    )
    less = [
        *(["fewer columns (disclose)"] if any(shown.values()) else []),
        *(["pseudonyms in the place of ids"] if output.ids == "own" and output.learner is None else []),
        *(["pairs for one side alone (to)"] if output.learner is None else []),
        "an answer that shows nobody",
    ]
    return f"{told}. Less would be: {', or '.join(less)}; not every agreement can have each."


def _tell_accuracy(agreement: Agreement) -> str:
    if finds_all(agreement):
        found = "No pair that the rule accepts is missed."
    else:
        found = "Pairs that the rule accepts may be missed."
    return f"{found} The rule itself may take two people for one, or one for two."


def _open_points() -> list[Markdown]:
    return [
        heading(2, "5 Advice, approval, review"),
        bullets(
            [
                labelled("Advice of the data protection officer (Article 35(2))", to_fill(OFFICER)),
                labelled("Views of data subjects (Article 35(9))", to_fill(CONTROLLER)),
                labelled("Risk that remains, and prior consultation (Article 36)", to_fill(OFFICER)),
                labelled("Arrangement or contract between the parties", to_fill(BOTH)),
                labelled("Decision, name and date", to_fill(CONTROLLER)),
                labelled(
                    "Review (Article 35(11))",
                    "Another agreement, a new partner, more runs or a new version of Accord are reasons.",
                    to_fill(CONTROLLER, "when"),
                ),
            ]
        ),
    ]
