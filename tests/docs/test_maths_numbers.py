"""Numbers of the page on mathematics: each is computed here or in a test that its section names.

Tables are read from the page and computed again, cell by cell.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, comb, exp, log, sqrt
from pathlib import Path

import pytest

from accord.datasets.starter import starter
from accord.privacy.accounting import exact
from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.events import released
from accord.privacy.losses import replacement
from accord.privacy.noise import exact_delta
from accord.privacy.noise_geometric import Geometric
from accord.secure.circuit import AtMost, Hamming, Input, Node, Opened
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.held import layout_of
from reproduction.audit.bounds import at_least, at_most, epsilon_bound
from reproduction.noises.laplace import Laplace
from reproduction.protocols.noise_suppress import delta as suppressed_delta
from reproduction.protocols.randomised_response import both_in_block
from tests.docs.test_numbers import DOCS, sections
from tests.reproduction.noises import test_laplace as laplace
from tests.reproduction.plugged import plugged

ROOT = DOCS.parent
SECTIONS = {name.partition(" ")[0]: body for name, body in sections((DOCS / "maths.md").read_text()).items()}


@pytest.fixture(scope="module", autouse=True)
def _plugged() -> Iterator[None]:
    """The page is also about the laboratory's noises."""
    with plugged():
        yield


def rows(number: str) -> list[list[str]]:
    """The cells of all tables of a section, without their heads."""
    lines = re.findall(r"^\| (.*) \|$", SECTIONS[number], re.M)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines if re.match(r"[\d.]", line)]


def said(number: str, pattern: str) -> tuple[str, ...]:
    """What a section says where the pattern has groups; spaces stand for line ends, too."""
    found = re.search(pattern.replace(" ", r"\s+"), SECTIONS[number], re.S)
    assert found, pattern
    return found.groups()


def shown(text: str) -> str:
    """As the library writes it."""
    return text.replace("−", "-")


# -- noise -------------------------------------------------------------------------------------------------


def test_announced_counts_fail_less_than_once_in_2_to_the_80() -> None:
    assert exp(-2 * 28) < 2.0**-80


def test_the_table_of_published_shifts() -> None:
    """The cells are those of the test that computes them; the last column is its formula."""
    known = {(str(bins), epsilon): rest for bins, epsilon, *rest in laplace.TABLE}
    found = rows("3.2")
    assert {(row[0], row[1]) for row in found} == known.keys()
    for bins, epsilon, shift, ratio, least, proven in found:
        shifts, ratios, true = known[bins, epsilon]
        assert shift == ", ".join(map(str, shifts))
        assert ratio == ", ".join(f"{each:.3f}" for each in ratios)
        assert least == ", ".join(map(str, true))
        factor, k = 2 * int(bins) / float(epsilon), int(bins)
        assert proven == ", ".join(str(ceil(factor * log(k / float(d)))) for d in laplace.DELTAS)


def test_below_which_slope_the_atom_loses_more() -> None:
    assert f"{log((1 + sqrt(5)) / 2):.4f}" == said("3.2", r"\(s < (0.\d+)\)")[0]


SLOPES = ("0.02", "0.05", "0.1", "0.2", "0.4", "0.8", "1.5", "3")


@pytest.mark.parametrize(
    "slope", [pytest.param(s, marks=[pytest.mark.slow] if s in SLOPES[:2] else []) for s in SLOPES]
)
def test_delta_never_rises_with_the_shift(slope: str) -> None:
    s = Fraction(slope)
    for bins in (1, 2, 3):
        found = [exact_delta(Laplace(shift, s, 64), bins, 2 * bins * s) for shift in range(40)]
        assert found == sorted(found, reverse=True)


def test_the_table_of_the_geometric() -> None:
    found = rows("3.3")
    assert len(found) == 9
    for epsilon, delta, share, middle, mean, true, published, saved in found:
        made = calibrate("geometric", epsilon, shown(delta))
        before = as_claimed("paper-2017", epsilon, shown(delta)).expected_dummies
        assert isinstance(made.noise, Geometric)
        assert (made.noise.up, made.noise.middle) == (Fraction(share) * Fraction(epsilon), int(middle))
        assert (f"{made.expected_dummies:.1f}", f"{before:.1f}") == (mean, published)
        assert made.delta_exact == pytest.approx(float(true), rel=1e-3)
        assert f"{100 * (1 - made.expected_dummies / before):.0f} %" == saved


BOTH = ("geometric", "gaussian")


def means(epsilon: str, delta: str, bins: int, records: int = 1) -> str:
    made = (calibrate(name, epsilon, delta, bins, records_per_person=records) for name in BOTH)
    one, other = (each.expected_dummies for each in made)
    return f"{one:.1f}, {other:.0f}"


@pytest.mark.parametrize("row", rows("3.4"), ids=lambda row: row[0])
def test_geometric_against_gaussian(row: list[str]) -> None:
    delta, *cells = row
    assert [means("1", shown(delta), bins) for bins in (1, 2, 3, 4, 5, 10)] == cells


@pytest.mark.slow
def test_epsilon_fails_more_often_than_delta_says() -> None:
    """Of the Gaussian, whose losses may lie a little above ε; of the geometric it is δ."""
    least, most = map(int, said("3.4", r"Pr\[L > ε\] is (\d+) to (\d+) times δ"))
    ratios = [failing("gaussian", epsilon, bins) for epsilon in ("0.4", "1", "1.6") for bins in (1, 4, 10)]
    assert (round(min(ratios)), round(max(ratios))) == (least, most)
    assert failing("geometric", "1.6", 1) == pytest.approx(1)


def failing(name: str, epsilon: str, bins: int) -> float:
    """Pr[L > ε] in terms of δ(ε)."""
    found = replacement(calibrate(name, epsilon, "2^-40", bins).noise.window, bins)
    return found.beyond(Fraction(epsilon)) / found.delta(Fraction(epsilon))


def test_at_a_large_epsilon_four_bins_take_the_geometric() -> None:
    (eight,) = said("3.4", r"at four bins still \(([\d., ]+)\)")
    assert means("8", "2^-40", 4) == eight


@pytest.mark.slow
def test_at_a_tenth_the_gaussian_is_better_from_four_bins_too() -> None:
    three, four = (tuple(map(float, means("0.1", "2^-40", bins).split(","))) for bins in (3, 4))
    assert three[0] < three[1]
    assert four[0] > four[1]


def test_dummies_for_a_negligible_delta() -> None:
    (mean,) = said("3.5", r"it needs ([\d.]+) dummies at ε = 1.6")
    assert f"{calibrate('geometric', '1.6', '2^-128').expected_dummies:.1f}" == mean
    five, many = said("3.5", r"the shift is ([\d, ]+) at n = 5,000 and ([\d, ]+) at n = 300,000")
    for n, cells in ((5_000, five), (300_000, many)):
        shifts = [ceil(2 / epsilon * log(n) ** 2) for epsilon in (0.1, 0.4, 1.6)]
        assert ", ".join(map(str, shifts)) == cells


def for_people(name: str, bins: int, records: int) -> str:
    """The exact calibration, and in brackets that by the bound for groups."""
    made = calibrate(name, "1", "2^-40", bins, records_per_person=records).expected_dummies
    each = Fraction(1, records)
    share = sum(Fraction(exp(i / records)) for i in range(records))
    bound = calibrate(name, each, Fraction(1, 2**40) / share, bins).expected_dummies
    digits = 1 if name == "geometric" else 0
    return f"{made:.{digits}f}" if records == 1 else f"{made:.{digits}f} ({bound:.{digits}f})"


SLOW = {("3", "gaussian"), ("5", "gaussian")}
PEOPLE = [row for row in rows("3.9") if row[1].lower() in BOTH]


@pytest.mark.parametrize("row", PEOPLE, ids=lambda row: f"{row[1]}-{row[0]}")
def test_dummies_for_people(row: list[str]) -> None:
    bins, name, *cells = row
    for records, cell in zip((1, 2, 5), cells, strict=False):
        assert for_people(name.lower(), int(bins), records) == cell


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, marks=[pytest.mark.slow] if (r[0], r[1].lower()) in SLOW else []) for r in PEOPLE],
    ids=lambda row: f"{row[1]}-{row[0]}",
)
def test_dummies_for_people_with_twenty_records(row: list[str]) -> None:
    assert for_people(row[1].lower(), int(row[0]), 20) == row[5]


def test_what_runs_compose_to() -> None:
    """Rounded up, as a bound is."""
    found = rows("4.3")
    assert len(found) == 3
    for epsilon, *cells in found:
        event = released(calibrate("geometric", epsilon, "1e-5"))
        for runs, total, true in ((10, cells[0], cells[1]), (30, cells[2], cells[3])):
            composed = exact([event] * runs).epsilon(Fraction(11 * runs, 10**6))
            assert total == f"{runs * float(epsilon):g}"
            assert true == f"{ceil(1000 * composed) / 1000:.3f}"


def test_what_suppression_tells() -> None:
    found = rows("6")
    assert len(found) == 3
    for epsilon, *cells in found:
        assert [f"{suppressed_delta(float(epsilon), n):.3f}" for n in (1, 5, 50)] == cells


# -- local differential privacy ----------------------------------------------------------------------------


def triples(most: int) -> Iterator[tuple[int, int, int]]:
    """All k, k', x with x ≤ k' ≤ k."""
    for k in range(1, most + 1):
        for window in range(1, k + 1):
            yield from ((k, window, x) for x in range(1, window + 1))


def test_how_often_the_papers_count_is_wrong() -> None:
    every, wrong, beyond = said("5.2", r"Of the (\d+) triples .* wrong for (\d+), and these are the (\d+)")
    known = list(triples(12))
    off = [(k, w, x) for k, w, x in known if both_in_block(k, w, x) != x * (x + 1) // 2]
    assert (str(len(known)), str(len(off))) == (every, wrong)
    assert off == [(k, w, x) for k, w, x in known if x + w >= k + 2]
    assert beyond == wrong
    for k, w, x in known:
        brute = sum((i + j) % k < x for i in range(x) for j in range(w))
        assert brute == both_in_block(k, w, x)


def test_what_a_recall_of_95_percent_costs() -> None:
    costs = said("5.2", r"it is ([\d.]+), ([\d.]+) and ([\d.]+) for ε = 0.1, 0.4 and 1.6")
    assert list(costs) == [f"{0.95 / (0.95 + exp(e) * 0.05):.3f}" for e in (0.1, 0.4, 1.6)]


def compared(k: int, window: int, x: float, epsilon: float) -> float:
    """p of [MATHS §5.2] for a real x, without wrap."""
    u, h = exp(epsilon) - 1, x * (x + 1) / 2
    return (k * window + 2 * window * x * u + h * u * u) / (k + x * u) ** 2


def test_the_papers_derivative_and_rule() -> None:
    theirs, true = said("5.3", r"its derivative is \+([\d.]+) where the true one is −([\d.]+)\.")
    k, window, x, epsilon, step = 16, 2, 1.5, 4.0, 1e-5
    u = exp(epsilon) - 1
    slope = (compared(k, window, x + step, epsilon) - compared(k, window, x - step, epsilon)) / (2 * step)
    ours = u * u / 2 * (x * (2 * k - 4 * window - u) + k) / (k + x * u) ** 3
    assert slope == pytest.approx(ours, rel=1e-6)
    assert f"{-ours:.4f}" == true
    second = exp(epsilon) - 3 + 2 * k - 4 * window
    published = u * u / 2 * (x * second + k * (2 * window + u) / u) / (k + x * u) ** 3
    assert f"{published:.3f}" == theirs
    (rule,) = said("5.3", r"C₂ = ([\d.]+), but")
    assert f"{exp(4) - 3 + 2 * 8 - 4 * 2:.1f}" == rule
    shares = said("5.3", r"x = 1 compares ([\d.]+) of the matches of one bin and x = 2 compares ([\d.]+)\.")
    assert list(shares) == [f"{compared(8, 2, x, 4):.3f}" for x in (1, 2)]


# -- protocols ---------------------------------------------------------------------------------------------


def test_replication_is_what_the_evaluation_measured() -> None:
    """From the results, each style at its best cell and with the geometric noise."""
    with (DOCS / "results" / "replication.csv").open() as file:
        measured = [row for row in csv.DictReader(file) if row["noise"] == "geometric"]
    ratios: dict[str, list[float]] = {"no": [], "yes": []}
    for greedy, found in ratios.items():
        for epsilon in ("0.1", "0.4", "1.6"):
            best = {
                style: min(
                    float(row["cost"])
                    for row in measured
                    if (row["style"], row["epsilon"], row["greedy"]) == (style, epsilon, greedy)
                )
                for style in ("neighbours", "replicate")
            }
            found.append(best["neighbours"] / best["replicate"])
    said_without = said("9.4", r"a factor of ([\d.]+) to ([\d.]+) on Taxi without greedy")
    said_with = said("9.4", r"and of ([\d.]+) to ([\d.]+) with it")
    assert said_without == (f"{min(ratios['no']):.1f}", f"{max(ratios['no']):.1f}")
    assert said_with == (f"{min(ratios['yes']):.2f}", f"{max(ratios['yes']):.2f}")


def test_false_lines_of_an_intersection() -> None:
    assert 2.0**28 * 2.0**28 / 2.0**96 == 2.0**-40


def test_balls_of_half_the_radius() -> None:
    ball = [f"{sum(comb(50, i) for i in range(radius + 1)):,}" for radius in (3, 2, 5)]
    assert said("10.3", r"they have ([\d,]+) and ([\d,]+) elements, the whole ball has ([\d,]+)\.") == tuple(
        ball
    )


def payload_bits(node: Node) -> int:
    program = compile_circuit(Opened(node, 0), "ot")
    fields = zip(program.shares, layout_of(program).own, strict=True)
    return program.choices.count + sum(share.bits for share, at in fields if at is not None)


def test_what_a_payload_takes() -> None:
    hamming, people = said(
        "10.4", r"(\d+) bits for Hamming distances of 50 bits, (\d+) for the score of people"
    )
    assert payload_bits(AtMost(Hamming(Input("x", 50, 1)), 5)) == int(hamming)
    assert payload_bits(starter("people").task.lowered.node) == int(people)


def test_the_bound_on_the_hash() -> None:
    """(2μp + μq)/2^ρ with μ = 2^34 and ρ = 126."""
    p, q = said("11.5", r"at most p/2\^(\d+) \+ q·2\^−(\d+),")
    assert (2 * 2**34 * 2 ** int(p), 2**34 * 2 ** int(q)) == (2**126, 2**126)


def test_what_audits_could_show() -> None:
    few, many = said("12", r"it is ([\d.]+) for 200 runs of each table and ([\d.]+) for 2,000")
    alpha = 0.001 / 2
    for trials, number in ((100, few), (1_000, many)):
        most = epsilon_bound(at_least(trials, trials, alpha / 2), at_most(0, trials, alpha / 2), 1e-5)
        assert f"{most:.2f}" == number


# -- expected costs ----------------------------------------------------------------------------------------

GAMMA = {"AB": 2_369_936, "Taxi": 3_141_549}


def test_dummies_alone() -> None:
    published = [as_claimed("paper-2017", e, "1e-5").expected_dummies for e in ("0.1", "0.4", "1.6")]
    means = said("14.1", r"the means are (\d+), (\d+) and (\d+) at ε")
    assert list(means) == [f"{mean:.0f}" for mean in published]
    taxi = said("14.1", r"on one day of Taxi they are ([\d.e]+), ([\d.e]+) and ([\d.e]+)\.")
    pairs = 24 * 46**2
    assert [float(cost) for cost in taxi] == [float(f"{pairs * mean**2:.2e}") for mean in published]
    shares = said("13", r"are 1/([\d.]+) \(Taxi\) and 1/([\d.]+) \(AB\) of all pairs")
    alone = 300_000**2 / (pairs * published[0] ** 2), 5_000**2 / (16 * published[0] ** 2)
    assert list(shares) == [f"{share:.1f}" for share in alone]
    assert f"{9 * 24 * 16**2:,}" in SECTIONS["13"]


def test_what_expansion_costs_and_from_where_on_it_is_less() -> None:
    costs = said("14.2", r"([\d.e]+) for AB with n = 5,000, ([\d.e]+) for Taxi with n = 300,000")
    for (name, n), cost in zip((("AB", 5_000), ("Taxi", 300_000)), costs, strict=True):
        assert float(cost) == float(f"{GAMMA[name] * n * log(log(n)):.2e}")
    crossings = said("14.2", r"n > ([\d.e]+) \(AB\) and n > ([\d.e]+) \(Taxi\)")
    for gamma, crossing in zip(GAMMA.values(), crossings, strict=True):
        size = 1e6
        for _ in range(50):
            size = gamma * log(log(size))
        assert float(crossing) == float(f"{size:.2e}")


# -- every number has something that computes it -------------------------------------------------------------

NUMBER = re.compile(
    r"(?<![\w.-])\d+\.\d+(?!\.?\d)|\b\d{1,3}(?:,\d{3})+\b|\b\d{4,}\b|"
    r"\d+e-?\d+|2\^[−-]?\d|2[⁰¹²³⁴-⁹⁻]{2,}|\d %"
)
"""Decimal, with a comma or four digits, a power of ten or two, or a share."""
NO_RESULT = re.compile(r"§[\d.]+|\]\([^)]*\)|`[^`]*`|\[[A-Z]\w+\d\d[^\]]*\]")
"""References and code have numbers that are none of this."""
SOURCE = re.compile(r"`(?:[\w/]+/)?test_\w+\.py`|\]\(results/\w[\w-]*\.\w+\)")

INSTEAD = {
    "3.7": "the size of the table that is sampled",
    "3.8": "limits",
    "7.3": "settings",
    "11.7": "a margin that is chosen",
}
READ = {"3.2", "3.3", "3.4", "3.9", "4.3", "5.4", "6", "10.4", "14.4", "15"}
"""Whose tables are read cell by cell, here, in test_definitions.py or in test_coverage.py; the claims by
tests/reproduction."""


def unfounded(parts: dict[str, str]) -> set[str]:
    """Sections that have numbers, and name neither a test nor a result."""
    numbered = {name for name, body in parts.items() if NUMBER.search(NO_RESULT.sub("", body))}
    return {name for name in numbered if not SOURCE.search(parts[name])}


def test_numbers_have_a_test_or_a_result_beside_them() -> None:
    numbered = {name: body for name, body in SECTIONS.items() if name[:1].isdigit()}
    assert len(numbered) > 50
    assert unfounded(numbered) == INSTEAD.keys()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It is 0.763.", True),
        ("2,369,936 values", True),
        ("at most 2^-40", True),
        ("2⁻⁴⁰", True),
        ("It costs 5 %.", True),
        ("It is 0.763 (`test_leaky.py`).", False),
        ("It is 2.3, [measured](results/replication.csv).", False),
        ("See §3.10 and [HMFS17, §2.2], with x = 2.", False),
    ],
)
def test_a_number_without_a_source_would_be_found(said: str, found: bool) -> None:
    assert bool(unfounded({"1": said})) == found


def test_tables_of_numbers_are_read() -> None:
    cell = re.compile(r"^\|.*\| [\d.]+(?:e-\d+)? \|", re.M)
    assert {n for n, body in SECTIONS.items() if cell.search(body) and n != "13"} <= READ


def files_named(name: str) -> list[Path]:
    return list((ROOT / "tests").rglob(name.removeprefix("tests/")))


def test_names_of_tests_say_which_file_is_meant() -> None:
    """Of two files with one name the page says the folder, too."""
    named = {name for body in SECTIONS.values() for name in re.findall(r"`([\w/]*test_\w+\.py)`", body)}
    assert len(named) > 40
    assert {name: len(files_named(name)) for name in named if len(files_named(name)) != 1} == {}


def test_vectors_stand_in_the_tests_that_are_named() -> None:
    found = [line.split(" | ") for line in re.findall(r"^\| (.*py`.*) \|$", SECTIONS["15"], re.M)]
    assert len(found) == 12
    for _, value, named in found:
        files = [path for name in re.findall(r"`([\w/]+\.py)`", named) for path in files_named(name)]
        text = "".join(path.read_text() for path in files)
        held = {float(literal) for literal in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?", text)}
        assert {float(each) for each in re.findall(r"\d[\d.]*(?:e-\d+)?", value)} <= held, value
