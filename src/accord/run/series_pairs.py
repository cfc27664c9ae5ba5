"""All pairs that a series has found with a partner so far: those of its runs, one under the other."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from accord.errors import UsageError
from accord.state.folder import State
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun, is_overtaken, list_runs, open_run


@dataclass(frozen=True)
class SeriesSummary:
    """What is kept here of a series with one partner."""

    name: str
    dataset: str
    partner: str
    runs: int
    """That are done."""
    last: str
    """When the last of them began."""
    waiting: tuple[str, ...]
    """Runs that are not done and could go on."""
    matches: int
    """Pairs in all of them."""


def list_series(state: State) -> list[SeriesSummary]:
    """Every series with each of its partners, by data set and name."""
    found: dict[tuple[str, str, str], list[Manifest]] = {}
    for run in _kept(state):
        known = run.manifest
        if known.series:
            found.setdefault((known.dataset, known.series, known.partner), []).append(known)
    return [_summary(*names, runs) for names, runs in sorted(found.items())]


def _kept(state: State) -> list[StoredRun]:
    """The runs of all series; raises where one of them cannot be read."""
    found, broken = list_runs(state, lambda run: run.charged is not None and run.charged.series is not None)
    for name in broken:
        open_run(state, name)
    return found


def _summary(dataset: str, name: str, partner: str, runs: list[Manifest]) -> SeriesSummary:
    done = [run for run in runs if run.done]
    return SeriesSummary(
        name=name,
        dataset=dataset,
        partner=partner,
        runs=len(done),
        last=max((run.began for run in done), default=""),
        waiting=tuple(run.run for run in runs if run.state == "waits" and not is_overtaken(run, runs)),
        matches=sum(run.matches or 0 for run in done),
    )


def all_pairs(state: State, name: str, partner: str | None, dataset: str | None) -> pa.Table:
    """The pairs of all runs of a series that are done, each with the number of its run as `run`.

    A record that is gone by now is still in the pairs that it had. Raises if one of the runs is missing.
    """
    runs = _require_one(
        [run for run in _kept(state) if _is_named(run.manifest, name, partner, dataset)], name
    )
    numbers = sorted(run.manifest.series_run for run in runs)
    if lost := sorted(set(range(1, numbers[-1] + 1)).difference(numbers)):
        some = ", ".join(map(str, lost))
        raise UsageError(
            problem=f"Not all runs of the series '{name}' are kept here any more: of {numbers[-1]}, run "
            f"{some} is missing, with its pairs. Restore its folder; every run also wrote its pairs to its "
            "own output."
        )
    tables = []
    for run in sorted(runs, key=lambda run: run.manifest.series_run):
        pairs = run.pairs()
        number = pa.array([run.manifest.series_run] * len(pairs), pa.int64())
        tables.append(pairs.append_column("run", number))
    return pa.concat_tables(tables)


def _is_named(known: Manifest, name: str, partner: str | None, dataset: str | None) -> bool:
    return (
        known.done
        and known.is_of(name, known.dataset if dataset is None else dataset)
        and partner in (None, known.partner)
    )


def _require_one(runs: list[StoredRun], name: str) -> list[StoredRun]:
    """Raise unless these are runs of one series with one partner."""
    if not runs:
        raise UsageError(
            problem=f"No run of a series '{name}' is done here. `accord series` lists those that are."
        )
    partners = sorted({run.manifest.partner for run in runs})
    if len(partners) > 1:
        raise UsageError(
            problem=f"The series '{name}' has several partners, {', '.join(partners)}: name one, `partner=`."
        )
    datasets = sorted({run.manifest.dataset for run in runs})
    if len(datasets) > 1:
        raise UsageError(
            problem=f"Several data sets have a series '{name}', {', '.join(datasets)}: name one, `dataset=`."
        )
    return runs
