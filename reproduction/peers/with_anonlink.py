"""anonlink on one set: Dice of clkhash's filters of whole records.

Runs as `python -m reproduction.peers.with_anonlink JOB.json` under `.venv-peers`.

Every column has the same share of the 1,024 bits but for names and dates, which have half as much again;
pairs of letters, digits with their place. No record is blocked; of each record of A the 20 most similar of B
are kept, from a Dice of 0.6 on, which is more than any threshold lets through.
"""

from __future__ import annotations

import io
from typing import Any

import anonlink
import numpy as np
import pandas as pd
from clkhash import clk
from clkhash.schema import from_json_dict

from reproduction.peers.job import Clock, Job, answer

LEAST = 0.6
MOST = 20
_BITS = {"name": 150, "date": 150, "words": 300}


def feature(name: str, kind: str) -> dict[str, object]:
    digits = kind in ("date", "code", "number")
    comparison = {"type": "ngram", "n": 1 if digits else 2, "positional": digits}
    return {
        "identifier": name,
        "format": {"type": "string", "encoding": "utf-8"},
        "hashing": {
            "comparison": comparison,
            "strategy": {"bitsPerFeature": _BITS.get(kind, 100)},
            "hash": {"type": "doubleHash"},
        },
    }


def filters(job: Job, table: pd.DataFrame) -> list[object]:
    kdf = {"type": "HKDF", "hash": "SHA256", "info": "", "salt": "", "keySize": 64}
    features = [feature(name, kind) for name, kind in job.kinds.items()]
    schema = from_json_dict({"version": 3, "clkConfig": {"l": 1024, "kdf": kdf}, "features": features})
    cells = table[list(job.kinds)].fillna("")
    text = io.StringIO(cells.to_csv(index=False))
    made = clk.generate_clk_from_csv(
        text, "secret", schema, validate=False, header=True, progress_bar=False, max_workers=1
    )
    return list(made)


def dice(sets: Any, least: float, k: int | None) -> Any:
    """anonlink's own; its compiled code takes a char to be signed, which it is not on ARM: there by numpy."""
    try:
        return anonlink.similarities.dice_coefficient_accelerated(sets, least, k)
    except ValueError:
        bits = [np.array([list(one) for one in each], np.float32) for each in sets]
    ones = [each.sum(1) for each in bits]
    found = 2 * (bits[0] @ bits[1].T) / np.maximum(ones[0][:, None] + ones[1][None, :], 1)
    best = np.sort(found, axis=1)[:, -min(k or MOST, found.shape[1])]
    left, right = np.nonzero(found >= np.maximum(best, least)[:, None])
    # anonlink merges what it gets, and takes it to be in order.
    order = np.argsort(-found[left, right], kind="stable")
    return found[left, right][order].astype(np.float64), (left[order], right[order])


def score(job: Job, clock: Clock) -> pd.DataFrame:
    made = [filters(job, table) for table in (job.a, job.b)]
    similarities, _, (left, right) = anonlink.candidate_generation.find_candidate_pairs(
        made, dice, LEAST, k=MOST
    )
    clock.stop()
    columns = {"id_a": job.a["id"].to_numpy()[list(left)], "id_b": job.b["id"].to_numpy()[list(right)]}
    return pd.DataFrame({**columns, "score": list(similarities)})


if __name__ == "__main__":
    answer(score)
