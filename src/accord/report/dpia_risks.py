"""What can happen to the people in the tables, and what stands against it, as far as an agreement tells.

The risks are those of the threat model (docs/threat-model.md, docs/privacy.md), chosen by protocol, engine
and output. How likely and how grave each is for these people, nobody can read from an agreement: that is left
open. A measure is named with what proves it, and one that was not agreed is said to be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from accord.agreement.disclosure import EXACT
from accord.agreement.document import Agreement
from accord.forecast.promises import side_facts
from accord.privacy.events import describe_cost, is_free, tell_unless
from accord.privacy.number import show
from accord.report.markdown import Markdown, bullets, code, heading, labelled
from accord.report.receipt_page import protected
from accord.run.receipt import Receipt
from accord.secure.engine import PLUGGED
from accord.side import Side

OPEN = "[to be filled in"
"""How a point begins that only people can fill in."""
BOTH = "both parties"
CONTROLLER = "the controller"
OFFICER = "the data protection officer"
ALL = "whoever makes the run"

CHEATING: dict[str, str] = {
    "ot": "it can read encoded fields of every record that it is compared with, unnoticed.",
    "dual": "it learns at most one bit in a run, and is found out if it guesses wrongly.",
}
"""What a partner that departs from the protocol can do, by engine."""
_CONDITIONS = (
    "It holds against a partner that follows the protocol, for what the run shows, and as long as the "
    "assumptions of the engine hold."
)


@dataclass(frozen=True)
class Risk:
    """Something that can happen, and what limits it."""

    name: str
    happens: str
    limited: str


def to_fill(who: str, what: str = "") -> Markdown:
    """A point that is open. *Requires* constants: nothing here is escaped."""
    return Markdown(f"{OPEN} by {who}{': ' if what else ''}{what}]")


def risks(agreement: Agreement) -> list[Markdown]:
    """The section on risks."""
    parts = [heading(2, "3 Risks to the rights and freedoms of data subjects (Article 35(7)(c))")]
    for risk in _risks(agreement):
        lines = [
            labelled("What may happen", risk.happens),
            labelled("What limits it", risk.limited),
            labelled("Likelihood and severity", to_fill(OFFICER)),
        ]
        parts += [heading(3, risk.name), bullets(lines)]
    return parts


def _risks(agreement: Agreement) -> Iterator[Risk]:
    if not agreement.output.answers:
        yield _of_matches(agreement)
    for side in Side:
        yield _of_inference(agreement, side)
    yield from _of_answers(agreement)
    yield Risk(
        "Sizes and populations are seen",
        f"Each party learns how many records the other has. {_tell_population(agreement)}".strip(),
        _tell_hidden(agreement),
    )
    yield from _of_repetition(agreement)
    yield Risk("A partner that cheats", _tell_cheating(agreement), _tell_bounds(agreement))
    yield Risk(
        "A partner that invents records",
        f"It links made-up records and learns {_tell_tested(agreement)}. No protocol prevents that.",
        f"{_tell_most(agreement)} The ledger can limit the number of runs. Where tables come from, and who "
        "may check that, belongs into the contract.",
    )
    yield Risk(
        "Wrong or missed pairs",
        "Somebody is taken for somebody else, or is not found; what follows from it depends on the purpose.",
        "`accord simulate --truth` measures both on tables with known pairs; pairs can be reviewed.",
    )
    yield Risk(
        "What a run keeps is read by others",
        "The state folder holds keys, noise that protects only while it is secret, and what the partner "
        "answered, with its matching records where they are shown; the output holds what came out.",
        "Files are for their owner alone (0600) and damage is noticed; who else has the machine, its backups "
        "and the output is for the organisation to say. Memory is not wiped.",
    )
    yield Risk(
        "Traffic that was recorded, and timing",
        _tell_later(agreement),
        "Two layers of encryption, of which one rests on ML-KEM-768. No promise covers how long messages "
        "take.",
    )


def _tell_tested(agreement: Agreement) -> str:
    answers = agreement.output.answers
    return "what they add to the answer" if answers else "which of them match, where it is told pairs"


def _of_matches(agreement: Agreement) -> Risk:
    learner = agreement.output.learner
    who = "Each party sees" if learner is None else f"{agreement.party(learner)} sees"
    return Risk(
        "Matching records are disclosed",
        f"{who} which of its records match and what the other agreed to show of them: that is the purpose. "
        "(ε, δ) does not cover a record that matches.",
        f"{_tell_most(agreement)} What may be done with the pairs belongs into the contract.",
    )


def _tell_most(agreement: Agreement) -> str:
    bounds = agreement.bounds
    if agreement.output.answers:
        return "No record is shown."
    if not bounds:
        return "No bound was agreed on how many records are shown (most_matches)."
    each = (f"{agreement.party(side)} shows at most {most} of its records" for side, most in bounds.items())
    return f"By the bound most_matches {' and '.join(each)}."


def _of_inference(agreement: Agreement, side: Side) -> Risk:
    partner, told = agreement.party(side.other), agreement.leakage(side)
    name = f"{partner} infers something about records of {agreement.party(side)}"
    if told.cost is None:
        return Risk(name, "Nothing is promised against it.", "Nothing but the contract.")
    whom = protected(agreement, side)
    which = "" if agreement.output.epsilon else ", if it matches nothing"
    if not told.cost.epsilon:
        happens = (
            f"ε = 0, δ = {show(told.cost.delta)}: what it receives does not depend on records that match "
            f"nothing{tell_unless(told.unless)}. What else is told stands under 'What each side learns'."
        )
    else:
        odds = math.ceil(100 * math.exp(float(told.cost.epsilon))) / 100
        rises = side_facts(agreement, side, None).tell_suspicion()
        happens = (
            f"About {whom}{which}: {told.cost.describe()}. Whatever it believed before, the odds change by a "
            f"factor of at most e^ε = {odds:,.2f}: {rises}."
        )
    return Risk(name, happens, _CONDITIONS)


def _of_answers(agreement: Agreement) -> Iterator[Risk]:
    if agreement.output.exact:
        yield Risk("The answer tells of single people", EXACT, "Nothing hides it but that questions are few.")


def _tell_population(agreement: Agreement) -> str:
    if any(agreement.leakage(side).guarantee.told == "noisy counts" for side in Side):
        return "Noise hides one record, not a crowd: how many fall into a bin is seen up to the noise."
    return ""


def _tell_hidden(agreement: Agreement) -> str:
    hidden = "Nothing in Accord hides a size; a table can be padded before the run."
    return f"{hidden} Bins can be fewer or coarser." if _tell_population(agreement) else hidden


def _of_repetition(agreement: Agreement) -> Iterator[Risk]:
    found = {side: side_facts(agreement, side, None).again for side in Side}
    told = [
        f"for {agreement.party(side)} {again.tell()}"
        for side, again in found.items()
        if again is not None and not is_free(again.sums)
    ]
    if told:
        yield Risk(
            "Many runs",
            f"Runs add up, also over partners that pool what they saw. Ten come to: {'; '.join(told)}.",
            "The ledger of each party adds up what its data set has spent, and refuses to overspend; under "
            "the same snapshot a run of pairs shows the same noise again.",
        )


def _tell_cheating(agreement: Agreement) -> str:
    asks = "It can look up guesses, up to 1.3 times as many as it announced records, or list what it likes."
    if not agreement.protocol.compares:
        return asks
    also = ""
    if agreement.protocol.shares_matches:
        # Records are brought together by keys that a side asks for.
        also = (
            " It can ask for invented keys, up to 1.3 times as many as its records and the caps allow, in "
            "each of up to 17 attempts. It reads the encoded fields of the records with these keys"
        )
        shown = not agreement.output.answers
        also += ", and their ids and disclosed columns, whatever the rule." if shown else "."
    if agreement.output.answers:
        also += " In an answer it can weigh one record so heavily that nothing hides it."
    name = agreement.engine.name
    cheating = PLUGGED[name].cheating if name in PLUGGED else CHEATING[name]
    return f"With the engine {name} {cheating}{also}"


def _tell_bounds(agreement: Agreement) -> str:
    return f"{_tell_most(agreement)} What is not noticed at once is not provable later."


def _tell_later(agreement: Agreement) -> str:
    plugged = PLUGGED.get(agreement.engine.name)
    if agreement.protocol.compares and plugged is not None and plugged.later:
        reads = f"reads records of {agreement.party(Side.A)}, should there be a quantum computer"
        stored = f"A partner that stores the session {reads}: {plugged.later}"
    else:
        stored = "A partner that stores the session reads it only if the assumptions of the engine fall."
    return f"{stored} Somebody on the line sees who talks to whom, sizes and times."


def measures(agreement: Agreement, receipt: Receipt | None) -> list[Markdown]:
    """The section on measures, each with what proves it."""
    return [
        heading(2, "4 Measures (Article 35(7)(d))"),
        bullets(
            [
                labelled("Differential privacy", _tell_promises(agreement)),
                *_signed(agreement, receipt),
                labelled(
                    "Budget",
                    "Each party's ledger is charged before anything is sent.",
                    to_fill(CONTROLLER, "what `accord ledger` says was spent, and its limits"),
                ),
                labelled("Bound on disclosure", _tell_most(agreement)),
                labelled(
                    "Identity and transport",
                    "TLS 1.3 with both cards and ML-KEM-768 inside it. Proof: the cards in the receipt.",
                    to_fill(CONTROLLER, "who compared the fingerprints, and how"),
                ),
                labelled("Integrity of what is kept", "`accord state check` reads all of it."),
                labelled("Access, backups, deletion", to_fill(CONTROLLER)),
                labelled(
                    "Contract",
                    "Accord's threat model says what to write against each kind of partner.",
                    to_fill(BOTH),
                ),
            ]
        ),
    ]


def _tell_promises(agreement: Agreement) -> str:
    promises = []
    for side in Side:
        told = agreement.leakage(side)
        promises.append(f"{agreement.party(side)}: {describe_cost(told.cost)}")
    return f"{'; '.join(promises)}. Proof: `accord audit agreement` computes δ."


def _signed(agreement: Agreement, receipt: Receipt | None) -> Iterator[Markdown]:
    """What both signatures stand for."""
    if receipt is None:
        yield labelled("Signed receipt", to_fill(ALL, "both sign one at the end of a run"))
        return
    said = receipt.facts
    yield labelled(
        "Signed receipt", "of the run", code(said["run"]), "over agreement, sizes, ε, δ and output."
    )
    for side in Side:
        party = said["parties"][side.value]
        shown = ", ".join(party["disclosed"]) or "none"
        signed = f"with the card {party['card']}, at {party['time']}, Accord {party['accord']}"
        yield labelled(f"Signed by {agreement.party(side)}", f"{signed}; columns that it discloses: {shown}.")
    yield labelled("Digest of the output", code(said["output"]), "under a key that only the two have.")
    yield labelled("Whoever must be sure", "verifies the receipt itself with `accord receipt`.")
