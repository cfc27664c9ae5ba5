"""A million people cleaned and coded: Accord's recipes beside the same in polars, on the same rows.

polars has no phonetic codes of its own: there, too, jellyfish codes each distinct name once. It uses all
cores, Arrow one; so the seconds are those of the processor, whoever else uses the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import jellyfish
import numpy as np
import polars as pl
import pyarrow as pa
from pydantic import TypeAdapter

from accord.fields.load import load_records
from accord.fields.making import Cells, Parsed, make
from accord.fields.schema import FieldSpec

ROWS = 1_000_000
_CLEAN = ["titles", "accents", "punctuation"]
_TEXT: dict[str, Any] = {"type": "text", "encoder": "hash", "missing": "differs"}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": _TEXT | {"from": ["given", "surname"], "clean": _CLEAN},
        "given_sound": _TEXT | {"from": "given", "clean": _CLEAN, "derive": "soundex"},
        "surname_sound": _TEXT | {"from": "surname", "clean": _CLEAN, "derive": "soundex"},
        "year": _TEXT | {"from": "birth", "derive": "year"},
        "area": _TEXT | {"from": "postcode", "clean": ["digits only"], "derive": {"prefix": 3}},
        "phone_end": _TEXT | {"from": "phone", "clean": ["digits only"], "derive": {"suffix": 4}},
    }
)


def people(rows: int) -> pa.Table:
    """Rows with made-up names: 5,000 given names, 100,000 surnames, a tenth with a title or an accent."""
    rng = np.random.default_rng(1)
    syllables = np.array(
        ["ma", "ri", "jo", "an", "el", "to", "ber", "ké", "son", "wil", "ø", "ha", "d'", "lu"]
    )

    def words(count: int, most: int) -> Any:
        lengths = rng.integers(2, most, count)
        return np.array(["".join(rng.choice(syllables, length)).capitalize() for length in lengths])

    given = words(5_000, 5)[rng.zipf(1.3, rows) % 5_000]
    titled = np.where(rng.random(rows) < 0.1, "Dr. ", "")
    days = rng.integers(0, 36_500, rows)
    first = date(1920, 1, 1)
    calendar = np.array([str(first + timedelta(days=day)) for day in range(36_500)])
    return pa.table(
        {
            "id": pa.array(np.arange(rows).astype(str)),
            "given": pa.array(np.char.add(titled, given)),
            "surname": pa.array(words(100_000, 7)[rng.zipf(1.2, rows) % 100_000]),
            "birth": pa.array(calendar[days]),
            "postcode": pa.array(np.char.add("D-", rng.integers(10_000, 99_999, rows).astype(str))),
            "phone": pa.array(np.char.add("+49 30/", rng.integers(10**6, 10**7, rows).astype(str))),
        }
    )


def accord_makes(table: pa.Table) -> None:
    parsed: Parsed = {}
    for batch in table.to_batches(max_chunksize=1 << 16):
        cells = Cells({name: batch.column(name) for name in batch.schema.names}, {}, parsed)
        for name, spec in FIELDS.items():
            make(name, spec, cells)


def _cleaned(column: str) -> pl.Expr:
    text = pl.col(column).str.normalize("NFKC").str.to_lowercase().str.strip_chars()
    text = text.str.replace_all(r"(^| )(mr|mrs|ms|miss|mx|dr|prof|rev|sir|herr|frau|mme|mlle)[.,]*( |$)", " ")
    text = text.str.normalize("NFD").str.replace_all("[\u0300-\u036f]", "").str.normalize("NFC")
    text = text.str.replace_many({"ß": "ss", "ø": "o", "æ": "ae", "ł": "l", "œ": "oe", "đ": "d"})
    text = text.str.replace_all(r"['’`]", "").str.replace_all(r"[\p{P}\p{S}]+", " ")
    return text.str.replace_all(r"\s+", " ").str.strip_chars()


def _sound(frame: pl.DataFrame, column: str) -> pl.Series:
    letters = frame[column].str.replace_all("[^a-z]+", "")
    distinct = letters.unique()
    codes = pl.Series([jellyfish.soundex(word) for word in distinct])
    return letters.replace_strict(distinct, codes)


def polars_makes(table: pa.Table) -> None:
    frame = pl.DataFrame(pl.from_arrow(table))
    made = frame.select(
        _cleaned("given").alias("given"),
        _cleaned("surname").alias("surname"),
        pl.col("birth").str.to_date("%Y-%m-%d").dt.year().cast(pl.String).alias("year"),
        pl.col("postcode").str.replace_all("[^0-9]", "").str.slice(0, 3).alias("area"),
        pl.col("phone").str.replace_all("[^0-9]", "").str.slice(-4).alias("phone_end"),
    )
    made.with_columns(
        pl.concat_str("given", "surname", separator=" ").alias("name"),
        _sound(made, "given").alias("given_sound"),
        _sound(made, "surname").alias("surname_sound"),
    )


def accord_loads(table: pa.Table) -> None:
    load_records(table, FIELDS, "00")


def _seconds(what: Callable[[pa.Table], None], table: pa.Table) -> float:
    began = time.process_time()
    what(table)
    return time.process_time() - began


def run() -> None:
    table, few = people(ROWS), people(1_000)
    print(f"cleaning and keys: {ROWS:,} people, {len(FIELDS)} fields from five columns, seconds of processor")
    for name, what in {
        "accord, values": accord_makes,
        "polars, the same values": polars_makes,
        "accord, values judged and encoded": accord_loads,
    }.items():
        what(few)
        print(f"  {name:34s} {_seconds(what, table):6.2f} s")


if __name__ == "__main__":
    run()
