"""What the Paillier engines send: sizes that depend on no data, and no trust in what the peer sends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.secure import test_engine_wire as wire
from tests.secure.engines import World

test_sizes_and_order_of_messages_do_not_depend_on_data = (
    wire.test_sizes_and_order_of_messages_do_not_depend_on_data
)
test_how_long_texts_are_does_not_show = wire.test_how_long_texts_are_does_not_show
test_what_cannot_be_done_is_refused_before_a_byte = wire.test_what_cannot_be_done_is_refused_before_a_byte
test_values_outside_their_range_are_refused_before_a_byte = (
    wire.test_values_outside_their_range_are_refused_before_a_byte
)
test_a_set_up_message_of_another_size_is_a_peer_error = (
    wire.test_a_set_up_message_of_another_size_is_a_peer_error
)
test_a_message_of_another_size_is_a_peer_error = wire.test_a_message_of_another_size_is_a_peer_error
test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash = (
    wire.test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash
)


@pytest.fixture(params=["paillier", "paillier-packed"], scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)
