"""A model of Splink becomes comparisons with its own weights, or all its faults are told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.agreement.file import parse_agreement
from accord.errors import DataError, UnreadableError
from accord.learning.splink_model import SplinkModel, read_splink
from accord.table.layout import Layout
from tests.learning.worlds import DRAFT, PEOPLE, comparison, exact, level, model, null, save, similar

FIELDS = parse_agreement(DRAFT).fields


def read(folder: Path, content: object) -> SplinkModel:
    return read_splink(save(folder, content), FIELDS, Layout())


def test_weights_are_those_of_splink_as_whole_bits(tmp_path: Path) -> None:
    found = read(tmp_path, PEOPLE)
    texts = [str(each) for each in found.comparisons]
    assert texts[0].startswith("missing(given) -> 0, dice(given) >= 1 -> 9, dice(given) >= 0.")
    assert texts[0].endswith("otherwise -> -4")
    assert texts[2] == "missing(birth) -> 0, same(birth) -> 14, otherwise -> -4"
    assert found.weights[2] == (0, 14, -4)
    assert found.shares[2][0] == pytest.approx((0, 0.92, 0.08))
    assert found.shares[2][1] == pytest.approx((0, 0.00005, 0.99995))
    assert found.prior == 0.00025
    assert any(
        note.startswith("given, surname: rare and common values weigh the same") for note in found.notes
    )
    assert any("in place of jaro_winkler_similarity >= 0.92" in note for note in found.notes)


def test_levels_that_are_one_here_have_their_shares_together(tmp_path: Path) -> None:
    levels = [level(f"jaro_winkler(given_l, given_r) >= {bound}", 0.2, 0.01) for bound in (0.999, 0.9991)]
    found = read(tmp_path, model(comparison("given", *levels, level("ELSE", 0.6, 0.98))))
    assert str(found.comparisons[0]) == "missing(given) -> 0, dice(given) >= 1 -> 4, otherwise -> -1"


def test_a_comparison_that_decides_nothing_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, model(exact("email"), exact("phone", 0.5, 0.5)))
    assert len(found.comparisons) == 1


def places(error: DataError) -> str:
    return "\n".join(map(str, error.faults))


def test_all_that_has_no_counterpart_is_named_at_once(tmp_path: Path) -> None:
    faulty = model(
        similar("fname"),
        comparison(
            "email",
            level("email_l = email_r", 0.5, 0.1),
            level(
                "split_part(email_l, '@', 1) = split_part(email_r, '@', 1)",
                0.2,
                0.01,
                label_for_charts="user",
            ),
            level("ELSE", 0.3, 0.89),
        ),
        comparison("phone", level("phone_l = phone_r"), level("ELSE", "level not observed", 0.2)),  # type: ignore[arg-type]
        {
            "output_column_name": "postcode",
            "comparison_levels": [null("postcode"), level("postcode_l = postcode_r", 0.5, 0.1)],
        },
        {"output_column_name": "street", "comparison_levels": []},
        probability_two_random_records_match=2,
    )
    with pytest.raises(DataError) as error:
        read(tmp_path, faulty)
    told = places(error.value)
    for part in (
        "comparison 'fname', level 1",
        "no field of the draft is the column 'fname'",
        "comparison 'email', level 3, user: ",
        "The nearest is same() on a field with derive = { prefix = 3 }. Take the level out of the model",
        "comparison 'phone', level 2, phone_l = phone_r: was not trained",
        "comparison 'phone', level 3, ELSE: was not trained",
        "comparison 'postcode': has no ELSE level",
        "comparison 'street': has no levels",
        "probability_two_random_records_match: is no share",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "it is not JSON"),
        ("\0", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is not a Splink model"),
        (" " * (5 << 20), "larger than 4 MiB"),
    ],
)
def test_files_that_are_no_models(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(UnreadableError, match=f"{problem}.*"):
        read(tmp_path, content)
    with pytest.raises(UnreadableError, match="no such file"):
        read_splink(tmp_path / "none.json", FIELDS, Layout())


@pytest.mark.parametrize(
    "content", [{}, {"comparisons": 3}, {"comparisons": [7]}, {"comparisons": [{"comparison_levels": "x"}]}]
)
def test_json_that_is_no_model(tmp_path: Path, content: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="fault"):
        read(tmp_path, content)
    with pytest.raises(DataError, match="comparisons: are not there"):
        read(tmp_path, {"probability_two_random_records_match": 0.1})
