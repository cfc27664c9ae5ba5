"""The parts of an audit: bounds, what is learnt, views, neighbours, and the command."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.agreement.file import require_sound
from accord.entropy import Seeded
from accord.errors import UsageError
from accord.protocols.intersection import Intersecting
from accord.protocols.registry import PROTOCOLS
from accord.protocols.routed import Routed
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Wire, run_pair
from accord.side import Side
from accord.simulation.pair import start_party
from reproduction.__main__ import main
from reproduction.audit.bounds import at_least, at_most, delta_bound, epsilon_bound
from reproduction.audit.cases import Case, _records, built_in, options, require_neighbours
from reproduction.audit.learner import Event, learn
from reproduction.audit.programs import honest
from reproduction.audit.protocol import CaseFinding, Finding, Verdict
from reproduction.audit.questions import OneRun
from reproduction.audit.views import View, find_features, rows

LAPLACE = options("laplace", "1.6", "1e-5")


@given(
    st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(1e-9, 0.4)
)
def test_the_bounds_are_those_of_clopper_and_pearson(counts: tuple[int, int], alpha: float) -> None:
    from scipy.stats import beta

    hits, trials = counts
    high = 1.0 if hits == trials else beta.isf(alpha, hits + 1, trials - hits)
    low = 0.0 if hits == 0 else beta.ppf(alpha, hits, trials - hits + 1)
    assert at_most(hits, trials, alpha) == pytest.approx(high, rel=1e-8)
    assert at_least(hits, trials, alpha) == pytest.approx(low, rel=1e-6, abs=1e-12)
    assert epsilon_bound(0.5, 0.1, 0.0) == pytest.approx(math.log(5))
    assert epsilon_bound(0.5, 0.1, 0.2) == pytest.approx(math.log(3))
    assert epsilon_bound(0.1, 0.5, 0.0) == epsilon_bound(0.1, 0.05, 0.2) == 0.0
    assert delta_bound(0.5, 0.1, math.log(2)) == pytest.approx(0.3)
    assert delta_bound(0.1, 0.5, 1.0) == 0.0


Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int], Floats]


def shifted(by: float, columns: slice = slice(7, 8)) -> World:
    """Numbers that say nothing, and some that lie higher."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = rng.integers(0, 256, (count, 30)).astype(np.float64)
        rows[:, columns] = rng.normal(by, 1, rows[:, columns].shape)
        return rows

    return world


def combined(agree: bool) -> World:
    """Two numbers that are uniform each, and equal in one world only."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = shifted(0)(rng, count)
        rows[:, 3] = rng.integers(0, 2, count)
        rows[:, 11] = rows[:, 3] if agree else 1 - rows[:, 3]
        return rows

    return world


def learnt(p: World, q: World, count: int = 200) -> tuple[Event, float, float]:
    rng = np.random.default_rng(1)
    parts = [(p(rng, count), q(rng, count)) for _ in range(3)]
    event = learn(parts[0], parts[1], 0.0, 3.0)
    shares = [float(event.holds(world).mean()) for world in parts[2]]
    return event, *(reversed(shares) if event.turned else shares)


def test_only_what_differs_is_found_alone_in_combination_and_as_a_sum() -> None:
    event, p, q = learnt(shifted(0), shifted(3))
    assert event.columns[0] == 7
    assert p > 0.5 > 0.1 > q
    event, p, q = learnt(combined(True), combined(False))
    assert {3, 11} <= set(event.columns)
    assert (p, q) == (1.0, 0.0)
    _, p, q = learnt(shifted(0, slice(8)), shifted(0.6, slice(8)), 400)
    assert p > 4 * q
    for same in (shifted(0), lambda rng, count: np.ones((count, 4))):
        _, p, q = learnt(same, same)
        assert p == pytest.approx(q, abs=0.2)


# -- views -------------------------------------------------------------------------------------------------


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
    parties = [
        start_party(case.agreement, side, own, len(other), Seeded(seed), engine)
        for side, own, other, seed in (
            (Side.A, case.partner, case.table, 2),
            (Side.B, case.table, case.partner, 1),
        )
    ]
    left, _ = run_pair(parties[0], parties[1], wire=tape)
    assert seen.messages == tape.sent
    assert sum(pairs for pairs, _ in seen.answers) == left.comparisons
    assert len(seen.answers) == left.rounds
    assert sum(len(places) for _, places in seen.answers) == 5


def named(*views: View) -> list[dict[str, float]]:
    places = find_features(views)
    return [dict(zip(places.names, row, strict=True)) for row in rows(views, places).tolist()]


def test_numbers_stand_where_their_names_say() -> None:
    words, none = np.array([7, 300], "<u8").tobytes(), np.array([], np.int64)
    one, two = named(
        View([b"\x05\x06\x07", words, words], [(12, np.array([3, 9])), (2, none)]),
        View([b"\x01", words, words, b"abc"], [(4, none)]),
    )
    for name, first, second in (
        ("messages", 3, 4),
        ("bytes in all", 35, 36),
        ("comparisons", 14, 4),
        ("matches", 2, 0),
        ("batch of the first match", 0, 1),
        ("size of message 1", 3, 1),
        ("size of message 4", 0, 3),
        ("place of the first match in batch 1", 4, 0),
        ("place of the last match in batch 1", 10, 0),
        ("word 1 of message 2", 300, 300),
        ("byte 8 of message 2", 44, 44),
        ("sum of words 1 of messages of 16 bytes", 600, 600),
        ("byte 2 of message 1", 7, 0),
        ("byte 0 of message 4", 0, ord("a")),
    ):
        assert (one[name], two[name]) == (first, second), name
    places = find_features([View([b"ab"])])
    later = View([b"abcd", b"more"], [(3, np.array([1]))])
    assert rows([later], places).shape == (1, len(places.names)), "what is beyond the layout is left out"


def test_runs_of_a_view_are_compared_with_each_other() -> None:
    words = ((5, 6), (5, 6, 9), (5, 4, 9), (5, 6, 9, 1))
    first, alike, other, last = (np.array(each, "<u8").tobytes() for each in words)
    one, two = named(
        View([b"x", first, b"x", alike, b"x", last, b"yy"], runs=[0, 2, 4]),
        View([b"x", first, b"x", other, b"x", last], runs=[0, 2, 4]),
    )
    name = "words of message 2 of a run that are not as in the run before"
    assert (one[name], two[name]) == (0, 2)
    name = "sum of words 1 of messages 2 of a run"
    assert (one[name], two[name]) == (18, 16)


def asks(case: Case) -> bool:
    """Whether whose record is at stake asks in an intersection, or in a routed linkage."""
    protocol, task, sizes = case.agreement.protocol, case.agreement.task, (len(case.table), len(case.partner))
    if isinstance(protocol, Intersecting):
        return not protocol.workload(task, case.side, *sizes).lists
    assert isinstance(protocol, Routed)
    return protocol.lanes(task, sizes if case.side is Side.A else sizes[::-1])[0].asker is case.side


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("blocking", "laplace-suppress")]


@pytest.mark.parametrize("name", ["laplace", "all-pairs", "psi", "psi-expand", "local-dp", "routed", *SLOW])
def test_built_in_cases_are_sound_neighbours(name: str) -> None:
    """Whose bins differ; and of an intersection, on each side, once with those who ask and once without."""
    found = built_in(options(name, "1", "1e-3"))
    names = ["alone", "matched", "crowd", *(["beside", "passes"] if name != "local-dp" else [])]
    assert [(each.name, each.side) for each in found] == [(n, side) for n in names for side in Side]
    for each in found:
        require_neighbours(each)
        require_sound(each.agreement, simulated=True)
        tables, plan = (each.table, each.neighbour), each.agreement.plan
        bins = [plan.counts(each.side, table.columns, len(table)) for table in tables]
        assert (bins[0] != bins[1]).any() == PROTOCOLS[name].blocked
    if name in ("psi", "psi-expand", "routed"):
        assert {(each.side, asks(each)) for each in found} == {(s, a) for s in Side for a in (True, False)}


OTHERS = [(2, 8), (2, 16), (2, 24), (2, 32), (2, 40)]


def test_tables_that_are_no_neighbours_are_refused() -> None:
    """Another size, no change, two records, and a record that matches."""
    case = built_in(LAPLACE)[3]
    require_neighbours(replace(case, neighbour=_records([(1, 4), *OTHERS], case.agreement)))
    for points in (
        [(0, 4)],
        [(0, 4), *OTHERS],
        [(1, 4), (1, 8), *OTHERS[1:]],
        [(2, 9), *OTHERS],
    ):
        with pytest.raises(UsageError):
            require_neighbours(replace(case, neighbour=_records(points, case.agreement)))


# -- the command -------------------------------------------------------------------------------------------

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reproduction", "audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


@pytest.mark.parametrize(
    ("lower", "most", "code", "warned"), [(0.0, 3.2, 0, False), (0.0, 1.5, 0, True), (1.7, 3.2, 12, False)]
)
def test_a_verdict_is_an_exit_code(
    lower: float, most: float, code: int, warned: bool, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a verdict that no run was needed for."""
    finding = Finding(20, 20, 0, 1.6, 1e-5, lower, most, 0.0, (), ())

    def ask(questions: list[OneRun], *rest: object) -> Verdict:
        return Verdict(tuple(CaseFinding(each, finding, ("word 77",)) for each in questions), 0.999)

    monkeypatch.setattr("reproduction.audit.protocol.ask", ask)
    ended, out, err = command("laplace", "--case", "alone", "--trials", "40")
    assert (ended, bool(err)) == (code, warned or bool(code))
    assert ("word 77" in out) is bool(code)
    shown = [line.split()[:2] for line in out.splitlines() if line.startswith("alone")]
    assert shown == [["alone", "A"], ["alone", "B"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("unshuffled", "--case", "matched", "--trials", "400"), 12),
        (("blocking", "--epsilon", "1", "--delta", "1e-6", "--case", "alone", "--trials", "60"), 12),
        (("all-pairs", "--trials", "40"), 0),
        (("laplace", "--case", "alone", "--trials", "40", "--epsilon", "0.5"), 0),
    ],
)
def test_an_audit_is_run(words: tuple[str, ...], code: int, command: Command) -> None:
    assert command(*words)[0] == code


@pytest.mark.parametrize(
    "words",
    [
        ("laplace", "--case", "odd"), ("lapalce",), ("laplace", "--trials", "3"), ("psi", "--epsilon", "1"),
        ("laplace", "--epsilon", "0"), ("laplace", "--epsilon", "100"), ("laplace", "--epsilon", "much"),
        ("laplace", "--delta", "2"), ("local-dp", "--delta", "1e-6"),
    ],
)  # fmt: skip
def test_an_odd_question_is_refused(words: tuple[str, ...], command: Command) -> None:
    assert command(*words)[0] == 2
