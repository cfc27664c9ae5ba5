"""Evidence: hashes and signatures, and nothing that was sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.accountable.stored import StoredTranscript
from accord.accountable.transcript import Chain, about_run
from accord.errors import TrustError, UnreadableError
from accord.replay.evidence import decode_evidence, encode_evidence, judge_seals, read_evidence
from accord.replay.one_side import make_evidence
from accord.replay.pledged import open_pledged_side
from accord.side import Side
from accord.state.runs import open_run
from tests.replay.replays import done, offices, the_run
from tests.run import faults

pytestmark = pytest.mark.usefixtures("quick")


def test_it_is_read_again_and_holds_no_message(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name, state = the_run(both), both[Side.A].state
    made = make_evidence(state, name)
    content = encode_evidence(made)
    assert decode_evidence(content, tmp_path) == made
    assert (made.side, made.card.name) == (Side.B, "bob")
    about = about_run(name, made.agreement)
    for connections in made.meetings.values():
        for number, said in connections.items():
            assert said.seals
            judge_seals(said.seals, about, next(iter(made.meetings)), number, Side.B, made.card)
    run = open_run(state, name)
    (attempt,) = open_pledged_side(state, name, None).attempts
    chain = Chain(attempt.meeting, 0, Side.B)
    for message in StoredTranscript(attempt.stored.folder, 0).received(chain):
        if len(message) >= 16:
            assert message not in content
            assert message.hex()[:64].encode() not in content
    assert chain.count > 5
    secret, opening = run.read("seed")[-96:], run.read("opening-1")
    for part in (secret[:32], secret[32:64], secret[64:], opening[60:92]):
        assert part.hex().encode() not in content


def test_what_was_changed_is_refused(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    path = tmp_path / "evidence"
    whole = json.loads(encode_evidence(make_evidence(both[Side.A].state, the_run(both))))
    pledge = whole["pledge"]
    for change in (
        {"pledge": pledge[:-2] + f"{int(pledge[-2:], 16) ^ 1:02x}"},
        {"run": "f" * 16},
        {"side": "A"},
        {"pledge": ""},
        {"evidence": 2},
        {"card": "none"},
        {"more": 1},
        {"meetings": {"00": {"0": {"links": "00", "seals": [], "heard": []}}}},
        {"meetings": {"00": {"0": {"links": "", "seals": ["00"], "heard": []}}}},
        {"meetings": {"00": {"-1": {"links": "", "seals": [], "heard": []}}}},
        {"meetings": {"00": {"0": {"links": "", "seals": [], "heard": [], "workers": "0"}}}},
    ):
        path.write_text(json.dumps(whole | change))
        with pytest.raises(TrustError, match="is no evidence that its card signed"):
            read_evidence(path)
    path.write_bytes(b"\xff")
    with pytest.raises(TrustError):
        read_evidence(path)
    with pytest.raises(UnreadableError):
        read_evidence(tmp_path / "nowhere")
