"""What came out of a run that is done and shows no pairs to a side: as it is kept, never computed again.

An answer asked for a second time would be a second release. So whoever looks again, at a terminal, in a page
or with `accord resume`, is shown the numbers that the run stored.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import TrustError, UsageError
from accord.protocols.confirm import answer_digest
from accord.protocols.parts.answers import Answered, cell_names, decode_answer, name_columns
from accord.run.receipt import Receipt
from accord.state.manifest import Manifest
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sinks.files import unquote_formulas
from accord.table.sources.opening import Place, open_table
from accord.wording import tell_kept

HIDDEN = "not told to this side"
"""How many pairs match, on a side that learns none."""
UNOPENED = "not opened: this side was stopped before; continue with `accord resume` on both sides"
"""On the one side that learns them."""


def agreement_of(known: Manifest) -> Agreement:
    """What a run was agreed to be."""
    return parse_agreement(known.agreement, f"The agreement of the run {known.run}")


def answer_of(known: Manifest) -> Answered | None:
    """What both learned from a run where nobody is shown; None for pairs, or before it is done."""
    return None if known.answer is None else decode_answer(agreement_of(known).output, known.answer)


def tell_end(known: Manifest) -> str:
    """What came out of a run that is done, in a few words."""
    answer = answer_of(known)
    if answer is not None:
        return answer.brief()
    return tell_hidden(known) if known.matches is None else tell_kept(known.matches, known.matches_found)


def tell_hidden(known: Manifest) -> str:
    """Why a run that is done has no number of pairs."""
    learner = agreement_of(known).output.learner
    return UNOPENED if learner is not None and learner.value == known.side else HIDDEN


def require_checkable(agreement: Agreement) -> None:
    """Raise where nothing was signed by which an output could be known again."""
    if agreement.output.learner is not None:
        learner = agreement.party(agreement.output.learner)
        raise UsageError(
            problem=f"Only {learner} was told the pairs of this run, so no digest of them was signed, and "
            "nothing can say whether a file holds them. The signatures can be verified: leave out `out=`."
        )


def require_answer(receipt: Receipt, key: bytes, agreement: Agreement, place: Place) -> None:
    """Raise unless the numbers in this table are those that both sides signed."""
    parties = receipt.facts["parties"]
    sizes = parties["A"]["records"], parties["B"]["records"]
    question = agreement.protocol.question(agreement.task, sizes)
    for found in _read_cells(agreement, place):
        values = [found.get(names) for names in cell_names(agreement.output)]
        known = [value for value in values if value is not None]
        if question is not None and len(known) == len(values) == len(found):
            digest = answer_digest(key, question.encode(known)).hex()
            if hmac.compare_digest(digest, receipt.facts["output"]):
                return
    raise TrustError(
        problem=f"{place if isinstance(place, Path) else place.name} does not hold the answer that the "
        "receipt of the run names.",
        mend="It was changed, or it is the output of another run.",
    )


def _read_cells(agreement: Agreement, place: Place) -> Iterator[dict[tuple[str, ...], int | None]]:
    """The cells of an answer by what they count, as they stand there; and as they stand in a csv, which may
    have quotes in front of what looks like a formula, and does not say so."""
    names = name_columns(agreement.output)
    columns = [*names, "value"]
    table = open_table(place, columns, Layout())
    whole = pa.concat_tables(
        [pa.table({name: to_text(one.column(name)) for name in columns}) for one in table.batches]
    )
    values = [_number(text) for text in whole["value"].to_pylist()]
    plain = [whole[name] for name in names]
    for read in (plain, [unquote_formulas(cells) for cells in plain]):
        named = zip(*(cells.to_pylist() for cells in read), strict=True)
        yield dict(zip(named, values, strict=True))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,18}", text) else None
