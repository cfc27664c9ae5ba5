"""The private run: `accord link` in two processes, over TLS, with identities, accounts and receipts.

What it takes stands in the table, and its pairs must be those of the same rule in the clear.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from accord import Agreement
from accord.side import Side

ACCOUNT = "quality"


@dataclass(frozen=True)
class Private:
    """What both parties found, and what it took."""

    pairs: frozenset[tuple[str, str]]
    comparisons: int
    seconds: float
    """Of the slower party."""
    bytes: int
    """In both directions."""


def link_privately(a: Path, b: Path, agreement: Agreement, folder: Path) -> Private:
    """Link two csv files; the folder is empty and takes all that either party keeps."""
    places = {side: folder / side.value for side in Side}
    tables = {Side.A: a.absolute(), Side.B: b.absolute()}
    for side, place in places.items():
        place.mkdir(parents=True)
        (place / "agreement.toml").write_text(agreement.to_toml(), encoding="utf-8")
        _accord(place, "identity", "--name", agreement.party(side))
        _accord(place, "ledger", "budget", ACCOUNT, "--epsilon", "unlimited")
    for side, place in places.items():
        partner = agreement.party(side.other)
        _accord(place, "partner", "add", partner, str(places[side.other].absolute() / f"{partner}.card"))
    done = _both(agreement, places, tables)
    found = [_pairs(place / "pairs.csv") for place in places.values()]
    if found[0] != found[1]:
        raise RuntimeError("the two parties wrote different pairs")
    seconds = max(float(one["seconds"]) for one in done)
    return Private(found[0], int(done[0]["comparisons"]), seconds, int(done[0]["bytes"]))


def _both(agreement: Agreement, places: dict[Side, Path], tables: dict[Side, Path]) -> list[dict[str, float]]:
    """Both parties at once; the last that each of them told. No process outlives the call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with ExitStack() as stack:
        children = []
        for side, way in ((Side.A, "--listen"), (Side.B, "--connect")):
            words = [
                *("link", str(tables[side]), "--agreement", "agreement.toml"),
                *("--partner", agreement.party(side.other), way, f"127.0.0.1:{port}"),
                *("--out", "pairs.csv", "--dataset", ACCOUNT, "--yes", "--json", "--uncovered", "100%"),
            ]
            child = _start(places[side], words)
            stack.callback(child.kill)
            children.append(child)
        outputs = [child.communicate() for child in children]
        if any(child.returncode for child in children):
            raise RuntimeError("a party ended early:\n" + "\n".join(said for _, said in outputs))
    return [json.loads(told.splitlines()[-1]) for told, _ in outputs]


def _start(place: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "accord", *words],
        cwd=place,
        env={**os.environ, "XDG_STATE_HOME": str(place.absolute())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _accord(place: Path, *words: str) -> None:
    child = _start(place, words)
    _, said = child.communicate()
    if child.returncode:
        raise RuntimeError(f"`accord {' '.join(words)}` failed: {said}")


def _pairs(path: Path) -> frozenset[tuple[str, str]]:
    names = ("id_a", "id_b")
    strings = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    table = pyarrow.csv.read_csv(path, convert_options=strings)
    return frozenset(zip(*(table[name].to_pylist() for name in names), strict=True))
