"""What passes between two parties under fixed randomness: every protocol and engine, whole and resumed runs.

A transcript is a few digests and public numbers. `python -m tests.transcripts` records all cases anew in
`transcripts.json`; whoever does that changes what travels, raises the wire version and says why.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from nacl import bindings as sodium

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.generated import Generated
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.privacy import events
from accord.protocols import binned
from accord.protocols.parts.outcome import Outcome
from accord.run.receipt import read_receipt
from accord.secure.party import Wire, run_pair
from accord.side import Side
from accord.simulation.pair import load_both, start_party
from accord.table.sources.opening import TableLike
from reproduction.places import generate_places, places_agreement
from tests.protocols import worlds
from tests.protocols.worlds import ANSWERS, asking, one_to_one, routed
from tests.run import faults
from tests.secure import encapsulation
from tests.secure.engines import engine_of
from tests.secure.worlds import Fixed

RECORDED = Path(__file__).with_name("transcripts.json")

A_ROWS: worlds.Rows = [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14), (15, 15), (10, 10), (1, 1), (5, 6)]
B_ROWS: worlds.Rows = [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9), (15, 15), (14, 3), (2, 1), (6, 6)]
A_CROWD: worlds.Rows = [(5, 5), (5, 6), (5, 6), (6, 5), (6, 6), (6, 9), (5, 9), (8, 8)]
B_CROWD: worlds.Rows = [(5, 6), (6, 5), (5, 5), (5, 4), (6, 6), (6, 7), (8, 8)]
"""Of one side at most four records have the same x, and three the same y."""


def points(rows: worlds.Rows, prefix: str) -> pa.Table:
    x, y = zip(*rows, strict=True)
    return pa.table({"id": [f"{prefix}{i}" for i in range(len(rows))], "x": x, "y": y})


def _noise(name: str) -> Agreement:
    privacy = {"epsilon": "1", "delta": "1e-3", "noise": name}
    return worlds.agreement(A=privacy, B=privacy)


_EXACT = "same(x) and same(y)"

IN_THE_CLEAR: Mapping[str, Callable[[], Agreement]] = {
    "laplace": worlds.agreement,
    "laplace, replicated, not greedy": lambda: worlds.agreement(style="replicate", greedy=False),
    "laplace, replicated": lambda: worlds.agreement(style="replicate"),
    "laplace, pruned": lambda: worlds.agreement(prune=40),
    "laplace, unsorted candidates": lambda: worlds.agreement(sort=False, rule=worlds.WITHOUT_INDEX),
    "laplace, gaussian": lambda: _noise("gaussian"),
    "all-pairs": lambda: worlds.agreement(protocol="all-pairs"),
    "all-pairs, not greedy": lambda: worlds.agreement(protocol="all-pairs", greedy=False),
    "psi": lambda: worlds.agreement(protocol="psi", rule=_EXACT),
}
SECURE: Mapping[str, Callable[[], Agreement]] = {
    "laplace": lambda: worlds.agreement(style="replicate"),
    "laplace, not greedy": lambda: worlds.agreement(greedy=False),
    "all-pairs, either": lambda: worlds.agreement(protocol="all-pairs", rule="same(x) or within(y, 2)"),
}
SLABS = {
    "laplace, replicated; ideal": 2,
    "laplace, pruned; ideal": 2,
    "laplace; ot": 4,
    "laplace; ot silent": 4,
}
"""Transcripts in which fewer rows than usual are compared before the matched ones are cleaned."""
_COUNT, _TABLE, _SUM = ANSWERS[0], ANSWERS[1], ANSWERS[-1]
ROUTED: Mapping[str, Callable[[], Agreement]] = {
    "asked by A": lambda: routed("x", cap=4, asks="A"),
    "asked by B": lambda: routed("x", cap=4, asks="B"),
    "two passes": lambda: routed("x", "y", cap=4),
    "over a cap, asked by A": lambda: routed("x", "y", cap=2, asks="A"),
    "over a cap, asked by B": lambda: routed("x", "y", cap=1, asks="B"),
    "cascade, asked by A": lambda: one_to_one(routed("x", "y", cap=4, asks="A")),
    "cascade, asked by B": lambda: one_to_one(routed("x", "y", cap=2, asks="B")),
    "to A": lambda: _to_a(routed("x", "y", cap=4)),
    "to A, over a cap": lambda: _to_a(routed("x", cap=2)),
    "count": lambda: asking(routed("x", "y", cap=4), _COUNT, "1"),
    "count over a cap": lambda: asking(routed("x", "y", cap=2), _COUNT),
    "table": lambda: asking(routed("x", "y", cap=4), _TABLE, "1"),
    "sum": lambda: asking(routed("x", "y", cap=4), _SUM),
}
GENERATED: Mapping[str, Callable[..., Generated]] = {"products": generate_products, "places": generate_places}
WHOLE = ("all-pairs", "psi")
CUT = {"greedy": 20, "plain": 20, "routed": 50, "cascade": 50}
"""After how many messages a run is cut: in the middle of a step. What passes before and after is recorded."""


def _to_a(agreed: Agreement) -> Agreement:
    """The same, with pairs for A alone."""
    return Agreement.model_validate(agreed.model_dump(mode="json") | {"output": {"to": "A"}})


def _generated(
    name: str, generate: Callable[..., Generated]
) -> tuple[Callable[[], Agreement], tuple[pa.Table, pa.Table]]:
    made = generate(80, overlap=None, seed=3)
    agreed = places_agreement() if name == "places" else starter(name)
    return lambda: adjust(agreed, epsilon="4", delta="1e-3"), (made.a, made.b)


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _outcome(outcome: Outcome, ids: pa.Array) -> dict[str, Any]:
    """What one side got, less its times."""
    outcome = outcome if outcome.unseal is None else outcome.unseal()
    answer = {} if outcome.answer is None else {"answer": outcome.answer.encode()}
    own = ids.take(pa.array(outcome.own)).to_pylist()
    partner = outcome.partner_ids.take(pa.array(outcome.partner)).to_pylist()
    shown = outcome.partner_columns.to_pydict()
    return answer | {
        "pairs": len(own),
        "output": _digest(json.dumps([own, partner, outcome.partner_ids.to_pylist(), shown]).encode()),
        "confirmed": outcome.digest.key.hex()[:32],
        "partner": [outcome.partner_size, outcome.partner_slots],
        "comparisons": outcome.comparisons,
        "rounds": outcome.rounds,
        "dummies": outcome.dummies,
        "released": [events.encode(event).hex() for event in outcome.released],
    }


def linked(
    agreed: Agreement, a: TableLike, b: TableLike, engine: str, slab: int = binned.SLAB
) -> dict[str, Any]:
    """The protocol between two parties in one thread."""
    wire, tables = Wire(), load_both(a, b, agreed, None, None)
    parties, chosen = [], engine_of(engine)
    for side, own, other in zip(Side, tables, tables[::-1], strict=True):
        parties.append(start_party(agreed, side, own, len(other), Fixed(side.value), chosen))
    with worlds.slabs(slab):
        outcomes = run_pair(parties[0], parties[1], wire=wire)
    return {
        "wire": wire.digest,
        "bytes": wire.bytes,
        "rounds": wire.rounds,
        "sides": [_outcome(o, t.ids) for o, t in zip(outcomes, tables, strict=True)],
    }


_RECEIPT = 2
"""Messages of each side that hold its version, its time and its signature."""


def _passed(wire: faults.Wire) -> dict[str, Any]:
    last = {side: [n for n, (s, _) in enumerate(wire.passed) if s is side][-_RECEIPT:] for side in Side}
    fixed = [body for n, (side, body) in enumerate(wire.passed) if n not in last[side]]
    order = "".join(f"{side.value}{len(body)} " for side, body in wire.passed)
    return {"wire": _digest(*fixed), "sizes": _digest(order.encode()), "messages": len(wire.passed)}


def _kept(office: faults.Office) -> dict[str, Any]:
    """What a side has on disk after a run: ledger, slots, answers, the facts of its receipt, its output."""
    (row,) = office.ledger.runs()
    slots, answers = faults.stored(office, row.run)
    known = office.run
    assert known is not None
    facts = dict(read_receipt(known.receipt).facts)
    facts["parties"] = {
        side: {name: value for name, value in party.items() if name not in ("card", "time", "accord")}
        for side, party in facts["parties"].items()
    }
    key = row.key.hex() if row.key else None
    return {
        "ledger": [row.run, row.dataset, row.partner, key, events.encode(row.event).hex(), row.paid],
        "slots": _digest(slots),
        "answers": _digest(*answers),
        "receipt": facts,
        "output": _digest(office.out.read_bytes()),
    }


def whole(kind: str, cut: int | None = None) -> dict[str, Any]:
    """A run from the first hello to the receipt; cut after so many messages and resumed if asked."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        both = faults.offices(Path(folder), kind)
        found: dict[str, Any] = {}
        _fix(patch, "first")
        wire = faults.Wire(frames=cut)
        ending = faults.link(both, wire)
        if cut is not None:
            found["cut"] = _digest(*(body for _, body in wire.passed))
            name = faults.common_run(both)
            assert name is not None
            _fix(patch, "again")
            wire = faults.Wire()
            ending = faults.resume(both, name, wire)
        for end in ending.values():
            if isinstance(end, BaseException):
                raise end
        return found | _passed(wire) | {side.value: _kept(office) for side, office in both.items()}


def _fix(patch: pytest.MonkeyPatch, name: str) -> None:
    """Fixed randomness for the next two sides that get ready."""
    made = iter(f"{name} {side.value}" for side in Side)
    patch.setattr("accord.run.link.System", lambda: Fixed(next(made)))


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every transcript by its name."""
    many = points(A_ROWS, "a"), points(B_ROWS, "b")
    crowds = points(A_CROWD, "a"), points(B_CROWD, "b")
    found: dict[str, Callable[[], dict[str, Any]]] = {}

    def add(name: str, engine: str, make: Callable[[], Agreement], tables: tuple[pa.Table, pa.Table]) -> None:
        title = f"{name}; {engine}"
        found[title] = lambda: linked(make(), *tables, engine, SLABS.get(title, binned.SLAB))

    for name, make in IN_THE_CLEAR.items():
        add(name, "ideal", make, many)
    for name, make in SECURE.items():
        for engine in ("ot", "ot silent"):
            add(name, engine, make, many)
    add("laplace, not greedy", "dual", SECURE["laplace, not greedy"], many)
    add("psi, asked by A", "ot", IN_THE_CLEAR["psi"], many)
    add("psi, asked by B", "ot", IN_THE_CLEAR["psi"], many[::-1])
    for name, make in ROUTED.items():
        for engine in ("ideal", "ot"):
            add(f"routed, {name}", engine, make, crowds)
    for name, generate in GENERATED.items():
        for engine in ("ideal", "ot"):
            add(name, engine, *_generated(name, generate))
    found |= {f"whole run: {kind}": partial(whole, kind) for kind in WHOLE}
    found |= {f"resumed run: {kind}": partial(whole, kind, cut=cut) for kind, cut in CUT.items()}
    return {name: encapsulation.given_messages()(remembering()(make)) for name, make in found.items()}


@contextmanager
def remembering() -> Iterator[None]:
    """Arithmetic of base OTs is done once: under fixed randomness most cases have the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encapsulation, "encapsulate", _encapsulate)
        for name, multiply in _MULTIPLICATIONS.items():
            patch.setattr(sodium, name, multiply)
        yield


def _encapsulate(keys: list[bytes], messages: list[bytes]) -> list[tuple[bytes, bytes]]:
    return _encapsulated(tuple(keys), tuple(messages))


_true = encapsulation.encapsulate
_encapsulated = lru_cache(8)(lambda keys, messages: _true([*keys], [*messages]))
_MULTIPLICATIONS = {
    name: lru_cache(1 << 12)(getattr(sodium, name))
    for name in ("crypto_scalarmult_ed25519_noclamp", "crypto_scalarmult_ed25519_base_noclamp")
}


if __name__ == "__main__":
    recorded = {name: make() for name, make in cases().items()}
    lines = (
        f"{json.dumps(name)}: {json.dumps(found, sort_keys=True)}" for name, found in sorted(recorded.items())
    )
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
