"""Every byte format against vectors in files: what is written, what is read, and what is refused.

`tests/vectors/README.md` explains the files. After a deliberate change of a format,
`python -m tests.test_vectors` writes the bytes of all values anew, but for those that hold signatures.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord import notices
from accord.errors import AccordError
from accord.exact import text
from accord.fields import columns
from accord.fields.schema import FieldSpec
from accord.network import Network
from accord.peer import frames, handshake
from accord.peer.encryption import Decrypter, Encrypter
from accord.peer.identity import Card, parse_card
from accord.privacy import events, noise_gaussian, noise_geometric
from accord.privacy.number import exact
from accord.privacy.release import release_key, snapshot_place
from accord.protocols.confirm import answer_digest, confirm_answer, output_digest
from accord.protocols.parts import disclosed, slots
from accord.protocols.parts.priorities import priorities
from accord.protocols.parts.sealed import open_rows, seal_rows
from accord.run import receipt
from accord.secure import blocks, circuit
from accord.secure.circuit_text import decode_circuit, encode_circuit
from accord.secure.okvs.cuckoo import table_bins
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Encoder
from accord.secure.ot.lookup import from_wire, to_wire
from accord.secure.ot.settings import Settings
from accord.secure.party import Party, Receive, Send, run_pair
from accord.secure.transfer.packing import bits_from_wire, bits_to_wire, groups, pack, packed_words, unpack
from accord.secure.transfer.permutation import Permutation, hash_blocks
from accord.side import Side
from accord.spill import Scratch
from accord.state import manifest
from accord.state.noise import decode_noise, encode_noise
from accord.state.runs import decode_slots, encode_slots
from accord.state.witness import Standing
from accord.table.pairs import IdOrder, order_pairs
from accord.workers import certificates, messages
from accord.workers.routing import encode_token, make_token

FOLDER = Path(__file__).with_name("vectors")
ANYWHERE = Path("a vector")
MODULES: tuple[ModuleType, ...] = (
    *(
        blocks,
        certificates,
        circuit,
        columns,
        disclosed,
        events,
        frames,
        handshake,
        manifest,
        messages,
    ),
    *(noise_gaussian, noise_geometric, notices, receipt, slots),
)
KINDS = {name: kind for of in MODULES for name, kind in vars(of).items() if isinstance(kind, type)}
"""What a value of a file may be, by its name there."""
Known = Mapping[str, Any]
Vector = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """How a value becomes bytes, and how bytes are read by a side that knows something of them."""

    encode: Callable[[Any], bytes] | None
    """None where a private key takes part."""
    decode: Callable[[bytes, Known], Any] | None = None
    """None for digests, which are only compared."""
    whole: bool = True
    """The reader itself refuses a byte more or less. If not, a length before the bytes says their end."""


# -- values as JSON ------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON: bytes in hexadecimal, an object as its class and its fields."""
    match value:
        case bytes() | bytearray():
            return value.hex()
        case Enum():
            return value.name
        case Fraction():
            return text(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case pa.Array() | pa.Table():
            return value.to_pylist()
        case np.ndarray():
            return value.tolist()
        case Card():
            return {"name": value.name, "fingerprint": value.fingerprint, "ends": plain(value.ends)}
        case tuple() | list():
            return [plain(each) for each in value]
        case _ if is_dataclass(value):
            shown = (field.name for field in fields(value) if not field.name.startswith("_"))
            return {"is": type(value).__name__} | {name: plain(getattr(value, name)) for name in shown}
    return value


_READ: dict[Any, Callable[[str], Any]] = {
    bytes: bytes.fromhex,
    Fraction: lambda written: exact(written, "a number"),
    datetime: datetime.fromisoformat,
}


def built(value: Any, kind: Any = None) -> Any:
    """The value of this JSON, for a field of this type."""
    if isinstance(value, dict) and "is" in value:
        of = KINDS[value["is"]]
        hints = get_type_hints(of)
        return of(**{name: built(each, hints[name]) for name, each in value.items() if name != "is"})
    if kind in (pa.Array, pa.Table):
        return pa.array(value, pa.large_string()) if kind is pa.Array else pa.Table.from_pylist(value)
    if isinstance(value, str) and kind in _READ:
        return _READ[kind](value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[value]
    if "ndarray" in str(kind) and "Mapping" not in str(kind):
        return np.array(value, np.uint64 if "uint64" in str(kind) else None)
    if isinstance(value, dict):
        return {
            name: built(each, np.ndarray if "ndarray" in str(kind) else None) for name, each in value.items()
        }
    return tuple(built(each) for each in value) if isinstance(value, list) else value


# -- formats that need more than two functions ---------------------------------------------------------------


def octets(name: str, count: int = 32) -> bytes:
    """Bytes of SHAKE-256 of a name: what other implementations can make, too."""
    return hashlib.shake_256(name.encode()).digest(count)


def words(name: str, *shape: int) -> Any:
    """The same as words of 64 bits."""
    return np.frombuffer(octets(name, 8 * int(np.prod(shape))), "<u8").astype(np.uint64).reshape(shape)


def said(party: Party[Any]) -> bytes:
    """The first message of a party."""
    effect = next(party)
    assert isinstance(effect, Send)
    return bytes(effect.buffer)


def heard(party: Party[Any], content: bytes) -> Any:
    """The result of a party that says something and is told this."""

    def partner() -> Party[None]:
        yield Receive(0)
        yield Send(content)

    return run_pair(party, partner())[0]


def packets(value: Known) -> bytes:
    end = Encrypter(bytes.fromhex(value["key"]))
    return b"".join(bytes(end.encrypt(bytes.fromhex(piece))) for piece in value["pieces"])


def open_packets(content: bytes, known: Known) -> Known:
    end = Decrypter(bytes.fromhex(known["key"]))
    end.room[: len(content)] = content
    return {"key": known["key"], "pieces": [bytes(piece) for piece in end.decrypt(len(content))]}


def held(value: Known) -> bytes:
    """The proof to hold an answer: the second message of a side."""

    class Half:
        def bytes(self, count: int) -> bytes:
            return octets("half of the key", count)

        def stream(self, name: str) -> Half:
            return self

    party = confirm_answer(bytes.fromhex(value["answer"]), Side(value["side"]), Half())
    next(party)
    next(party)
    effect = party.send(octets("other half of the key"))
    assert isinstance(effect, Send)
    return bytes(effect.buffer)


def digest_pairs(value: Known) -> bytes:
    a, b = (pa.array(ids, pa.large_string()) for ids in zip(*value["pairs"], strict=True))
    rows = np.arange(len(a))
    pairs = order_pairs(IdOrder.of(a), IdOrder.of(b), [(rows, rows)], Scratch())
    return output_digest(bytes.fromhex(value["key"]), a, b, pairs)


def read_disclosed(content: bytes, known: Known) -> disclosed.Disclosed:
    specs = TypeAdapter(dict[str, FieldSpec]).validate_python(known["fields"])
    shape = disclosed.Shape(specs, tuple(specs), tuple(known["columns"]), known["count"], known["slots"])
    return disclosed.decode(content, known["count"], shape)


def sealed(value: Known) -> bytes:
    ids = pa.array(value["ids"], pa.large_string())
    return seal_rows(b"run", ids, pa.table(value["columns"]), words("keys", len(ids), 2), 40).tobytes()


def unseal(content: bytes, known: Known) -> Known:
    rows = np.frombuffer(content, np.uint8).reshape(known["rows"], -1)
    _, ids, columns = open_rows(b"run", rows, words("keys", len(rows), 2), tuple(known["columns"]))
    return {"ids": ids, "columns": columns.to_pydict()}


def write_numbers(value: Known) -> bytes:
    lane, widths = value["lane"], np.array(value["widths"])
    rows = np.array(value["numbers"], f"u{lane // 8}")
    values = np.zeros((len(rows), groups(rows.shape[1], lane) * lane), rows.dtype)
    values[:, : rows.shape[1]] = rows
    found = np.empty(packed_words(rows.shape[1], lane, widths), rows.dtype)
    pack(values, widths, found)
    return found.astype(f"<u{lane // 8}").tobytes()


def read_numbers(content: bytes, known: Known) -> Known:
    lane, widths, count = known["lane"], np.array(known["widths"]), known["count"]
    if len(content) != packed_words(count, lane, widths) * lane // 8:
        raise ValueError("another length")
    values = np.empty((len(widths), groups(count, lane) * lane), f"u{lane // 8}")
    unpack(np.frombuffer(content, f"<u{lane // 8}").copy(), widths, count, values)
    return {"lane": lane, "widths": widths, "numbers": values[:, :count]}


def read_tables(content: bytes, known: Known) -> Known:
    return {**known, "tables": from_wire(np.frombuffer(content, np.uint8), known["bits"], known["lane"])}


def sizes(points: int) -> bytes:
    shape = store_shape(points)
    return np.array([shape.parts, shape.bound, shape.sparse, shape.dense], "<u8").tobytes()


def store(value: Known) -> bytes:
    """Points, values and the words of free cells are those of SHAKE-256; they lie part after part."""
    shape = store_shape(value["count"], value["part"])
    points, values = words("points", shape.points, 2), words("values", shape.points, value["width"])
    encoder = Encoder(shape, octets("seed", 16), points)
    free = words("free", shape.total - shape.points, value["width"])
    tables = []
    for part in range(shape.parts):
        used = shape.cells - encoder.count(part)
        tables.append(encoder.encode_part(part, values[encoder.places(part)], free[:used]).astype("<u8"))
        free = free[used:]
    return np.concatenate(tables).tobytes()


def hash_row(value: Known) -> bytes:
    row = np.frombuffer(bytes.fromhex(value["row"]), "<u8").reshape(1, 2).copy()
    inner, outer = hash_blocks(Permutation(), row, value["block"])
    return (inner ^ outer).tobytes()


def write_message(value: Known) -> bytes:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        messages.send(theirs, messages.Kind[value["kind"]], bytes.fromhex(value["body"]))
        return ours.recv(1 << 12)


def read_message(content: bytes, known: Known) -> Known | None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        found = messages.receive(ours)
    return None if found is None else {"kind": found.kind, "body": bytes(found.body)}


def facts(kind: type[Any]) -> Format:
    return Format(messages.encode_facts, lambda content, known: messages.decode_facts(kind, content))


INPUTS = (circuit.Input("bits", 3, 1), circuit.Input("wide", 1, 70_000))
OWN = receipt.Statement(100, 120, "1", 0)

FORMATS: dict[str, Format] = {
    # between the parties
    "frame": Format(
        lambda frame: frames.encode_header(frame.kind, frame.length),
        lambda content, known: frames.decode_header(content),
        whole=False,
    ),
    "stop": Format(
        lambda reason: bytes([frames.Reason[reason]]),
        lambda content, known: frames.decode_reason(content),
        whole=False,
    ),
    "packets": Format(packets, open_packets, whole=False),
    "hello": Format(
        handshake.encode_hello, lambda content, known: handshake.decode_hello(content, "bob"), whole=False
    ),
    "run name": Format(lambda hellos: bytes.fromhex(handshake.run_name(*hellos))),
    "ready": Format(
        lambda records: said(handshake.exchange_sizes(records, "bob")),
        lambda content, known: heard(handshake.exchange_sizes(1, "bob"), content),
    ),
    "commitments": Format(lambda made: slots.commitments(made, Side.A)),
    "opened counts": Format(
        lambda counts: octets("salt") + np.array(counts, "<i8").tobytes(),
        lambda content, known: slots.partner_counts(bytes.fromhex(known["committed"]), content, Side.B),
    ),
    "disclosed records": Format(disclosed.encode, read_disclosed),
    "sealed rows": Format(sealed, unseal, whole=False),
    "digest of the output": Format(digest_pairs),
    "digest of an answer": Format(
        lambda value: answer_digest(bytes.fromhex(value["key"]), bytes.fromhex(value["answer"]))
    ),
    "proof to hold an answer": Format(held),
    "standing": Format(
        lambda standing: said(handshake.exchange_standings(standing)),
        lambda content, known: heard(handshake.exchange_standings(Standing()), content),
    ),
    "statement": Format(
        lambda statement: said(receipt.exchange_statements(statement, 1, 2)),
        lambda content, known: heard(receipt.exchange_statements(OWN, 100, 120), content),
    ),
    "card": Format(None, lambda content, known: parse_card(content, ANYWHERE), whole=False),
    "receipt": Format(None, lambda content, known: receipt.decode_receipt(content, ANYWHERE).facts),
    "worker certificate": Format(
        certificates.encode_certificate, lambda content, known: certificates.decode_certificate(content)
    ),
    "worker token": Format(lambda halves: encode_token(make_token(*map(bytes.fromhex, halves)))),
    # kept by a side
    "ledger event": Format(events.encode, lambda content, known: events.decode(content)),
    "release key": Format(lambda value: release_key(**value | {"place": bytes.fromhex(value["place"])})),
    "snapshot place": Format(lambda names: snapshot_place(names[0], names[1], bytes.fromhex(names[2]))),
    "priorities": Format(
        lambda ids: (
            priorities(octets("placing key"), pa.array(ids, pa.large_string())).astype("<u8").tobytes()
        )
    ),
    "slots": Format(encode_slots, lambda content, known: decode_slots(content)),
    "noise": Format(
        lambda noise: encode_noise(np.array(noise, np.int64)), lambda content, known: decode_noise(content)
    ),
    "run manifest": Format(
        lambda made: json.dumps(manifest.encode_manifest(made)).encode(),
        lambda content, known: manifest.decode_manifest(json.loads(content) | {"agreement": ""}),
    ),
    # parts of the engines' messages
    "circuit": Format(
        lambda node: encode_circuit(node).encode(), lambda content, known: decode_circuit(content.decode())
    ),
    "settings of ot": Format(lambda value: Settings(**value | {"network": Network(*value["network"])}).hello),
    "bits": Format(
        lambda bits: bits_to_wire(np.array(bits, np.uint8)).tobytes(),
        lambda content, known: bits_from_wire(np.frombuffer(content, np.uint8), known["count"]).astype(int),
        whole=False,
    ),
    "numbers of a few bits": Format(write_numbers, read_numbers),
    "lookup tables": Format(
        lambda value: to_wire(np.array(value["tables"], np.uint64), value["bits"], value["lane"]).tobytes(),
        read_tables,
        whole=False,
    ),
    "hash of a row": Format(hash_row),
    "sizes of a store": Format(sizes),
    "bins of a cuckoo table": Format(lambda queries: table_bins(queries).to_bytes(8, "little")),
    "store": Format(store),
    "digest of a store": Format(lambda value: hashlib.sha256(store(value)).digest()),
    # between the processes of a side
    "message to a worker": Format(write_message, read_message, whole=False),
    "start of a worker": facts(messages.Start),
    "meeting of workers": facts(messages.Meet),
    "job": Format(
        lambda job: b"".join(messages.encode_job(job, INPUTS)),
        lambda content, known: messages.decode_job(bytearray(content), INPUTS),
    ),
    "answer of a worker": Format(
        lambda answer: b"".join(messages.encode_answer(answer)),
        lambda content, known: messages.decode_answer(bytearray(content)),
    ),
    "failure of a worker": Format(
        messages.encode_failure,
        lambda content, known: messages.decode_failure(bytearray(content)),
        whole=False,
    ),
    "notice": Format(
        lambda notice: notices.encode_notice(notice).encode(),
        lambda content, known: notices.decode_notice(content.decode()),
    ),
}

# -- files ---------------------------------------------------------------------------------------------------


def octets_of(vector: Vector) -> bytes:
    return vector["text"].encode() if "text" in vector else bytes.fromhex(vector["hex"])


def written(content: bytes) -> Vector:
    """As text if it is that."""
    try:
        shown = content.decode()
    except UnicodeDecodeError:
        return {"hex": content.hex()}
    return (
        {"text": shown}
        if shown.strip().replace("\n", "").isprintable() and shown.strip()
        else {"hex": content.hex()}
    )


def changed(content: bytes, change: Vector) -> bytes:
    """The bytes of a bad vector."""
    if "find" in change:
        old, new = change["find"].encode(), change["put"].encode()
        assert old in content, change
        return content.replace(old, new, 1)
    at, put = change.get("at", len(content)), bytes.fromhex(change["put"])
    return content[:at] + put + content[at + len(put) :]


FILES = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.json"))}
GOOD: dict[str, Vector] = {vector["name"]: vector for found in FILES.values() for vector in found["good"]}
BAD: dict[str, Vector] = {vector["name"]: vector for found in FILES.values() for vector in found["bad"]}
WHOLE = [name for name, vector in GOOD.items() if (form := FORMATS[vector["format"]]).whole and form.decode]


@pytest.mark.parametrize("name", GOOD)
def test_a_value_is_written_and_read_as_recorded(name: str) -> None:
    vector = GOOD[name]
    form, content = FORMATS[vector["format"]], octets_of(vector)
    if form.encode:
        assert form.encode(built(vector["value"])) == content
    if form.decode:
        assert plain(form.decode(content, vector.get("known", {}))) == vector["value"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_byte_more_or_less_is_refused(name: str) -> None:
    vector = GOOD[name]
    content, decode = octets_of(vector), FORMATS[vector["format"]].decode
    assert decode
    for wrong in (content[:-1], content + b"\0", b""):
        with pytest.raises((ValueError, AccordError)):
            decode(wrong, vector.get("known", {}))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_vector_is_refused(name: str) -> None:
    vector = BAD[name]
    good = GOOD.get(vector.get("of", ""), vector)
    content = octets_of(vector) if good is vector else changed(octets_of(good), vector)
    decode = FORMATS[good["format"]].decode
    assert decode
    with pytest.raises((ValueError, AccordError)) as error:
        decode(content, good.get("known", {}))
    assert vector["error"] in {kind.__name__ for kind in error.type.__mro__}


def test_every_format_has_a_vector_and_every_reader_a_bad_one() -> None:
    assert {vector["format"] for vector in GOOD.values()} == set(FORMATS)
    refused = {vector.get("format") or GOOD[vector["of"]]["format"] for vector in BAD.values()}
    assert {name for name, form in FORMATS.items() if form.decode and not form.whole} <= refused | {
        "sealed rows"
    }


def line(vector: Vector) -> str:
    return json.dumps(vector, ensure_ascii=False)


def rewritten(vector: Vector) -> Vector:
    """The vector with the bytes that its value has now."""
    form, known = FORMATS[vector["format"]], vector.get("known", {})
    if form.encode is None:
        return vector
    content = form.encode(built(vector["value"]))
    value = plain(form.decode(content, known)) if form.decode else vector["value"]
    head: Vector = {name: vector[name] for name in ("name", "format", "known") if name in vector}
    return {**head, **written(content), "value": value}


def main() -> None:
    """Write the bytes of all values anew."""
    for name, found in FILES.items():
        found["good"] = [rewritten(vector) for vector in found["good"]]
        lists = (",\n".join(map(line, found[kind])) for kind in ("good", "bad"))
        body = '{{"good": [\n{}\n], "bad": [\n{}\n]}}\n'.format(*lists)
        (FOLDER / f"{name}.json").write_text(body, "utf-8")


if __name__ == "__main__":
    main()
