"""The paper's tables, linked as in the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.fields.columns import Bits, Integers
from accord.fields.load import load_records
from accord.fields.schema import CategoryField
from accord.rules.text import parse_rule
from reproduction import paper_data
from reproduction.paper_data import abt_buy, taxi, taxi_agreement
from tests.simulation.test_pair import ids


def test_abt_buy_as_in_the_paper(real_data: Path) -> None:
    """16 bins whose Σ p_A·p_B is 0.1716 (MATHS §14.3): 4.29 million candidate pairs of 25 million."""
    made, agreed = abt_buy(real_data / "abt_buy", seed=1)
    result = accord.simulate(made.a, made.b, agreed)
    assert agreed.plan.bins == 16
    assert result.candidate_pairs == pytest.approx(4.29e6, rel=0.05)
    assert result.recall == 1.0
    assert result.matches > 1_000
    several, agreed = abt_buy(real_data / "abt_buy", days=3, per_day=500)
    assert agreed.plan.bins == 48
    assert several.a.num_rows == 1_500
    assert several.truth.num_rows > 100


def test_the_shares_of_brands(real_data: Path) -> None:
    """MATHS §14.3: the sizes of the two tables, and the share of pairs that the brands leave."""
    folder = real_data / "abt_buy"
    abt, buy = (paper_data._latin_csv(folder / name) for name in ("Abt.csv", "Buy.csv"))
    assert (len(abt), len(buy)) == (1_081, 1_092)
    brand = abt_buy(folder, per_day=10)[1].fields["brand"]
    assert isinstance(brand, CategoryField)
    listed = [
        np.array([np.mean(names == value) for value in brand.values])
        for names in (paper_data._first_word(abt["name"]), paper_data._brand_of_buy(buy))
    ]
    left = listed[0] @ listed[1] + (1 - listed[0].sum()) * (1 - listed[1].sum())
    assert (len(brand.values), round(float(left), 4), round(25 * float(left), 2)) == (15, 0.1716, 4.29)


def test_abt_buy_agrees_with_a_slow_join(real_data: Path) -> None:
    made, agreed = abt_buy(real_data / "abt_buy", per_day=150)
    result = accord.simulate(made.a, made.b, agreed)
    count = 0
    columns = [accord_bits(table, agreed) for table in (made.a, made.b)]
    for name_a, brand_a in columns[0]:
        count += sum(
            brand_a == brand_b and (name_a ^ name_b).bit_count() <= 5 for name_b, brand_b in columns[1]
        )
    assert result.matches == count


def accord_bits(table: pa.Table, agreed: accord.Agreement) -> list[tuple[int, int]]:
    records = load_records(table, agreed.fields, agreed.salt)
    name, brand = records.columns["name"], records.columns["brand"]
    assert isinstance(name, Bits)
    assert isinstance(brand, Integers)
    return [(int(w[0]), int(v)) for w, v in zip(name.words, brand.values, strict=True)]


@pytest.mark.slow
def test_taxi_as_in_the_paper(real_data: Path) -> None:
    made, agreed = taxi(real_data / "taxi", per_day=20_000)
    result = accord.simulate(made.a, made.b, agreed)
    assert result.recall == 1.0
    assert result.matches >= 0.7 * 20_000
    other = accord.simulate(made.a, made.b, taxi_agreement(cell=0.02, style="replicate"))
    assert ids(other) == ids(result)


@pytest.mark.slow
@pytest.mark.parametrize("greedy", [True, False])
def test_taxi_counted_at_paper_scale(real_data: Path, greedy: bool) -> None:
    """300,000 + 300,000: every match; greedy saves over nine tenths (MATHS §14.4, claim 7)."""
    made, agreed = taxi(real_data / "taxi", seed=1)
    result = accord.simulate(made.a, made.b, adjust(agreed, greedy=greedy), noise="paper-2017", seed=1)
    assert result.recall == result.precision == 1.0
    basic = result.candidate_pairs
    assert result.comparisons < basic / 10 if greedy else basic < result.comparisons < 1.5 * basic
    assert result.peak_mib < 6144


@pytest.mark.slow
def test_sixteen_days_of_taxi(real_data: Path) -> None:
    """4.8 million records a side, 98,304 bins, 812,544 pairs of bins."""
    made, agreed = taxi(real_data / "taxi", days=16, seed=1)
    result = accord.simulate(made.a, made.b, agreed, noise="paper-2017", seed=1)
    assert result.recall == result.precision == 1.0
    assert result.comparisons < result.candidate_pairs / 10


@pytest.mark.slow
def test_psi_on_abt_buy_has_the_recall_of_the_paper(real_data: Path) -> None:
    """MATHS §14.4, claim 18: 4 to 16 %; samples differ much, so over three. And exactly the equal pairs."""
    recalls = []
    for seed in (1, 2, 3):
        made, agreed = abt_buy(real_data / "abt_buy", seed=seed)
        result = accord.simulate(made.a, made.b, adjust(agreed, protocol="psi"))
        equal = agreed.model_copy(update={"rule": parse_rule(str(agreed.rule).replace("<= 5", "<= 0"))})
        assert result.matches == accord.simulate(made.a, made.b, equal).all_matches
        recalls.append(result.recall)
    assert 0.04 < sum(recalls) / 3 < 0.16
