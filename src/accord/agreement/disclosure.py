"""What each partner will learn, in words, from the agreement alone.

These sentences are what a steward and a lawyer read before anything is sent. They follow the guarantee of
each protocol: it protects records that match nothing in the other table, against a partner who follows the
protocol and is curious. `CONDITION` says so, and stands wherever they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from accord.agreement.document import Agreement
from accord.agreement.learnt import describe_origin
from accord.arguments import require
from accord.fields.schema import FieldSpec, Hash, TextField, agreed_columns
from accord.protocols.base import Leakage
from accord.protocols.parts.answers import tell_widths
from accord.rules.implied import accepts_unseen, enough_alone
from accord.rules.rule import Same, fields_of, predicates
from accord.secure.engine import AtOnceEngine
from accord.side import Side
from accord.table.layout import Layout
from accord.wording import counted

CONDITION = (
    "This holds against a partner that follows the protocol. One that cheats can learn more, even about "
    "records that match nothing, and may go unnoticed: see 'Threat model' in Accord's documentation."
)
"""What every promise here rests on."""
EXACT = (
    "The answer comes without noise (exact = true), so nothing is promised. A small number, or the same "
    "question of a table with one record more, can tell that somebody is in it."
)
_MOST_LOSSES = 3
"""Ways of matching that are told of one by one: a rule with several `or` has dozens."""


@dataclass(frozen=True)
class DisclosureStage:
    """A stage of a run, and what the partner learns in it; nothing, if there are no lines."""

    name: Literal["agreement", "meeting", "bins", "comparisons", "matches"]
    when: str
    lines: tuple[str, ...]


def learned_about(agreement: Agreement, side: Side) -> list[str]:
    """What the partner learns about this side's table."""
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    require("side", side, "a Side, accord.Side.A or accord.Side.B", Side)
    found = {stage.name: stage.lines for stage in learned_by_stage(agreement, side)}
    lines = [*found["meeting"], *found["bins"], *found["matches"], *found["agreement"]]
    # What leaks tells more than these lines, and has words of its own.
    return [*lines, agreement.protocol.leaky or tell_rest(agreement, side)]


def tell_rest(agreement: Agreement, side: Side) -> str:
    """That the partner learns nothing else, in the last line."""
    if agreement.output.answers:
        return "nothing else: not who matches, nor any value of a record."
    if agreement.output.learner is side:
        return f"nothing else: {agreement.party(side.other)} learns no pairs, not even how many there are."
    return "nothing else: no similarity, no value of a record without a match."


def accuracy(agreement: Agreement) -> str:
    """How near to the truth an answer comes; empty for pairs."""
    return tell_widths(agreement.output, agreement.protocol.widths(agreement.task))


def tell_answer(agreement: Agreement) -> str:
    """What is asked, and how near to the truth the answer comes; empty for pairs."""
    near = accuracy(agreement)
    return f"{agreement.output.asks}; {near}" if near else ""


def learned_by_stage(agreement: Agreement, side: Side) -> list[DisclosureStage]:
    """The same, in the order in which the partner learns it."""
    own, told = agreement.party(side), agreement.leakage(side)
    return [
        DisclosureStage("agreement", "With the agreement", _of_rule(told, own)),
        DisclosureStage(
            "meeting",
            "When the two sides meet",
            (_tell_size(agreement, side), *_tell_refusals(agreement, side)),
        ),
        DisclosureStage("bins", "Before anything is compared", told.guarantee.of_all),
        DisclosureStage("comparisons", "While records are compared", ()),
        DisclosureStage("matches", "Of records that match", _of_matches(agreement, told, side)),
    ]


def _of_rule(told: Leakage, own: str) -> tuple[str, ...]:
    if told.learnt_from == "nothing":
        return ()
    table = f"another table of {own}" if told.learnt_from == "another table" else f"this table of {own}"
    return (
        f"what the rule reveals about {table}, from which its weights and its threshold were learned: (ε, δ) "
        "does not cover it;",
    )


def _of_matches(agreement: Agreement, told: Leakage, side: Side) -> tuple[str, ...]:
    partner, output = agreement.party(side.other), agreement.output
    if output.answers or output.learner is side:
        return ()
    called = "a random name, new in every run" if output.ids == "pseudonyms" else "its id"
    shown = _tell_shown(told, partner, called)
    lines = [
        f"for each record that matches one of {partner}'s{_tell_most(told)}: {shown};",
        *told.guarantee.of_matches,
    ]
    if told.most is not None:
        lines.append("whether more of its records match than that: the run ends before one more is shown;")
    if told.fields:
        beyond = ", even where the blocking does not compare them" if told.beyond_blocking else ""
        lines.append(
            f"that a match discloses its fields of rule and blocking at once ({', '.join(told.fields)}), so "
            f"that {partner} can find its other matches{beyond};"
        )
    if told.one_to_one:
        lines.append(_tell_kept(told))
    return tuple(lines)


def _tell_kept(told: Leakage) -> str:
    dropped = "a pair that is dropped is not in the output, but was disclosed anyway;"
    if not told.chosen_by:
        kept = "of the pairs found both keep the first by ids with no record twice"
        return f"nothing more for one-to-one: {kept}; {dropped}"
    return (
        f"for each such record the fields of the rule in encoded form ({', '.join(told.chosen_by)}), by "
        f"which both keep of the pairs found the best first with no record twice; {dropped}"
    )


def _tell_size(agreement: Agreement, side: Side) -> str:
    return f"how many records {agreement.party(side)} has;"


def _tell_refusals(agreement: Agreement, side: Side) -> tuple[str, ...]:
    """What keeps a run from starting and depends on the data. The promise compares tables that both run."""
    reasons = agreement.protocol.refusals(agreement.task, side)
    return (f"that the run is refused, if {', or if '.join(reasons)};",) if reasons else ()


def _tell_most(told: Leakage) -> str:
    if told.most is None:
        return ""
    of_all = " of all" if told.most.share is not None else ""
    return f", but for no more than {told.most}{of_all}"


def _tell_shown(told: Leakage, partner: str, called: str) -> str:
    shown = ", ".join([called, *told.columns])
    return (
        f"{shown}; some of it encoded as well, by which {partner} checks the match"
        if told.checked_by
        else shown
    )


def finds_all(agreement: Agreement) -> bool:
    """Whether every match is found, whatever the tables hold: neither blocking nor protocol loses one."""
    return not agreement.plan.losses(agreement.rule) and agreement.protocol.share_found(agreement.task) == 1


def _if_it_cheats(agreement: Agreement) -> list[str]:
    """What becomes of matches that a partner has made up."""
    task, engine = agreement.task, agreement.engine.build()
    if isinstance(engine, AtOnceEngine):
        return [
            f"With the engine '{engine.name}' a partner that cheats in the comparisons learns one bit of "
            "your records in a run; if it guesses wrongly it is found out, and sees no match. No match is a "
            "false one."
        ]
    if not task.unseen or task.shown_fields or agreement.output.answers:
        return []
    return [
        "A false match is not noticed: to check matches under the rule, both sides would have to "
        f"disclose {_listed(list(task.unseen))}."
    ]


def advice(agreement: Agreement) -> list[str]:
    """What is allowed but worth knowing before signing."""
    losses = agreement.plan.losses(agreement.rule)
    notes = []
    if agreement.learnt_from is not None:
        names = {side: agreement.party(side) for side in Side}
        notes.append(f"The rule was {describe_origin(agreement.learnt_from, names)}.")
    notes += [f"Matches may be missed: {loss}." for loss in losses[:_MOST_LOSSES]]
    if len(losses) > _MOST_LOSSES:
        more = counted(len(losses) - _MOST_LOSSES, "more way", "more ways")
        notes.append(f"{more} to match may be missed; `accord simulate` says how much each pass finds.")
    notes += needed_by_passes(agreement)
    notes += agreement.protocol.advice(agreement.task)
    if agreement.output.exact:
        notes.append(EXACT)
    notes += _if_it_cheats(agreement)
    if accepts_unseen(agreement.rule):
        notes.append(
            "The rule accepts pairs in which nothing agrees because a value is missing: a record without it "
            "may match, and so disclose, every record that it is compared with."
        )
    else:
        notes += alone(agreement)
    equalities = dict.fromkeys(p for p in predicates(agreement.rule) if isinstance(p, Same))
    if hashed := [str(p) for p in equalities if _hashed(agreement.fields[p.field])]:
        notes.append(f"{_listed(hashed)} compare{'s' * (len(hashed) == 1)} a hash of 80 bits of the text.")
    policies = {n: (spec.missing, getattr(spec, "other", "error")) for n, spec in agreement.fields.items()}
    if skipping := [name for name, found in policies.items() if "skip" in found]:
        left_out = f"Rows that are left out because of {_listed(skipping)}"
        notes.append(f"{left_out} match nothing; the announced size counts them.")
    if unread := [name for name, found in policies.items() if found[1] == "missing"]:
        notes.append(f"What cannot be read of {_listed(unread)} counts as empty.")
    if empty := [name for name, spec in agreement.fields.items() if spec.missing == "differs"]:
        notes.append(f"A record with an empty {_listed(empty, 'or')} agrees with no record on it.")
    used = {*fields_of(agreement.rule), *agreement.blocking_fields}
    idle = [name for name in agreement.fields if name not in used]
    if idle:
        notes.append(f"Used by neither rule nor blocking: {_listed(idle)}.")
    return notes


def needed_columns(agreement: Agreement) -> list[set[str]]:
    """By pass, the columns without which a record has no key."""
    read = {name: spec.columns(name) for name, spec in agreement.fields.items()}
    # A field that is made of several columns may do without one of them.
    single = {name: {*columns} if len(columns) == 1 else set[str]() for name, columns in read.items()}
    names = ((name for part in one.parts for name in part.names) for one in agreement.passes)
    return [set[str]().union(*(single[name] for name in of)) for of in names]


def needed_by_passes(agreement: Agreement) -> list[str]:
    """A warning of columns that every pass needs, unless the rule needs the same equality anyway."""
    if not agreement.passes or not agreement.plan.losses(agreement.rule):
        return []
    needed = needed_columns(agreement)
    common = [column for column in agreed_columns(agreement.fields) if all(column in one for one in needed)]
    if not common:
        return []
    return [
        f"Every pass needs {_listed(common)}: a pair in which it is empty or wrong is never compared. "
        "Add a pass over other fields."
    ]


def alone(agreement: Agreement) -> list[str]:
    """That a single value may be enough for a match, if it is so."""
    found = enough_alone(agreement.rule, agreement.fields)
    if not found:
        return []
    each, it = (" each", "one of these") if len(found) > 1 else ("", "it")
    return [
        f"{_listed([*found])} can{each} reach the threshold alone: two records that agree on {it} match, "
        "even if one of them has no other value. If that is too little, raise the threshold above "
        f"{max(found.values())}, or require another field with `and`."
    ]


def tell_shown_ids(agreement: Agreement, side: Side, layout: Layout) -> list[str]:
    """A word to the owner whose ids are shown as a column, though pseudonyms stand in their place."""
    if agreement.output.ids != "pseudonyms" or layout.make_ids:
        return []
    specs = {name: agreement.fields.get(name) for name in agreement.disclosed(side)}
    return [
        f"The agreement has pseudonyms, but discloses '{name}', which is your column of ids: the partner "
        "sees the real ids of matches. Agree not to disclose it."
        for name, spec in specs.items()
        if layout.id in layout.own_columns((name,) if spec is None else spec.columns(name))
    ]


def _hashed(spec: FieldSpec) -> bool:
    return isinstance(spec, TextField) and isinstance(spec.encoder, Hash)


def _listed(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
