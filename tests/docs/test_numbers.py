"""Numbers that pages claim: from the code, and from committed results.

A row of a table is made again from the cells that name it. Of a number in a sentence it is looked up whether
it stands on its page. Pages that are written from results are compared as a whole by the laboratory's tests.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import ceil, comb, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.datasets.starter import starter
from accord.fields.load import load_records
from accord.fields.making import Cells as Made
from accord.fields.making import make
from accord.fields.recipe import STEPS
from accord.fields.schema import CategoryField, FieldSpec
from accord.limits import MOST_BYTES
from accord.peer import channel, connect, encryption, frames, handshake, port
from accord.peer.channel import Patience
from accord.peer.connection import Reach
from accord.peer.frames import Kind, Reason
from accord.privacy.accounting import exact
from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.events import released
from accord.privacy.noise import exact_delta
from accord.privacy.noise_geometric import Geometric
from accord.rules.evaluate import Tables, holds
from accord.rules.text import parse_rule
from accord.secure.circuit import AtMost, Hamming, Input, Node, Opened
from accord.secure.cost import Tab, price, set_up_bytes
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.held import layout_of
from accord.secure.ot.settings import USUAL, Settings
from accord.workers.connections import MEET_SECONDS
from benchmarks import choices, coverage, scale
from benchmarks.workload import RULES, Work
from reproduction.audit.bounds import at_least, at_most, epsilon_bound
from reproduction.claims_paper import CLAIMS
from reproduction.protocols.noise_suppress import delta as suppressed
from reproduction.protocols.randomised_response import both_in_block
from tests.docs.pages import DOCS, ROOT, Cells, near, numbers, results, stands, table
from tests.reproduction.test_noises import DELTAS, TABLE
from tests.reproduction.worlds import plugged


@pytest.fixture(scope="module", autouse=True)
def _plugged() -> Iterator[None]:
    """Pages are also about the laboratory's noises."""
    with plugged():
        yield


# -- rows of tables ----------------------------------------------------------------------------------------


def shifts(row: Cells, _: Cells) -> Cells:
    """Published shifts of noise: those that the laboratory's tests compute, and a closed form."""
    ((published, ratios, least),) = [r[2:] for r in TABLE if (str(r[0]), r[1]) == (row[0], row[1])]
    k = int(row[0])
    factor = 2 * k / float(row[1])
    proven = [ceil(factor * log(k / float(delta))) for delta in DELTAS]
    shown = [", ".join(map(str, cell)) for cell in (published, least, proven)]
    return [*row[:2], shown[0], ", ".join(f"{ratio:.3f}" for ratio in ratios), *shown[1:]]


def dummies(name: str, epsilon: str, delta: str, bins: int = 1, records: int = 1, digits: int = 1) -> str:
    found = as_claimed(name, epsilon, delta.replace("−", "-"), bins, None, records)
    return f"{found.expected_dummies:.{digits}f}"


def expected(row: Cells, _: Cells) -> Cells:
    return [*row[:2], *(dummies(name, row[0], row[1]) for name in PAPERS)]


def geometric(row: Cells, _: Cells) -> Cells:
    epsilon, delta, share, true = (row[place] for place in (0, 1, 2, 5))
    made = calibrate("geometric", epsilon, delta.replace("−", "-"))
    ours, theirs = (float(dummies(name, epsilon, delta)) for name in ("geometric", "paper-2017"))
    assert isinstance(made.noise, Geometric)
    assert made.noise.up == Fraction(share) * Fraction(epsilon)
    assert made.delta_exact == pytest.approx(float(true), rel=1e-3)
    saved = f"{100 * (1 - ours / theirs):.0f} %"
    return [epsilon, delta, share, str(made.noise.middle), f"{ours}", true, f"{theirs}", saved]


def against_gaussian(row: Cells, head: Cells) -> Cells:
    bins = [int(cell.rpartition(" ")[2]) for cell in head[1:]]
    digits = {"geometric": 1, "gaussian": 0}
    both = [[dummies(name, "1", row[0], k, digits=digits[name]) for name in digits] for k in bins]
    return [row[0], *(", ".join(cell) for cell in both)]


def people(row: Cells, head: Cells) -> Cells:
    """The exact calibration, and in brackets that by the bound for groups."""
    name, digits = row[1].lower(), 1 if row[1] == "geometric" else 0
    cells = [*row[:2], dummies(name, "1", "2^-40", int(row[0]), digits=digits)]
    for records in (int(cell) for cell in head[3:]):
        share = sum(Fraction(exp(i / records)) for i in range(records))
        bound = calibrate(name, Fraction(1, records), Fraction(1, 2**40) / share, int(row[0]))
        made = dummies(name, "1", "2^-40", int(row[0]), records, digits)
        cells.append(f"{made} ({bound.expected_dummies:.{digits}f})")
    return cells


def composed(row: Cells, _: Cells) -> Cells:
    """Rounded up, as a bound is."""
    event, cells = released(calibrate("geometric", row[0], "1e-5")), [row[0]]
    for runs in (10, 30):
        true = exact([event] * runs).epsilon(Fraction(11 * runs, 10**6))
        cells += [f"{runs * float(row[0]):g}", f"{ceil(1000 * true) / 1000:.3f}"]
    return cells


def local_mechanisms(row: Cells, _: Cells) -> Cells:
    """At a recall of 95 %; the last column is of places, and not made again."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    epsilon, recall = float(row[0]), 0.95
    factor = exp(epsilon)

    def delta(apart: float) -> float:
        left, right = norm.cdf([apart / 2 - epsilon / apart, -apart / 2 - epsilon / apart])
        return float(left - factor * right)

    least = max(recall / factor, 1 - factor * (1 - recall))
    response = recall / (recall + factor * (1 - recall))
    gaussian = norm.cdf(norm.ppf(recall) - brentq(lambda apart: delta(apart) - 1e-5, 1e-4, 20))
    return [row[0], *(f"{share:.4f}" for share in (least, response, gaussian)), row[4]]


def suppression(row: Cells, _: Cells) -> Cells:
    return [row[0], *(f"{suppressed(float(row[0]), matching):.3f}" for matching in (1, 5, 50))]


def for_people(row: Cells, _: Cells) -> Cells:
    return [*row[:2], *(dummies(row[0], "1", "2^-40", int(row[1]), records) for records in (1, 2, 5))]


def claims(row: Cells, _: Cells) -> Cells:
    claim = CLAIMS[int(row[0]) - 1]
    return [str(claim.number), claim.paper, claim.due]


def covered(row: Cells, _: Cells) -> Cells:
    keys = row[0], row[1].replace(",", ""), row[2]
    (found,) = [r for r in results("coverage") if (r["passes"], r["records"], r["cap"]) == keys]
    return [*row[:3], f"{found['uncovered_percent']} %", f"{found['beside_match_percent']} %"]


def scaled(row: Cells, _: Cells) -> Cells:
    keys = row[0].replace(",", ""), row[1], row[2]
    for r in results("scale"):
        if (r["records"], r["processor"], r["workers"]) == keys:
            most = max(int(r["anonymous_mib_a"]), int(r["anonymous_mib_b"]))
            sizes = f"{int(r['comparisons']):,}", f"{int(r['bytes']) / 1e9:.1f} GB"
            if row[3:] == [*sizes, r["minutes"], r["processor_minutes"], f"{most:,} MiB"]:
                return row
    return [*row[:3], "not measured"]


def chosen(row: Cells, _: Cells) -> Cells:
    (found,) = [
        r for r in results("choices") if (r["kind"], r["records"]) == (row[0], row[1].replace(",", ""))
    ]
    return [cell.strip() for cell in choices.tell(dict(found)).strip("| ").split(" | ")]


def monthly(row: Cells, _: Cells) -> Cells:
    protocol, often = row[0].replace("`", "").split(", ")
    runs = 12 if "month" in often else 4
    keys = ("people", "100000", protocol)
    r = [r for r in results("routed") if (r["kind"], r["records"], r["protocol"]) == keys][-1]
    recall, precision = float(r["recall"]), float(r["precision"])
    epsilon = {"routed": 0.0, "laplace": 1.6}[protocol]
    size, f1 = runs * int(r["bytes"]) / 1e9, 2 * recall * precision / (recall + precision)
    return [
        row[0],
        f"{runs * epsilon:g}",
        f"{runs * int(r['comparisons']):,}",
        f"{size:,.1f} GB",
        f"{f1:.3f}",
    ]


def cascade(row: Cells, _: Cells) -> Cells:
    cells = [row[0]]
    for name, said in (("routed", row[1:5]), ("cascade", row[5:])):
        comparisons = said[0].replace(",", "")
        measured = [*results("routed"), *results("cascade")]
        (r,) = [r for r in measured if (r["protocol"], r["comparisons"]) == (name, comparisons)]
        assert r["records"] == row[0].replace(",", "")
        values = int(r["bytes"]) / 1e6, 60 * float(r["processor_minutes"]), float(r["recall"])
        cells += [said[0], *(near(cell, value) for cell, value in zip(said[1:], values, strict=True))]
    return cells


def linked(row: Cells, _: Cells) -> Cells:
    comparisons = row[2].replace(",", "")
    (r,) = [
        r
        for r in results("routed")
        if r["comparisons"] == comparisons and near(row[3], float(r["minutes"])) == row[3]
    ]
    assert r["records"] == row[1].replace(",", "")
    memory = " + ".join(f"{int(r[f'anonymous_mib_{side}']):,}" for side in "ab")
    values = float(r["minutes"]), float(r["processor_minutes"]), int(r["bytes"]) / 1e9
    shares = float(r["recall"]), float(r["precision"])
    shown = [near(cell, value) for cell, value in zip(row[3:6], values, strict=True)]
    return [*row[:3], *shown, memory, *(near(c, v) for c, v in zip(row[7:], shares, strict=True))]


KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "encoder": "hash"},
    "number": {"type": "number", "min": 0, "max": 9999, "step": 1},
    "date": {"type": "date", "min": "1900-01-01", "max": "2030-12-31", "missing": "differs"},
}


def made(kind: str, before: str, said: str) -> str:
    field: FieldSpec = TypeAdapter(FieldSpec).validate_python(KINDS[kind] | tomllib.loads(said))
    return str(make("x", field, Made({"x": pa.array([before])}, {})).shown()[0].as_py())


def cleaned(row: Cells, _: Cells) -> Cells:
    step = row[0] if row[0].startswith("{") else f'"{row[0]}"'
    return [*row[:3], made("text", row[2], f"clean = [{step}]")]


def derived(row: Cells, _: Cells) -> Cells:
    kinds = {"date"} if row[1] == "date" else {"text", "number"} & set(row[1].split(", "))
    (after,) = {made(kind, row[3], f"derive = {row[0]}") for kind in kinds}
    return [*row[:4], after]


def missing(row: Cells, head: Cells) -> Cells:
    fields = {"f": CategoryField(type="category", values=("x", "y"), missing="differs")}
    tables = [pa.table({"id": ["1"], "f": pa.array([value or None], pa.string())}) for value in row[:2]]
    sides, first = [load_records(t, fields, "00").columns for t in tables], np.zeros(1, np.int64)
    held = [holds(parse_rule(rule), Tables(fields, *sides), first, first)[0] for rule in head[2:]]
    return [*row[:2], *("yes" if each else "no" for each in held)]


@cache
def priced(rule: str, width: int | None = None) -> tuple[float, float, int]:
    """Bytes a pair in a new session and in one that was used, which is silent; rounds in a new one."""
    (over,) = Work.of(1000, width).cut()
    tab = Tab(RULES[rule])
    first, second = tab.add(over), tab.add(over)
    return first.bytes / over.pairs, second.bytes / over.pairs, first.rounds


def engine_of(row: Cells, _: Cells) -> Cells:
    """What was measured lies between a new session and a used one, within 4 %; rounds are of a new one."""
    rule, width = re.search(r"\((\w+)\)", row[0].replace("`", "")), re.search(r"--width (\d+)", row[0])
    new, used, rounds = priced(rule[1] if rule else "hamming50", int(width[1]) if width else None)
    return [row[0], row[1] if 0.96 * used < float(row[1]) < 1.04 * new else f"{new:.1f}", str(rounds)]


Recompute = Callable[[Cells, Cells], Cells]
PAPERS = ("geometric", "paper-2017")
# Page, head, how many rows at least, how many of them are fast, and the row made again.
TABLES: list[tuple[str, str, int, int, Recompute]] = [
    ("maths.md", "k' | ε |", 8, 8, shifts),
    ("maths.md", "ε | δ | r |", 9, 9, geometric),
    ("maths.md", "δ | k' = 1 |", 3, 1, against_gaussian),
    ("maths.md", "k' | noise |", 6, 1, people),
    ("maths.md", "ε of one |", 3, 3, composed),
    ("maths.md", "ε | any mechanism", 3, 3, local_mechanisms),
    ("maths.md", "ε | n₁ = 1", 3, 3, suppression),
    ("maths.md", "passes | records |", 8, 8, covered),
    ("maths.md", "| claim |", 21, 21, claims),
    ("privacy.md", "ε | δ | `geometric`", 4, 4, expected),
    ("privacy.md", "noise | bins per record", 5, 2, for_people),
    ("cores.md", "places per side", 4, 4, scaled),
    ("epsilon.md", "template |", 6, 6, chosen),
    ("monthly.md", "a year |", 3, 3, monthly),
    ("protocols/routed.md", "people per side | comparisons | MB", 5, 5, cascade),
    ("protocols/routed.md", "| records per side |", 8, 8, linked),
    ("fields.md", "step |", 10, 99, cleaned),
    ("fields.md", "`derive` |", 5, 99, derived),
    ("rules.md", "A's `f` |", 5, 5, missing),
    ("wire.md", "kind | name |", 3, 3, lambda r, _: [str(Kind[r[1]].value), r[1], r[2]]),
    ("wire.md", "reason | name |", 9, 99, lambda r, _: [str(Reason[r[1]].value), r[1], Reason[r[1]].words]),
    ("engines.md", "rule | bytes per pair", 8, 8, engine_of),
]


@pytest.mark.parametrize("fast", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["fast", "slow"])
@pytest.mark.parametrize(
    ("page", "head", "least", "few", "again"), TABLES, ids=[f"{page}: {head}" for page, head, *_ in TABLES]
)
def test_a_table_is_what_its_rows_are_made_of(
    page: str, head: str, least: int, few: int, again: Recompute, fast: bool
) -> None:
    names, *rows = table(DOCS / page, head)
    assert len(rows) >= least
    for row in rows[:few] if fast else rows[few:]:
        assert again(row, names) == row


def test_every_step_of_cleaning_is_told_and_a_number_that_is_off_noticed(tmp_path: Path) -> None:
    steps = [row[0] for row in table(DOCS / "fields.md", "step |")[1:]]
    assert set(STEPS) <= set(steps)
    page = tmp_path / "page.md"
    page.write_text("It takes 12.34 s, 5.1e6 pairs or 17 %.\n\n| a | b |\n|---|---|\n| `x` | 1,234 |\n")
    assert all(stands(page, value) for value in (12.338, 5.13e6, 17.4, 1234))
    assert not any(stands(page, value) for value in (12.33, 5.2e6, 18, 1235))
    assert len(numbers(page)) == 4
    assert table(page, "a") == [["a", "b"], ["x", "1,234"]]


# -- numbers in sentences ----------------------------------------------------------------------------------

HAMMING = AtMost(Hamming(Input("x", 50, 1)), 5)
GAMMA = {"AB": 2_369_936, "Taxi": 3_141_549}
"""How many values a record of the paper is expanded to."""
STYLES = ("neighbours", "replicate")


def payload(node: Node) -> int:
    """Bits of a payload of routed linkage."""
    program = compile_circuit(Opened(node, 0), "ot")
    fields = zip(program.shares, layout_of(program).own, strict=True)
    return program.choices.count + sum(share.bits for share, at in fields if at is not None)


def of_maths() -> Iterator[float]:
    yield log((1 + sqrt(5)) / 2)
    # The advantage against noisy counts.
    for epsilon in ("0.1", "0.4", "1.6"):
        yield exact_delta(calibrate("geometric", epsilon, "2^-40").noise, 1, Fraction(0))
    yield calibrate("geometric", "1.6", "2^-128").expected_dummies
    for n in (5_000, 300_000):
        yield from (ceil(2 / epsilon * log(n) ** 2) for epsilon in (0.1, 0.4, 1.6))
    # How often the paper's count is wrong.
    triples = [(k, w, x) for k in range(1, 13) for w in range(1, k + 1) for x in range(1, w + 1)]
    yield from (len(triples), sum(both_in_block(k, w, x) != x * (x + 1) // 2 for k, w, x in triples))
    # What a recall of 95 % costs.
    yield from (0.95 / (0.95 + exp(e) * 0.05) for e in (0.1, 0.4, 1.6))
    # Replication, each style at its best cell and with the geometric noise.
    measured = [row for row in results("replication") if row["noise"] == "geometric"]
    for greedy in ("no", "yes"):
        ratios = []
        for epsilon in ("0.1", "0.4", "1.6"):
            here = [row for row in measured if (row["epsilon"], row["greedy"]) == (epsilon, greedy)]
            costs = {
                style: min(float(row["cost"]) for row in here if row["style"] == style) for style in STYLES
            }
            ratios.append(costs["neighbours"] / costs["replicate"])
        yield from (min(ratios), max(ratios))
    yield from (sum(comb(50, i) for i in range(radius + 1)) for radius in (2, 3, 5))
    yield from (payload(HAMMING), payload(starter("people").task.lowered.node))
    # What an audit could show.
    for trials in (100, 1_000):
        yield epsilon_bound(at_least(trials, trials, 0.00025), at_most(0, trials, 0.00025), 1e-5)
    # Dummies alone, and what expansion costs.
    means = [as_claimed("paper-2017", e, "1e-5").expected_dummies for e in ("0.1", "0.4", "1.6")]
    yield from (24 * 46**2 * mean**2 for mean in means)
    yield from (300_000**2 / (24 * 46**2 * means[0] ** 2), 5_000**2 / (16 * means[0] ** 2))
    for gamma, n in zip(GAMMA.values(), (5_000, 300_000), strict=True):
        yield gamma * n * log(log(n))
        size = 1e6
        for _ in range(50):
            size = gamma * log(log(size))
        yield size


def of_comparison() -> Iterator[float]:
    systems = {row["system"]: row for row in results("quality") if row["dataset"] == "febrl4"}
    for system in ("tuned", "splink-half", "anonlink"):
        yield from (float(systems[system]["f1"]), float(systems[system]["seconds"]))
    equal = {row["system"]: row for row in results("psi") if row["records"] == "300000"}
    for system in ("accord in the run with the others", "SecretFlow RR22"):
        yield from (float(equal[system]["seconds"]), float(equal[system]["megabytes"]))
    rows = [row for row in results("routed") if row["protocol"] == "routed"]
    (places,) = [row for row in rows if row["kind"] == "places"]
    (million,) = [row for row in rows if row["records"] == "1000000"]
    yield from (int(places["bytes"]) / 1e6, 60 * float(places["processor_minutes"]))
    yield from (float(million["minutes"]), int(million["bytes"]) / 1e9, float(million["recall"]))


def of_engines() -> Iterator[float]:
    (over,) = Work.of(1000, None).cut()

    def each(rule: str, engine: str, settings: Settings = USUAL) -> float:
        return price(RULES[rule], over, engine, settings).bytes / over.pairs

    yield each("people", "dual")
    yield from (each(rule, "ot", Settings(group=6)) for rule in ("hamming50", "euclidean2d"))
    yield from (priced("people", width)[0] for width in (100, 32))
    yield set_up_bytes() / 1000
    (ran,) = [row for row in results("link") if (row["link"], row["epsilon"]) == ("loopback", "1.6")]
    yield 1e6 * float(ran["cpu_seconds"]) / int(ran["comparisons"])
    yield int(ran["bytes"]) / int(ran["comparisons"])


def of_routed() -> Iterator[float]:
    rows = {row.pop("protocol"): row for row in results("routed-plan") if row["records"] == "10000000"}
    plans = {name: {k: float(v.strip("~")) for k, v in row.items()} for name, row in rows.items()}
    routed, bins, every = plans["routed"], plans["laplace"], plans["all-pairs"]
    yield from (
        routed["comparisons"],
        routed["bytes"] / 1e9,
        routed["seconds"] / 3600,
        100 * routed["recall"],
    )
    yield from (bins["comparisons"] / 1e9, bins["bytes"] / 1e12, bins["seconds"] / 3600, 100 * bins["recall"])
    yield from (every["bytes"] / 1e12, every["seconds"] / 86_400 / 365)
    yield float(next(row["uncovered_percent"] for row in results("coverage") if row["cap"] == "1"))


def of_privacy() -> Iterator[float]:
    for epsilon in ("0.1", "0.4", "1", "1.6", "3"):
        yield as_claimed("geometric", epsilon, "2^-40").noise.window.deviation
    yield from (100 / (1 + exp(-epsilon)) for epsilon in (0.4, 1, 1.6, 3))


def of_the_wire() -> Iterator[float]:
    yield from (MOST_BYTES, handshake.HELLO, channel._AHEAD, channel._QUEUED, encryption.PACKET)
    yield from (encryption.PUBLIC, encryption.CIPHERTEXT, encryption.SIGNATURE, encryption._PACKETS_A_KEY)
    yield from (Reach().wait, connect._HANDSHAKE_SECONDS, port.CALLER_SECONDS, MEET_SECONDS, frames._LENGTH)
    yield from (Patience().message, Patience().silence, Patience().grace, channel._SMALL)


def of_plans() -> Iterator[float]:
    rows = results("plan")
    assert all(row["inside"] == row["inside_counts"] == "True" for row in rows)
    for greedy in ("False", "True"):
        for name in ("off", "bytes_off"):
            yield 100 * max(abs(float(row[name])) for row in rows if row["greedy"] == greedy)


def of_cores() -> Iterator[float]:
    yield scale.slope()


def of_the_laboratory() -> Iterator[float]:
    for row in results("clock"):
        yield from (float(row["microseconds"]), float(row["bytes_each"]))


NUMBERS: list[tuple[Path, Callable[[], Iterator[float]]]] = [
    (DOCS / "maths.md", of_maths),
    (DOCS / "compare.md", of_comparison),
    (DOCS / "engines.md", of_engines),
    (DOCS / "protocols" / "routed.md", of_routed),
    (DOCS / "privacy.md", of_privacy),
    (DOCS / "wire.md", of_the_wire),
    (DOCS / "epsilon.md", of_plans),
    (DOCS / "cores.md", of_cores),
    (ROOT / "reproduction" / "README.md", of_the_laboratory),
]


@pytest.mark.parametrize(("page", "values"), NUMBERS, ids=[page.stem for page, _ in NUMBERS])
def test_a_number_stands_on_its_page(page: Path, values: Callable[[], Iterator[float]]) -> None:
    lacking = [value for value in values() if not stands(page, value)]
    assert lacking == []


def test_the_promise_of_readme_is_in_the_results() -> None:
    rows = [row for row in results("link") if (row["link"], row["per_day"]) == ("loopback", "5000")]
    assert len(rows) >= 3
    assert all(4 < float(row["linkage_seconds"]) < 5.5 for row in rows), "about five seconds"
    (small,) = (row for row in results("coverage") if row["records"] == "5000")
    assert {name: str(value) for name, value in coverage.measure("fine", 5_000, 2).items()} == small
