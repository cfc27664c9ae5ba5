"""Every decoder of what a partner sends or a disk gives back, against bytes that were bent out of shape.

Only a refusal may come out. Inputs are mutations of the good vectors (`tests/vectors`), and of agreements and
entries of a log. A finding is named by its target and its input, which goes into `REGRESSIONS`. Messages in a
run are bent in the fault matrix.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from accord.agreement.file import parse_agreement
from accord.errors import AccordError
from accord.peer import handshake
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import Ledger
from accord.state.log import Log
from accord.state.register import RunBegun, encode_entry
from accord.state.runs import find_waiting, list_runs, open_run
from tests.run import faults
from tests.test_vectors import FORMATS, GOOD, Known, octets_of

Decode = Callable[[bytes], object]
SIZED = ("frame", "stop", "hello")
"""Formats whose length is fixed before they are read."""
READ = ("ready", "opened counts", "disclosed records", "statement", "card", "receipt", "ledger event")
STORED = ("log entry", "journal", "slots", "noise", "copy manifest")


def logged(folder: Path, content: bytes) -> object:
    """A log with an entry that somebody made up."""
    log, agreement = Log(folder), faults.agreement().to_toml().encode()
    log.path.unlink(missing_ok=True)
    with log.writing() as transaction:
        transaction.keep(agreement, set)
        transaction.add(transaction.head, content)
    state = State(folder)
    Ledger(state.database).runs()
    return list_runs(state), find_waiting(state), open_run(state, "r")


def decoded(format: str, known: Known, content: bytes) -> object:
    decode = FORMATS[format].decode
    assert decode
    return decode(content, known)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Decode, bytes, bool]]:
    """By name: a decoder, an input that it takes, and whether its length is fixed."""
    agreed, folder = faults.agreement(), tmp_path_factory.mktemp("log")
    toml, both = agreed.to_toml().encode(), faults.offices(tmp_path_factory.mktemp("fuzz"))
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        faults.link(both)
    run = both[Side.A].run
    assert run
    entry = RunBegun("r", asdict(run.manifest) | {"run": "r"}, {"agreement": sha256(toml).hexdigest()})
    found: dict[str, tuple[Decode, bytes, bool]] = {
        "agreement": (lambda content: parse_agreement(content.decode(errors="replace")), toml, False),
        "their agreement": (lambda content: handshake._differences(agreed, content, "bob"), toml, False),
        "entry": (partial(logged, folder), encode_entry(entry), False),
    }
    for name, vector in GOOD.items():
        kind = vector["format"]
        if kind in SIZED + READ + STORED:
            found[name] = partial(decoded, kind, vector.get("known", {})), octets_of(vector), kind in SIZED
    return found


NESTED = ("entry", "log entry", "ledger event")
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
    # An answer whose length reaches beyond every file; a tail that reached the disk as zeros.
    ("journal: two answers", b"accord journal 1\n" + b"\xff" * 16),
    ("journal: two answers", b"accord journal 1\n" + bytes(4096)),
    ("entry", b"[]"),
    ("entry", b'RunBegun r\n["r"]\n[[1],{}]'),
    ("entry", b"RunChanged r\n[[]]\n[{},{}]"),
    ("entry", b'RunBegun r\n["r"]\n[{"done":1},{"agreement":"x"}]'),
]


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
