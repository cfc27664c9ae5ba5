"""Values that must not travel are planted, and everything that a partner or a log could hold is searched.

The canaries of a side are the ids and names of its records that match nothing, as text and as the filters
they are compared by; a column that is not agreed; and the exact sizes of all its bins, as text and as bytes.
So that the search is known to find what is there, it is also made for what must be found.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.document import Agreement
from accord.errors import DataError, DifferentAgreementError
from accord.fields.columns import Bits
from accord.fields.load import load_records
from accord.notices import encode_notice
from accord.peer.channel import TlsChannel
from accord.run.link import Linked
from accord.run.narrator import tell_in_words
from accord.run.offer import agree
from accord.run.verbs import link
from accord.secure.party import Buffer
from accord.side import Side
from accord.state.runs import list_runs
from tests.run.worlds import Organisation, introduce, link_both

pytestmark = pytest.mark.usefixtures("quick")
ROOT = Path(__file__).parents[2]
SHELVES = ("red", "green", "blue", "grey")
MATCHING = 12
LONELY = {Side.A: (31, 17, 43, 5), Side.B: (11, 37, 7, 29)}
"""How many records that match nothing stand on each shelf."""


def agreed(greedy: bool = True, **changes: Any) -> Agreement:
    """Names that are nearly the same on one shelf; without greedy only the shelf is disclosed."""
    privacy = {"epsilon": "1", "delta": "2^-40", "noise": "geometric"}
    shown = ["shelf", "name"] if greedy else ["shelf"]
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {
                "shelf": {"type": "category", "values": list(SHELVES)},
                "name": {"type": "text", "encoder": "paper"},
            },
            "rule": "same(shelf) and hamming(name) <= 3",
            "blocking": [{"kind": "key", "field": "shelf"}],
            "protocol": {"name": "laplace", "A": privacy, "B": privacy, "greedy": greedy},
            "disclose": {"A": shown, "B": shown},
            "engine": "ot",
        }
        | changes
    )


def word(seed: int, length: int = 24) -> str:
    """A word that occurs nowhere else."""
    letters = np.random.default_rng(seed).integers(0, 26, length)
    return "".join(chr(ord("a") + int(letter)) for letter in letters)


def table(side: Side) -> pa.Table:
    """Matching records, the same on both sides; then lonely ones. Each has a note that nobody agreed on."""
    own = 1000 if side is Side.A else 2000
    shelves = [SHELVES[i % 4] for i in range(MATCHING)]
    names = [word(i) for i in range(MATCHING)]
    for shelf, count in zip(SHELVES, LONELY[side], strict=True):
        names += [word(own + len(names) + i) for i in range(count)]
        shelves += [shelf] * count
    size = len(names)
    return pa.table(
        {
            "id": [f"{side.value}{word(10 * own + i, 12)}" for i in range(size)],
            "name": names,
            "shelf": shelves,
            "note": [f"note{word(100 * own + i, 12)}" for i in range(size)],
        }
    )


def forms(counts: list[int]) -> list[bytes]:
    """A list of numbers in the forms that a program would write it in."""
    array = np.array(counts)
    texts = [
        json.dumps(counts),
        *(mark.join(map(str, counts)) for mark in (",", ", ", " ", "\n")),
        str(array),
    ]
    kinds = ("<i8", ">i8", "<u4", ">u4", "<u2")
    return [text.encode() for text in texts] + [array.astype(kind).tobytes() for kind in kinds]


def exact_counts(side: Side) -> list[int]:
    """The exact size of every bin, in the order of the blocking."""
    plan, records = agreed().plan, loaded(side)
    return [int(count) for count in plan.counts(side, records.columns, len(records))]


def loaded(side: Side) -> Any:
    agreement = agreed()
    return load_records(table(side), agreement.fields, agreement.salt, agreement.disclosed(side))


def canaries(side: Side, greedy: bool = True) -> dict[str, list[bytes]]:
    """What may leave this side in no form, by its kind."""
    whole = table(side).to_pydict()
    first = MATCHING if greedy else 0
    filters = loaded(side).columns["name"]
    assert isinstance(filters, Bits)
    return {
        "id": [name.encode() for name in whole["id"][MATCHING:]],
        "name": [name.encode() for name in whole["name"][first:]],
        "filter": [row.astype("<u8").tobytes() for row in filters.words[first:]],
        "note": [note.encode() for note in whole["note"]],
        "counts": forms(exact_counts(side)),
    }


def ids(side: Side) -> dict[str, list[bytes]]:
    return {"id": [name.encode() for name in table(side)["id"].to_pylist()]}


def values(side: Side) -> dict[str, list[bytes]]:
    """Every value of the table, also of records that match, and the exact counts."""
    return canaries(side, greedy=False) | ids(side)


def found(wanted: dict[str, list[bytes]], places: dict[str, bytes]) -> list[tuple[str, str]]:
    """(kind, place) of everything that is there."""
    return [
        (kind, place)
        for place, content in places.items()
        for kind, values in wanted.items()
        if any(value in content for value in values)
    ]


def stored(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path; of a database also every value, which its pages may cut."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    for path in (path for path in files if path.suffix == ".sqlite"):
        with closing(sqlite3.connect(path)) as db:
            values = [*db.execute("SELECT content FROM part"), *db.execute("SELECT content FROM step")]
        found[str(path.relative_to(folder))] += b"".join(value for (value,) in values)
    return found


# -- a linkage -----------------------------------------------------------------------------------------------


def general(name: str) -> str:
    """A file of the state folder as docs/security.md names it."""
    return f"`{re.sub(r'^runs/[^/]+/', 'runs/RUN/', name)}`"


def documented(page: str, title: str) -> dict[str, str]:
    """The first cell of each row of the table in a section, and the others."""
    section = (ROOT / "docs" / page).read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (`[^|]*) \|(.*)$", section, re.M))


@pytest.mark.parametrize("greedy", [True, False])
def test_nothing_of_it_is_sent_told_or_kept(
    greedy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    agreement, sent, files = agreed(greedy), {"alice": bytearray(), "bob": bytearray()}, {}
    sides, send = introduce(tmp_path, agreement), TlsChannel.send

    def noted(self: TlsChannel, buffer: Buffer) -> None:
        sent["bob" if self._partner == "alice" else "alice"] += buffer
        send(self, buffer)

    monkeypatch.setattr(TlsChannel, "send", noted)
    for side in Side:
        (tmp_path / side.value).mkdir()
        files[side] = {"data": tmp_path / f"{side.value}.csv", "out": tmp_path / side.value / "pairs.csv"}
        pyarrow.csv.write_csv(table(side), files[side]["data"])
    ends = link_both(*sides, agreement, a_options=files[Side.A], b_options=files[Side.B])
    assert all(isinstance(end, Linked) and end.matches == MATCHING for end in ends), ends
    told = [notice for own in sides for notice in own.told]
    texts = {"told": "".join(tell_in_words(one) + encode_notice(one) for one in told).encode()}
    texts["printed"] = "".join([*capfd.readouterr(), *map(repr, ends)]).encode()
    state_files = documented("security.md", "What the state folder holds")
    kept = {own.side: stored(own.state.folder) for own in sides}
    outputs = {side: stored(tmp_path / side.value) for side in Side}
    for own in sides:
        side, known = own.side, canaries(own.side, greedy)
        receipts = {name: content for name, content in kept[side].items() if name.endswith("receipt")}
        assert len(receipts) == 1
        # In a log, an event or a receipt there is no value at all, be it of a match.
        assert found(values(side), texts | receipts) == []
        wire = {"wire": bytes(sent[agreement.party(side)])}
        assert found(known, wire | kept[side.other] | outputs[side.other]) == []
        # docs/security.md: one's own state holds no value of one's own table, nor the counts as they are.
        assert found(known | ids(side), kept[side]) == []
        assert {general(name) for name in kept[side]} == {*state_files}
        partner = {"state": kept[side.other]["state.sqlite"]}
        _require_that_the_search_finds(own, wire, partner, outputs, greedy)
    events = documented("exit-codes.md", "Events")
    for notice in told:
        (facts,) = (facts for names, facts in events.items() if notice.event in _quoted(names))
        assert {field.name for field in fields(notice)} == set(_quoted(facts))


def _quoted(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def _require_that_the_search_finds(
    own: Organisation,
    wire: dict[str, bytes],
    partner: dict[str, bytes],
    outputs: dict[Side, dict[str, bytes]],
    greedy: bool,
) -> None:
    """The noisy counts on the wire, and matching records there, in the partner's state and both outputs."""
    (run,), _ = list_runs(own.state)
    counts, everything = run.slots().counts, values(own.side)
    assert counts.tolist() != exact_counts(own.side)
    must = {"noisy counts": [counts.astype("<i8").tobytes()]}
    for kind in ("id", "name", "filter") if greedy else ("id",):
        must |= {f"{kind} {i}": [everything[kind][i]] for i in range(MATCHING)}
    assert [kind for kind, _ in found(must, wire)] == list(must)
    whole = table(own.side).slice(0, MATCHING).to_pydict()
    for name in ("id", "shelf", "name") if greedy else ("id", "shelf"):
        for value in whole[name]:
            wanted = {"value": [value.encode()]}
            assert found(wanted, partner) == [("value", "state")]
            assert [found(wanted, outputs[side]) for side in Side] == [[("value", "pairs.csv")]] * 2


# -- linkages that fail --------------------------------------------------------------------------------------


def spoilt(kind: str, canary: str) -> bytes:
    """A's table as csv, with a fault in which the canary stands."""
    whole = table(Side.A).to_pydict()
    if kind == "value":
        whole["shelf"][40] = canary
    if kind == "id":
        whole["id"][:2] = [canary, canary]
    rows = [",".join(row) for row in zip(*whole.values(), strict=True)]
    if kind == "row":
        rows.append(f"{canary},{canary}")
    return "\n".join([",".join(whole), *rows]).encode()


@pytest.mark.parametrize("kind", ["value", "id", "row"])
def test_faulty_data_is_named_by_its_place(
    tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    agreement, canary = agreed(), word(77)
    own, _ = introduce(tmp_path, agreement)
    path = tmp_path / "A.csv"
    path.write_bytes(spoilt(kind, canary))
    with pytest.raises(DataError) as caught:
        link(path, agreement, partner="bob", state=own.state.folder, listen="127.0.0.1:0", confirm=agree)
    assert "A.csv" in str(caught.value)
    texts = {"error": str(caught.value).encode(), "printed": "".join(capfd.readouterr()).encode()}
    assert found(values(Side.A) | {"spoilt": [canary.encode()]}, texts | stored(own.state.folder)) == []


def test_a_refusal_shows_nothing(tmp_path: Path) -> None:
    sides = introduce(tmp_path, agreed())
    options: list[dict[str, Any]] = [{"data": table(side)} for side in Side]
    options[1]["agreement"] = agreed(salt="11111111")
    ends = link_both(*sides, agreed(), a_options=options[0], b_options=options[1])
    assert [type(end) for end in ends] == [DifferentAgreementError] * 2
    texts = {f"error {number}": str(end).encode() for number, end in enumerate(ends)}
    kept = {f"{own.side.value} {n}": c for own in sides for n, c in stored(own.state.folder).items()}
    for side in Side:
        assert found(values(side), texts | kept) == []
