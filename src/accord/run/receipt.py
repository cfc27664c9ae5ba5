"""A receipt: what was done between two parties, in a form that both have signed.

It holds public facts and no value of a record: the agreement's digest, sizes, noisy totals, ε and δ, the
numbers of matches, the columns that were disclosed, versions, times, both cards. The output itself is there
as a digest under a key that only the two have, so that a receipt can be shown to others who must not test
guesses of the output on it. Both sides compute the same bytes and sign them with the keys of their cards
(Ed25519), each naming its side: so each has signed who the other is, and nobody can sign for both.

    {"receipt": {…}, "signatures": {"A": {"card": …, "signature": …}, "B": {…}}}
"""

from __future__ import annotations

import hmac
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, StringConstraints

from accord.agreement.document import Agreement
from accord.errors import PeerError, TrustError, UnreadableError
from accord.exact import text
from accord.fields.recipe import ColumnName
from accord.fields.schema import Spec
from accord.peer.identity import Card, parse_card, sign, verify
from accord.protocols.confirm import output_digest
from accord.protocols.parts.outcome import Outcome
from accord.secure.party import Party, Send, receive
from accord.side import Side
from accord.spill import Scratch
from accord.state.folder import State
from accord.state.runs import StoredRun
from accord.table.pairs import IdOrder, order_pairs
from accord.table.sinks.files import unquote_formulas
from accord.table.sources.opening import Place

_TAG = b"accord receipt 1\n"
_MOST_BYTES = 1 << 24
"""What no sound agreement's receipt reaches: 2 × 4096 columns of 128 characters, none of which takes more
than 6 bytes in JSON, are below 7 MiB with their quotes and blanks; all the rest is below 1 MiB."""
_SIGNATURE = 64
_STATEMENT = struct.Struct("<32sQ")
_VERSION = b"0123456789abcdefghijklmnopqrstuvwxyz.+-"
_LAST_SECOND = 253402300799
"""The end of the year 9999."""


def _printable(text: str) -> str:
    """Nothing from a receipt may steer a terminal."""
    if not text.isprintable():
        raise ValueError("not printable")
    return text


_Word = Annotated[str, StringConstraints(max_length=200), AfterValidator(_printable)]
_Hash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
_Number = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(_printable)]
"""An exact number: a ratio of two integers, neither of which Python writes with more than 4300 digits."""


ParseCard = Callable[[bytes, Path], Card]


class _PartyFacts(Spec):
    name: _Word
    card: _Word
    records: int
    noisy_total: int
    epsilon: _Number | None
    delta: _Number | None
    unless: _Word
    """When ε and δ do not hold; empty where they always do. It follows from the agreement alone."""
    records_per_person: int | None = None
    """For whom ε and δ hold: each person with up to so many records. It is not there for one, nor where the
    promise holds for any number."""
    disclosed: list[ColumnName]
    """As the agreement has them, so perhaps not printable: whoever shows them replaces that."""
    accord: _Word
    time: _Word


class _Facts(Spec):
    """The form of what a receipt says."""

    version: Literal[1]
    run: _Word
    agreement: _Word
    protocol: _Word
    engine: _Word
    matches: int | None
    """Those in the output; None where not both learn pairs."""
    matches_found: int | None = None
    """How many were found, of which the output has a one-to-one set; not there where all are kept."""
    comparisons: int
    output: _Hash
    """Also a part of a file's name, see `runs.py`."""
    parties: dict[Literal["A", "B"], _PartyFacts]


@dataclass(frozen=True)
class Receipt:
    """A receipt with its signatures, both of which hold."""

    facts: Mapping[str, Any]
    cards: Mapping[Side, Card]
    signatures: Mapping[Side, bytes]


@dataclass(frozen=True)
class Statement:
    """What a side says of itself for the receipt: how many records, the noisy total, version and time."""

    records: int
    noisy_total: int
    accord: str
    time: int
    """Seconds since 1970, by its own clock."""


def facts(
    agreement: Agreement,
    run: str,
    outcome: Outcome,
    statements: Mapping[Side, Statement],
    cards: Mapping[Side, Card],
) -> dict[str, Any]:
    """What a receipt says, the same on both sides."""
    found = outcome.matches_found
    return {
        "version": 1,
        "run": run,
        "agreement": agreement.digest,
        "protocol": agreement.protocol.name,
        "engine": agreement.engine.name,
        "matches": outcome.matches,
        **({"matches_found": found} if found is not None else {}),
        "comparisons": outcome.comparisons,
        "output": outcome.digest.value.hex(),
        "parties": {side.value: _party(agreement, side, statements[side], cards[side]) for side in Side},
    }


def _party(agreement: Agreement, side: Side, said: Statement, card: Card) -> dict[str, Any]:
    told = agreement.leakage(side)
    several = agreement.protocol.records_per_person(agreement.task, side) or 1
    return {
        "name": agreement.party(side),
        "card": card.fingerprint,
        "records": said.records,
        "noisy_total": said.noisy_total,
        "epsilon": text(told.epsilon) if told.epsilon is not None else None,
        "delta": text(told.delta) if told.delta is not None else None,
        "unless": told.unless,
        **({"records_per_person": several} if several > 1 else {}),
        "disclosed": list(agreement.disclosed(side)),
        "accord": said.accord,
        "time": datetime.fromtimestamp(said.time, UTC).isoformat(),
    }


def exchange_statements(own: Statement, records: int, noisy_total: int) -> Party[Statement]:
    """Tell version, time and link, and hear the partner's, whose numbers are known."""
    yield Send(_STATEMENT.pack(own.accord.encode(), own.time))
    version, seconds = _STATEMENT.unpack((yield from receive(_STATEMENT.size)).tobytes())
    name = version.rstrip(b"\0")
    if not all(c in _VERSION for c in name) or seconds > _LAST_SECOND:
        raise PeerError(problem="a version or a time that cannot be read")
    return Statement(records, noisy_total, name.decode(), seconds)


def exchange_signatures(
    state: State, side: Side, cards: Mapping[Side, Card], body: Mapping[str, Any]
) -> Party[bytes]:
    """Sign, and take the partner's signature; the whole receipt as bytes."""
    own = sign(state, _signed(body, side))
    try:
        verify(cards[side], own, _signed(body, side))
    except ValueError:
        raise TrustError(
            problem="Your identity was renewed while the run went on; it began with your former card.",
            mend="Hand the new card to your partner, then continue with `accord resume` on both sides.",
        ) from None
    yield Send(own)
    theirs = (yield from receive(_SIGNATURE)).tobytes()
    try:
        verify(cards[side.other], theirs, _signed(body, side.other))
    except ValueError:
        raise PeerError(problem="a signature that does not fit the receipt") from None
    signatures = {
        s.value: {"card": cards[s].pem.decode(), "signature": (own if s is side else theirs).hex()}
        for s in Side
    }
    return json.dumps({"receipt": body, "signatures": signatures}, indent=1, ensure_ascii=False).encode()


def read_receipt(path: Path) -> Receipt:
    """A receipt from a file; raises unless both signatures hold."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableError(path=path, reason=error.strerror, mend="Name a receipt or a run.") from None
    return decode_receipt(content, path)


def receipt_of(run: StoredRun, content: bytes | None = None, parse: ParseCard = parse_card) -> Receipt:
    """The receipt of a run that is done; raises unless both signatures hold, and are of this run. `content`:
    what is kept of it, if that was read."""
    found = decode_receipt(run.read("receipt") if content is None else content, run.receipt, parse)
    if found.facts["run"] != run.manifest.run:
        raise TrustError(
            problem=f"{run.receipt} is the receipt of another run, {found.facts['run']}.",
            mend="Ask the partner for its copy.",
        )
    return found


def decode_receipt(content: bytes, path: Path, parse: ParseCard = parse_card) -> Receipt:
    """The receipt in these bytes, which came from `path`; raises unless both signatures hold."""
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError("too long")
        found = json.loads(content)
        body, signatures = found["receipt"], found["signatures"]
        cards = {side: parse(signatures[side.value]["card"].encode(), path) for side in Side}
        signed = {side: bytes.fromhex(signatures[side.value]["signature"]) for side in Side}
        said = _canonical(body)
        for side in Side:
            verify(cards[side], signed[side], _TAG + side.value.encode() + said)
            if body["parties"][side.value]["card"] != cards[side].fingerprint:
                raise ValueError("signed with another card")
        # Whoever makes two cards can sign anything; what is shown must at least have the right form.
        _Facts.model_validate_json(said, strict=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, TrustError):
        raise TrustError(
            problem=f"{path} is not a receipt that both sides signed, or it was changed.",
            mend="Ask the partner for its copy.",
        ) from None
    return Receipt(body, cards, signed)


def require_output(receipt: Receipt, key: bytes, pairs: pa.Table, place: Place) -> None:
    """Raise unless the pairs of ids in this table, in any order, are those that both sides signed.

    A csv may have quotes in front of what looks like a formula, or be raw, and does not say which: either
    reading will do, since nobody finds other pairs with the same digest.
    """
    readings = [(pairs["id_a"], pairs["id_b"])]
    if isinstance(place, Path) and place.suffix.lower() == ".csv":
        readings.append((unquote_formulas(pairs["id_a"]), unquote_formulas(pairs["id_b"])))
    if not any(is_signed(receipt.facts["output"], key, found) for found in readings):
        name = place if isinstance(place, Path) else place.name
        raise TrustError(
            problem=f"{name} does not hold the pairs that the receipt of the run names.",
            mend="It was changed, or it is the output of another run.",
        )


def is_signed(digest: str, joint: bytes, ids: tuple[pa.ChunkedArray, pa.ChunkedArray]) -> bool:
    """Whether these pairs, in any order, have this digest, in hex, under the key of the run."""
    a, b = (pc.fill_null(cells, "").combine_chunks().dictionary_encode() for cells in ids)
    rows = np.asarray(a.indices), np.asarray(b.indices)
    pairs = order_pairs(IdOrder.of(a.dictionary), IdOrder.of(b.dictionary), [rows], Scratch())
    # A pair that stands twice in a file stands once in an output.
    if len(pairs) < len(a):
        return False
    return hmac.compare_digest(output_digest(joint, a.dictionary, b.dictionary, pairs).hex(), digest)


def _signed(body: Mapping[str, Any], side: Side) -> bytes:
    """What a side signs: its letter, too, so that its signature cannot stand for the other's."""
    return _TAG + side.value.encode() + _canonical(body)


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
