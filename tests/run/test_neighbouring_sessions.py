"""Whole sessions look the same for neighbouring tables [MATHS §1.3, §2.1].

With *coupled noise* all that a partner, or who is on the line, sees of two sessions has the same shape:
sizes, number and order of frames and of packets on the line, notices, pairs, receipt. The noise is chosen so
that the announced counts are given ones; and where sizes may follow from them (greedy; slices of what is
disclosed), the places of matching records in their bins. All other randomness is the program's own. The
controls show that a party which departs from the protocol is noticed. What messages hold is not compared: for
that there are the proofs, `tests/protocols/test_privacy.py` and the search for canaries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.notices import Notice, tell_nobody
from accord.peer import channel
from accord.peer.encryption import Encrypter
from accord.privacy.noise_answers import TwoSided
from accord.protocols.laplace import NoisyCounts
from accord.protocols.parts import slots
from accord.protocols.parts.slots import Slots
from accord.run.link import get_ready
from accord.run.receipt import read_receipt
from accord.run.stages import Linked, begin
from accord.side import Side
from accord.table.layout import Layout
from tests.run import faults, worlds
from tests.run.faults import Line, Office, Wire
from tests.workers.test_workers import as_threads

pytestmark = pytest.mark.usefixtures("quick")

Rows = Sequence[tuple[str, object, object]]
"""An id, x and y; a row without x is left out."""
A: Rows = [(f"A{i}", x, y) for i, (x, y) in enumerate(faults.A_ROWS)]
B: Rows = [(f"B{i}", x, y) for i, (x, y) in enumerate(faults.B_ROWS)]
TABLES = {Side.A: A, Side.B: B}
MATCHED = ["A0", "A1", "A2", "A4", "A6", "B0", "B1", "B2", "B3", "B5", "B7"]
"""Under a rule of one step of distance; of equal points A6 and B5 alone are left."""
STRANGERS = {Side.A: ["A3"], Side.B: ["B4"]}
"""Who is replaced, and matches nothing."""
INSTEAD: dict[str, dict[Side, Rows]] = {
    "in other bins": {
        Side.A: [("a much longer id than any other", 3, 11)],
        # In all four cells, where the other was in one.
        Side.B: [("b", 8, 8)],
    },
    "left out": {Side.A: [("A3", None, 2)], Side.B: [("B4", None, 9)]},
}
COUNTS = {Side.A: [9] * 4, Side.B: [12] * 4}
"""The bin sizes that are announced."""
CHEATS: dict[str, Callable[[Any, Any], Any]] = {
    "true counts": lambda counts, true: np.zeros_like(true),
    "bins without records are not filled": lambda counts, true: np.where(true > 0, counts - true, 0),
}
"""How many dummies each bin gets."""
FRESH = ("run", "seconds", "peak_mib", "time", "output", "port")
"""What is another in every run: names, times and digests."""


@dataclass(frozen=True)
class Session:
    """Two tables and what is chosen for them; `side` is whose table may be another."""

    agreement: Agreement
    rows: dict[Side, Rows]
    side: Side
    cheat: str = ""
    """How that side departs from the protocol, for a control."""
    asked: dict[str, Any] = field(default_factory=dict)


@dataclass
class Seen:
    """All that the partner sees of an attempt."""

    frames: list[tuple[Side, int]]
    told: list[object]
    ends: list[str]
    receipt: object
    pairs: bytes

    def differs(self, other: Seen) -> list[str]:
        """What is not the same in another session."""
        return [name for name in vars(self) if vars(self)[name] != vars(other)[name]]


def session(
    agreed: Agreement, side: Side = Side.B, instead: Rows | None = None, cheat: str = "", **asked: Any
) -> Session:
    """Both tables, that of a side with others in the place of a stranger."""
    rows = TABLES | ({} if instead is None else {side: replaced(side, instead)})
    return Session(agreed, rows, side, cheat, asked)


def replaced(side: Side, instead: Rows, strangers: list[str] | None = None) -> Rows:
    """A table with others in the places of some."""
    gone, new = strangers or STRANGERS[side], iter(instead)
    return [next(new) if row[0] in gone else row for row in TABLES[side]]


def offices(folder: Path, held: Session) -> dict[Side, Office]:
    """Both organisations, which have done nothing yet, always with the same cards."""
    both = faults.offices(Path(tempfile.mkdtemp(dir=folder)))
    for side, office in both.items():
        office.agreement = held.agreement
        office.layout = Layout(person="person") if held.agreement.protocol.name == "laplace" else Layout()
        lines = ["id,person,x,y\n"]
        for name, x, y in held.rows[side]:
            # An id says whose record it is: all before a stroke.
            lines.append(f"{name},{name.partition('/')[0]},{'' if x is None else x},{y}\n")
        office.data.write_text("".join(lines))
    return both


def choose(patch: pytest.MonkeyPatch, held: Session) -> None:
    """Replace what is drawn by what is chosen."""
    shuffle = slots.shuffle_slots
    first = MATCHED if getattr(held.agreement.protocol, "greedy", False) else []

    def draw(release: NoisyCounts, records: Records, entropy: object) -> Any:
        _, bins = release.task.blocking.place(release.side, records.columns, len(records))
        true = np.bincount(bins, minlength=release.task.blocking.bins)
        counts = np.array(COUNTS[release.side])
        if release.side is held.side and held.cheat in CHEATS:
            return CHEATS[held.cheat](counts, true)
        assert (counts >= true).all(), "noise is never below 0"
        return counts - true

    def place(record: Any, bins: Any, count: int, records: Records, entropy: Any) -> Slots:
        made, rank = shuffle(record, bins, count, records, entropy), {name: n for n, name in enumerate(first)}
        ids = records.ids.to_pylist()
        ranks = [rank.get(ids[one], len(first)) if one >= 0 else len(first) for one in made.record]
        order = np.lexsort((np.array(ranks), np.repeat(np.arange(count), made.counts)))
        return replace(made, record=made.record[order])

    patch.setattr(NoisyCounts, "draw", draw)
    patch.setattr(TwoSided, "draw", lambda self, count, entropy: [1] * count)
    patch.setattr(slots, "shuffle_slots", place)
    if held.cheat == "rows left out are not counted":
        patch.setattr("accord.run.link.load_records", lambda *g: replace(load_records(*g), left_out=0))


def hold(folder: Path, held: Session) -> Seen:
    """What the partner sees of a session that nobody cuts."""
    with pytest.MonkeyPatch.context() as patch:
        choose(patch, held)
        return attempt(offices(folder, held), held, Wire())


def attempt(both: dict[Side, Office], held: Session, wire: Wire) -> Seen:
    """An attempt at a new run."""
    told, parties = list[Notice](), {}
    for side, office in both.items():
        ready = get_ready(office.request(**held.asked), office.state, tell_nobody)
        tell = tell_nobody if side is held.side else told.append
        parties[side] = begin(replace(ready, tell=tell), Line())
    return see(both[held.side.other], faults.drive(parties, wire), wire, told)


def see(partner: Office, ends: faults.Ending, wire: Wire, told: list[Notice]) -> Seen:
    end, pairs = ends[partner.side], partner.out
    return Seen(
        frames=[(sender, len(frame)) for sender, frame in wire.passed],
        told=[(notice.event, lasting(asdict(notice))) for notice in told],
        ends=[type(one).__name__ for one in ends.values()],
        receipt=lasting(read_receipt(end.receipt).facts) if isinstance(end, Linked) else None,
        pairs=pairs.read_bytes() if pairs.exists() else b"",
    )


def lasting(facts: Any) -> Any:
    """The same without what is fresh in every run."""
    if isinstance(facts, dict):
        return {key: lasting(value) for key, value in facts.items() if key not in FRESH}
    return facts


def agreement(kind: str = "plain", **changes: Any) -> Agreement:
    """That of runs which are cut, where a point without x is left out."""
    plain = faults.agreement(kind).model_dump(mode="json")
    plain["fields"]["x"]["missing"] = "skip"
    plain["protocol"] |= changes.pop("options", {})
    return Agreement.model_validate(plain | changes)


def answering(kind: str = "routed", **output: Any) -> Agreement:
    return agreement(kind, output=output, disclose={"A": [], "B": []})


def some(names: Iterable[Any], *fast: object) -> list[Any]:
    """All of them; those that are not named are slow."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


KINDS = {
    "plain": agreement("plain"),
    "greedy": agreement("greedy"),
    "one-to-one": agreement("one-to-one"),
    "all-pairs": agreement("all-pairs", options={"greedy": False}),
    "all-pairs greedy": agreement("all-pairs"),
    "routed": agreement("routed"),
    "cascade": agreement("cascade"),
    "psi": agreement("psi"),
    "a count": answering(answer="count", epsilon="1"),
    "an exact sum": answering(
        answer="sum", exact=True, of={"side": "B", "column": "y", "low": 0, "high": 20}
    ),
    "an exact count of all pairs": answering("all-pairs", answer="count", exact=True),
    "pairs for A": agreement("routed", output={"to": "A"}),
    "dual": agreement("plain", engine="dual"),
}


@pytest.mark.parametrize("side", some(Side, Side.B))
@pytest.mark.parametrize("kind", some(KINDS, "plain", "greedy"))
def test_a_neighbour_looks_the_same(kind: str, side: Side, tmp_path: Path) -> None:
    """A stranger in other bins, with another id; and a row that is left out in its place."""
    seen = hold(tmp_path, session(KINDS[kind], side))
    assert seen.ends == ["Linked"] * 2
    assert len(seen.frames) > 20
    for name, instead in INSTEAD.items():
        assert seen.differs(hold(tmp_path, session(KINDS[kind], side, instead[side]))) == [], name


CROWD: dict[Side, Rows] = {side: [(f"c{n}", 5, y) for n, y in enumerate((9, 11, 12))] for side in Side}
"""Three strangers with one key, more than the cap."""


@pytest.mark.parametrize("side", some(Side, Side.B))
def test_how_many_records_are_uncovered_is_not_seen(side: Side, tmp_path: Path) -> None:
    """Nor what their owner allows."""
    strangers = {Side.A: ["A3", "A5", "A7"], Side.B: ["B4", "B6", "B8"]}[side]
    plain = session(agreement("routed", options={"cap": 2}), side)
    seen = hold(tmp_path, plain)
    assert seen.ends == ["Linked"] * 2
    crowded = TABLES | {side: replaced(side, CROWD[side], strangers)}
    assert seen.differs(hold(tmp_path, replace(plain, rows=crowded, asked={"uncovered": 1}))) == []


PEOPLE: list[Rows] = [[("P/1", 0, 9), ("P/2", 14, 3)], [("Q/1", 8, 8), ("Q/2", None, 3)]]


def test_all_records_of_a_person_may_be_others(tmp_path: Path) -> None:
    privacy = {"epsilon": "4", "delta": "1e-3", "noise": "geometric", "records_per_person": 2}
    plain = session(agreement("plain", options={"A": privacy, "B": privacy}))
    tables = [TABLES | {Side.B: replaced(Side.B, person, ["B4", "B6"])} for person in PEOPLE]
    one, other = (hold(tmp_path, replace(plain, rows=rows)) for rows in tables)
    assert one.differs(other) == []


@pytest.mark.parametrize("kind", some(["greedy", "plain"], "plain"))
def test_a_run_that_is_cut_and_resumed_looks_the_same(kind: str, tmp_path: Path) -> None:
    """Both attempts, whenever the cut comes."""
    for cut in (10, 22, 32):
        seen: list[list[Seen]] = []
        for instead in (None, INSTEAD["in other bins"][Side.B], INSTEAD["left out"][Side.B]):
            held, told, wire = session(KINDS[kind], instead=instead), list[Notice](), Wire()
            both = offices(tmp_path, held)
            with pytest.MonkeyPatch.context() as patch:
                choose(patch, held)
                first = attempt(both, held, Wire(frames=cut, told=True))
                with faults.resuming(both, faults.the_run(both), tell=told.append) as parties:
                    ends = faults.drive(parties, wire)
            seen.append([first, see(both[Side.A], ends, wire, told)])
        assert [one.ends for one in seen[0]] == [["ConnectionLostError"] * 2, ["Linked"] * 2]
        for attempts in seen[1:]:
            assert [one.differs(other) for one, other in zip(seen[0], attempts, strict=True)] == [[], []]


CONTROLS = {
    "true counts": ("plain", "in other bins"),
    "bins without records are not filled": ("plain", "left out"),
    "rows left out are not counted": ("all-pairs", "left out"),
}


@pytest.mark.parametrize("cheat", CONTROLS)
def test_who_departs_from_the_protocol_is_noticed(cheat: str, tmp_path: Path) -> None:
    """By the frames alone; the pairs are the same all the time."""
    kind, what = CONTROLS[cheat]
    # Who is in all bins would leave none without a record.
    plain = session(KINDS[kind], cheat=cheat)
    seen = []
    for rows in (TABLES[Side.B], replaced(Side.B, INSTEAD[what][Side.B])):
        without = [row for row in rows if row[0] != "B1"]
        seen.append(hold(tmp_path, replace(plain, rows=TABLES | {Side.B: without})))
    assert "frames" in seen[0].differs(seen[1])
    assert seen[0].pairs == seen[1].pairs


@pytest.mark.parametrize("what", ["in other bins", "left out"])
@pytest.mark.parametrize("workers", [1, 2])
def test_so_does_the_line(workers: int, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each packet of each connection over TLS, those of two workers of each side too."""
    encrypt, seen = Encrypter.encrypt, []
    # Pings come by the clock.
    monkeypatch.setattr(channel, "_PING_SECONDS", 1e9)
    for instead in (None, INSTEAD[what][Side.B]):
        held, line = session(KINDS["plain"], instead=instead), dict[Encrypter, list[int]]()

        def noted(self: Encrypter, piece: Any, line: dict[Encrypter, list[int]] = line) -> memoryview:
            line.setdefault(self, []).append(len(piece))
            return encrypt(self, piece)

        both = offices(tmp_path, held)
        a, b = (worlds.Organisation(side, o.state, faults.card(o)) for side, o in both.items())
        own = [{"data": o.data, "layout": o.layout, "workers": workers} for o in both.values()]
        with monkeypatch.context() as patch, as_threads():
            choose(patch, held)
            patch.setattr(Encrypter, "encrypt", noted)
            ends = worlds.link_both(a, b, held.agreement, a_options=own[0], b_options=own[1])
        assert [type(end) for end in ends] == [Linked, Linked], ends
        seen.append((sorted(line.values()), ends[0].bytes, ends[0].pairs.to_pylist()))
    # Two ends of the line of the sides, and of one for each pair of workers.
    assert len(seen[0][0]) == (2 if workers == 1 else 6)
    assert seen[0] == seen[1]
