"""Properties of the whole pipeline, from an agreement and two tables to the outputs of both organisations.

Each holds in every world (tests/worlds.py): all protocols, forms of rules, kinds of fields, missing values,
blockings, options and outputs. Two ways to the same result are compared, or the textbook decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import date
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.entropy import Seeded
from accord.errors import DataError, DeclinedError, NotResumedError, TooManyMatchesError
from accord.network import Network
from accord.peer.channel import Patience
from accord.peer.connection import Reach
from accord.planning.plan import PlanQuestion, price_agreed
from accord.preparing.draft import Draft
from accord.preparing.proposal import Proposal
from accord.protocols.parts import disclosed
from accord.report.card import describe_card
from accord.report.dpia import assess
from accord.run.receipt import read_receipt
from accord.run.request import Request, Resumption, request_again, store
from accord.run.result import Linked
from accord.secure.blocks import Blocks
from accord.secure.cost import Tab, set_up_bytes
from accord.secure.dual.engine import DualEngine
from accord.secure.ot.engine import OtEngine
from accord.side import Side
from accord.simulation.trials import release_of
from accord.state.manifest import Manifest, decode_manifest
from tests.cli import terminal
from tests.prepared import search_briefly
from tests.rules import worlds as fields
from tests.run import faults
from tests.worlds import PEOPLE, Run, World, agreements, firms, link, prepared, worlds

seeds = st.integers(0, 9)
BINNED = ("laplace", "all-pairs")
LINE = Network(100, 20)
some = settings(max_examples=5)
"""Where an example takes half a second."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """New folders, one for each example."""
    home, numbers = tmp_path_factory.mktemp("worlds"), count()
    return lambda: home / str(next(numbers))


# -- an agreement by itself --------------------------------------------------------------------------------


@given(agreements(free=False))
def test_an_agreement_is_its_text(agreed: Agreement) -> None:
    again = parse_agreement(agreed.to_toml())
    assert again == agreed
    assert again.digest == agreed.digest == Agreement.model_validate(agreed.model_dump(mode="json")).digest
    assert not [line for line in accord.diff(agreed, again) if line.startswith(("+", "-"))]


@some
@given(agreements(free=False))
def test_an_accepted_agreement_is_described(agreed: Agreement) -> None:
    check = accord.check(agreed)
    assert check.clean
    for side in Side:
        assert tuple(accord.learned_about(agreed, side)) == check.learned_about[side] != ()
        assert describe_card(agreed, "agreement.toml", side, "")
    assert all(agreed.party(side) in text for side in Side for text in (str(check), assess(agreed)))
    assert agreed.digest in agreed._repr_html_()
    assert check._repr_html_()


@some
@given(agreements(free=False), st.integers(1, 3000), st.integers(1, 3000))
def test_an_accepted_agreement_has_a_price(agreed: Agreement, a: int, b: int) -> None:
    option = price_agreed(agreed, PlanQuestion((a, b), LINE)).agreed
    for figure in (option.comparisons, option.bytes, option.rounds, option.memory, option.seconds):
        assert 0 <= figure.low <= figure.expected <= figure.high < float("inf")
    assert option.bytes.expected > 0


@given(agreements(free=False))
def test_the_ledger_is_told_what_is_promised(agreed: Agreement) -> None:
    for side in Side:
        event = release_of(agreed, side, 20).event
        assert event is not None
        assert event.cost == agreed.leakage(side).cost


# -- the output --------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(worlds(least=0), seeds)
def test_both_sides_hold_the_join_of_the_textbook(world: World, seed: int) -> None:
    run = link(world, seed=seed)
    if run.answer is None:
        assert run.pairs == world.ids(world.kept)
    elif not world.noisy:
        assert run.answer == world.answer
    assert run.a.digest == run.b.digest
    assert run.a.comparisons == run.b.comparisons
    if world.agreement.one_to_one:
        assert run.a.matches_found == run.b.matches_found == len(world.found)


@pytest.mark.usefixtures("quick")
@some
@given(worlds(), seeds)
def test_real_cryptography_finds_what_is_there_in_the_clear(world: World, seed: int) -> None:
    assert link(world, OtEngine(), seed).facts == link(world, seed=seed).facts


@pytest.mark.usefixtures("quick")
@some
@given(worlds(most=4, protocols=BINNED, hidden=False, greedy=False), seeds)
def test_so_does_an_engine_that_tests_its_partner(world: World, seed: int) -> None:
    assert link(world, DualEngine(), seed).pairs == link(world, seed=seed).pairs


@given(worlds(symmetric=True).filter(lambda world: not world.noisy), seeds)
def test_swapped_parties_swap_the_output(world: World, seed: int) -> None:
    one, other = link(world, seed=seed), link(world.swapped(), seed=seed)
    if one.answer is None:
        assert sorted((f"a{b[1:]}", f"b{a[1:]}") for a, b in other.pairs) == one.pairs
    else:
        assert sorted(other.answer or []) == sorted(one.answer)


@given(worlds(free=False), seeds, st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order(world: World, seed: int, random: Any) -> None:
    """Ids stay with their rows: also who is left out of a full key follows from them."""
    a, b = (random.sample(range(len(rows)), len(rows)) for rows in (world.a, world.b))
    assert link(world.ordered(a, b), seed=seed).output == link(world, seed=seed).output


@given(worlds().filter(lambda world: not world.noisy), seeds)
def test_records_without_a_match_change_nothing(world: World, seed: int) -> None:
    """Those that are in no pair that was found are taken out of both tables."""
    matched = world.ordered({i for i, _ in world.found}, {j for _, j in world.found})
    assert link(matched, seed=seed).output == link(world, seed=seed).output


@given(worlds(protocols=BINNED, hidden=False, greedy=True), seeds)
def test_greedy_finds_no_less_with_no_more_comparisons(world: World, seed: int) -> None:
    plain = world.agreement.protocol.model_dump(mode="json")
    greedy, other = (
        link(world.changed(protocol=plain | {"greedy": on}, one_to_one=False), seed=seed)
        for on in (True, False)
    )
    assert set(other.pairs) <= set(greedy.pairs) <= set(world.ids(world.matches))
    assert greedy.a.comparisons <= other.a.comparisons
    if not world.agreement.plan.losses(world.agreement.rule):
        assert other.pairs == greedy.pairs == world.ids(world.matches)


@given(worlds(protocols=("laplace", "routed"), free=False, hidden=False), seeds)
def test_pruned_bins_and_full_keys_lose_pairs_and_make_none_up(world: World, seed: int) -> None:
    world = world.changed(one_to_one=False)
    found = set(link(world, seed=seed).pairs)
    assert found <= set(world.ids(world.found))
    if world.agreement.protocol.name == "routed":
        assert found >= set(world.ids(world.covered()))


@given(worlds(hidden=False), seeds)
def test_comparisons_are_within_the_price(world: World, seed: int) -> None:
    task, (a, b) = world.agreement.task, prepared(world, Seeded(seed))
    counts = a.slots.counts, b.slots.counts
    price = task.protocol.price(task, (a.records.size, b.records.size), counts)
    made = link(world, seed=seed).a.comparisons
    spared = getattr(task.protocol, "greedy", False) or task.protocol.cascades(task)
    assert made <= price if spared else made == price


@given(worlds(hidden=False), st.sampled_from(Side), seeds)
def test_no_side_shows_more_records_than_agreed(world: World, side: Side, seed: int) -> None:
    shown = len({pair[side is Side.B] for pair in world.found})
    enough, short = (world.changed(most_matches={side.value: max(1, shown - less)}) for less in (0, 1))
    assert link(enough, seed=seed).wire.digest == link(world, seed=seed).wire.digest
    if shown > 1:
        with pytest.raises(TooManyMatchesError) as caught:
            link(short, seed=seed)
        assert caught.value.shown <= caught.value.most == shown - 1


@given(worlds(), seeds)
def test_of_a_match_the_agreed_columns_are_shown_and_nothing_else(world: World, seed: int) -> None:
    run, agreed = link(world, seed=seed), world.agreement
    for side, outcome in zip(Side, run.outcomes, strict=True):
        number = list(Side).index(side.other)
        names = {world.ids([pair])[0][number] for pair in world.found}
        if agreed.output.answers or agreed.output.learner is side.other:
            names = set()
        partner, columns = run.records[number], [*agreed.disclosed(side.other)]
        assert sorted(outcome.partner_ids.to_pylist()) == sorted(names)
        assert outcome.partner_columns.column_names in ([columns] if names else [columns, []])
        rows = pc.index_in(outcome.partner_ids, value_set=partner.ids)
        for column in outcome.partner_columns.column_names:
            assert outcome.partner_columns[column].equals(partner.disclosed[column].take(rows))


@given(worlds(), seeds)
def test_a_simulation_tells_the_figures_of_the_textbook(world: World, seed: int) -> None:
    a, b = (world.table(side) for side in Side)
    made, again = (accord.simulate(a, b, world.agreement, seed=seed) for _ in range(2))
    expected = world.met if made.among_candidates else world.matches
    assert made.all_matches == len(expected)
    assert (made.matches, made.precision) == (len(world.kept), 1.0)
    assert made.recall == (len(world.found) / len(expected) if expected else 1.0)
    assert made.candidate_pairs == world.candidates
    assert (made.records_a, made.records_b) == (len(world.a), len(world.b))
    assert [replace(one, seconds=0) for one in made.runs] == [replace(one, seconds=0) for one in again.runs]
    assert made.pairs.equals(again.pairs)
    if made.exact_answer is not None:
        assert [*made.exact_answer.values] == world.answer


# -- what travels ------------------------------------------------------------------------------------------


def others(world: World, side: Side, rows: list[fields.Row]) -> World:
    """With other rows on a side in place of those without a match, as far as they match nothing either."""
    number, own = list(Side).index(side), [*world.rows(side)]
    matched = {pair[number] for pair in world.matches}
    for place, row in zip((n for n in range(len(own)) if n not in matched), rows, strict=False):
        tried = world.with_rows(side, [*own[:place], row, *own[place + 1 :]])
        if place not in {pair[number] for pair in tried.matches}:
            own[place] = row
    return world.with_rows(side, own)


def noises(worlds_: tuple[World, World]) -> Iterator[tuple[Any, Any] | None]:
    """For each world dummies that fill its bins up to the same noisy counts."""
    if not worlds_[0].agreement.protocol.promises:
        yield from (None, None)
        return
    plan = worlds_[0].agreement.plan
    counts = [
        [plan.counts(s, held.columns, len(held)) for s, held in zip(Side, one.records, strict=True)]
        for one in worlds_
    ]
    for one in counts:
        a, b = (np.maximum(*both) + 1 - own for both, own in zip(zip(*counts, strict=True), one, strict=True))
        yield a, b


def sizes(run: Run) -> tuple[Any, ...]:
    """All that has a size, a number or an order on the wire."""
    return run.wire.sizes, run.wire.rounds, [(one.comparisons, one.rounds) for one in (run.a, run.b)]


@given(worlds(greedy=False), st.sampled_from(Side), st.lists(fields.rows, min_size=3, max_size=3), seeds)
def test_what_travels_does_not_depend_on_unmatched_records(
    world: World, side: Side, rows: list[fields.Row], seed: int
) -> None:
    """With ε = 0 as it is, and with noise where the noisy counts are the same."""
    both = world, others(world, side, rows)
    runs = [link(one, seed=seed, noise=noise) for one, noise in zip(both, noises(both), strict=True)]
    assert sizes(runs[0]) == sizes(runs[1])
    assert world.noisy or runs[0].output == runs[1].output


@pytest.mark.usefixtures("quick")
@some
@given(worlds(greedy=False), st.sampled_from(Side), st.lists(fields.rows, min_size=3, max_size=3), seeds)
def test_nor_does_it_with_real_cryptography(
    world: World, side: Side, rows: list[fields.Row], seed: int
) -> None:
    both = world, others(world, side, rows)
    runs = [link(one, OtEngine(), seed, noise) for one, noise in zip(both, noises(both), strict=True)]
    assert sizes(runs[0]) == sizes(runs[1])


@given(worlds(protocols=("routed", "all-pairs"), hidden=True), st.data(), seeds)
def test_what_hides_matches_travels_as_if_there_were_none(
    world: World, data: st.DataObject, seed: int
) -> None:
    """An answer, or pairs for one side: other tables of the same sizes are the same messages."""
    a, b = (st.lists(fields.rows, min_size=len(rows), max_size=len(rows)) for rows in (world.a, world.b))
    other = data.draw(st.builds(World, st.just(world.agreement), a, b))
    assert sizes(link(world, seed=seed)) == sizes(link(other, seed=seed))


@pytest.mark.usefixtures("quick")
@settings(max_examples=8)
@given(worlds(greedy=False), seeds)
def test_as_many_bytes_travel_as_public_numbers_say(world: World, seed: int) -> None:
    """To the byte, but for records that match, their tokens and pairs; with a cascade, no more."""
    task, protocol, shown, real = (
        world.agreement.task,
        world.agreement.protocol,
        list[int](),
        disclosed.encode,
    )

    def encode(own: disclosed.Disclosed) -> bytes:
        made = real(own)
        shown.append(len(made))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclosed, "encode", encode)
        sent = link(world, OtEngine(), seed).wire.bytes
    public = (world.records[0].size, world.records[1].size)
    price = protocol.sends(task, public)
    if protocol.compares:
        tab = Tab(protocol.circuit(task, public), "ot")
        price += set_up_bytes("ot") + sum(tab.add(blocks).bytes for blocks in compared(world, seed))
    beside = sent - price - sum(shown)
    assert protocol.cascades(task) or beside >= 0
    assert beside <= 100 + 20 * len(world.found)


def compared(world: World, seed: int) -> Iterator[Blocks]:
    """What the engine is asked, evaluation after evaluation, by public numbers."""
    task, (a, b) = world.agreement.task, prepared(world, Seeded(seed))
    for lane in task.protocol.lanes(task, (a.records.size, b.records.size)):
        ones = np.ones(lane.bins, np.int64)
        yield Blocks.of_sizes(ones, ones)
    if schedule := task.protocol.schedule(task, (a.slots.counts, b.slots.counts)):
        for round_ in iter(schedule.next, None):
            yield Blocks.of_sizes(round_.a_counts, round_.b_counts)


@pytest.mark.usefixtures("quick")
@some
@given(worlds(protocols=("all-pairs", "psi", "routed")), seeds)
def test_a_plan_foresees_the_bytes_of_a_run(world: World, seed: int) -> None:
    """Within three in a hundred, where comparisons do not depend on the data."""
    planned = price_agreed(world.agreement, PlanQuestion((len(world.a), len(world.b)), LINE)).agreed
    run = link(world, OtEngine(), seed)
    assert run.a.comparisons <= planned.comparisons.high
    if not world.agreement.protocol.cascades(world.agreement.task):
        assert planned.bytes.expected == pytest.approx(run.wire.bytes, rel=0.03)


# -- whole runs --------------------------------------------------------------------------------------------


def require_outputs(world: World, both: dict[Side, faults.Office], ending: faults.Ending) -> None:
    """Both have what the textbook says, in one file and one receipt; each was charged what was promised."""
    faults.require_linked(ending)
    output, written = world.agreement.output, {}
    for side, office in both.items():
        result, (row,) = ending[side], office.ledger.runs()
        assert row.event.cost == world.agreement.leakage(side).cost
        assert read_receipt(result.receipt).facts["agreement"] == world.agreement.digest  # type: ignore[union-attr]
        if output.learner is side.other:
            assert not office.out.exists()
            continue
        written[side] = office.out.read_bytes()
        if output.answers:
            assert world.noisy or [*result.answer.values] == world.answer  # type: ignore[union-attr]
            continue
        require_pairs(world, side, pyarrow.csv.read_csv(office.out, convert_options=TEXTS))
    if output.ids == "own" and len(written) == 2:
        assert written[Side.A] == written[Side.B]
    assert len({office.run.receipt.read_bytes() for office in both.values() if office.run}) == 1


TEXTS = pyarrow.csv.ConvertOptions(
    strings_can_be_null=True,
    quoted_strings_can_be_null=False,
    column_types={
        f"{name}_{side}": pa.string() for name in ("id", "own_id", *fields.FIELDS) for side in "ab"
    },
)


def require_pairs(world: World, side: Side, pairs: pa.Table) -> None:
    """The pairs by their ids, or one's own records under pseudonyms; with the agreed columns."""
    agreed, ids = world.agreement, world.ids(world.kept)
    named = agreed.output.ids == "pseudonyms"
    own = f"own_id_{side.value.lower()}"
    for of in Side:
        letter = of.value.lower()
        columns = [name for name in pairs.column_names if name.endswith(f"_{letter}")]
        more = [own] if named and of is side else []
        assert columns == [f"id_{letter}", *more, *(f"{name}_{letter}" for name in agreed.disclosed(of))]
        known = (own if of is side else None) if named else f"id_{letter}"
        if known is None:
            assert not set(pairs[f"id_{letter}"].to_pylist()) & {f"{letter}{n}" for n in range(9)}
            continue
        if named and agreed.one_to_one:
            # Chosen by names that nobody knows before.
            assert set(pairs[known].to_pylist()) <= {name for pair in world.ids(world.found) for name in pair}
            assert len(set(pairs[known].to_pylist())) == len(pairs)
        else:
            assert sorted(pairs[known].to_pylist()) == sorted(pair[of is Side.B] for pair in ids)
        held = fields.table(world.rows(of), prefix=letter)
        rows = pc.index_in(pairs[known].combine_chunks(), value_set=held["id"].combine_chunks())
        for name in agreed.disclosed(of):
            shown = pairs[f"{name}_{letter}"].to_pylist()
            assert [*map(number, shown)] == [*map(number, held[name].take(rows).to_pylist())]
    if not named:
        assert sorted(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True)) == ids


def number(cell: Any) -> Any:
    """A cell, however a number or a date in it is written."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell.isoformat() if isinstance(cell, date) else cell


@pytest.mark.usefixtures("quick")
@given(world=worlds())
def test_a_whole_run_writes_the_join_of_the_textbook(folder: Callable[[], Path], world: World) -> None:
    both = firms(world, folder())
    require_outputs(world, both, faults.link(both))


@pytest.mark.usefixtures("quick")
@given(world=worlds(), frames=st.integers(1, 80), lost=st.booleans())
def test_a_run_that_was_cut_anywhere_ends_like_one_that_was_not(
    folder: Callable[[], Path], world: World, frames: int, lost: bool
) -> None:
    """Resumed, or begun anew where an intersection may not be resumed; charged once."""
    both = firms(world, folder())
    ending = faults.link(both, faults.Wire(frames=frames, lost=lost))
    if all(isinstance(end, Linked) for end in ending.values()):
        return
    ending = faults.again(both)
    if any(isinstance(end, NotResumedError) for end in ending.values()):
        assert not world.agreement.protocol.compares
        faults.require_linked(faults.link(both))
        return
    require_outputs(world, both, ending)


def spoil(table: pa.Table, agreed: Agreement, fault: str) -> pa.Table:
    """The table with a fault in its first row, or as it is where it has nothing of that kind."""
    rows = table.to_pylist()
    if fault == "id" and len(rows) > 1:
        rows[0]["id"] = rows[1]["id"]
    if fault == "nothing":
        return table
    for name, spec in agreed.fields.items():
        if fault == "missing" and spec.missing == "error":
            rows[0][name] = None
        if fault == "range" and spec.type == "number":
            rows[0][name] = 10**6
    return pa.Table.from_pylist(rows, table.schema)


@given(world=worlds(), fault=st.sampled_from(["nothing", "id", "missing", "range"]))
def test_what_check_finds_clean_is_not_refused_and_what_it_does_not_is(
    folder: Callable[[], Path], world: World, fault: str
) -> None:
    """At the same places; that a table seems to have copies is told, and is nowhere."""
    agreed, both = world.agreement, firms(world, folder())
    for side, office in both.items():
        pyarrow.csv.write_csv(spoil(world.table(side), agreed, fault), office.data)
        check = accord.check(agreed, office.data, party=side.value)
        places = [one.place for one in check.faults if one.place]
        if not places:
            office.ready()
            continue
        with pytest.raises(DataError) as caught:
            office.ready()
        assert [one.place for one in caught.value.faults] == places


@given(
    side=st.sampled_from(Side),
    chosen=st.sets(
        st.sampled_from(["out", "snapshot", "uncovered", "force", "raw", "workers", "layout", "wait"])
    ),
)
def test_a_request_from_the_shell_is_the_same_as_from_python(
    folder: Callable[[], Path], side: Side, chosen: set[str]
) -> None:
    """And what a run keeps of it is taken up again."""
    home, agreed = folder(), faults.agreement("greedy")
    both = faults.offices(home)
    (home / "agreement.toml").write_text(agreed.to_toml())
    (home / "layout.toml").write_text('id = "id"\ndelimiter = ","\n')
    options: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "out": (("--out", str(home / "p.csv")), {"out": home / "p.csv"}),
        "snapshot": (("--snapshot", "2026-11"), {"snapshot": "2026-11"}),
        "uncovered": (("--uncovered", "5%"), {"uncovered": "5%"}),
        "force": (("--force",), {"force": True}),
        "raw": (("--raw",), {"raw": True}),
        "workers": (("--workers", "2"), {"workers": 2}),
        "layout": (("--layout", str(home / "layout.toml")), {"layout": accord.Layout(delimiter=",")}),
        "wait": (("--wait", "7", "--timeout", "8"), {"reach": Reach(wait=7, patience=Patience(silence=8))}),
    }
    office, seen = both[side], list[Request]()
    way = "listen" if side is Side.A else "connect"
    typed = [word for name in sorted(chosen) for word in options[name][0]]
    said: dict[str, Any] = {way: "host:1", "reach": Reach(wait=600, patience=Patience(silence=60))}
    for name in chosen:
        said |= options[name][1]

    def asked(request: Request, *rest: object) -> None:
        seen.append(request)
        raise DeclinedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.run.link.link_request", asked)
        with pytest.raises(DeclinedError):
            accord.link(
                office.data, agreed, partner=office.partner, confirm=accord.agree, state=office.state.folder,
                dataset="table", **said,
            )  # fmt: skip
        done = terminal.accord(
            home, "--state", str(office.state.folder), "link", str(office.data), "--yes",
            "--agreement", "agreement.toml", "--partner", office.partner, f"--{way}", "host:1",
            "--dataset", "table", *typed,
        )  # fmt: skip
    assert len(seen) == 2, done.stderr
    assert seen[0] == seen[1]
    manifest = Manifest("0123", office.partner, side.value, "table", "", 1, 1, "", "", store(seen[0]))
    again = request_again(decode_manifest(asdict(manifest)), agreed, Resumption())
    assert store(again) == store(seen[0])


# -- drafts ------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[..., Generated]] = {"people": generate_people, "products": generate_products}


@cache
def drafted(shape: str) -> tuple[Proposal, Draft]:
    """The draft for a table of a shape, made once."""
    proposal = accord.propose(SHAPES[shape](40, 0.5, 1).a)
    with pytest.MonkeyPatch.context() as patch:
        search_briefly(patch)
        return proposal, accord.draft(proposal.confirm(records=(40, 40), parties=("alice", "bob")))


@pytest.mark.parametrize("shape", SHAPES)
@some
@given(seed=st.integers(2, 99), records=st.integers(1, 40), side=st.sampled_from(Side))
def test_tables_pass_check_under_a_draft(shape: str, seed: int, records: int, side: Side) -> None:
    """That which the draft was made for, and others of the same shape."""
    proposal, draft = drafted(shape)
    made = SHAPES[shape](records, 0.5, seed)
    layout = proposal.fit(draft).layout
    own = accord.check(draft.agreement, SHAPES[shape](40, 0.5, 1).a, party="alice", layout=layout)
    other = accord.check(
        draft.agreement, made.a if side is Side.A else made.b, party=side.value, layout=layout
    )
    assert own.clean
    assert other.clean, other.faults
    assert parse_agreement(draft.agreement.to_toml()).digest == draft.agreement.digest


# -- faults of earlier times -------------------------------------------------------------------------------


def test_an_exact_answer_of_a_table_that_is_left_out() -> None:
    """Over all pairs, where no row of A takes part."""
    world = World(agreement_of([], {"name": "all-pairs"}), [PEOPLE[0] | {"code": None}], [PEOPLE[0]])
    assert link(world).answer == link(world, OtEngine()).answer == [0]


def test_a_grid_before_a_key_in_a_pass_of_routed() -> None:
    """A record in cell 1 with value 2 does not meet one in cell 2 with value 1."""
    grid = {"kind": "grid", "fields": ["x"], "cell": 1, "style": "replicate", "reach": 0}
    agreed = agreement_of([grid, {"kind": "key", "field": "hour"}], {"name": "routed"})
    world = World(agreed, [PEOPLE[0] | {"x": -1.0, "hour": 1}], [PEOPLE[0] | {"x": 0.0, "hour": 2}])
    assert link(world).answer == world.answer == [0]


def agreement_of(blocking: list[dict[str, Any]], protocol: dict[str, Any]) -> Agreement:
    """How many records have the same code, which no record that takes part lacks."""
    specs = {name: fields.FIELDS[name].model_dump(mode="json") for name in ("code", "hour", "x")}
    return Agreement.model_validate(
        {
            **{"version": 2, "salt": fields.SALT, "parties": {"A": "alice", "B": "bob"}, "engine": "ot"},
            "fields": specs | {"code": specs["code"] | {"missing": "skip"}},
            "rule": "same(code)",
            "blocking": blocking,
            "protocol": protocol,
            "output": {"answer": "count", "exact": True},
        }
    )
