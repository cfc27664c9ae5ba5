"""Splink on one set: match weights of the pairs that its blocking rules propose.

Runs as `python -m reproduction.peers.with_splink JOB.json` under `.venv-peers`.

Set up as in the maintainers' own example on FEBRL 4: name and birth-date comparisons of its library with
adjustments for frequent values, u from random pairs, m by expectation maximisation, without labels and on
all records. What the halves decide is the threshold alone. Without labels the threshold is the probability of
a half, a score of 0, and how many pairs match is estimated as its documentation says, from rules that hardly
err; else it is told.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pandas as pd
import splink.comparison_level_library as cll
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

from reproduction.peers.job import Clock, Job, answer

_RECALL = 0.7
"""Of rules that hardly err, as in the documentation's examples."""


def comparison(name: str, kind: str) -> Any:
    match kind:
        case "name":
            return cl.NameComparison(name).configure(term_frequency_adjustments=True)
        case "date":
            return cl.DateOfBirthComparison(
                name, input_is_string=True, datetime_format="%Y%m%d", invalid_dates_as_null=False
            )
        case "code":
            return cl.DamerauLevenshteinAtThresholds(name, [1, 2]).configure(term_frequency_adjustments=True)
        case "text":
            return cl.JaroWinklerAtThresholds(name, [0.9, 0.7]).configure(term_frequency_adjustments=True)
        case "words":
            return cl.ArrayIntersectAtSizes(name, [6, 5, 4, 3, 2, 1])
        case "number":
            levels = [cll.NullLevel(name), *(cll.AbsoluteDifferenceLevel(name, by) for by in (1, 10, 50))]
            return cl.CustomComparison([*levels, cll.ElseLevel()], name)
        case _:
            return cl.ExactMatch(name).configure(term_frequency_adjustments=True)


def household(names: list[str]) -> Any:
    """One comparison of what people of one household share: as several they would count it several times."""
    levels = [
        cll.And(*map(cll.NullLevel, names)),
        cll.And(*map(cll.ExactMatchLevel, names[:2])),
        cll.JaroWinklerLevel(names[0], 0.9),
        *map(cll.ExactMatchLevel, names[1:]),
    ]
    return cl.CustomComparison([*levels, cll.ElseLevel()], "household")


def table(job: Job, which: pd.DataFrame) -> pd.DataFrame:
    made = which.copy()
    for name in job.of("words"):
        made[name] = made[name].str.split()
    for name in job.of("number"):
        made[name] = made[name].astype(float)
    return made


def score(job: Job, clock: Clock) -> pd.DataFrame:
    logging.getLogger("splink").setLevel(logging.ERROR)
    comparisons = [comparison(name, kind) for name, kind in job.kinds.items() if kind != "address"]
    if job.of("address"):
        comparisons.append(household(job.of("address")))
    settings = SettingsCreator(
        link_type="link_only",
        unique_id_column_name="id",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=[block_on(*columns) for columns in job.blocks] or ["1=1"],
        **({} if job.prior is None else {"probability_two_random_records_match": job.prior}),
    )
    linker = Linker(
        [table(job, job.a), table(job, job.b)], settings, DuckDBAPI(), input_table_aliases=["a", "b"]
    )
    if job.prior is None:
        certain = [block_on(*columns) for columns in job.certain]
        linker.training.estimate_probability_two_random_records_match(certain, recall=_RECALL)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    # Each session leaves the m of its own columns out, so that two at least are needed.
    sessions = job.blocks[:3] or [[name] for name in list(job.kinds)[:3]]
    for columns in sessions if len(sessions) > 1 else [*sessions, *map(list, pairwise(job.kinds))]:
        linker.training.estimate_parameters_using_expectation_maximisation(
            block_on(*columns), fix_probability_two_random_records_match=True
        )
    found = linker.inference.predict().as_pandas_dataframe()
    clock.stop()
    pairs = found[["source_dataset_l", "id_l", "id_r", "match_weight"]]
    turned = pairs["source_dataset_l"] == "b"
    ids_a = pairs["id_l"].where(~turned, pairs["id_r"])
    ids_b = pairs["id_r"].where(~turned, pairs["id_l"])
    return pd.DataFrame({"id_a": ids_a, "id_b": ids_b, "score": pairs["match_weight"]})


if __name__ == "__main__":
    answer(score)
