"""What each partner will learn, in words, from the agreement alone.

These sentences are what a steward and a lawyer read before anything is sent. They follow the guarantee of
each protocol: it protects records that match nothing in the other table, against a partner who follows the
protocol and is curious.
"""

from __future__ import annotations

from accord.agreement.document import Agreement
from accord.exact import text
from accord.matching.rule import Same, fields_of, predicates
from accord.protocols.leakage import Leakage, leakage
from accord.protocols.local_dp import expected_recall
from accord.protocols.spec import LocalDp
from accord.records.schema import TextField
from accord.side import Side


def learned_about(agreement: Agreement, side: Side) -> list[str]:
    """What the partner learns about this side's table."""
    own, partner = agreement.party(side), agreement.party(side.other)
    told = leakage(agreement.task, side)
    lines = [f"how many records {own} has;"]
    lines += _told_of_all(told)
    lines.append(f"of each record that matches one of {partner}: {', '.join(['its id', *told.columns])};")
    if told.release == "reports":
        lines.append("of each record that matches: the bin that it reports;")
    elif told.bins:
        lines.append("of each record that matches: the bins it falls into;")
    if told.fields:
        beyond = ", also where the blocking does not compare them" if told.beyond_blocking else ""
        lines.append(
            f"that a match discloses its fields of rule and blocking at once ({', '.join(told.fields)}), so "
            f"that {partner} can find its other matches{beyond};"
        )
    lines.append("nothing else: no similarity, no value of a record without a match.")
    return lines


def _told_of_all(told: Leakage) -> list[str]:
    """What is told of the records that match nothing, too."""
    if told.release == "true bins":
        return [f"into which of {told.bins:,} bins each record falls: the agreement calls that public;"]
    if told.epsilon is None or told.delta is None or not told.bins:
        return []
    if told.release == "reports":
        return [
            f"a bin for each record, one of {told.bins:,}, reported by randomised response: "
            f"ε = {text(told.epsilon)} for each record that matches nothing;"
        ]
    return [
        f"how many records fall into each of {told.bins:,} bins, with dummies added: "
        f"(ε, δ) = ({text(told.epsilon)}, {text(told.delta)}) for each record that matches nothing;"
    ]


def advice(agreement: Agreement) -> list[str]:
    """What is allowed but worth knowing before signing."""
    notes = [f"Matches may be missed: {loss}." for loss in agreement.plan.losses(agreement.rule)]
    if isinstance(agreement.protocol, LocalDp):
        share = expected_recall(agreement.task)
        notes.append(f"Of the matches whose records share a bin, {share:.1%} are compared on average.")
    by_hash = [p.field for p in predicates(agreement.rule) if isinstance(p, Same)]
    for name in dict.fromkeys(by_hash):
        if isinstance(agreement.fields[name], TextField):
            notes.append(f"same({name}) compares a hash of 80 bits of the text.")
    for name, spec in agreement.fields.items():
        if spec.missing == "skip" or getattr(spec, "other", "error") == "skip":
            notes.append(f"Records that {name} leaves out are not counted in the size that the partner sees.")
        if spec.missing == "differs":
            notes.append(f"A record with an empty {name} agrees with nothing on it.")
    used = {*fields_of(agreement.rule), *(name for part in agreement.blocking for name in part.names)}
    idle = [name for name in agreement.fields if name not in used]
    notes += [f"The field {name} is used by neither rule nor blocking." for name in idle]
    return notes
