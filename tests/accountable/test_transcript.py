"""Transcripts: chains that both sides share, signatures behind what is marked, and wrong signatures."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from accord.accountable.transcript import (
    LINK,
    SEAL,
    Chain,
    Meeting,
    Seal,
    SigningKeys,
    Transcript,
    about_run,
    meeting_of,
    sign_at_end,
    signed_bytes,
    transcribe,
)
from accord.entropy import Seeded
from accord.errors import ConnectionLostError, PeerError
from accord.peer.identity import draw_identity, signer, verifier
from accord.secure.party import Buffer, Party, Receive, Send, Wire, run_pair
from accord.side import Side
from tests.run.worlds import NOW

ABOUT = about_run("run", "digest")
MEETING = Meeting(bytes(32), ABOUT)
IDENTITIES = {side: draw_identity(side.value, NOW) for side in Side}


@dataclass
class Notes:
    """Keeps a transcript in memory."""

    links: list[bytes] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    came: list[bytes] = field(default_factory=list)
    """The links of these."""
    given: list[Seal] = field(default_factory=list)
    taken: list[Seal] = field(default_factory=list)

    def sent(self, link: bytes) -> None:
        self.links.append(link)

    def received(self, message: Buffer, link: bytes) -> None:
        self.messages.append(bytes(message))
        self.came.append(link)

    def gave(self, seal: Seal) -> None:
        self.given.append(seal)

    def took(self, seal: Seal) -> None:
        self.taken.append(seal)


def keys(side: Side) -> SigningKeys:
    return SigningKeys(signer(IDENTITIES[side][0]), verifier(IDENTITIES[side.other][1]))


def transcript(
    side: Side, notes: Notes | None = None, connection: int = 0, meeting: Meeting = MEETING
) -> Transcript:
    return Transcript(meeting, connection, side, keys(side), notes or Notes())


def talk(side: Side, rounds: int = 3) -> Party[bytes]:
    """Both send two messages at once, of which the second is signed, and receive those of the other."""
    entropy, received = Seeded(side.value), b""
    for number in range(rounds):
        yield Send(entropy.bytes(10))
        yield Send(entropy.bytes(100 * number), signed=True)
        received += bytes((yield Receive(10)))
        received += bytes((yield Receive(100 * number, signed=True)))
    return received


def test_two_transcripts_agree_and_cost_a_signature_a_mark() -> None:
    notes = {side: Notes() for side in Side}
    transcripts = {side: transcript(side, notes[side]) for side in Side}
    plain = run_pair(talk(Side.A), talk(Side.B))

    def whole(side: Side) -> Party[bytes]:
        received = yield from transcribe(talk(side), transcripts[side])
        yield from sign_at_end(transcripts[side])
        return received

    assert run_pair(whole(Side.A), whole(Side.B)) == plain
    assert transcripts[Side.A].last == transcripts[Side.B].last
    for side in Side:
        assert notes[side].given == notes[side.other].taken
        assert len(notes[side].given) == 4
        assert notes[side].given[-1].sent == notes[side].given[-1].received == 6
        chain = Chain(MEETING, 0, side)
        links = [chain.add(message) for message in notes[side.other].messages]
        assert links == notes[side].links == notes[side.other].came


def test_a_party_without_a_transcript_sends_nothing_more() -> None:
    wire = Wire()
    run_pair(talk(Side.A, 2), talk(Side.B, 2), wire)
    assert wire.sizes == {side: [10, 0, 10, 100] for side in Side}


@pytest.mark.parametrize(
    "wrong", ["another connection", "another meeting", "another run", "changed", "cut", "flipped"]
)
def test_what_does_not_fit_is_refused(wrong: str) -> None:
    mine = transcript(Side.A)
    theirs = transcript(Side.B, connection=int(wrong == "another connection"))
    if wrong == "another meeting":
        theirs = transcript(Side.B, meeting=Meeting(b"1" * 32, ABOUT))
    if wrong == "another run":
        theirs = transcript(Side.B, meeting=Meeting(bytes(32), about_run("other", "digest")))
    theirs.send(b"message")
    mine.receive(b"massage" if wrong == "changed" else b"message")
    seal = theirs.sign()
    if wrong == "cut":
        seal = seal[:-1]
    if wrong == "flipped":
        seal = seal[:-1] + bytes([seal[-1] ^ 1])
    with pytest.raises(PeerError, match="a signature that"):
        mine.take(seal)


def test_nobody_signs_for_messages_that_were_not_sent_nor_goes_back() -> None:
    mine, theirs = transcript(Side.A), transcript(Side.B)
    for number in range(3):
        mine.send(bytes([number]))
        theirs.receive(bytes([number]))
    early = transcript(Side.B).sign()
    seal = theirs.sign()
    mine.take(seal)
    mine.take(seal)
    with pytest.raises(PeerError, match="not sent"):
        mine.take(early)
    theirs.receive(b"invented")
    with pytest.raises(PeerError, match="not sent"):
        mine.take(theirs.sign())


def test_what_fails_in_the_channel_is_raised_in_the_party() -> None:
    seen: list[str] = []

    def party() -> Party[None]:
        try:
            yield Receive(1)
        except ConnectionLostError:
            seen.append("lost")
            raise
        finally:
            seen.append("closed")

    kept = transcribe(party(), transcript(Side.A))
    next(kept)
    with pytest.raises(ConnectionLostError):
        kept.throw(ConnectionLostError(partner="b", problem="was cut", mend=""))
    assert seen == ["lost", "closed"]


def test_a_chain_depends_on_all_that_it_is_of() -> None:
    """And without the meeting nobody can test a guess of a message on two links that follow each other."""
    hellos, sizes = dict.fromkeys(Side, bytes(256)), dict.fromkeys(Side, 5)
    first = meeting_of(hellos, sizes, ABOUT)
    others = [
        meeting_of(hellos | {Side.A: bytes(255) + b"1"}, sizes, ABOUT),
        meeting_of(hellos, sizes | {Side.B: 6}, ABOUT),
    ]
    assert len({one.name for one in (first, *others)}) == 3
    firsts = {first.first(n, side) for n in (0, 1) for side in Side}
    assert len(firsts) == 4
    chain = Chain(first, 0, Side.A)
    before, link = chain.last, chain.add(b"guess")
    assert len(link) == LINK
    stranger = Chain(others[0], 0, Side.A)
    stranger.last = before
    assert stranger.add(b"guess") != link
    assert first.name not in (first.key, first.content)
    assert first.content.hex() not in repr(first)


def test_what_is_signed_is_a_known_answer() -> None:
    seal = Seal(2, b"s" * 32, 1, b"r" * 32, b"")
    said = signed_bytes(b"a" * 32, b"m" * 32, 3, Side.B, seal)
    expected = (
        b"accord seal 1\n" + b"a" * 32 + b"m" * 32 + b"\3\0\0\0B" + (2).to_bytes(8, "little") + b"s" * 32
    )
    assert said == expected + (1).to_bytes(8, "little") + b"r" * 32
    assert SEAL == 72
