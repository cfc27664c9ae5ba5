"""The image's list: every wheel by its digest, for its Python and both kinds of machines."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from release import pins
from release.pins import MACHINES, NAME, PYTHON, write_pins
from tests.deploy.units import DEPLOY
from tests.release.test_materials import REPORT


def test_versions_are_held_and_the_digests_of_all_machines_are_listed(
    tmp_path: Path, monkeypatch: Any
) -> None:
    asked = []

    def resolve(wheel: Path, *options: str) -> Any:
        asked.append((options, Path(options[1]).read_text()))
        report = copy.deepcopy(REPORT)
        if f"manylinux2014_{MACHINES[1]}" in options:
            for item in report["install"]:
                if item["metadata"]["name"] == "mid":
                    item["download_info"]["archive_info"]["hashes"]["sha256"] = "ab"
        return report

    monkeypatch.setattr(pins, "resolve", resolve)
    path = write_pins(tmp_path / "accord.whl", REPORT, PYTHON, MACHINES)
    mid = b"mid".hex() * 8
    assert path == tmp_path / NAME
    assert path.read_text() == (
        f"accord==1.0 \\\n    --hash=sha256:{b'accord'.hex() * 8}\n"
        f"mid==1.0 \\\n    --hash=sha256:{mid} \\\n    --hash=sha256:ab\n"
        f"sheets==1.0 \\\n    --hash=sha256:{b'sheets'.hex() * 8}\n"
        f"zed-lib==1.0 \\\n    --hash=sha256:{b'Zed_Lib'.hex() * 8}\n"
    )
    for machine, (options, held) in zip(MACHINES, asked, strict=True):
        assert set(held.splitlines()) == {"mid==1.0", "sheets==1.0", "zed-lib==1.0"}, (
            "the wheel itself is given as a file"
        )
        assert f"manylinux_2_28_{machine}" in options
        assert options[2:4] == ("--python-version", PYTHON)


def test_the_list_is_for_the_python_of_the_image() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert re.findall(r"^ARG BASE=\S+/python:(\d+\.\d+)-slim$", text, re.M) == [PYTHON]
    assert f"--require-hashes --find-links /build -r /build/{NAME}" in text
