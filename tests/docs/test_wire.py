"""The numbers in docs/wire.md are those of the code, and a real run has the sizes that the page says."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.forecast.room import BYTES_A_SLOT
from accord.limits import MOST_BYTES
from accord.peer import channel, connect, encryption, frames, handshake, port
from accord.peer.channel import Patience, TlsChannel
from accord.peer.connection import Reach
from accord.peer.frames import Kind, Reason
from accord.peer.handshake import Hello, Wish, encode_hello
from accord.protocols.parts import disclosed
from accord.protocols.parts.journal import UNDER_WAY
from accord.protocols.parts.own_side import MOST_RECORDS
from accord.run import receipt
from accord.run.link import Linked
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Wire, run_pair
from accord.secure.prf import oblivious
from accord.secure.transfer import base, base_kem, setup
from accord.side import Side
from accord.workers import certificates, messages, pool, routing
from accord.workers.connections import MEET_SECONDS
from tests.protocols.worlds import agreement
from tests.run.worlds import introduce, link_both

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()


_RECEIPT = "version and time for the receipt, and the last link of one's log; then a signature of it"


def rows(heading: str) -> list[list[str]]:
    """The cells of all tables in a section, without their heads."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [re.split(r" \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(lines) if line[0].startswith("---")]
    return [line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules]


def numbers(heading: str) -> list[list[int]]:
    return [[int(n) for n in re.findall(r"\d+", row[1])] for row in rows(heading)]


def test_kinds_and_reasons() -> None:
    table = rows("Frames")
    kinds, reasons = table[: len(Kind)], table[len(Kind) :]
    assert [(int(number), name) for number, name, _ in kinds] == [(k.value, k.name) for k in Kind]
    assert [(int(n), name, words) for n, name, words in reasons] == [
        (r.value, r.name, r.words) for r in Reason
    ]
    assert "Eight bytes" in PAGE
    assert frames.HEADER == 8


def test_the_hello_byte_by_byte() -> None:
    digest, nonce, commitments = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 128))
    texts = bytes(range(128, 160))
    hello = encode_hello(
        Hello(Side.B, digest, nonce, "0123456789abcdef", 7, commitments, texts, Wish(3, True))
    )
    expected = [
        b"accord\r\n", handshake.WIRE.to_bytes(2, "little"), b"B", digest, nonce,
        b"0123456789abcdef", (7).to_bytes(8, "little"), commitments, texts, b"\3\0", b"\1", bytes(58),
    ]  # fmt: skip
    table = [(int(offset), int(count)) for offset, count, _ in rows("The hello")]
    assert [hello[offset : offset + count] for offset, count in table] == expected
    assert sum(count for _, count in table) == len(hello) == handshake.HELLO
    assert f"{handshake.HELLO} bytes in all" in PAGE
    assert f"the version of the protocol: {handshake.WIRE}" in PAGE
    assert handshake._RUN_TAG == b"accord run 1\n"
    assert receipt._signed({"b": 1, "a": 2}, Side.B) == b'accord receipt 1\nB{"a":2,"b":1}'


def test_limits_and_times() -> None:
    assert numbers("Limits") == [
        [frames._LENGTH],
        [MOST_BYTES],
        [MOST_RECORDS],
        [],
        [BYTES_A_SLOT],
        [disclosed._MOST_BYTES],
        [1, disclosed._SHARE],
        [receipt._MOST_BYTES],
        [channel._AHEAD],
        [channel._QUEUED],
        [10_000, int(channel._PINGS_A_SECOND)],
    ]
    assert numbers("Waiting") == [
        [int(Reach().wait)],
        [int(connect._HANDSHAKE_SECONDS)],
        [int(connect._HANDSHAKE_SECONDS)],
        [int(port.CALLER_SECONDS), int(port.CROWDED_SECONDS)],
        [int(MEET_SECONDS)],
        [int(Patience().message), int(channel._STEPS), 1, int(channel._SLOWEST)],
        [int(Patience().silence)],
        [int(Patience().message), int(channel._STEPS)],
        [int(Patience().grace), 1, int(channel._SLOWEST)],
    ]
    assert "0x06" in PAGE
    assert connect.WELCOME == b"\x06"


def test_the_second_layer() -> None:
    table = rows("The second layer")
    first = len(handshake.MAGIC) + encryption.VERSION
    exchange = [first, encryption.PUBLIC, encryption.CIPHERTEXT + encryption.SIGNATURE]
    assert [int(row[2]) for row in table[:4]] == [*exchange, encryption.SIGNATURE]
    assert f"1 to {encryption.PACKET}" in table[4][2]
    assert [row[1] for row in table[4:]] == ["4", "as many", "16"]
    assert encryption.ADDED == 20
    section = PAGE.split("## The second layer\n")[1].split("\n## ")[0]
    for tag in (
        encryption._EXCHANGE, encryption._LISTENER, encryption._CALLER, encryption._KEYS, encryption._NEXT,
    ):  # fmt: skip
        assert f"`{tag.decode()[:-1]}\\n`" in " ".join(section.split()), tag
    assert f"every\n{encryption._PACKETS_A_KEY} packets" in section
    assert f"up to {channel._SMALL} bytes is one packet" in section
    assert f"within {connect._HANDSHAKE_SECONDS:.0f} seconds" in section


def test_workers() -> None:
    assert f"{certificates.CERTIFICATE} per worker" in PAGE
    assert f"up to {messages.MOST_CARD}" in PAGE
    assert len(routing.encode_token(bytes(32))) == 48
    assert routing.TAG == b"accord worker 1\n"
    assert routing._DERIVE == b"accord token 1\n"
    assert f"expected to take {pool.WORTH_SECONDS} seconds" in PAGE
    assert f"for {MEET_SECONDS:.0f} seconds" in PAGE
    assert f"differ by {UNDER_WAY}" in PAGE


def test_the_set_up() -> None:
    wire = Wire()
    a, b = (OtEngine().set_up(side, Seeded(side.value)) for side in Side)
    run_pair(a, b, wire)
    found: dict[str, list[int]] = {"A": [], "B": []}
    for _, size, by in rows("The set-up"):
        for side in "AB" if by == "both" else by:
            found[side].append(sum(prod(map(int, re.findall(r"\d+", part))) for part in parted(size)))
    assert {Side(name): sizes for name, sizes in found.items()} == wire.sizes
    assert wire.rounds == 5
    section = PAGE.split("## The set-up\n")[1].split("\n## ")[0]
    for tag in (setup._SESSION, base.TAG, base_kem.TAG):
        assert f"`{tag.decode()}`" in section
    assert f"{len(oblivious.HELLO)} bytes in all" in section


def parted(size: str) -> list[str]:
    """The parts of a sum, with a factor before brackets put into each of them."""
    inside = re.fullmatch(r"(\d+) · \((.*)\)", size)
    return [f"{inside[1]} · {part}" for part in inside[2].split(" + ")] if inside else size.split(" + ")


def test_a_run_has_the_sizes_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, list[int]] = {"alice": [], "bob": []}
    send = TlsChannel.send

    def noted(self: TlsChannel, buffer: Buffer) -> None:
        sizes[self._partner].append(len(buffer))
        send(self, buffer)

    monkeypatch.setattr(TlsChannel, "send", noted)
    agreed = agreement()
    ends = link_both(*introduce(tmp_path, agreed), agreed)
    assert all(isinstance(end, Linked) for end in ends), ends
    said = {row[1]: row[2] for row in rows("The order of messages")}
    first = [int(said["hello"]), int(said["ready: the number of records"])]
    first.append(int(said["commitments to noisy counts and to slots"]))
    salt, a_bin = (int(n) for n in re.findall(r"\d+", said["salt, and the noisy count of every bin"]))
    first.append(salt + a_bin * agreed.plan.bins)
    last = [
        *(
            int(n)
            for n in said["half of a key; then a proof to hold the output, under the joint key"].split(", ")
        ),
        *(int(n) for n in said[_RECEIPT].split(", ")),
    ]
    for found in sizes.values():
        assert found[:4] == first
        assert found[-4:] == last
        assert 16 in found[4:-4]
    assert np.sum(sizes["bob"]) > 10_000
