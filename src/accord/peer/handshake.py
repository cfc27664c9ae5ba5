"""What two parties tell each other before anything about their tables: sans-IO, like every party.

    1  hello      256 bytes: version, side, agreement digest, a nonce, a digest of how texts are read here,
                  how many workers this side wants, and what it states of its runs with this partner;
                  for a run that is resumed also its name, how many steps are kept, and the commitments
                  again, if it was charged. Who listens speaks first.
    2  if the digests differ: both agreements, which hold no secret, so that both can show what differs;
                  this is the end then
    3  ready      the size of the table, after both users said yes and before anything is charged; from
                  then on the run is on disk, so that who was charged has a partner that can go on

The hello has the same size and begins with the same bytes in every version, so that any two versions can
tell each other apart. The run's name comes from both nonces: neither side can choose it
alone, beyond trying nonces until a few of its digits please.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

from accord.agreement.differences import diff
from accord.agreement.document import Agreement
from accord.errors import DifferentAgreementError, OtherRunError, PeerError, RefusedError
from accord.fields.vectors import readers, texts_digest
from accord.limits import MOST_BYTES, load_bounded
from accord.protocols.parts.own_side import MOST_RECORDS
from accord.protocols.parts.slots import COMMITMENT
from accord.secure.party import Party, Send, receive
from accord.side import Side
from accord.state.witness import Standing

WIRE = 5
HELLO = 256
NONCE = 32
NO_RUN = ""
NO_COMMITMENTS = bytes(COMMITMENT)
MAGIC = b"accord\r\n"
_MOST_RUNS = 1 << 63
_FIELDS = struct.Struct(f"<8sH1s32s{NONCE}s16sQ{COMMITMENT}s32sHBQ32sB")
_MOST_LINES = 50
_LONGEST_LINE = 400
_RUN_TAG = b"accord run 1\n"


@dataclass(frozen=True)
class Wish:
    """How many workers a side wants: always, or where comparisons take long."""

    count: int
    always: bool


@dataclass(frozen=True)
class Hello:
    """Who one is, and which run one has in mind."""

    side: Side
    digest: bytes
    nonce: bytes = field(repr=False)
    run: str = NO_RUN
    steps: int = 0
    commitments: bytes = field(default=NO_COMMITMENTS, repr=False)
    texts: bytes = field(default_factory=texts_digest, repr=False)
    """What this side's libraries make of fixed texts."""
    wish: Wish = Wish(1, always=True)
    standing: Standing = field(default_factory=Standing)


def encode_hello(hello: Hello) -> bytes:
    """A hello in its 256 bytes."""
    words = _FIELDS.pack(
        MAGIC,
        WIRE,
        hello.side.value.encode(),
        hello.digest,
        hello.nonce,
        hello.run.encode(),
        hello.steps,
        hello.commitments,
        hello.texts,
        hello.wish.count,
        hello.wish.always,
        hello.standing.runs,
        hello.standing.link,
        hello.standing.lost,
    )
    return words.ljust(HELLO, b"\0")


def decode_hello(content: bytes, partner: str) -> Hello:
    """The hello in these bytes."""
    magic, wire, side, digest, nonce, run, steps, commitments, texts, *more = _FIELDS.unpack_from(content)
    count, always, runs, link, lost = more
    if magic != MAGIC:
        raise PeerError(problem="no hello of Accord", partner=partner)
    require_version(wire, partner)
    name = run.rstrip(b"\0")
    odd = any(content[_FIELDS.size :]) or not count or always > 1 or lost > 1 or runs >= _MOST_RUNS
    if odd or side not in (b"A", b"B") or not all(c in _HEX for c in name):
        raise PeerError(problem="a hello that cannot be read", partner=partner)
    own = Wish(count, bool(always)), Standing(runs, link, bool(lost))
    return Hello(Side(side.decode()), digest, nonce, name.decode(), steps, commitments, texts, *own)


def require_version(wire: int, partner: str) -> None:
    """Raise unless the partner speaks this version of the protocol."""
    if wire != WIRE:
        older = "an older" if wire < WIRE else "a newer"
        raise RefusedError(
            problem=f"{partner} runs {older} version of Accord: it speaks version {wire} of the protocol, "
            f"this installation version {WIRE}. Install the same version on both sides."
        )


_HEX = b"0123456789abcdef"


def greet(own: Hello, agreement: Agreement, first: bool) -> Party[Hello]:
    """Exchange hellos; raise unless versions, sides, libraries and agreements fit. `first` is who listens."""
    partner = agreement.party(own.side.other)
    if first:
        yield Send(encode_hello(own))
    content = (yield from receive(HELLO)).tobytes()
    # Also to a version that is refused: it has to be able to say so, too.
    if not first:
        yield Send(encode_hello(own))
    other = decode_hello(content, partner)
    if other.side is own.side:
        raise RefusedError(
            problem=f"Both of you are side {own.side.value}, {agreement.party(own.side)}: `partner=` must "
            "name the other organisation on each side."
        )
    if other.texts != own.texts:
        raise RefusedError(
            problem=f"{partner} reads texts differently from you, so that equal ones would not match: "
            f"folding, cleaning and sounds depend on libraries, which here are {readers()}. Install the same "
            "versions on both sides."
        )
    if other.digest != own.digest:
        yield from _show_difference(agreement, partner)
    return other


def _show_difference(agreement: Agreement, partner: str) -> Party[None]:
    """Exchange the agreements, which hold no secret, and raise with what differs."""
    body = agreement.to_toml().encode()
    yield Send(len(body).to_bytes(8, "little"))
    size = int.from_bytes((yield from receive(8)).tobytes(), "little")
    if size > MOST_BYTES:
        raise PeerError(problem="an agreement of several megabytes", partner=partner)
    yield Send(body)
    theirs = (yield from receive(size)).tobytes()
    found = _differences(agreement, theirs, partner)
    raise DifferentAgreementError(partner, found or ["nothing that can be named: compare the two files."])


def _differences(ours: Agreement, theirs: bytes, partner: str) -> list[str]:
    """What differs, in so many words at the most, and in none that could steer a terminal.

    Only the shape of their agreement is judged: to list its faults could take hours if it were made for that.
    """
    try:
        found = diff(ours, Agreement.model_validate(load_bounded(theirs.decode())))
    except (ValueError, RecursionError):
        return [f"{partner}'s agreement cannot be read by this version of Accord."]
    shown = [
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in found[:_MOST_LINES]
    ]
    if len(found) > _MOST_LINES:
        shown.append(f"… and {len(found) - _MOST_LINES:,} more differences.")
    return ["".join(c if c.isprintable() else "�" for c in line) for line in shown]


def exchange_sizes(records: int, partner: str) -> Party[int]:
    """Say that this side is ready, and how many records it has; the partner's number of records."""
    yield Send(records.to_bytes(8, "little"))
    size = int.from_bytes((yield from receive(8)).tobytes(), "little")
    if size > MOST_RECORDS:
        raise RefusedError(problem=f"{partner} announces {size:,} records, more than can be linked.")
    return size


def exchange_standings(own: Standing) -> Party[Standing]:
    """State one's runs with the partner again, and hear what it states."""
    yield Send(own.runs.to_bytes(8, "little") + own.link)
    content = (yield from receive(8 + len(own.link))).tobytes()
    runs = int.from_bytes(content[:8], "little")
    if runs >= _MOST_RUNS:
        raise PeerError(problem="more runs than can be counted")
    return Standing(runs, content[8:])


def require_same_run(own: Hello, other: Hello, partner: str) -> None:
    """Both start a new run, or both resume the same one."""
    if own.run == other.run:
        return
    if not own.run:
        problem = f"{partner} resumes the run {other.run}, but you start a new one. Resume it, or both run"
    elif not other.run:
        problem = f"{partner} starts a new run, but you resume {own.run}. Both resume it, or both run"
    else:
        problem = f"{partner} resumes the run {other.run}, but you {own.run}. Resume the same, or both run"
    mend = "`accord link`, which costs nothing again under the same `snapshot=`."
    raise OtherRunError(problem=f"{problem} {mend}", theirs=other.run)


def run_name(own: Hello, other: Hello) -> str:
    """The name of a new run, the same on both sides."""
    a, b = (own, other) if own.side is Side.A else (other, own)
    return hashlib.sha256(_RUN_TAG + a.nonce + b.nonce + own.digest).hexdigest()[:16]
