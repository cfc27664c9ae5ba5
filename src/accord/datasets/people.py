"""People in the tables of two organisations, with the errors that happen on the way into a table.

Each person is in one table or in both. The two write differently: A `Mary`, `F`, `117-402-9921`, B `MARY`,
`female`, `11174029921`, and B's birth dates may be `31.12.1980`. That is no error, and it is in every record;
errors are those of `accord.datasets.people_errors`, and the truth names them for each pair.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.datasets.generated import Generated, ids
from accord.datasets.people_errors import FIELDS, Errors, Record, draw_errors, write_down
from accord.datasets.people_typos import letters
from accord.datasets.people_world import Flags, Text, Variety, draw_people
from accord.side import Side

DOTTED = "%d.%m.%Y"
_COUNTRY = "1"


def generate_people(
    records: int,
    overlap: float | None,
    seed: int,
    sparse: bool = False,
    errors: Errors | None = None,
    dotted: bool = False,
    variety: Variety | None = None,
) -> Generated:
    """`records` a side; the share `overlap` of them (0.5, sparse 0.02) are people whom both know.

    With `dotted` B writes birth dates as `DOTTED`. The truth has a third column, `errors`: the kinds of those
    in either record, with a blank between.
    """
    share = overlap if overlap is not None else (0.02 if sparse else 0.5)
    rng = np.random.default_rng(seed)
    shared = round(share * records)
    people = draw_people(rng, 2 * records - shared, variety or Variety())
    # Members of a household fall on either side: strangers to a linkage who look very much alike.
    order = rng.permutation(len(people))
    rows = order[:records], np.concatenate([order[:shared], order[records:]])
    tables, places, came = [], [], []
    for side, whose, due in zip(Side, rows, draw_errors(rng, len(people), errors or Errors()), strict=True):
        shuffled = rng.permutation(records)
        rows_of = whose[shuffled]
        record, befell = write_down(
            rng, people.take(rows_of), {kind: who[rows_of] for kind, who in due.items()}
        )
        tables.append(_table(side, record, dotted and side is Side.B))
        places.append(np.argsort(shuffled)[:shared])
        came.append({kind: who[places[-1]] for kind, who in befell.items()})
    truth = {"id_a": tables[0]["id"].take(places[0]), "id_b": tables[1]["id"].take(places[1])}
    return Generated(tables[0], tables[1], pa.table({**truth, "errors": _kinds(*came)}))


def whole_names(table: pa.Table) -> pa.Array:
    """Given name and surname as one text, null where both are missing."""
    parts = (pc.fill_null(table[name].combine_chunks(), "") for name in ("given", "surname"))
    joined = pc.utf8_trim_whitespace(pc.binary_join_element_wise(*parts, " "))
    return pc.if_else(pc.equal(joined, ""), None, joined)


def _kinds(first: Mapping[str, Flags], second: Mapping[str, Flags]) -> pa.Array:
    """The kinds of errors that either record has, as words."""
    kinds = list(first)
    codes = np.zeros(len(first[kinds[0]]), np.int64)
    for number, kind in enumerate(kinds):
        codes |= (first[kind] | second[kind]).astype(np.int64) << number
    distinct, which = np.unique(codes, return_inverse=True)
    words = [
        " ".join(kind for bit, kind in enumerate(kinds) if code >> bit & 1) for code in distinct.tolist()
    ]
    return pa.array(words, pa.string()).take(pa.array(which))


def _table(side: Side, record: Record, dotted: bool) -> pa.Table:
    """The table as this side writes."""
    people = record.people
    loud = side is Side.B
    written = {
        name: _cells(_capitals(getattr(people, name), loud))
        for name in ("given", "middle", "surname", "street", "city")
    }
    sexes = pa.array(["male", "female"] if loud else ["M", "F"])
    written["sex"] = sexes.take(pa.array(people.female.astype(np.int8)))
    written["birth"] = _dates(people.birth, dotted)
    written["postcode"], written["email"] = _cells(people.postcode), _cells(people.email)
    written["phone"] = _phones(_cells(people.phone), loud)
    cells = {name: pc.if_else(pa.array(record.there[name]), written[name], None) for name in FIELDS}
    return pa.table({"id": ids(side.value, len(people)), **cells})


def _capitals(text: Text, all_of_them: bool) -> Text:
    """The first letter of each word in upper case, or every letter."""
    matrix = letters(text)
    small = (matrix >= ord("a")) & (matrix <= ord("z"))
    if not all_of_them:
        small[:, 1:] &= matrix[:, :-1] == ord(" ")
    return (matrix - 32 * small.astype(np.uint8)).view(text.dtype).reshape(len(text))


def _cells(text: Text) -> pa.Array:
    return pa.array(text).cast(pa.string())


def _dates(birth: NDArray[np.datetime64], dotted: bool) -> pa.Array:
    iso = pa.array(birth).cast(pa.string())
    if not dotted:
        return iso
    parts = [pc.utf8_slice_codeunits(iso, *span) for span in ((8, 10), (5, 7), (0, 4))]
    return pc.binary_join_element_wise(*parts, ".")


def _phones(digits: pa.Array, bare: bool) -> pa.Array:
    if bare:
        return pc.binary_join_element_wise(_COUNTRY, digits, "")
    parts = [pc.utf8_slice_codeunits(digits, *span) for span in ((0, 3), (3, 6), (6, None))]
    return pc.binary_join_element_wise(*parts, "-")
