"""`draft`: from what an owner confirmed to an agreement for both parties, and what it will find and cost.

It is given no table, by its type: a `Confirmation` holds no cell, and of it the answers alone are drafted
from.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from accord.agreement.disclosure import accuracy, alone
from accord.agreement.document import Agreement
from accord.arguments import as_path, require, require_flag
from accord.drafting.answers import Answers
from accord.drafting.draft import MadeDraft, make_draft
from accord.drafting.kinds import ColumnKind
from accord.drawing import draw
from accord.exact import text
from accord.forecast.expected import Outlook, look_ahead
from accord.planning.variants import tell_blocking
from accord.preparing.confirmation import Confirmation
from accord.privacy.events import NO_COST, describe_cost
from accord.side import Side
from accord.table.sinks.files import write_file

FILE = "agreement.toml"
_HALF = 0.5
_CALLED = frozenset({ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME})
_EXPECTED = {
    (ColumnKind.SURNAME, ColumnKind.NAME): "a family name",
    (ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR): "a date of birth",
}


@dataclass(frozen=True, repr=False)
class Draft:
    """A draft of an agreement for both parties: its text with comments, and what it will find and cost."""

    made: MadeDraft
    confirmation: Confirmation

    @property
    def agreement(self) -> Agreement:
        """The agreement: to check, plan and simulate, and to send to the partner once it is written."""
        return self.made.agreement

    @property
    def text(self) -> str:
        """The agreement as it is written, with comments."""
        return self.made.text

    @property
    def recall(self) -> float:
        """The share of all pairs that the rule finds, among made-up records with these fields."""
        return self.made.rule.recall

    @property
    def precision(self) -> float:
        """The share of what the rule finds that is right, among these."""
        return self.made.rule.precision

    @cached_property
    def expected(self) -> Outlook | None:
        """What a run takes on this machine, with tables of the expected sizes and overlap."""
        return look_ahead(self.agreement, None, None, self.confirmation.answers.overlap)

    def write(self, folder: Path | str = ".", force: bool = False) -> Path:
        """Write it as `agreement.toml` into a folder, and return where; one that is there is replaced only
        with `force`."""
        require_flag("force", force)
        path = as_path("folder", folder) / FILE
        write_file(path, self.text.encode(), "folder", replace=force)
        return path

    def _facts(self) -> dict[str, str]:
        agreed = self.agreement
        names = f"{agreed.parties.A} and {agreed.parties.B}"
        found = f"{self.recall:.1%} of all pairs, {self.precision:.1%} of what is found is right"
        expected = {} if self.expected is None else {"expected": self.expected.describe()}
        return {"between": names, "fields": ", ".join(agreed.fields), "finds": found} | expected

    def __repr__(self) -> str:
        return f"<Draft: {', '.join(f'{name} {value}' for name, value in self._facts().items())}>"

    def __str__(self) -> str:
        return "\n".join(tell_draft(self))

    def _repr_html_(self) -> str:
        """For notebooks: what it finds and costs, with the share of pairs that meet as bars."""
        return draw("show_draft", self)


def draft(answers: Confirmation) -> Draft:
    """Draft an agreement from what `Proposal.confirm` gave. No table is read.

    The weights of its rule are learned from made-up records with these fields, which takes some seconds. The
    draft is for both of you: read it, and change what you like.
    """
    require("answers", answers, "a Confirmation, such as proposal.confirm(…) gives", Confirmation)
    return Draft(make_draft(answers.answers, secrets.token_hex(16)), answers)


def tell_draft(draft: Draft) -> Iterator[str]:
    """What its owner should know of a draft: what it finds, how records are compared, and what that costs."""
    made, agreed = draft.made, draft.agreement
    yield (
        f"Among made-up records with these fields, the rule finds {draft.recall:.1%} of all pairs; "
        f"{draft.precision:.1%} of what it finds is right."
    )
    if draft.precision < _HALF:
        yield "Most of the matches would be wrong: add a field that tells more records apart."
    yield from _tell_lacking(draft.confirmation.answers)
    for note in alone(agreed):
        yield f"Worth knowing: {note}"
    words, _ = tell_promise(agreed)
    way = f"{tell_blocking(agreed)}; {words}" if agreed.passes else f"all pairs, {words}"
    if made.too_slow:
        yield "No method meets the time limit, so it was ignored."
    yield f"Records are compared by: {way}."
    if agreed.one_to_one:
        yield "No record is in two pairs (one_to_one), since no person has several records in a table."
    if agreed.passes:
        yield _tell_met(made)
    if draft.expected is not None:
        yield f"Expected: {draft.expected.describe()}."
    if told_of := accuracy(agreed):
        yield f"The answer: {told_of}."


def _tell_lacking(answers: Answers) -> Iterator[str]:
    """What tables with names of people nearly always have, and this draft has not."""
    kinds = {one.kind for one in answers.fields}
    if not kinds & _CALLED:
        return
    for some, words in _EXPECTED.items():
        if not kinds & {*some}:
            typed = f"`types=` COLUMN={some[0]}"
            yield f"No column is taken for {words}: without it many pairs are lost. If one is: {typed}."


def _tell_met(made: MadeDraft) -> str:
    """The expected shares of matches that meet and of covered records, and what more would cost."""
    told = f"Of the pairs that the rule accepts among synthetic records, {made.met:.1%} meet in these passes"
    if made.covered is not None and made.covered < 1 and not made.trade:
        told += f", and the promise covers {made.covered:.2%} of the records"
    if made.trade:
        return f"{told}. {made.trade}"
    if made.more is None:
        return f"{told}."
    return (
        f"{told}; with one more, by {made.more.key}, {made.more.met:.1%} would, "
        f"with {made.more.times:.1f} times the comparisons."
    )


def tell_promise(agreed: Agreement) -> tuple[str, dict[str, str]]:
    """The promise of a run in words, which is the same for both sides in a draft; and its ε and δ by name, as
    limits of an account."""
    # Where one side alone learns the pairs, only the promise to the other has a condition.
    promised = max((agreed.leakage(side).cost for side in Side), key=lambda one: bool(one and one.unless))
    limits = promised or NO_COST
    return describe_cost(promised), {"epsilon": text(limits.epsilon), "delta": text(limits.delta)}
