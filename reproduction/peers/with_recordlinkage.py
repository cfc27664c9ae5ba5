"""recordlinkage on one set: scores of pairs for each turn.

Runs as `python -m reproduction.peers.with_recordlinkage JOB.json` under `.venv-peers`.

Similarities of its own comparisons, and its logistic regression, trained on the labelled pairs of the half to
learn from, with one indicator more for each column that may be missing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import recordlinkage

from reproduction.peers.job import Clock, Job, answer


def candidates(job: Job, a: pd.DataFrame, b: pd.DataFrame) -> pd.MultiIndex:
    index = recordlinkage.Index()
    for columns in job.blocks:
        index.block(columns)
    if not job.blocks:
        index.full()
    return index.index(a, b)


def compare(job: Job, pairs: pd.MultiIndex, a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    asked = recordlinkage.Compare()
    for name, kind in job.kinds.items():
        match kind:
            case "name" | "text" | "address":
                asked.string(name, name, method="jarowinkler", label=name)
                asked.exact(name, name, label=f"{name} equal")
            case "code" | "date":
                asked.string(name, name, method="damerau_levenshtein", label=name)
                asked.exact(name, name, label=f"{name} equal")
            case "words":
                asked.string(name, name, method="cosine", label=name)
                asked.string(name, name, method="qgram", label=f"{name} qgram")
            case "number":
                asked.numeric(name, name, method="gauss", scale=20.0, label=name)
            case _:
                asked.exact(name, name, label=name)
    if {"given", "surname"} <= set(job.kinds):
        asked.string("given", "surname", method="jarowinkler", label="crossed")
        asked.string("surname", "given", method="jarowinkler", label="crossed back")
    found = asked.compute(pairs, a, b)
    for name in job.kinds:
        lacks = [t[name].isna().to_numpy()[t.index.get_indexer(pairs.get_level_values(place))]
                 for place, t in enumerate((a, b))]  # fmt: skip
        found[f"{name} missing"] = (lacks[0] | lacks[1]).astype(float)
    return found.fillna(0.0)


def score(job: Job, clock: Clock) -> pd.DataFrame:
    tables = [table.set_index("id") for table in (job.a, job.b)]
    for table in tables:
        for name in job.of("number"):
            table[name] = table[name].astype(float)
    pairs = candidates(job, *tables)
    features = compare(job, pairs, *tables)
    true = pd.MultiIndex.from_frame(job.truth)
    halves = pd.read_csv(job.halves, dtype={"id": str}).set_index("id")
    left, right = (halves.index.get_indexer(pairs.get_level_values(place)) for place in (0, 1))
    if (left < 0).any() or (right < 0).any():
        raise LookupError("a record of a pair is in no half")
    out = pd.DataFrame({"id_a": pairs.get_level_values(0), "id_b": pairs.get_level_values(1)})
    for number, turn in enumerate(halves.columns):
        learns = halves[turn].to_numpy().astype(bool)
        inside = learns[left] & learns[right]
        known = features[inside]
        classifier = recordlinkage.LogisticRegressionClassifier()
        classifier.kernel.set_params(max_iter=1000, C=10.0)
        known.index.names = true.names
        classifier.fit(known, known.index.intersection(true))
        # The log of the odds: probabilities of clear pairs are all 1 to the computer.
        out[f"score {turn}"] = np.round(classifier.kernel.decision_function(features.to_numpy()), 6)
        if number == 0:
            clock.stop()
    return out


if __name__ == "__main__":
    answer(score)
