"""The laboratory's protocols keep what every protocol must keep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accord.protocols.registry import BUILT_IN, PROTOCOLS
from tests.protocols import test_contract as contract
from tests.reproduction.plugged import plugged

with plugged():
    KINDS = sorted(set(PROTOCOLS) - set(BUILT_IN))
CHECKS = [
    contract.test_the_registry_is_what_agreements_read,
    contract.test_an_agreement_is_sound_with_a_blocking_exactly_where_one_is_needed,
    contract.test_options_that_a_simulation_may_change_exist,
    contract.test_what_is_told_to_the_ledger_is_what_is_promised,
    contract.test_noise_is_kept_exactly_where_it_costs_something,
    contract.test_counts_are_those_of_the_slots,
    contract.test_the_view_of_the_partner_is_bound_by_commitments_that_name_side_and_table,
    contract.test_what_a_partner_can_be_asked_to_hold_is_bounded,
    contract.test_engines_sizes_and_resumes_are_answered_before_anything_is_sent,
    contract.test_simulation_and_audit_need_no_name,
]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_plugged_in_protocol_keeps_the_contract(check: Callable[..., None], name: str) -> None:
    check(name=name)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("greedy", [True, False])
def test_both_sides_end_with_one_output_within_the_price(name: str, greedy: bool) -> None:
    contract.test_both_sides_end_with_one_output_within_the_price(name, greedy)
