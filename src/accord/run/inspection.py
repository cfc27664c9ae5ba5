"""What is damaged in a state folder, with what only those who know what a run is can judge.

    identity      the card holds, and the key is that of the card
    partners      each card holds
    receipts      both signatures hold, and are of the run
    transcripts   of an accountable run: every message that was received is the next link of its chain; every
                  signature that was given or taken is of these links, and holds; and the last attempt ends
                  where the receipt says

Links of messages that were sent and that nobody has signed yet are compared by a replay alone, which makes
the messages anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.accountable.signing import read_cards, read_commitment
from accord.accountable.stored import StoredAttempt, StoredTranscript, attempts
from accord.accountable.transcript import Chain, Meeting, Seal, about_run, meeting_of, signed_bytes
from accord.agreement.file import parse_agreement
from accord.errors import AccordError, PeerError, UsageError
from accord.peer.identity import Card, card_from_der, own_card, parse_card, verifier
from accord.run.receipt import receipt_of
from accord.side import Side
from accord.state.files import write_private
from accord.state.folder import State
from accord.state.inspection import Advance, InspectedRun, Inspection, tell_run
from accord.state.runs import hold, open_run
from accord.workers.certificates import CERTIFICATE, decode_certificates

_KINDS = ("received", "sent", "seals")
_MOST_TAG = 32
"""What a file with nothing in it has at the most."""
_RECORD = "Whether this side followed the protocol can no longer be shown by its own record alone."


def inspect_state(state: State, advance: Advance = lambda read, total: None) -> Inspection:
    """Everything in a state folder, read and judged."""
    found = Inspection(state, advance)
    found.inspect()
    for run in found.runs:
        _inspect_receipt(found, run)
        if "seed" in run.names() and run.charged:
            _inspect_record(found, run)
    _inspect_identity(found)
    _inspect_partners(found)
    found.settle()
    return found


def _inspect_identity(found: Inspection) -> None:
    path = found.state.identity
    meaning = "Runs can neither begin nor be signed. Restore it from a copy, or `accord identity --renew`."
    if not path.exists():
        if found.kept:
            found.tell("identity.pem", "it is missing, though runs were made with it", meaning)
        return
    try:
        own_card(found.state)
        found.tick(path.stat().st_size)
    except AccordError:
        found.tell("identity.pem", "it does not hold a card and its key", meaning)


def _inspect_partners(found: Inspection) -> None:
    for name, card in found.register.partners.items():
        try:
            parse_card(card.encode(), found.state.database.path)
        except AccordError:
            meaning = f"Nothing can be linked with them: `accord partner add '{name}' CARD --force`."
            found.tell("state.sqlite", f"the card of {name} does not hold", meaning)


def _inspect_receipt(found: Inspection, run: InspectedRun) -> None:
    """That of a run that is done, and its copy."""
    if not run.manifest.done or not run.is_sound("receipt"):
        if run.manifest.done and "receipt" not in run.names():
            _tell(found, run, "state.sqlite", "has no receipt, though it is done", "The partner has it.")
        return
    try:
        receipt_of(run)
    except AccordError:
        _tell(found, run, "state.sqlite", "has a receipt that both sides did not sign", "The partner has it.")
        return
    # Whoever works on the run may just be writing it.
    with suppress(UsageError), hold(run.path):
        _inspect_receipt_copy(found, run)


def _inspect_receipt_copy(found: Inspection, run: InspectedRun) -> None:
    now = open_run(found.state, run.manifest.run) if found.whole else run
    content, copy = now.read("receipt"), run.receipt
    if copy.exists() and copy.read_bytes() == content:
        return
    if copy.exists():
        meaning = "Nothing here reads it; it was written again as it was signed."
        _tell(found, run, f"runs/{run.manifest.run}/receipt", "has a copy that is another", meaning)
    write_private(copy, content)


def _tell(found: Inspection, run: InspectedRun, place: str, problem: str, meaning: str) -> None:
    name = run.manifest.run
    found.tell(place, f"{tell_run(found.register.runs[name])} {problem}", meaning, name)


# -- the record of an accountable run ------------------------------------------------------------------------


def _inspect_record(found: Inspection, run: InspectedRun) -> None:
    names = [name for name in run.names() if name.startswith(("seed", "pledges", "card-", "opening-"))]
    if not run.is_sound("agreement", *names):
        return
    try:
        agreement = parse_agreement(run.manifest.agreement)
        read_commitment(run)
        cards = read_cards(run)
        side, sizes = Side(run.manifest.side), (run.manifest.records, run.manifest.partner_records)
        about, announced = about_run(run.manifest.run, agreement.digest), dict(_by_side(side, sizes))
        met = {one.number: meeting_of(one.hellos(), announced, about) for one in attempts(run)}
    except (AccordError, ValueError):
        _tell(found, run, "state.sqlite", "has a beginning that cannot be read", _RECORD)
        return
    last = _bound_by_receipt(run)
    for one in attempts(run):
        _AttemptCheck(found, run, one, met[one.number], side, cards, last).inspect()
    if last and last["meeting"] not in {meeting.name.hex() for meeting in met.values()}:
        _tell(found, run, "state.sqlite", "has no record of the attempt that its receipt is of", _RECORD)


def _by_side(side: Side, sizes: tuple[int, int]) -> Iterator[tuple[Side, int]]:
    yield side, sizes[0]
    yield side.other, sizes[1]


def _bound_by_receipt(run: InspectedRun) -> dict[str, Any]:
    """What the receipt says of the record; nothing where there is none that holds."""
    if not run.manifest.done or not run.is_sound("receipt"):
        return {}
    try:
        return dict(receipt_of(run).facts.get("accountable") or {})
    except AccordError:
        return {}


@dataclass
class _AttemptCheck:
    """The transcripts of one attempt."""

    found: Inspection
    run: InspectedRun
    stored: StoredAttempt
    meeting: Meeting
    side: Side
    cards: dict[Side, Card]
    bound: dict[str, Any]

    def inspect(self) -> None:
        if not self.stored.folder.is_dir():
            self._tell("", "is missing", _RECORD)
            return
        workers = self._own_workers()
        theirs: list[Card] = []
        for number in self._connections():
            record = StoredTranscript(self.stored.folder, number)
            try:
                theirs = self._inspect_connection(record, workers, theirs) or theirs
            except FileNotFoundError as error:
                # One that was killed while it made the three files has written nothing.
                if self._is_begun(number):
                    self._tell(Path(error.filename).name, "is missing", _RECORD)
            except OSError as error:
                self._tell(f"{number}.*", f"cannot be read: {error.strerror}", _RECORD)

    def _is_begun(self, number: int) -> bool:
        files = self.stored.folder.glob(f"{number}.*")
        ended_here = self.bound.get("meeting") == self.meeting.name.hex()
        return ended_here or any(path.stat().st_size > _MOST_TAG for path in files)

    def _connections(self) -> list[int]:
        """Those with anything in their files, or named by the receipt."""
        there = {path.stem for path in self.stored.folder.glob("*.*") if path.suffix[1:] in _KINDS}
        found = {int(stem) for stem in there if stem.isdecimal()}
        if self.bound.get("meeting") == self.meeting.name.hex():
            found |= set(range(len(self.bound["transcripts"])))
        return sorted(found)

    def _own_workers(self) -> list[Card]:
        if not self.run.is_sound(*(n for n in self.run.names() if n == f"certificates-{self.stored.number}")):
            return []
        try:
            return [card_from_der(der, self.stored.folder) for der in self.stored.certificates()]
        except (AccordError, ValueError):
            self._tell("", "has certificates of workers that cannot be read", _RECORD)
            return []

    def _received(self, record: StoredTranscript) -> tuple[list[bytes], list[Card]]:
        """The links of what was received, the first being that of nothing; and the partner's workers."""
        chain = Chain(self.meeting, record.number, self.side.other)
        links, workers = [chain.last], list[Card]()
        try:
            for message in record.received(chain):
                links.append(chain.last)
                self.found.tick(len(message))
                if not record.number and not workers:
                    workers = _named_workers(message)
        except ValueError:
            problem = f"is damaged: message {len(links):,} is not what was received"
            self._tell(f"{record.number}.received", problem, _RECORD)
        return links, workers

    def _inspect_connection(
        self, record: StoredTranscript, workers: list[Card], theirs: list[Card]
    ) -> list[Card]:
        """Judge one; the partner's workers, if they are named there. Signatures are read first: in a run that
        goes on, what they are of is there by then."""
        number = record.number
        try:
            given, taken = record.seals()
        except ValueError:
            self._tell(f"{number}.seals", "cannot be read", _RECORD)
            given, taken = [], []
        try:
            said = [Chain(self.meeting, number, self.side).last, *record.sent()]
        except ValueError:
            self._tell(f"{number}.sent", "does not begin as it was written", _RECORD)
            return []
        heard, named = self._received(record)
        try:
            self._require_signed(number, self.side, given, self.cards[self.side], workers)
            self._require_signed(number, self.side.other, taken, self.cards[self.side.other], theirs)
        except ValueError:
            self._tell(f"{number}.seals", "has a signature that does not hold", _RECORD)
            return named
        heard_of = [(s.received, s.received_link) for s in given] + [(s.sent, s.sent_link) for s in taken]
        self._require_links(f"{number}.received", heard, heard_of)
        # What the partner has signed for may have been in a buffer when a process was killed.
        known = [(s.received, s.received_link) for s in taken if s.received < len(said)]
        self._require_links(f"{number}.sent", said, [(s.sent, s.sent_link) for s in given] + known)
        self._require_last(number, heard, said)
        return named

    def _require_signed(self, number: int, side: Side, seals: list[Seal], own: Card, of: list[Card]) -> None:
        """Raise ValueError unless a side, or its worker, signed these."""
        if number > len(of):
            return
        judge = verifier(of[number - 1] if number else own)
        for seal in seals:
            judge(seal.signature, signed_bytes(self.meeting.about, self.meeting.name, number, side, seal))

    def _require_links(self, name: str, links: list[bytes], signed: list[tuple[int, bytes]]) -> None:
        missing = max((count for count, _ in signed), default=0) - (len(links) - 1)
        if missing > 0:
            self._tell(name, f"lacks {missing:,} of the messages that were signed for", _RECORD)
        elif any(links[count] != link for count, link in signed):
            self._tell(name, "is damaged: its messages are not those that were signed for", _RECORD)

    def _require_last(self, number: int, heard: list[bytes], said: list[bytes]) -> None:
        """In the attempt that ended in the receipt, both directions end as it says."""
        if self.bound.get("meeting") != self.meeting.name.hex():
            return
        last = self.bound["transcripts"][number]
        for name, links, side in (("received", heard, self.side.other), ("sent", said, self.side)):
            if links[-1].hex() != last[side.value]:
                self._tell(f"{number}.{name}", "does not end where the receipt says", _RECORD)

    def _tell(self, name: str, problem: str, meaning: str) -> None:
        place = f"runs/{self.run.manifest.run}/record/{self.stored.number:04d}"
        known = self.found.register.runs[self.run.manifest.run]
        what = f"the record of attempt {self.stored.number} of {tell_run(known)}"
        if any(one.place.startswith(f"{place}/{name}") for one in self.found.damages):
            return
        self.found.tell(f"{place}/{name}".rstrip("/"), f"{what} {problem}", meaning, known.name)


def _named_workers(message: bytes) -> list[Card]:
    """The partner's workers, if this message names them."""
    if not message or len(message) % CERTIFICATE:
        return []
    try:
        return [card_from_der(one.card, Path("a worker")) for one in decode_certificates(message)]
    except (ValueError, PeerError):
        return []
