"""Every decoder of what a partner sends or a disk gives back, against bytes that were bent out of shape.

Only an `AccordError` may come out. Inputs are mutations of what a real run sends and stores. A finding is
named by its target and its input, which goes into `REGRESSIONS`. Messages in a run are bent in the fault
matrix.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nacl import bindings as sodium

from accord.agreement.file import parse_agreement
from accord.entropy import Seeded
from accord.errors import AccordError
from accord.peer import handshake
from accord.peer.frames import decode_header, decode_reason
from accord.peer.identity import parse_card
from accord.peer.partners import find_partner
from accord.protocols.parts import disclosed
from accord.run import receipt
from accord.secure.party import Party, Send
from accord.secure.transfer.base import receive_base, send_base
from accord.secure.transfer.base_kem import answer_offers, make_keys, offer_keys
from accord.side import Side
from accord.state.folder import State
from accord.state.journal import FileJournal
from accord.state.ledger import Ledger
from accord.state.log import Log
from accord.state.register import RunBegun, encode_entry
from accord.state.runs import StoredRun, find_waiting, list_runs, open_run
from tests.protocols import worlds
from tests.run import faults

Decode = Callable[[bytes], object]


@dataclass(frozen=True)
class Target:
    """A decoder, and inputs that it takes."""

    decode: Decode
    seeds: tuple[bytes, ...]
    sized: bool = False
    """Whether the length is fixed before it comes here."""


def fed(make: Callable[[], Party[Any]]) -> Decode:
    """A party that waits for these bytes, whatever it sends."""

    def decode(content: bytes) -> object:
        party = make()
        try:
            effect = next(party)
            while isinstance(effect, Send):
                effect = next(party)
            effect = party.send(content)
            while isinstance(effect, Send):
                effect = next(party)
        except StopIteration as end:
            return end.value
        finally:
            party.close()
        return None

    return decode


def stored(path: Path, use: Callable[[], object]) -> Decode:
    """A file that is read after its content was replaced."""

    def decode(content: bytes) -> object:
        path.write_bytes(content)
        return use()

    return decode


def kept(run: StoredRun, name: str, use: Callable[[], object]) -> Decode:
    """A content of a run that is read after it was replaced."""

    def decode(content: bytes) -> object:
        run.keep({name: content})
        return use()

    return decode


def logged(folder: Path, run: str, agreement: bytes) -> Decode:
    """An entry of a log that somebody made up."""

    def decode(content: bytes) -> object:
        log = Log(folder)
        log.path.unlink(missing_ok=True)
        with log.writing() as transaction:
            transaction.keep(agreement, set)
            transaction.add(transaction.head, content)
        state = State(folder)
        Ledger(state.database).runs()
        return list_runs(state), find_waiting(state), open_run(state, run)

    return decode


def recalled(path: Path) -> object:
    journal = FileJournal(path)
    try:
        journal.first()
        while journal.recall() is not None:
            pass
        journal.keep((b"more",))
    finally:
        journal.close()
    return None


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    base = {
        "base of the sender": Target(fed(lambda: send_base(bytes(32), Seeded(1))), (_points(128),)),
        "base of the receiver": Target(
            fed(lambda: receive_base(bytes(32), np.zeros(128, np.bool_), Seeded(2))), (_points(1),)
        ),
        "keys of base OTs": Target(_answered, (_offers(2),), True),
    }
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        yield {**base, **_targets(tmp_path_factory)}


def _points(count: int) -> bytes:
    return b"".join(
        sodium.crypto_scalarmult_ed25519_base_noclamp(bytes([i + 1]) + bytes(31)) for i in range(count)
    )


def _offers(count: int) -> bytes:
    choices = np.zeros(count, np.bool_)
    return offer_keys(bytes(32), choices, make_keys(count, Seeded(3)), Seeded(4)).tobytes()


def _answered(content: bytes) -> object:
    return answer_offers(bytes(32), np.frombuffer(content, np.uint8).reshape(2, -1))


def _targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    both = faults.offices(tmp_path_factory.mktemp("fuzz"))
    faults.link(both)
    office = both[Side.A]
    run = office.run
    assert run
    folder, agreed, name = office.state.run(run.manifest.run), office.agreement, run.manifest.run
    hello = handshake.Hello(Side.B, bytes.fromhex(agreed.digest), bytes(32), name, 3, bytes(64))
    shape = disclosed.Shape(agreed.task.fields, agreed.task.shown_fields, ("x", "y"), 9, 40)
    own = worlds.records(faults.B_ROWS, agreed)
    rows = np.arange(5)
    five = disclosed.Disclosed(np.ones(5, np.int64), rows, *disclosed.take(own, rows, ["x", "y"]))
    toml = agreed.to_toml().encode()
    said = receipt.Statement(9, 40, "0.1.0", 1_700_000_000, bytes(32))
    heard = b"0.1.0".ljust(72, b"\0")

    found = {
        "frame": Target(decode_header, (b"\0" * 7 + b"\1", b"\1" + b"\0" * 6 + b"\3"), True),
        "stop": Target(decode_reason, (b"\1",), True),
        "hello": Target(lambda c: handshake.decode_hello(c, "bob"), (handshake.encode_hello(hello),), True),
        "sizes": Target(fed(lambda: handshake.exchange_sizes(8, "bob")), (bytes(8),)),
        "their agreement": Target(lambda c: handshake._differences(agreed, c, "bob"), (toml,)),
        "agreement": Target(lambda c: parse_agreement(c.decode(errors="replace")), (toml,)),
        "statements": Target(fed(lambda: receipt.exchange_statements(said, 9, 40)), (heard,)),
        "receipt": Target(lambda c: receipt.decode_receipt(c, folder), (run.read("receipt"),)),
        "card": Target(lambda c: parse_card(c, folder), (find_partner(office.state, "bob").pem,)),
        "slots": Target(kept(run, "slots", run.slots), (run.read("slots"),)),
        "journal": Target(
            stored(folder / "journal", lambda: recalled(folder / "journal")),
            ((folder / "journal").read_bytes(),),
        ),
        "entry": Target(
            logged(tmp_path_factory.mktemp("log"), name, toml),
            (encode_entry(RunBegun(name, asdict(run.manifest), {"agreement": sha256(toml).hexdigest()})),),
        ),
        "disclosed": Target(lambda c: disclosed.decode(c, 5, shape), (disclosed.encode(five),)),
    }
    return found


INTERESTING = [0, 1, 0x7F, 0xFF, 1 << 15, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1]


def mutated(seed: bytes, dice: random.Random, sized: bool) -> bytes:
    """One to four changes of the kinds that break decoders."""
    content = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(content) + 1)
        match dice.randrange(4 if sized else 9):
            case 0 | 1 if content:
                content[at % len(content)] ^= 1 << dice.randrange(8)
            case 2 if content:
                content[at % len(content)] = dice.choice((0, 1, 0x22, 0x5B, 0x7B, 0x7F, 0x80, 0xFF))
            case 3:
                size = dice.choice((1, 2, 4, 8))
                word = (dice.choice(INTERESTING) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
                at = min(at, max(0, len(content) - size))
                content[at : at + size] = word[: len(content) - at] if sized else word
            case 4:
                del content[at:]
            case 5:
                del content[at : at + dice.randint(1, 16)]
            case 6:
                content[at:at] = dice.randbytes(dice.randint(1, 16))
            case 7:
                content[at:at] = content[: dice.randint(0, 64)]
            case 8:
                content[at:at] = bytes([dice.choice(b'[{("\\-09.')]) * dice.choice((1, 2, 3000))
    return bytes(content)


def tried(name: str, target: Target, content: bytes) -> str:
    """What is wrong with how the target takes this, or nothing."""
    try:
        target.decode(content)
    except AccordError:
        pass
    except BaseException as error:
        return f"{name}: {type(error).__name__}({error}) on {content.hex()}"
    return ""


REGRESSIONS: list[tuple[str, str]] = [
    # Nested deeper than the parser of TOML can follow.
    ("agreement", (b"a=" + b"[" * 3000).hex()),
    ("their agreement", (b"a=" + b"[" * 3000).hex()),
    # A whole number with more digits than Python reads.
    ("agreement", (b"a=" + b"9" * 5000).hex()),
    ("their agreement", (b"a=" + b"9" * 5000).hex()),
    # A record of the journal whose length reaches beyond every file.
    ("journal", (b"accord journal 1\n" + b"\xff" * 16).hex()),
    # The tail of a journal that reached the disk as zeros.
    ("journal", (b"accord journal 1\n" + bytes(4096)).hex()),
    ("entry", b"[]".hex()),
    ("entry", b'RunBegun r\n["r"]\n[[1],{}]'.hex()),
    ("entry", b"RunChanged r\n[[]]\n[{},{}]".hex()),
    ("entry", b'RunBegun r\n["r"]\n[{"done":1},{"agreement":"x"}]'.hex()),
]


def test_what_was_found_before(targets: dict[str, Target]) -> None:
    """And the inputs themselves are taken."""
    for target in targets.values():
        for seed in target.seeds:
            target.decode(seed)
    wrong = [tried(name, targets[name], bytes.fromhex(content)) for name, content in REGRESSIONS]
    assert not any(wrong), wrong


@pytest.mark.slow
def test_a_little_fuzzing(targets: dict[str, Target]) -> None:
    for name, target in targets.items():
        dice = random.Random(name)
        for _ in range(300):
            wrong = tried(name, target, mutated(dice.choice(target.seeds), dice, target.sized))
            assert not wrong, wrong
