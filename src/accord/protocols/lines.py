"""The lines of an intersection: what one side lists of its values, and how the other finds its own in it.

A line stands for a value v and the m-th record that has it: h(F(v), m) = tag ‖ mask, sent as tag ‖ (mask ⊕
token), with the record's random token. Who knows F(v) opens the lines of v, one record after the other; to
everybody else a line is random. F is the oblivious function of `secure/prf/`.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.ranges import distinct, ranges
from accord.secure.prf.group import POINT, Bytes
from accord.secure.prf.oblivious import batches

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

LINE = 24
HALF = LINE // 2
CHUNK = 1 << 16
"""Lines that are hashed or sent at a time."""
_BODY = POINT + 8
_PAD = 16
_TAG = b"accord psi line 1\n"


def random_rows(entropy: Entropy, rows: int, width: int) -> Bytes:
    return np.frombuffer(entropy.bytes(rows * width), np.uint8).reshape(rows, width)


def hash_items(values: Words, real: NDArray[np.bool_], entropy: Entropy) -> Bytes:
    """The bytes that are hashed: the values and zeros, or for what is not real random bytes, never zeros."""
    pad = random_rows(entropy, len(values), _PAD) * ~real[:, None]
    body = np.ascontiguousarray(values * real[:, None], "<u8").view(np.uint8)
    return np.concatenate([body, pad], axis=1)


def hash_lines(values: Bytes, rows: Ints, times: Ints) -> Bytes:
    """h(F, m) for each of these rows of values: what its line is before the token."""
    start, lines = hashlib.sha256(_TAG), np.empty((len(rows), LINE), np.uint8)

    def line(body: bytes) -> bytes:
        digest = start.copy()
        digest.update(body)
        return digest.digest()[:LINE]

    for part in batches(len(rows), CHUNK):
        number = times[part].astype("<u8")[:, None].view(np.uint8)
        whole = np.concatenate([values[rows[part]], number], axis=1).tobytes()
        found = b"".join(map(line, (whole[i : i + _BODY] for i in range(0, len(whole), _BODY))))
        lines[part] = np.frombuffer(found, np.uint8).reshape(-1, LINE)
    return lines


def _tags(lines: Bytes) -> tuple[Words, NDArray[np.uint32]]:
    high = np.ascontiguousarray(lines[:, :8]).view("<u8")[:, 0]
    return high, np.ascontiguousarray(lines[:, 8:HALF]).view("<u4")[:, 0]


def order_by_tag(lines: Bytes) -> Ints:
    high, low = _tags(lines)
    return np.lexsort((low, high)).astype(np.int64)


def open_lines(values: Bytes, lines: Bytes) -> tuple[Ints, Bytes]:
    """For each line that a value opens: the value's place and the token."""
    high, low = _tags(lines)
    if len(high) and (high[1:] < high[:-1]).any():
        raise PeerError(problem="lines that are not in order")
    alive, round_ = np.arange(len(values)), 0
    keys, tokens = [np.zeros(0, np.int64)], [np.zeros((0, HALF), np.uint8)]
    while len(alive) and len(lines):
        wanted = hash_lines(values, alive, np.full(len(alive), round_))
        mine, rest = _tags(wanted)
        at = np.searchsorted(high, mine)
        hit = np.zeros(len(alive), np.bool_)
        # Two unlike tags of one list may begin alike; three will not.
        for place in (np.minimum(at, len(high) - 1), np.minimum(at + 1, len(high) - 1)):
            here = (high[place] == mine) & (low[place] == rest) & ~hit
            keys.append(alive[here])
            tokens.append(lines[place[here], HALF:] ^ wanted[here, HALF:])
            hit |= here
        alive, round_ = alive[hit], round_ + 1
    return np.concatenate(keys), np.concatenate(tokens)


def rank_tokens(tokens: Bytes) -> tuple[Bytes, Ints]:
    """The distinct tokens, in an order that follows from them alone, and the rank of each."""
    first, rank = rank_rows(*_tags(tokens))
    return tokens[first], rank


def rank_rows(*columns: NDArray[np.unsignedinteger[Any]]) -> tuple[Ints, Ints]:
    """Where a row of each kind stands, in the order of the kinds, and the rank of each row.

    As `np.unique(axis=0)`, which lets no other thread run, and so no ping out, for seconds.
    """
    order = np.lexsort(columns).astype(np.int64)
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(fresh) - 1
    return order[fresh], rank


def join_tokens(rows: Ints, key_of: Ints, keys: Ints, token: Ints) -> tuple[Ints, Ints]:
    """(record, token) for each record and each token that its value opened."""
    order = np.argsort(keys, kind="stable")
    keys, token = keys[order], token[order]
    starts, stops = np.searchsorted(keys, key_of), np.searchsorted(keys, key_of, "right")
    return np.repeat(rows, stops - starts), token[ranges(starts, stops)]


def find_records(named: Bytes, tokens: Bytes) -> Ints:
    """The records that these tokens stand for."""
    listed = np.concatenate([tokens, named])
    all_, rank = rank_tokens(listed)
    owner = np.full(len(all_), -1, np.int64)
    owner[rank[: len(tokens)]] = np.arange(len(tokens))
    records = owner[rank[len(tokens) :]]
    if (records < 0).any() or len(distinct(records)) < len(records):
        raise PeerError(problem="a match that it cannot have found")
    return records


def covers(numbers: Ints, count: int) -> bool:
    """Whether 0..count−1 all occur, and nothing else."""
    if len(numbers) and numbers.max() >= count:
        return False
    return bool(np.all(np.bincount(numbers, minlength=count) > 0))
