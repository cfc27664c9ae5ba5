"""A partner that is broken or means harm: one of our errors, nothing lost, no hang, bounded memory.

Before a charge nothing is left behind. In a run a wrong answer is never kept, so that the run goes on after
it; three of them close the run. Frames that are changed at random are cells of the fault matrix; here are the
lies that know the protocol, and bytes that were bent out of shape for every decoder of what a partner sends
or a disk gives back: mutations of the good vectors (`tests/vectors`), of agreements and of manifests.
"""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.agreement.file import parse_agreement
from accord.errors import (
    AccordError,
    ClosedError,
    DifferentAgreementError,
    PeerError,
    RefusedError,
    WithheldError,
)
from accord.peer import handshake
from accord.peer.handshake import HELLO, Hello, encode_hello
from accord.protocols.greedy import GreedyClean
from accord.protocols.naming import Naming
from accord.protocols.parts import disclosed
from accord.protocols.parts.slots import Slots, make_slots
from accord.run.stages import Linked
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Party, Receive, Send
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import MANIFEST, new_run
from accord.state.manifest import encode_manifest
from accord.state.runs import find_waiting, list_runs, open_run
from tests.run import faults
from tests.run.faults import EXPECTED, Change, Ending, Office, Wire, tampered
from tests.test_vectors import FORMATS, GOOD, Known, octets_of

pytestmark = pytest.mark.usefixtures("quick")
MIB, GIB = 1 << 20, 1 << 30


# -- before anything is charged ------------------------------------------------------------------------------


def hello(**changes: Any) -> bytes:
    """B's, with something else in it."""
    digest = bytes.fromhex(faults.agreement().digest)
    return encode_hello(replace(Hello(Side.B, digest, bytes(32)), **changes))


def number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def other_agreement(content: bytes, size: int | None = None) -> list[bytes]:
    """Another digest, and then this agreement."""
    return [hello(digest=bytes(32)), number(len(content) if size is None else size), content]


KEYS = "".join(f"key{i} = 1\n" for i in range(100_000)).encode()
LARGE = {
    "dotted keys": ("a." * 500 + "a = 1\n") * (4 * MIB // 1006),
    "as many tables as are allowed": "".join(f"[t{i}.b.c.d.e.f.g.h]\n" for i in range(6_000)),
    "lists": "a = [" + "[]," * MIB + "]",
    "as many columns as are allowed": "disclose.A = [" + '"",' * (1 << 19) + "]",
    "one rule": 'rule = "' + "(" * (4 * MIB - 20) + '"',
}
"""Agreements that are made to be large."""
LOUD = faults.agreement().to_toml().replace('A = [\n    "x"', 'A = [\n    "\\u001b[2J"').encode()
SAID: dict[str, tuple[list[bytes], type[AccordError]]] = {
    "no hello": ([b"x" * HELLO], PeerError),
    "half a hello": ([hello()[:100]], PeerError),
    "our own side": ([hello(side=Side.A)], RefusedError),
    "another run": ([hello(run="0123456789abcdef")], RefusedError),
    "a replayed hello": ([hello(), bytes(HELLO)], PeerError),
    "too many records": ([hello(), number(1 << 62)], RefusedError),
    "records that no memory holds": ([hello(), number((1 << 31) - 1)], RefusedError),
    "a huge agreement": (other_agreement(b"", 1 << 60), PeerError),
    "an agreement that is none": (other_agreement(b"\xff\x00["), DifferentAgreementError),
    "a terminal's commands": (other_agreement(LOUD), DifferentAgreementError),
    "a hundred thousand unknown keys": (other_agreement(KEYS), DifferentAgreementError),
    "deep nesting": (other_agreement(b"a=" + b"[" * 8998), DifferentAgreementError),
    "long dotted keys": (other_agreement(b"a.%b = 1\n" % (b"a." * 200) * 200), DifferentAgreementError),
}
"""What B says in turn, and what A raises."""


@pytest.mark.parametrize("name", [*SAID, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_before_anything_is_charged(name: str, tmp_path: Path) -> None:
    large = LARGE.get(name, "").encode()
    said, kind = SAID.get(name, (other_agreement(large), DifferentAgreementError))
    # Only where all pairs are compared do so many records need that much.
    both = faults.offices(tmp_path, "all-pairs" if "memory" in name else "greedy")
    if "memory" in name:
        said = [hello(digest=bytes.fromhex(both[Side.B].agreement.digest)), *said[1:]]
    tracemalloc.start()
    try:
        parties = faults.linking(both) | {Side.B: speak(said)}
        error = faults.drive(parties, Wire(told=True))[Side.A]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    mine = both[Side.A]
    assert isinstance(error, kind), repr(error)
    assert str(error).replace("\n", "").isprintable()
    assert peak < (GIB if large else 64 * MIB), "an announced size was believed"
    assert not mine.out.exists()
    assert not mine.ledger.runs()
    assert not any(run.charged for run in list_runs(mine.state)[0])


def speak(said: list[bytes]) -> Party[Any]:
    """A partner that says this after A's hello, whatever A says."""
    yield Receive(HELLO)
    for content in said:
        yield Send(content)
    yield Receive(0)


# -- in a run ------------------------------------------------------------------------------------------------


def doubled_ids(patch: pytest.MonkeyPatch) -> None:
    """B gives all its records one id."""
    true = GreedyClean._disclosure

    def disclosure(self: GreedyClean, records: Any) -> Any:
        told = true(self, records)
        if self._mine.side is Side.B and len(told) > 1:
            return replace(told, ids=pa.array(["same"] * len(told), pa.large_string()))
        return told

    patch.setattr(GreedyClean, "_disclosure", disclosure)


def another_record(patch: pytest.MonkeyPatch) -> None:
    """B shows its first record whichever matched."""
    true = GreedyClean._disclosure

    def disclosure(self: GreedyClean, records: Any) -> Any:
        wrong = self._mine.side is Side.B and len(records)
        return true(self, np.array([4]) if wrong else records)

    patch.setattr(GreedyClean, "_disclosure", disclosure)


def dummies_match(patch: pytest.MonkeyPatch) -> None:
    """A's engine says that everything matches: what B can bring about by its messages."""
    true = OtEngine.evaluate

    def evaluate(self: OtEngine, session: Any, *rest: Any) -> Party[Any]:
        bits = yield from true(self, session, *rest)
        return np.ones_like(bits) if session.side is Side.A else bits

    patch.setattr(OtEngine, "evaluate", evaluate)


@pytest.mark.parametrize("meddle", [doubled_ids, another_record, dummies_match])
def test_a_wrong_answer_is_never_kept(meddle: Callable[[pytest.MonkeyPatch], None], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        meddle(patch)
        # With some noise no dummy is in the first round, and B is the one that notices.
        for attempt in range(20):
            both = faults.offices(tmp_path / str(attempt))
            error = faults.link(both)[Side.A]
            if isinstance(error, PeerError):
                break
        assert isinstance(error, PeerError), error
        name, state = faults.the_run(both), both[Side.A].state
        kept = open_run(state, name).steps()
        assert isinstance(faults.resume(both, name)[Side.A], PeerError)
        assert open_run(state, name).steps() == kept
    assert open_run(state, name).manifest.wrong == 2
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_counts_that_contradict_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B commits to, and opens, more than its nine records and its noise can come to."""
    real = make_slots

    def padded(plan: Any, side: Side, records: Any, dummies: Any, entropy: Any) -> Slots:
        return real(plan, side, records, dummies + (5000 if side is Side.B else 0), entropy)

    monkeypatch.setattr("accord.protocols.binned.make_slots", padded)
    both = faults.offices(tmp_path)
    assert isinstance(faults.link(both)[Side.A], PeerError)
    assert open_run(both[Side.A].state, faults.the_run(both)).steps() == 1


def forged(number: int, frame: bytes, before: list[bytes]) -> bytes:
    """B's signature is none."""
    return bytes(64) if len(frame) == 64 and before and len(before[-1]) != 64 else frame


def announced(records: int | None, content: Callable[[int], bytes]) -> Change:
    """B shows as many records as it has, or says that they are so many, in this content."""
    body: list[bytes] = []

    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        if body:
            return body.pop()
        # The engine's messages may be as short.
        count, size = np.frombuffer(frame, "<u8").tolist() if len(frame) == 16 else (0, 0)
        if not 0 < count < 1000 or size > 1 << 30:
            return frame
        body.append(content(count))
        return np.array([records or count, len(body[0])], "<u8").tobytes()

    return change


def swell(patch: pytest.MonkeyPatch) -> None:
    """B's columns are as long as those of its records may be; at their very end stands what is no text."""
    true = disclosed.encode

    def encode(own: disclosed.Disclosed) -> bytes:
        if not own.ids[0].as_py().startswith("B"):
            return true(own)
        texts = pa.array(["x" * (MIB - 200)] * len(own), pa.large_string())
        return true(replace(own, columns=own.columns.set_column(1, "y", texts)))[:-1] + b"\xff"

    patch.setattr(disclosed, "encode", encode)


SHOWN: dict[str, Callable[[], Change] | None] = {
    "more records than it has": lambda: announced(1 << 40, lambda count: b"x"),
    "more bytes than records can have": lambda: announced(None, lambda count: bytes(2 * count * MIB + 100)),
    "slots beyond all": lambda: announced(None, lambda n: disclosed._TAG + b"\xff" * 4 * n + bytes(1000)),
    "a mebibyte for every record": None,
}


@pytest.mark.parametrize("case", SHOWN)
def test_what_is_shown_is_bounded_and_not_kept(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path, "plain")
    parties, make = faults.linking(both), SHOWN[case]
    if make is None:
        swell(monkeypatch)
    else:
        parties[Side.B] = tampered(parties[Side.B], make())
    tracemalloc.start()
    try:
        error = faults.drive(parties, Wire(told=True))[Side.A]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(error, PeerError), repr(error)
    # The sender has it, too, and the wire. What Arrow holds is not traced.
    assert peak < 24 * MIB
    name = faults.the_run(both)
    assert open_run(both[Side.A].state, name).manifest.wrong == 1
    assert sum(map(len, faults.stored(both[Side.A], name)[1])) < MIB


def resumed(both: dict[Side, Office], name: str, meddle: Callable[[Party[Linked]], Party[Linked]]) -> Ending:
    """Both go on with a run, and B meddles."""
    with faults.resuming(both, name) as parties:
        return faults.drive(parties | {Side.B: meddle(parties[Side.B])}, Wire(told=True))


def test_three_wrong_answers_close_the_run(tmp_path: Path) -> None:
    both, name = faults.cut_run(tmp_path, 20, "plain")
    state = both[Side.A].state
    for wrong, kind in ((1, PeerError), (2, PeerError), (3, ClosedError)):
        error = resumed(both, name, partial(tampered, change=forged))[Side.A]
        assert type(error) is kind
        assert open_run(state, name).manifest.wrong == wrong
    before = faults.stored(both[Side.A], name)
    with pytest.raises(ClosedError):
        faults.resume(both, name)
    assert faults.stored(both[Side.A], name) == before
    assert find_waiting(state) == []
    # The way out costs nothing, since the release is that of a snapshot.
    faults.require_done(faults.link(both), both, EXPECTED["plain"])


def leaving(party: Party[Linked]) -> Party[Linked]:
    """B up to A's disclosed records, which it takes; it goes without showing its own."""
    answer: Buffer | None = None
    while True:
        effect = party.send(answer) if answer is not None else next(party)
        answer = None
        if isinstance(effect, Receive):
            answer = yield effect
            if bytes(answer[:16]) == b"accord disclosed":
                break
        elif bytes(effect.buffer[:16]) != b"accord disclosed":
            yield effect
    return Linked.__new__(Linked)


@pytest.mark.parametrize("kind", ["greedy", "plain"])
def test_to_take_records_and_go_three_times_closes_the_run(kind: str, tmp_path: Path) -> None:
    """A cut before the disclosure is not counted."""
    both = faults.offices(tmp_path, kind)
    faults.link(both, Wire(frames=14, told=True))
    name = faults.the_run(both)
    for wrong, error in ((1, WithheldError), (2, WithheldError), (3, ClosedError)):
        assert type(resumed(both, name, leaving)[Side.A]) is error
        assert open_run(both[Side.A].state, name).manifest.wrong == wrong


@pytest.mark.parametrize("kind", ["routed", "cascade"])
def test_so_does_who_names_records_and_keeps_the_pairs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could name others in every attempt, beyond `most_matches`."""
    both, real = faults.offices(tmp_path, kind), Naming._exchange

    def leave(self: Naming, *given: Any) -> Party[Any]:
        shown = yield from real(self, *given)
        if self._own.side is Side.A:
            raise faults.Line().lost("was cut")
        return shown

    monkeypatch.setattr(Naming, "_exchange", leave)
    found = [faults.again(both, Wire(told=True))[Side.B] for _ in range(3)]
    assert [type(one) for one in found] == [WithheldError, WithheldError, ClosedError]


# -- bytes that were bent out of shape -----------------------------------------------------------------------

Decode = Callable[[bytes], object]
SIZED = ("frame", "stop", "hello")
"""Formats whose length is fixed before they are read."""
READ = ("ready", "opened counts", "disclosed records", "statement", "card", "receipt", "ledger event")
STORED = ("slots", "noise")


def kept(folder: Path, content: bytes) -> object:
    """A run whose manifest somebody made up."""
    state, agreement = State(folder), faults.agreement().to_toml().encode()
    with state.store.writing() as opened:
        opened.put("run", **new_run(opened, "r"))
        opened.keep("part", "r", "agreement", (agreement,))
        opened.keep("part", "r", MANIFEST, (content,))
    return list_runs(state), find_waiting(state), open_run(state, "r")


def decoded(format: str, known: Known, content: bytes) -> object:
    decode = FORMATS[format].decode
    assert decode
    return decode(content, known)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Decode, bytes, bool]]:
    """By name: a decoder, an input that it takes, and whether its length is fixed."""
    agreed, folder = faults.agreement(), tmp_path_factory.mktemp("kept")
    toml, both = agreed.to_toml().encode(), faults.offices(tmp_path_factory.mktemp("fuzz"))
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        faults.link(both)
    run = both[Side.A].run
    assert run
    manifest = json.dumps(encode_manifest(replace(run.manifest, run="r", done=False))).encode()
    found: dict[str, tuple[Decode, bytes, bool]] = {
        "agreement": (lambda content: parse_agreement(content.decode(errors="replace")), toml, False),
        "their agreement": (lambda content: handshake._differences(agreed, content, "bob"), toml, False),
        "manifest": (partial(kept, folder), manifest, False),
    }
    for name, vector in GOOD.items():
        kind = vector["format"]
        if kind in SIZED + READ + STORED:
            found[name] = partial(decoded, kind, vector.get("known", {})), octets_of(vector), kind in SIZED
    return found


NESTED = ("manifest", "ledger event")
"""Stored JSON that no version writes, nested thousands of times, ends the reader."""
INTERESTING = [0, 1, 0x7F, 0xFF, 1 << 15, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1]


def mutated(seed: bytes, dice: random.Random, sized: bool) -> bytes:
    """One to four changes of the kinds that break decoders."""
    content = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(content) + 1)
        word = dice.choice(INTERESTING).to_bytes(8, "little")[: dice.choice((1, 2, 4, 8))]
        some = bytes([dice.choice(b'[{("\\-09.')]) * dice.choice((1, 2, 3000))
        match dice.randrange(3 if sized else 7):
            case 0 | 1 if content:
                content[at % len(content)] ^= 1 << dice.randrange(8)
            case 2:
                at = min(at, max(0, len(content) - len(word)))
                content[at : at + len(word)] = word[: len(content) - at]
            case 3:
                del content[at:]
            case 4:
                del content[at : at + dice.randint(1, 16)]
            case 5:
                content[at:at] = dice.choice((dice.randbytes(9), bytes(content[: dice.randint(0, 64)])))
            case 6:
                content[at:at] = some
    return bytes(content)


def tried(name: str, decode: Decode, content: bytes) -> None:
    """Fail where this is neither taken nor refused."""
    try:
        decode(content)
    except (AccordError, ValueError):
        pass
    except RecursionError:
        assert name.startswith(NESTED)
    except BaseException as error:
        pytest.fail(f"{name}: {error!r} on {content.hex()}")


REGRESSIONS: list[tuple[str, bytes]] = [
    # Nested deeper than the parser of TOML can follow.
    ("agreement", b"a=" + b"[" * 3000),
    ("their agreement", b"a=" + b"[" * 3000),
    # A whole number with more digits than Python reads.
    ("agreement", b"a=" + b"9" * 5000),
    ("their agreement", b"a=" + b"9" * 5000),
    ("manifest", b"[]"),
    ("manifest", b"1"),
    ("manifest", b'{"done": 1}'),
]
"""What was found: a target and its input."""


def test_what_was_found_before(targets: dict[str, tuple[Decode, bytes, bool]]) -> None:
    """And the inputs themselves are taken."""
    for decode, seed, _ in targets.values():
        decode(seed)
    for name, content in REGRESSIONS:
        tried(name, targets[name][0], content)


@pytest.mark.slow
def test_bent_bytes_are_refused_or_taken(targets: dict[str, tuple[Decode, bytes, bool]]) -> None:
    for name, (decode, seed, sized) in targets.items():
        dice = random.Random(name)
        for _ in range(300):
            tried(name, decode, mutated(seed, dice, sized))
