"""What a coordinator and a worker say to each other, as bytes: no pickle, no shared memory, no ids.

    8   `accordw1`
    8   little-endian: the kind in the highest byte, the length of the body in the other seven
    …   the body

    START        to the worker: the circuit, the engine, its side, how long to wait; all of it public
    CERTIFICATE  from it: of a key that it has made for this run and that never leaves it
    MEET         to it: the partner's certificate, and where to connect with which token
    SOCKET       to it, where this side listens: a connection that has named it (routing.py), as a descriptor
    READY        from it: its engine has been set up with the partner's worker; an answer without places
    JOB          to it: block sizes, the encoded inputs of its share of the slots, and which of them are real
    ANSWER       from it: the places of the matches, or what an engine's `open` gives; and what it has sent,
                 received and held so far
    FAILURE      from it: why it ends

and between a coordinator and its foreman (foreman.py), who starts workers on a cluster:

    JOIN         to the foreman: which cluster, and whether the owner vouches for it
    ROOM         from it: how many workers have room there; or a FAILURE
    HIRE         to it: to start so many; as many SOCKETs follow, each its end of the socket to one of them

The size of a job follows from the circuit and the block sizes. A worker is this program on behalf of the same
owner, so it is believed; bodies are checked as strictly as those of a stranger all the same, since a byte too
much or too few would be a bug.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.secure.blocks import Table
from accord.secure.circuit import Input

Ints = NDArray[np.int64]
T = TypeVar("T")

_TAG = b"accordw1"
_HEAD = struct.Struct("<8sQ")
_JOB = struct.Struct("<dQQ")
_ANSWER = struct.Struct("<QQQQ")
_LENGTH = (1 << 56) - 1
_PIECE = 1 << 20
MOST_CARD = 1022
"""Bytes of a certificate; one has about 450."""


class Kind(IntEnum):
    """The kinds of messages."""

    START = 1
    CERTIFICATE = 2
    MEET = 3
    SOCKET = 4
    READY = 5
    JOB = 6
    ANSWER = 7
    FAILURE = 8
    JOIN = 9
    ROOM = 10
    HIRE = 11


_MOST = {
    Kind.START: 1 << 23,
    Kind.CERTIFICATE: MOST_CARD,
    Kind.MEET: 1 << 13,
    Kind.SOCKET: 0,
    Kind.READY: _ANSWER.size,
    Kind.JOB: 1 << 36,
    Kind.ANSWER: 1 << 36,
    Kind.FAILURE: 1 << 13,
    Kind.JOIN: 1 << 13,
    Kind.ROOM: 1 << 6,
    Kind.HIRE: 1 << 6,
}
"""Bytes of a body."""


class Cause(IntEnum):
    """Why a worker ends."""

    PARTNER = 1
    """What the partner's worker sent does not fit the protocol."""
    LOST = 2
    """The connection to the partner's worker ended or was never made."""
    FAULT = 3
    """Something else."""
    TRUST = 4
    """The cluster lets anybody in."""


@dataclass(frozen=True)
class Start:
    """What a worker is to do. Public, but for the key that it signs with."""

    side: str
    party: str
    partner: str
    circuit: str
    """As text (circuit_text.py)."""
    engine: str
    network: str
    """As agreed, for engines that ask for it; empty for others."""
    silent: bool
    listens: bool
    """Whether the partner's worker connects to this one."""
    silence: float
    message: float
    grace: float
    wait: float
    """Seconds until the partner's worker must be there."""
    plugins: str = ""
    """The modules that a worker loads first (plugins.py), separated by spaces."""


@dataclass(frozen=True)
class Join:
    """Which cluster a foreman joins. Public."""

    address: str
    vouched: bool
    """Whether the owner says that nobody else reaches it."""
    listens: bool


@dataclass(frozen=True)
class Count:
    """How many workers: that have room, or that are to start."""

    workers: int


@dataclass(frozen=True)
class Meet:
    """Whom a worker meets: the certificate that the other must show, in hex, and how to come to it."""

    card: str
    token: str = field(repr=False)
    """In hex."""
    host: str = ""
    port: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """A share of a round. Private."""

    seconds: float
    """That the partner may take beside its share of the work, before it begins with it."""
    a_counts: Ints
    b_counts: Ints
    table: Table


@dataclass(frozen=True, eq=False)
class Answer:
    """The matches of a share, and what its worker came to."""

    found: Ints
    """Their places, or of rows held in shares what an engine's `open` gives, one after the other."""
    sent: int
    received: int
    nanoseconds: int
    """That it was busy with this share, waiting for the partner's worker included."""
    peak_bytes: int


@dataclass(frozen=True)
class Failure:
    """The last word of a worker."""

    cause: Cause
    problem: str


@dataclass(frozen=True)
class Message:
    """One message as it came."""

    kind: Kind
    body: bytearray = field(repr=False)
    descriptors: tuple[int, ...] = ()


# -- over a socket -------------------------------------------------------------------------------------------


def send(to: socket.socket, kind: Kind, *parts: bytes | memoryview) -> None:
    """Send one message."""
    to.sendall(_head(kind, parts))
    for part in parts:
        to.sendall(part)


def hand_over(to: socket.socket, connection: socket.socket) -> None:
    """Send a connection to another process."""
    socket.send_fds(to, [_head(Kind.SOCKET, ())], [connection.fileno()])


def receive(from_: socket.socket) -> Message | None:
    """The next message; None at the end. Raises ValueError if it is none."""
    head, descriptors = b"", []
    while len(head) < _HEAD.size:
        got, fds, _, _ = socket.recv_fds(from_, _HEAD.size - len(head), 1)
        descriptors += fds
        if not got:
            return None
        head += got
    tag, word = _HEAD.unpack(head)
    kind, length = Kind(word >> 56), word & _LENGTH
    if tag != _TAG or length > _MOST[kind] or (kind is Kind.SOCKET) != bool(descriptors):
        raise ValueError("not a message of this version")
    body = bytearray(length)
    left = memoryview(body)
    while len(left):
        count = from_.recv_into(left[:_PIECE])
        if not count:
            return None
        left = left[count:]
    return Message(kind, body, tuple(descriptors))


def _head(kind: Kind, parts: tuple[bytes | memoryview, ...]) -> bytes:
    length = sum(len(part) for part in parts)
    if length > _MOST[kind]:
        raise ValueError(f"a {kind.name} is too long")
    return _HEAD.pack(_TAG, kind << 56 | length)


# -- bodies ------------------------------------------------------------------------------------------------


def encode_facts(facts: Start | Meet | Join | Count) -> bytes:
    """A message of names and numbers, as JSON."""
    return json.dumps(asdict(facts)).encode()


def decode_facts(kind: type[T], body: bytes | bytearray) -> T:
    """The facts in these bytes, each of the very type; raises ValueError unless `encode_facts` wrote them."""
    found = json.loads(body)
    wanted = {part.name: part.type for part in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(found, dict) or {name: type(of).__name__ for name, of in found.items()} != wanted:
        raise ValueError(f"not a {kind.__name__}")
    return kind(**found)


def encode_job(job: Job, inputs: tuple[Input, ...]) -> tuple[bytes | memoryview, ...]:
    """A job in parts; every input in the narrowest numbers that hold all its values."""
    head = _JOB.pack(job.seconds, len(job.a_counts), len(job.table.real))
    counts = [c.astype("<i8").tobytes() for c in (job.a_counts, job.b_counts)]
    arrays = [_plain(job.table.inputs[of.name].astype(_narrow(of))) for of in inputs]
    return (head, *counts, _plain(job.table.real.view(np.uint8)), *arrays)


def decode_job(body: bytearray, inputs: tuple[Input, ...]) -> Job:
    """The job in these bytes; raises ValueError unless `encode_job` could have written them."""
    if len(body) < _JOB.size:
        raise ValueError("not a job")
    seconds, blocks, rows = _JOB.unpack_from(body)
    lengths = [8 * blocks, 8 * blocks, rows, *(rows * of.length * _narrow(of).itemsize for of in inputs)]
    if len(body) != _JOB.size + sum(lengths):
        raise ValueError("not a job")
    ends = np.cumsum([_JOB.size, *lengths]).tolist()
    parts = [memoryview(body)[low:high] for low, high in pairwise(ends)]
    a_counts, b_counts = (np.frombuffer(part, "<i8").astype(np.int64) for part in parts[:2])
    values = {
        of.name: np.frombuffer(part, _narrow(of)).reshape(rows, of.length).astype(np.int64)
        for of, part in zip(inputs, parts[3:], strict=True)
    }
    return Job(seconds, a_counts, b_counts, Table(values, np.frombuffer(parts[2], np.uint8) != 0))


def encode_answer(answer: Answer) -> tuple[bytes, bytes]:
    """An answer in parts."""
    numbers = answer.sent, answer.received, answer.nanoseconds, answer.peak_bytes
    return _ANSWER.pack(*numbers), answer.found.astype("<u8").tobytes()


def decode_answer(body: bytearray) -> Answer:
    """The answer in these bytes; raises ValueError unless `encode_answer` could have written them."""
    if len(body) < _ANSWER.size or (len(body) - _ANSWER.size) % 8:
        raise ValueError("not an answer")
    found = np.frombuffer(body, "<u8", offset=_ANSWER.size).astype(np.int64)
    sent, received, nanoseconds, peak = _ANSWER.unpack_from(body)
    return Answer(found, sent, received, nanoseconds, peak)


def encode_failure(failure: Failure) -> bytes:
    """A cause and a problem in words of our own."""
    return bytes([failure.cause]) + failure.problem.encode()[:4096]


def decode_failure(body: bytearray) -> Failure:
    """The failure in these bytes."""
    return Failure(Cause(body[0]), body[1:].decode(errors="replace"))


def _narrow(of: Input) -> np.dtype[np.unsignedinteger]:
    return np.dtype(next(f"<u{size}" for size in (1, 2, 4, 8) if of.high < 1 << 8 * size))


def _plain(array: NDArray[np.generic]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
