"""What the laboratory plugs in, between two processes over TLS, by the ordinary command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.run.receipt import read_receipt
from tests.cli.terminal import environment, free_port
from tests.protocols import worlds

ROOT = Path(__file__).parents[2]
A_ROWS: worlds.Rows = [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14)]
B_ROWS: worlds.Rows = [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9)]
NAMES = ("alice", "bob")
POINTS = worlds.agreement(protocol="all-pairs").model_dump(mode="json")
EQUAL = "same(x) and within(y, 1)"
LOCAL = {"name": "local-dp", "window": 16, "A": {"epsilon": "2"}, "B": {"public": True}}


class Office:
    """A party: a folder with its table, its state and the agreement."""

    def __init__(self, folder: Path, name: str, rows: worlds.Rows, agreed: Agreement) -> None:
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        lines = ["id,x,y", *(f"{name[0]}{i},{x},{y}" for i, (x, y) in enumerate(rows))]
        (self.folder / "table.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "agreement.toml").write_text(agreed.to_toml())

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command of Accord with what the laboratory plugs in."""
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "reproduction",
                "accord",
                "--state",
                str(self.folder / "state"),
                *arguments,
            ],
            cwd=ROOT,
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def link(self, partner: str, *way: str) -> subprocess.Popen[str]:
        files = ("--agreement", str(self.folder / "agreement.toml"), "--out", str(self.folder / "pairs.csv"))
        return self.start(
            "link", str(self.folder / "table.csv"), *files, "--partner", partner, *way, "--yes", "--json"
        )


def done(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def link(folder: Path, agreed: Agreement, *more: str) -> dict[str, Any]:
    """A run of both; the facts of its receipt."""
    offices = [Office(folder, *given, agreed) for given in zip(NAMES, (A_ROWS, B_ROWS), strict=True)]
    cards = [folder / f"{name}.card" for name in NAMES]
    for office, card in zip(offices, cards, strict=True):
        done(office.start("identity", "--name", office.name, "--out", str(card)))
        done(office.start("ledger", "budget", "table", "--epsilon", "unlimited"))
    for office, name, card in zip(offices, NAMES[::-1], cards[::-1], strict=True):
        done(office.start("partner", "add", name, str(card)))
    port = str(free_port())
    both = [
        offices[0].link(NAMES[1], "--listen", f"127.0.0.1:{port}", *more),
        offices[1].link(NAMES[0], "--connect", f"127.0.0.1:{port}", *more),
    ]
    try:
        for process in both:
            done(process)
    finally:
        for process in both:
            process.kill()
    pairs = [(office.folder / "pairs.csv").read_bytes() for office in offices]
    assert pairs[0] == pairs[1]
    assert "table" in done(offices[0].start("ledger"))
    (receipt,) = offices[0].folder.glob("state/runs/*/receipt")
    return dict(read_receipt(receipt).facts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "rule", "matches"),
    [({"name": "psi-expand"}, "euclidean(x, y) <= 1", 4), (LOCAL, EQUAL, 2)],
    ids=["psi-expand", "local-dp"],
)
def test_a_protocol_links_two_machines(
    protocol: dict[str, Any], rule: str, matches: int, tmp_path: Path
) -> None:
    blocking = [{"kind": "key", "field": "x"}] if protocol["name"] == "local-dp" else []
    agreed = Agreement.model_validate(POINTS | {"protocol": protocol, "rule": rule, "blocking": blocking})
    assert link(tmp_path, agreed)["matches"] == matches
    if protocol["name"] == "local-dp":
        plain = [sys.executable, "-m", "accord", "--state", str(tmp_path / "alice" / "state"), "ledger"]
        refused = subprocess.run(
            plain, env=environment(tmp_path), capture_output=True, text=True, timeout=120
        )
        assert refused.returncode
        assert "No accountant knows" in refused.stderr


@pytest.mark.slow
def test_workers_know_an_engine_that_is_plugged_in(tmp_path: Path) -> None:
    agreed = Agreement.model_validate(POINTS | {"engine": "paillier-packed", "rule": EQUAL})
    assert link(tmp_path, agreed, "--workers", "1")["matches"] == 2
