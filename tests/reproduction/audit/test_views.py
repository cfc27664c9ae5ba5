"""A view holds all that was received, and its numbers are where their names say."""

from __future__ import annotations

import numpy as np

from accord.entropy import Seeded
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Wire, run_pair
from accord.side import Side
from accord.simulation.pair import start_party
from reproduction.audit.cases import built_in, options
from reproduction.audit.programs import honest
from reproduction.audit.questions import OneRun
from reproduction.audit.views import View, find_features, rows

LAPLACE = options("laplace", "1.6", "1e-5")


class Tape(Wire):
    """Keeps what B sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def record(self, sender: Side, buffer: Buffer, depth: int) -> None:
        super().record(sender, buffer, depth)
        if sender is Side.B and len(buffer):
            self.sent.append(bytes(buffer))


def test_a_view_is_what_the_partner_receives_in_a_linkage() -> None:
    case = built_in(LAPLACE)[3]
    seen = OneRun.of(case, honest).view(0, Seeded(1), Seeded(2))
    tape, engine = Tape(), IdealEngine()
    own = {
        side: start_party(case.agreement, side, records, other, Seeded(seed), engine)
        for side, records, other, seed in (
            (Side.A, case.partner, len(case.table), 2),
            (Side.B, case.table, len(case.partner), 1),
        )
    }
    left, _ = run_pair(own[Side.A], own[Side.B], tape)
    assert seen.messages == tape.sent
    assert sum(pairs for pairs, _ in seen.answers) == left.comparisons
    assert len(seen.answers) == left.rounds
    assert sum(len(places) for _, places in seen.answers) == 5


def test_numbers_stand_where_their_names_say() -> None:
    words = np.array([7, 300], "<u8").tobytes()
    first = View([b"\x05\x06\x07", words, words], [(12, np.array([3, 9])), (2, np.array([], np.int64))])
    second = View([b"\x01", words, words, b"abc"], [(4, np.array([], np.int64))])
    places = find_features([first, second])
    found = rows([first, second], places)
    assert found.shape == (2, len(places.names))
    one, two = (dict(zip(places.names, row, strict=True)) for row in found.tolist())
    assert (one["messages"], two["messages"]) == (3, 4)
    assert (one["bytes in all"], one["comparisons"], one["matches"]) == (35, 14, 2)
    assert (one["batch of the first match"], two["batch of the first match"]) == (0, 1)
    assert (one["size of message 1"], two["size of message 1"], one["size of message 4"]) == (3, 1, 0)
    assert one["place of the first match in batch 1"] == 4
    assert one["place of the last match in batch 1"] == 10
    assert (one["word 1 of message 2"], one["byte 8 of message 2"]) == (300, 44)
    assert one["sum of words 1 of messages of 16 bytes"] == 600
    assert (one["byte 2 of message 1"], two["byte 2 of message 1"]) == (7, 0)
    assert two["byte 0 of message 4"] == ord("a")


def test_what_a_later_view_has_beyond_the_layout_is_left_out() -> None:
    places = find_features([View([b"ab"])])
    later = View([b"abcd", b"more"], [(3, np.array([1]))])
    assert rows([later], places).shape == (1, len(places.names))


def test_runs_of_a_view_are_compared_with_each_other() -> None:
    def run(*words: int) -> bytes:
        return np.array(words, "<u8").tobytes()

    same = View([b"x", run(5, 6), b"x", run(5, 6, 9), b"x", run(5, 6, 9, 1), b"yy"], runs=[0, 2, 4])
    other = View([b"x", run(5, 6), b"x", run(5, 4, 9), b"x", run(5, 6, 9, 1)], runs=[0, 2, 4])
    places = find_features([same, other])
    assert places.runs == (0, 2), "what all runs have: one message of no word, one of two"
    one, two = (dict(zip(places.names, row, strict=True)) for row in rows([same, other], places).tolist())
    name = "words of message 2 of a run that are not as in the run before"
    assert (one[name], two[name]) == (0, 2)
    assert (one["sum of words 1 of messages 2 of a run"], two["sum of words 1 of messages 2 of a run"]) == (
        18,
        16,
    )


def test_tokens_that_an_engine_opens_are_seen_by_whom_they_are_opened_to() -> None:
    """Of five matches the asker, A, sees places and tokens; the lister sees neither."""
    asking = options("routed", "", "") | {"asks": "A"}
    by_side = {c.side: c for c in built_in(asking) if c.name == "matched"}
    of_b, of_a = (OneRun.of(by_side[side], honest).view(0, Seeded(1), Seeded(2)) for side in (Side.B, Side.A))
    assert [len(places) for _, places in of_b.answers] == [5]
    assert 5 * 24 in map(len, of_b.messages)
    assert [len(places) for _, places in of_a.answers] == [0]
    assert of_a.answers[0][0] > 5
