"""The sets of the quality table: two tables and the true pairs, with the same cells for every system.

Each set is a folder with a.csv, b.csv and truth.csv (id_a, id_b). What differs between the two sides by habit
alone, such as letter case, titles or the way in which a phone is written, is made equal here, before any
system sees it: the table compares how pairs are judged, not how cells are tidied up.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.errors import UsageError
from reproduction.quality_made import MADE
from reproduction.quality_rows import DRAFTED, FEWER, LEARNED, SYSTEMS

PUBLISHED = "published"
"""The folder, within that of a set, of its tables as they were published."""
PEERS = Path(".venv-peers/bin/python")
AGREEMENTS = Path(__file__).with_name("agreements")
SEED = 2026
GENERATED = 5_000
"""Generated people a side."""

_PUBLISHED = {
    "fodors-zagats": ("restaurants", "fodors.csv", "zagats.csv"),
    "abt-buy": ("abt_buy", "Abt.csv", "Buy.csv"),
    "movies": ("movies", "imdb.csv", "tmdb.csv"),
    "films": ("films", "imdb.csv", "dbpedia.csv"),
}
"""Below the folder of real data, the folder and the two tables of a set."""
Cells = dict[str, str]
_TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "mx", "dr", "prof", "rev", "sir"}
    | {"jr", "sr", "jnr", "snr", "ii", "iii", "iv", "esq", "phd"}
)


@dataclass(frozen=True)
class Dataset:
    """A set of the table, and how it is linked."""

    name: str
    kinds: Mapping[str, str]
    """What each column holds, by which a peer chooses its comparison: name, text, words, code, number, date,
    category; or address, for columns that people of one household share."""
    blocks: tuple[tuple[str, ...], ...]
    """Columns on which records that peers compare agree: one of these lists; none for all pairs."""
    agreement: str
    certain: tuple[tuple[str, ...], ...] = ()
    """Columns that agree for most matches and hardly else: Splink guesses by them how many match."""
    seen: bool = False
    """Whether drafts were built with the set at hand; the others were opened when they were done."""
    large: bool = False
    """Whether three halves have to do."""
    systems: tuple[str, ...] = SYSTEMS
    """What is measured on it."""
    answers: tuple[str, ...] = ()
    """What the owner of A's table answers, besides the numbers of records."""
    lacking: tuple[str, ...] = ()
    """Agreed fields that B's table has not, as its owner says."""
    persons: bool = True
    all_pairs: bool = False
    """Whether the private run compares everything, which costs less where tables are small."""

    @property
    def path(self) -> Path:
        """The agreement, with draft weights."""
        return AGREEMENTS / f"{self.agreement}.toml"


_FEBRL = {
    **{"given": "name", "surname": "name", "house": "code", "street": "text", "place": "text"},
    **{"city": "text", "postcode": "code", "state": "category", "birth": "date", "number": "code"},
}
_FEBRL_BLOCKS = (
    *(("birth",), ("number",), ("given", "surname"), ("surname", "city"), ("given", "postcode")),
    *(("given", "city"), ("surname", "postcode"), ("street", "house"), ("street", "city")),
)
_FIVE = ("--copies", "1", "5")
_FEBRL_CERTAIN = (("number",), ("given", "surname", "birth"))
_PEOPLE = {
    **{"given": "name", "middle": "name", "surname": "name", "sex": "category", "birth": "date"},
    **{"street": "address", "postcode": "address", "city": "address", "phone": "code", "email": "text"},
}
_RLDATA = {"given": "name", "middle": "name", "surname": "name", "surname_2": "name", "birth": "date"}
_RLDATA_CERTAIN = (("given", "birth"), ("surname", "birth"))
_CENSUS = {"given": "name", "middle": "category", "surname": "name", "birth": "date", "sex": "category"}
DATASETS = (
    Dataset("febrl4", _FEBRL, _FEBRL_BLOCKS, "febrl", _FEBRL_CERTAIN, seen=True),
    Dataset("febrl1", _FEBRL, (), "febrl", _FEBRL_CERTAIN, seen=True, all_pairs=True),
    Dataset("febrl2", _FEBRL, _FEBRL_BLOCKS, "febrl", _FEBRL_CERTAIN, all_pairs=True, answers=_FIVE),
    Dataset("febrl3", _FEBRL, _FEBRL_BLOCKS, "febrl", _FEBRL_CERTAIN, all_pairs=True, answers=_FIVE),
    Dataset("people", _PEOPLE,
            (("birth",), ("phone",), ("email",), ("given", "surname"), ("surname", "postcode"), ("street",)),
            "people", (("given", "surname", "birth"), ("email",)), seen=True),
    Dataset("rldata500", _RLDATA, (), "rldata", _RLDATA_CERTAIN, seen=True, all_pairs=True),
    Dataset("rldata10000", _RLDATA, (("birth",), ("given",), ("surname",)), "rldata",
            _RLDATA_CERTAIN),
    Dataset("pseudopeople", _CENSUS, (("birth",), ("given", "surname"), ("surname", "middle", "sex")),
            "pseudopeople", (("given", "surname", "birth"),)),
    Dataset("fodors-zagats",
            {"name": "text", "street": "text", "city": "text", "phone": "code", "cuisine": "text"},
            (), "restaurants", (("phone",), ("name", "city")), seen=True, persons=False, all_pairs=True),
    Dataset("abt-buy",
            {"name": "words", "brand": "category", "description": "words", "model": "code",
             "price": "number"},
            (("brand",), ("model",)), "products", (("brand", "model"),), persons=False, all_pairs=True),
    Dataset("movies",
            {"title": "text", "name": "text", "year": "code", "episode": "category", "season": "category"},
            (("title",), ("name",)), "movies", (("title", "year"), ("name",)), seen=True, persons=False,
            lacking=("death_year",),
            systems=FEWER),
    Dataset("films", {"title": "text", "star": "text", "writer": "text"},
            (("title",), ("star",)), "films", (("title", "star"),), large=True, persons=False,
            lacking=("author",),
            systems=FEWER),
)  # fmt: skip
_ANSWERS = {"copies": ("--copies", "3", "3"), "transactions": ("--field", "date.within=4")}
MADE_SETS = tuple(
    Dataset(
        name,
        {},
        (),
        "",
        large=True,
        persons=False,
        systems=(DRAFTED, LEARNED),
        answers=_ANSWERS.get(name, ()),
    )
    for name in MADE
)
"""Generated sets, without peers and without an agreement made by hand."""


@dataclass(frozen=True)
class Tables:
    """A set that was read."""

    a: pa.Table
    b: pa.Table
    truth: pa.Table

    def rows(self, pairs: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of ids as rows of both tables."""
        import pyarrow.compute as pc

        found = [pc.index_in(pairs[f"id_{side}"], table["id"]) for side, table in self.sides]
        return np.asarray(found[0]).astype(np.int64), np.asarray(found[1]).astype(np.int64)

    @property
    def sides(self) -> tuple[tuple[str, pa.Table], ...]:
        return (("a", self.a), ("b", self.b))


def prepare(folder: Path, data: Path | None) -> tuple[Dataset, ...]:
    """Write every set below the folder; those of which the files are there."""
    if not PEERS.exists():
        raise UsageError(
            problem="The peers live in .venv-peers, which is not there: `make quality` makes it."
        )
    run_peer("datasets", folder)
    made = generate_people(GENERATED, None, SEED)
    _write(folder / "people", *_people(made))
    for side, table in (("a", made.a), ("b", made.b)):
        written = io.BytesIO()
        pyarrow.csv.write_csv(table, written)
        _publish(folder / "people", side, written.getvalue())
    real: dict[str, Callable[[Path], tuple[list[Cells], list[Cells], list[tuple[str, str]]]]] = {
        "fodors-zagats": _restaurants,
        "abt-buy": _products,
        "movies": _movies,
        "films": _films,
    }
    for name, read in real.items():
        if data is not None:
            _write(folder / name, *read(data))
            place, *files = _PUBLISHED[name]
            for side, file in zip("ab", files, strict=True):
                _publish(folder / name, side, (data / place / file).read_bytes())
    for name, make in MADE.items():
        _write(folder / name, *make(np.random.default_rng([SEED, *name.encode()])))
        for side in "ab":
            _publish(folder / name, side, (folder / name / f"{side}.csv").read_bytes())
    return (*(one for one in DATASETS if data is not None or one.name not in real), *MADE_SETS)


def run_peer(script: str, *words: object) -> str:
    """What a script of reproduction.peers prints; if it fails, its own words are the error."""
    command = [str(PEERS), "-m", f"reproduction.peers.{script}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def read_tables(folder: Path) -> Tables:
    a, b, truth = (_strings(folder / f"{name}.csv") for name in ("a", "b", "truth"))
    return Tables(a, b, truth)


def _strings(path: Path) -> pa.Table:
    with path.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    types = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
    )
    return pyarrow.csv.read_csv(path, convert_options=types)


def _write(folder: Path, a: Sequence[Cells], b: Sequence[Cells], truth: Iterable[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, cells in (("a", a), ("b", b)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(cells[0]))
            writer.writeheader()
            writer.writerows(cells)
    with (folder / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id_a", "id_b"), *truth])


def _publish(folder: Path, side: str, content: bytes) -> None:
    """A table as it was published; its rows are in the order of the set's own."""
    (folder / PUBLISHED).mkdir(exist_ok=True)
    (folder / PUBLISHED / f"{side}.csv").write_bytes(content)


def _people(made: Generated) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    tables = [[_person(row) for row in table.to_pylist()] for table in (made.a, made.b)]
    pairs = zip(made.truth["id_a"].to_pylist(), made.truth["id_b"].to_pylist(), strict=True)
    return tables[0], tables[1], list(pairs)


def _person(row: Mapping[str, str | None]) -> Cells:
    cells = {name: (value or "").lower() for name, value in row.items()}
    for name in ("given", "middle", "surname"):
        cells[name] = " ".join(word for word in cells[name].split() if word not in _TITLES)
    return cells | {
        "id": str(row["id"]),
        "sex": cells["sex"][:1],
        "birth": _digits(cells["birth"]),
        "phone": _digits(cells["phone"])[-10:],
    }


def _restaurants(data: Path) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    folder = data / "restaurants"
    tables = [
        [
            {"id": letter + row["id"], "name": row["name"], "street": row["addr"], "city": row["city"],
             "phone": _digits(row["phone"])[:10], "cuisine": row["type"]}
            for row in _rows(folder / f"{name}.csv", "utf-8")
        ]
        for letter, name in (("f", "fodors"), ("z", "zagats"))
    ]  # fmt: skip
    truth = _rows(folder / "matches_fodors_zagats.csv", "utf-8")
    return tables[0], tables[1], [("f" + row["fodors_id"], "z" + row["zagats_id"]) for row in truth]


def _products(data: Path) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    folder = data / "abt_buy"
    tables = [[_product(row) for row in _rows(folder / f"{name}.csv", "latin-1")] for name in ("Abt", "Buy")]
    truth = _rows(folder / "abt_buy_perfectMapping.csv", "latin-1")
    return tables[0], tables[1], [(row["idAbt"], row["idBuy"]) for row in truth]


def _product(row: Mapping[str, str]) -> Cells:
    words = re.sub(r"[^a-z0-9]+", " ", row["name"].lower().replace("-", "").replace("/", " ")).split()
    # The number of the model is the longest word with digits that is no size.
    codes = [word for word in words if re.search(r"\d", word) and len(word) >= 4]
    return {
        "id": row["id"],
        "name": " ".join(words),
        "brand": (row.get("manufacturer") or row["name"]).lower().split()[0],
        "description": re.sub(r"[^a-z0-9]+", " ", row["description"].lower()).strip()[:200],
        "model": max(codes, key=len, default=""),
        "price": re.sub(r"[^0-9.]", "", row["price"]),
    }


def _movies(data: Path) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    """People, films and episodes; their years are the first of January of these."""
    columns = {"title": ("title",), "name": ("name",), "year": ("startYear", "release_year")}
    columns |= {"episode": ("episodeNumber",), "season": ("seasonNumber",)}
    return _of_columns(data / "movies", ("imdb", "tmdb"), columns)


def _films(data: Path) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    columns = {"title": ("title",), "star": ("starring", "actor name"), "writer": ("writer", "director name")}
    return _of_columns(data / "films", ("imdb", "dbpedia"), columns)


def _of_columns(
    folder: Path, names: tuple[str, str], columns: Mapping[str, tuple[str, ...]]
) -> tuple[list[Cells], list[Cells], list[tuple[str, str]]]:
    """Tables with these columns of theirs, whichever a side has, in small letters and without brackets."""
    tables = []
    for name in names:
        rows = _rows(folder / f"{name}.csv", "utf-8", "|")
        short = [{key.rpartition("/")[2]: value for key, value in row.items()} for row in rows]
        tables.append([_titled(row, columns) for row in short])
    truth = _rows(folder / "gt.csv", "utf-8", "|")
    return tables[0], tables[1], [(row["D1"], row["D2"]) for row in truth]


def _titled(row: Mapping[str, str], columns: Mapping[str, tuple[str, ...]]) -> Cells:
    cells = {"id": row["id"]}
    for name, among in columns.items():
        value = next((row[one] for one in among if one in row), "").lower()
        cells[name] = value[:4] if name == "year" else re.sub(r"\s*\([^)]*\)", "", value).strip()
    return cells


def _rows(path: Path, encoding: str, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)
