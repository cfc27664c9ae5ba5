"""Base OTs: the chosen keys and no others, from two parts of which either is enough; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nacl import bindings as sodium

from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.secure.transfer import base
from accord.secure.transfer.base import BASE, COUNT, POINT, receive_base, send_base
from accord.secure.transfer.base_kem import ANSWER, OFFER, answer_offers, make_keys, offer_keys, open_chosen
from accord.secure.transfer.setup import set_up
from accord.side import Side
from tests.secure.engines import tampered
from tests.secure.worlds import Fixed

SESSION = bytes(range(32))
CHOICES = np.random.default_rng(0).random(COUNT) < 0.5
PLACES = np.arange(COUNT), CHOICES.astype(int)
OTHERS = np.arange(COUNT), 1 - CHOICES.astype(int)
SMALL_ORDER = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
NEUTRAL = (1).to_bytes(32, "little")
NOT_CANONICAL = ((1 << 255) - 19 + 1).to_bytes(32, "little")
NOT_ON_CURVE = (2).to_bytes(32, "little")
POINT_OF_ONE = sodium.crypto_scalarmult_ed25519_base_noclamp((1).to_bytes(32, "little"))
WITH_SMALL_PART = sodium.crypto_core_ed25519_add(POINT_OF_ONE, SMALL_ORDER)

BAD = {
    "small order": SMALL_ORDER,
    "neutral": NEUTRAL,
    "not canonical": NOT_CANONICAL,
    "not on the curve": NOT_ON_CURVE,
    "small-order part": WITH_SMALL_PART,
    "zero": bytes(32),
    "ones": b"\xff" * 32,
}


def sender() -> Party[Any]:
    return send_base(SESSION, Fixed("s"))


def receiver() -> Party[Any]:
    return receive_base(SESSION, CHOICES, Fixed("r"))


def test_the_receiver_has_the_chosen_key_of_each_pair() -> None:
    wire = Wire()
    pairs, chosen = run_pair(sender(), receiver(), wire)
    assert (chosen == pairs[PLACES]).all()
    assert (chosen != pairs[OTHERS]).any(axis=1).all()
    assert len({key.tobytes() for pair in pairs for key in pair}) == 2 * COUNT
    assert wire.bytes == BASE
    assert wire.rounds == 3
    assert wire.sizes == {
        Side.A: [POINT, COUNT * ANSWER],
        Side.B: [COUNT * POINT, COUNT * OFFER],
    }


@pytest.mark.parametrize("message", ["session", "point", "points", "keys", "ciphertexts"])
def test_keys_are_of_the_whole_transcript(message: str) -> None:
    """One bit that the two sides see differently, and no key is the same."""
    of_a, of_b = sender(), receiver()

    def flipped(data: bytes) -> bytes:
        # In the last OT's part of a message, so that the others differ by the transcript alone.
        if message in ("point", "points"):
            return data[:-POINT] + POINT_OF_ONE
        return data[:-1] + bytes([data[-1] ^ 1])

    if message == "session":
        of_a = send_base(bytes(32), Fixed("s"))
    elif message in ("point", "ciphertexts"):
        of_a = tampered(of_a, ("point", "ciphertexts").index(message), flipped)
    else:
        of_b = tampered(of_b, ("points", "keys").index(message), flipped)
    pairs, chosen = run_pair(of_a, of_b)
    assert (chosen[:, None] != pairs).any(axis=2).all()


def watched(patch: pytest.MonkeyPatch, name: str) -> list[tuple[tuple[Any, ...], Any]]:
    """What a function of the module is given, and gives."""
    real, seen = getattr(base, name), []

    def watch(*given: Any) -> Any:
        seen.append((given, real(*given)))
        return seen[-1][1]

    patch.setattr(base, name, watch)
    return seen


def keys_of(transcript: bytes, points: list[bytes], secrets: Any) -> np.ndarray:
    """The keys that were not chosen, from what a receiver takes for their two parts."""
    made = (
        base._key(transcript, number, int(not choice), point, secret)
        for number, (choice, point, secret) in enumerate(zip(CHOICES, points, secrets, strict=True))
    )
    return np.frombuffer(b"".join(made), np.uint8).reshape(COUNT, -1)


def test_whoever_computes_discrete_logarithms_still_lacks_the_other_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared, made = watched(monkeypatch, "_shared_points"), watched(monkeypatch, "_transcript")
    opened, answered = watched(monkeypatch, "open_chosen"), watched(monkeypatch, "answer_offers")
    pairs, _ = run_pair(sender(), receiver())
    points = [shared[0][1][2 * number + int(not choice)] for number, choice in enumerate(CHOICES)]
    transcript, (_, own, answers) = made[0][1], opened[0][0]
    # With the right point and what its own key makes of the other ciphertext: no.
    guesses = opened[0][1], open_chosen(~CHOICES, own, answers)
    for guess in guesses:
        assert (keys_of(transcript, points, guess) != pairs[OTHERS]).any(axis=1).all()
    # It would be the key with both parts right.
    assert (keys_of(transcript, points, answered[0][1][1][OTHERS]) == pairs[OTHERS]).all()


def test_whoever_opens_all_ciphertexts_still_lacks_the_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, made = watched(monkeypatch, "_shared_points"), watched(monkeypatch, "_transcript")
    answered, drawn = watched(monkeypatch, "answer_offers"), watched(monkeypatch, "_blinded_points")
    pairs, _ = run_pair(sender(), receiver())
    secrets, transcript = answered[0][1][1][OTHERS], made[0][1]
    scalars, public, _ = drawn[0][0]
    # bᵢ·A is the point of its choice, and bᵢ·A ± A are no points of the other.
    own = [sodium.crypto_scalarmult_ed25519_noclamp(scalar, public) for scalar in scalars]
    for guess in (
        own,
        [sodium.crypto_core_ed25519_add(point, public) for point in own],
        [sodium.crypto_core_ed25519_sub(point, public) for point in own],
    ):
        assert (keys_of(transcript, guess, secrets) != pairs[OTHERS]).any(axis=1).all()
    points = [shared[0][1][2 * number + int(not choice)] for number, choice in enumerate(CHOICES)]
    assert (keys_of(transcript, points, secrets) == pairs[OTHERS]).all()


def says(first: bytes) -> Party[None]:
    yield Send(first)
    yield Receive(COUNT * POINT)


def answers(points: bytes, offers: bytes = b"") -> Party[None]:
    yield Receive(POINT)
    yield Send(points)
    if offers:
        yield Send(offers)
        yield Receive(COUNT * ANSWER)


@pytest.mark.parametrize("name", BAD)
def test_a_point_outside_the_group_is_refused_by_both(name: str) -> None:
    with pytest.raises(PeerError, match="not in the group"):
        run_pair(says(BAD[name]), receiver())
    points = POINT_OF_ONE * 100 + BAD[name] + POINT_OF_ONE * 27
    with pytest.raises(PeerError, match="not in the group"):
        run_pair(sender(), answers(points))


def test_the_senders_own_point_is_refused() -> None:
    def mirrors() -> Party[None]:
        point = yield Receive(POINT)
        yield Send(bytes(point) * COUNT)

    with pytest.raises(PeerError, match="neutral"):
        run_pair(sender(), mirrors())


def test_good_points_and_keys_are_accepted_and_others_refused() -> None:
    offers = offer_keys(SESSION, CHOICES, make_keys(COUNT, Fixed("k")), Fixed("o")).tobytes()
    points = POINT_OF_ONE * COUNT
    assert run_pair(sender(), answers(points, offers))[0].shape == (COUNT, 2, 16)
    with pytest.raises(PeerError, match="not below its modulus"):
        run_pair(sender(), answers(points, offers[:-3] + b"\xff" * 3))
    with pytest.raises(PeerError, match="were due"):
        run_pair(sender(), answers(points, offers[:-1]))


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("message", [1, 2])
def test_what_is_changed_on_its_way_ends_the_set_up(side: Side, message: int) -> None:
    """A's point and ciphertexts, B's points and keys: all keys differ, and the checked OTs that follow show
    it."""
    change: Callable[[bytes], bytes] = lambda data: data[:-1] + bytes([data[-1] ^ 1])  # noqa: E731
    if message == 1:
        change = lambda data: POINT_OF_ONE * (len(data) // POINT)  # noqa: E731
    parties = {of: set_up(of, 8, Fixed(of.value)) for of in Side}
    parties[side] = tampered(parties[side], message, change)
    with pytest.raises(PeerError, match="one choice each"):
        run_pair(parties[Side.A], parties[Side.B])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_sender_that_spoils_a_ciphertext_ends_the_set_up_if_it_was_chosen(
    chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which it learns that way."""
    _, b = run_pair(set_up(Side.A, 8, Fixed("a")), set_up(Side.B, 8, Fixed("b")))
    # The path goes by the highest bit of a piece of Δ first, and the choice leads away from it.
    choice = 1 - (int(b.sender.delta[0]) >> 7 & 1)

    def spoiled(*given: Any) -> Any:
        made, secrets = answer_offers(*given)
        made[0, choice if chosen else 1 - choice, 0] ^= 1
        return made, secrets

    monkeypatch.setattr(base, "answer_offers", spoiled)
    both = set_up(Side.A, 8, Fixed("a")), set_up(Side.B, 8, Fixed("b"))
    if not chosen:
        run_pair(*both)
        return
    with pytest.raises(PeerError, match="one choice each"):
        run_pair(*both)
