"""Privacy as tests: the partner's view depends on noisy counts and matching records, and on nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, islice, product
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols import naming
from accord.protocols.base import prepare
from accord.protocols.lines import find_records
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import Slots
from accord.protocols.registry import PROTOCOLS, protocol_named
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.side import Side
from accord.simulation.pair import make_mine, release_of
from tests.protocols import worlds
from tests.protocols.liars import refused
from tests.protocols.views import views

# -- coupled runs: same counts, same places of the matching records ⇒ the same shape, message by message ---


def coupled(
    agreed: Agreement, b: worlds.Rows, inert: set[int], counts: NDArray[np.int64], seed: int
) -> Slots:
    """B's slots with these noisy counts; matching records lie where the seed says, whatever else is there."""
    table = worlds.records(b, agreed)
    record, bins = agreed.plan.place(Side.B, table.columns, len(b))
    rng = np.random.default_rng(seed)
    placed = np.full(int(counts.sum()), -1, np.int64)
    first = np.cumsum(counts) - counts
    for bin_, size in enumerate(counts):
        order = first[bin_] + rng.permutation(size)
        here = record[bins == bin_]
        matching = [r for r in here if r not in inert]
        others = [r for r in here if r in inert]
        placed[order[: len(matching)]] = matching
        placed[order[size - len(others) :]] = others
    return Slots(counts, placed, bytes(64))


def shape(
    agreed: Agreement, a: worlds.Rows, b: worlds.Rows, slots: Slots, engine: Engine
) -> tuple[object, ...]:
    """All that has a size, a number or an order in A's view."""
    entropy = Seeded(9)
    own_a = worlds.side(agreed, Side.A, a, entropy, partner=len(b))
    own_b = OwnSide(Side.B, worlds.records(b, agreed, "B"), len(a), slots, entropy.stream("B"))
    seen = views(agreed.task, own_a, own_b, engine)[Side.A]
    found = seen.outcome
    output = worlds.pairs_of_a(found), found.partner_ids.to_pylist()
    return seen.sent, [*map(len, seen.received)], seen.rounds, found.comparisons, found.rounds, *output


def neighbours(rng: np.random.Generator) -> tuple[worlds.Rows, worlds.Rows, worlds.Rows] | None:
    """A, and two tables of B that differ in one record, which matches nothing in A either way."""
    a = [tuple(p) for p in rng.integers(0, 16, (rng.integers(1, 12), 2)).tolist()]
    b = [tuple(p) for p in rng.integers(0, 16, (rng.integers(1, 12), 2)).tolist()]
    other = [tuple(rng.integers(0, 16, 2).tolist()), *b[1:]]
    if {0} & {j for _, j in worlds.textbook(a, b) + worlds.textbook(a, other)}:
        return None
    return a, b, other


def options(rng: np.random.Generator) -> Agreement:
    """Disclosure round by round. Other agreements are in tests/test_pipeline.py."""
    rule = str(rng.choice([worlds.RULE, worlds.WITHOUT_INDEX]))
    if rng.random() < 0.2:
        return worlds.agreement(protocol="all-pairs", rule=rule)
    chosen = {"sort": bool(rng.integers(0, 2)), "prune": int(rng.choice([0, 0, 30]))}
    if rng.integers(0, 2):
        named = rng.choice(["x", "y", "both", "grid", "around"], rng.integers(1, 4))
        return worlds.agreement(rule=rule, blocking=worlds.passes(*named), **chosen)
    return worlds.agreement(rule=rule, style=str(rng.choice(["neighbours", "replicate"])), **chosen)


@pytest.mark.parametrize(
    ("cases", "engine"),
    [
        (20, IdealEngine()),
        (2, OtEngine()),
        pytest.param(5_000, IdealEngine(), marks=pytest.mark.slow),
        pytest.param(60, OtEngine(), marks=pytest.mark.slow),
    ],
)
def test_neighbours_look_alike(cases: int, engine: Engine) -> None:
    rng = np.random.default_rng(cases)
    for a, b, other in islice(filter(None, (neighbours(rng) for _ in count())), cases):
        agreed = options(rng)
        inert = set(range(len(b))) - {j for _, j in worlds.textbook(a, b)}
        counts = [agreed.plan.counts(Side.B, worlds.records(t, agreed).columns, len(t)) for t in (b, other)]
        noisy = np.maximum(*counts)
        if agreed.protocol.name == "laplace":
            noisy = noisy + rng.integers(0, 3, len(noisy))
        order = int(rng.integers(0, 2**31))
        with worlds.slabs(int(rng.choice([1, 3, 64]))):
            one, two = (coupled(agreed, t, inert, noisy, order) for t in (b, other))
            assert shape(agreed, a, b, one, engine) == shape(agreed, a, other, two, engine)


# -- exact enumeration [MATHS §2.1, §15] -----------------------------------------------------------------

NOISE = (0.05, 0.2, 0.4, 0.25, 0.1)
DELTAS = {0.5: 0.397762, 1.0: 0.297150, 1.5: 0.206937, 2.0: 0.158055}


def two_bins() -> Agreement:
    """Bins x = 0 and x = 1; a match is |y − y′| ≤ 1, so that a match may lie outside the blocking."""
    agreed = worlds.agreement(rule="within(y, 1)")
    fields = {"x": {"type": "number", "min": 0, "max": 1, "step": 1}, "y": agreed.fields["y"].model_dump()}
    plain = agreed.model_dump(mode="json") | {"fields": fields, "blocking": [{"kind": "key", "field": "x"}]}
    return Agreement.model_validate(plain)


A_ROWS = [(0, 5), (1, 5)]
MATCHING = (0, 5)
HERE, THERE = (0, 12), (1, 12)
"""B's inert record, in the one bin or in the other. It stands first in the table, the matching one second."""


def arrangements(sizes: tuple[int, int], bins: tuple[int, int]) -> Iterator[list[int]]:
    """Every way to place record 0 into bin bins[0] and record 1 into bins[1] of these sizes."""
    starts = (0, sizes[0])
    for i, j in product(range(sizes[bins[0]]), range(sizes[bins[1]])):
        places = starts[bins[0]] + i, starts[bins[1]] + j
        if places[0] != places[1]:
            placed = [-1] * sum(sizes)
            placed[places[0]], placed[places[1]] = 0, 1
            yield placed


def view(agreed: Agreement, b: worlds.Rows, counts: tuple[int, int], placed: list[int]) -> tuple[object, ...]:
    """A's view: counts, sizes and contents of what B sends, without what is uniformly random."""
    entropy = Seeded(5)
    own_a = worlds.side(agreed, Side.A, A_ROWS, entropy, 1, len(b))
    slots = Slots(np.array(counts), np.array(placed), bytes(64))
    own_b = OwnSide(Side.B, worlds.records(b, agreed, "B"), len(A_ROWS), slots, entropy.stream("B"))
    seen = views(agreed.task, own_a, own_b, IdealEngine())[Side.A]
    commitment, opened, *rest = seen.received
    assert len(worlds.pairs_of_a(seen.outcome)) == 2, "the second match is found by closure alone"
    told = tuple(rest[:-2])  # the key half and the digest under it come last
    return len(commitment), opened[32:], told, tuple(map(len, seen.received)), seen.outcome.comparisons


def distribution(
    agreed: Agreement, inert: tuple[int, int], noise: Sequence[float], shuffled: bool
) -> dict[object, float]:
    """The exact distribution of A's view over noise and order."""
    b = [inert, MATCHING]
    found: dict[object, float] = defaultdict(float)
    true = (1 + (inert[0] == 0), int(inert[0] == 1))
    for (x, p), (y, q) in product(enumerate(noise), repeat=2):
        counts = true[0] + x, true[1] + y
        ways = list(arrangements(counts, (inert[0], MATCHING[0])))
        if not shuffled:
            ways = [sorted(ways, key=lambda placed: (placed.index(0), placed.index(1)))[0]]
        for placed in ways:
            found[view(agreed, b, counts, placed)] += p * q / len(ways)
    return found


def delta(p: dict[object, float], q: dict[object, float], epsilon: float) -> float:
    return sum(max(0.0, mass - exp(epsilon) * q.get(seen, 0.0)) for seen, mass in p.items())


@pytest.mark.slow
def test_the_shuffled_transcript_leaks_exactly_what_the_counts_leak() -> None:
    agreed = two_bins()
    here, there = (distribution(agreed, inert, NOISE, shuffled=True) for inert in (HERE, THERE))
    assert sum(here.values()) == pytest.approx(1)
    for epsilon, expected in DELTAS.items():
        assert delta(here, there, epsilon) == pytest.approx(expected, abs=1e-6)
        assert delta(there, here, epsilon) == pytest.approx(expected, abs=1e-6)


def test_the_unshuffled_transcript_leaks_everything() -> None:
    agreed = two_bins()
    here, there = (distribution(agreed, inert, (0.3, 0.7), shuffled=False) for inert in (HERE, THERE))
    for epsilon in DELTAS:
        assert delta(here, there, epsilon) == pytest.approx(1)


# -- rows that are left out: they count, and the partner cannot tell them from records ----------------------

Points = list[tuple[int | None, int]]
"""A record without x is left out."""


def skipping(name: str) -> Agreement:
    kind = protocol_named(name)
    plain = worlds.agreement(rule="same(x) and same(y)").model_dump(mode="json")
    plain["fields"]["x"]["missing"] = "skip"
    plain["blocking"] = [{"kind": "key", "field": "x"}] if kind.blocked else []
    plain["protocol"] = kind.draft("1", "1e-3", {side: "geometric" for side in Side})
    return Agreement.model_validate(plain)


def load(rows: Points, agreed: Agreement, prefix: str) -> Records:
    x, y = (pa.array(cells, pa.int64()) for cells in zip(*rows, strict=True))
    table = pa.table({"id": [f"{prefix}{i}" for i in range(len(rows))], "x": x, "y": y})
    return load_records(table, agreed.fields, agreed.salt, ["x", "y"])


MATCHED: Points = [(5, 5), (6, 6)]
STRANGER: Points = [*MATCHED, (9, 9)]
LEFT_OUT: Points = [*MATCHED, (None, 9)]


def shape_of(name: str, side: Side, rows: Points, noise: Any) -> tuple[object, ...]:
    """What the partner sees of this side beyond random bytes: sizes of messages, counts, figures."""
    engine = OtEngine() if side is Side.A else IdealEngine()
    agreed = skipping(name)
    task, own = agreed.task, load(rows, agreed, "o")
    other = load([(5, 5), (1, 1), (2, 2), (3, 3)], agreed, "p")
    partner = make_mine(release_of(agreed, side.other, other.size), other, own.size, Seeded(1))
    mine = prepare(task, side, own, other.size, noise(own), Seeded(2))
    both = (mine, partner) if side is Side.A else (partner, mine)
    seen = views(task, *both, engine)[side.other]
    counts = tuple(mine.slots.counts.tolist())
    outcome = seen.outcome
    return seen.sent, tuple(map(len, seen.received)), counts, outcome.partner_size, outcome.comparisons


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_the_partner_cannot_tell_one_from_a_stranger(name: str, side: Side) -> None:
    """The same reports, or the same padded sizes, give the same view: all else follows from the release."""

    def noise(own: Records) -> np.ndarray:
        if name == "laplace":
            padded = np.full(16, 7)
            padded[9] += own.left_out
            return padded
        return release_of(skipping(name), side, own.size).draw(own, Seeded(3))

    shapes = {shape_of(name, side, rows, noise) for rows in (STRANGER, LEFT_OUT)}
    assert len(shapes) == 1


def test_a_partner_that_names_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an intersection a row that was left out has a token like every record; nobody can have found it."""
    agreed = skipping("psi")
    own = load([(5, 5), (None, 1)], agreed, "o")
    other = load([(5, 5)], agreed, "p")

    def forge(named: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        find_records(named, tokens)
        return np.array([len(tokens) - 1])

    lister = make_mine(release_of(agreed, Side.A, 2), own, 1, Seeded(1))
    asker = make_mine(release_of(agreed, Side.B, 1), other, 2, Seeded(2))
    monkeypatch.setattr(naming, "find_records", forge)
    with refused():
        views(agreed.task, lister, asker, IdealEngine())
