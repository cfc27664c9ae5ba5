"""Values that must not travel are planted, and everything that a partner or a log could hold is searched.

The canaries of a side are the ids and names of its records that match nothing, as text and as the filters
they are compared by; a column that is not agreed; and the exact sizes of all its bins, as text and as bytes.
So that the search is known to find what is there, it is also made for what must be found.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.document import Agreement
from accord.fields.columns import Bits
from accord.fields.load import load_records
from accord.peer.channel import TlsChannel
from accord.run.link import Linked
from accord.secure.party import Buffer
from accord.side import Side
from accord.state.runs import list_runs
from tests.cli.terminal import accord, environment
from tests.run.worlds import Organisation, introduce, link_both

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
            values = [*db.execute("SELECT body FROM entries"), *db.execute("SELECT content FROM contents")]
        found[str(path.relative_to(folder))] += b"".join(value for (value,) in values)
    return found


# -- two processes ------------------------------------------------------------------------------------------


def command(own: Organisation, folder: Path, agreement: Agreement, *way: str) -> list[str]:
    """`accord link` as a user types it."""
    data, terms = folder / f"{own.side.value}.csv", folder / f"{own.side.value}.toml"
    if not data.exists():
        pyarrow.csv.write_csv(table(own.side), data)
    terms.write_text(agreement.to_toml())
    partner = agreement.party(own.side.other)
    out = folder / f"out-{own.side.value}"
    out.mkdir(exist_ok=True)
    named = ["--agreement", str(terms), "--partner", partner, "--out", str(out / "pairs.csv")]
    return ["--state", str(own.state.folder), "link", str(data), *named, *way, "--yes"]


def start(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "accord", *arguments],
        env=environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def link_processes(
    sides: tuple[Organisation, Organisation],
    folder: Path,
    agreements: tuple[Agreement, Agreement],
    flags: tuple[str, ...],
) -> tuple[dict[str, bytes], tuple[int, int]]:
    """Both sides as processes; all that they wrote to their terminals, and their exit codes."""
    a = start(folder, [*command(sides[0], folder, agreements[0], "--listen", "127.0.0.1:0"), *flags])
    b: subprocess.Popen[bytes] | None = None
    try:
        stream = a.stdout if "--json" in flags else a.stderr
        assert stream is not None
        lines = [next(line for line in stream if b"aiting for" in line or b"listening" in line)]
        port = int(lines[0].split()[-1].strip(b".}"))
        b = start(
            folder, [*command(sides[1], folder, agreements[1], "--connect", f"127.0.0.1:{port}"), *flags]
        )
        texts = {"B out": b"", "B err": b""}
        texts["B out"], texts["B err"] = b.communicate(timeout=120)
        out, err = a.communicate(timeout=120)
    finally:
        for process in (a, b):
            if process is not None and process.poll() is None:
                process.kill()
                process.communicate()
    return texts | {"A out": lines[0] + out, "A err": err}, (a.returncode, b.returncode)


@pytest.mark.parametrize(
    ("greedy", "flags"),
    [(True, ("--json",)), pytest.param(False, (), marks=pytest.mark.slow)],
    ids=["json", "words"],
)
def test_two_processes_tell_and_keep_nothing_of_it(
    tmp_path: Path, greedy: bool, flags: tuple[str, ...]
) -> None:
    agreement = agreed(greedy)
    sides = introduce(tmp_path, agreement)
    texts, codes = link_processes(sides, tmp_path, (agreement, agreement), flags)
    assert codes == (0, 0), texts
    kept = {own.side: stored(own.state.folder) for own in sides}
    outputs = {side: stored(tmp_path / f"out-{side.value}") for side in Side}
    for side in Side:
        own = canaries(side, greedy)
        receipts = {name: content for name, content in kept[side].items() if name.endswith("receipt")}
        assert len(receipts) == 1
        # In a log, an event or a receipt there is no value at all, be it of a match.
        assert found(values(side), texts | receipts) == []
        assert found(own, kept[side.other] | outputs[side.other]) == []
        # docs/security.md: one's own state holds no value of one's own table, nor the counts as they are.
        assert found(own | ids(side), kept[side]) == []
        assert {general(name) for name in kept[side]} == documented_files() - {"contents/*"}
    _require_that_the_search_finds(kept, outputs, greedy)
    if flags:
        _require_public_events(texts)


def general(name: str) -> str:
    """A file of the state folder as docs/security.md names it."""
    return re.sub(r"^runs/[^/]+/", "runs/RUN/", name)


def documented_files() -> set[str]:
    page = (ROOT / "docs" / "security.md").read_text()
    section = page.split("## What the state folder holds\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.M))


def _require_that_the_search_finds(
    kept: dict[Side, dict[str, bytes]], outputs: dict[Side, dict[str, bytes]], greedy: bool
) -> None:
    """Matching records are where they belong: in the partner's journal and output, and in the own output."""
    for side in Side:
        whole = table(side).slice(0, MATCHING).to_pydict()
        columns = ["id", "shelf", "name"] if greedy else ["id", "shelf"]
        for value in (v.encode() for name in columns for v in whole[name]):
            (journal,) = found({"value": [value]}, _journal(kept[side.other]))
            assert journal[1].endswith("journal")
            assert found({"value": [value]}, outputs[side.other]) == [("value", "pairs.csv")]
            assert found({"value": [value]}, outputs[side]) == [("value", "pairs.csv")]


def _journal(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name.endswith("journal")}


def documented_events() -> dict[str, set[str]]:
    """The facts of each event, from the table in docs/exit-codes.md."""
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    section = page.split("## Events\n")[1].split("\n## ")[0]
    cells = [line.split(" | ", 1) for line in section.splitlines() if line.startswith("| `")][1:]
    found = {}
    for names, facts in cells:
        for name in re.findall(r"`(\w+)`", names):
            found[name] = set(re.findall(r"`(\w+)`", facts))
    return found


def _require_public_events(texts: dict[str, bytes]) -> None:
    """Events hold the facts that docs/exit-codes.md lists, and no others."""
    public = documented_events()
    for name in ("A out", "B out"):
        events = [json.loads(line) for line in texts[name].splitlines()]
        assert events[-1]["event"] == "done"
        assert events[-1]["matches"] == MATCHING
        for event in events:
            assert set(event) - {"event"} == public[event["event"]]


# -- runs that fail -----------------------------------------------------------------------------------------


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
def test_faulty_data_is_named_by_its_place(tmp_path: Path, kind: str) -> None:
    agreement, canary = agreed(), word(77)
    sides = introduce(tmp_path, agreement)
    (tmp_path / "A.csv").write_bytes(spoilt(kind, canary))
    done = accord(tmp_path, *command(sides[0], tmp_path, agreement, "--listen", "127.0.0.1:0"), "--json")
    assert done.returncode == 4, done.stderr
    assert "A.csv" in done.stderr
    texts = {"out": done.stdout.encode(), "err": done.stderr.encode()} | stored(sides[0].state.folder)
    assert found(values(Side.A) | {"spoilt": [canary.encode()]}, texts) == []


@pytest.mark.slow
def test_a_refusal_shows_nothing(tmp_path: Path) -> None:
    sides = introduce(tmp_path, agreed())
    texts, codes = link_processes(sides, tmp_path, (agreed(), agreed(salt="11111111")), ("--json",))
    assert codes == (3, 3), texts
    assert b"different agreements" in texts["A err"]
    assert b"different agreements" in texts["B err"]
    kept = {f"{own.side.value} {n}": c for own in sides for n, c in stored(own.state.folder).items()}
    for side in Side:
        everything = {"id": [i.encode() for i in table(side)["id"].to_pylist()]} | canaries(
            side, greedy=False
        )
        assert found(everything, texts | kept) == []


# -- what is inside the encrypted connection ----------------------------------------------------------------


@pytest.mark.parametrize("greedy", [True, False])
def test_no_message_holds_a_canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, greedy: bool) -> None:
    agreement = agreed(greedy)
    sides = introduce(tmp_path, agreement)
    sent = {"alice": bytearray(), "bob": bytearray()}
    send = TlsChannel.send

    def noted(self: TlsChannel, buffer: Buffer) -> None:
        sent["bob" if self._partner == "alice" else "alice"] += buffer
        send(self, buffer)

    monkeypatch.setattr(TlsChannel, "send", noted)
    ends = link_both(*sides, agreement, a_options={"data": table(Side.A)}, b_options={"data": table(Side.B)})
    assert all(isinstance(end, Linked) for end in ends), ends
    for own in sides:
        wire = {"wire": bytes(sent[agreement.party(own.side)])}
        assert found(canaries(own.side, greedy), wire) == []
        must = {"noisy counts": [noisy_counts(own).astype("<i8").tobytes()]}
        everything = values(own.side)
        for kind in ("id", "name", "filter") if greedy else ("id",):
            must |= {f"{kind} {i}": [everything[kind][i]] for i in range(MATCHING)}
        assert [kind for kind, _ in found(must, wire)] == list(must)


def noisy_counts(own: Organisation) -> Any:
    """The counts that the partner may see, from one's own state."""
    (run,), _ = list_runs(own.state)
    counts = run.slots().counts
    assert counts.tolist() != exact_counts(own.side)
    return counts
