"""The bill of materials: all that is installed, what needs what, no path of the machine it was made on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from release.building import build, digest_of
from release.materials import bill, resolve


def item(name: str, *needs: str, requested: bool = False, **said: object) -> dict[str, Any]:
    return {
        "requested": requested,
        "download_info": {
            "url": f"file:///home/somebody/{name}.whl",
            "archive_info": {"hashes": {"sha256": name.encode().hex() * 8}},
        },
        "metadata": {"name": name, "version": "1.0", "requires_dist": list(needs), **said},
    }


REPORT: dict[str, Any] = {
    "pip_version": "25.0",
    "environment": {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"},
    "install": [
        item("Zed_Lib", license="A\nlong\ntext", classifier=["License :: OSI Approved :: BSD License"]),
        item(
            "accord",
            "zed-lib>=1",
            "mid; python_version >= '3.11'",
            "gone; sys_platform == 'win32'",
            "sheets; extra == 'xlsx'",
            "not-asked; extra == 'ray'",
            requested=True,
            license_expression="Apache-2.0",
        ),
        item("mid", "zed-lib", license="MIT"),
        item("sheets", license="MIT"),
    ],
}
REPORT["install"][1]["requested_extras"] = ["xlsx"]


def test_the_bill_names_parts_licences_and_who_needs_what() -> None:
    made = bill(REPORT, 0)
    assert made["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert made["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]
    parts = ["pkg:pypi/mid@1.0", "pkg:pypi/sheets@1.0", "pkg:pypi/zed-lib@1.0"]
    assert [part["purl"] for part in made["components"]] == parts
    assert {part["licenses"][0]["license"]["name"] for part in made["components"]} == {"MIT", "BSD License"}
    edges = {line["ref"]: line["dependsOn"] for line in made["dependencies"]}
    assert edges["pkg:pypi/accord@1.0"] == parts
    assert edges["pkg:pypi/mid@1.0"] == ["pkg:pypi/zed-lib@1.0"]
    assert "somebody" not in json.dumps(made)


def test_the_same_parts_have_the_same_bill_and_others_another_number() -> None:
    assert bill(REPORT, 0) == bill({**REPORT, "install": REPORT["install"][::-1]}, 0)
    fewer = {**REPORT, "install": REPORT["install"][1:]}
    assert bill(fewer, 0)["serialNumber"] != bill(REPORT, 0)["serialNumber"]


CHECK = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(fault) if fault else 0)
"""


@pytest.mark.slow
def test_the_bill_of_a_wheel_is_what_the_standard_asks_for(tmp_path: Path) -> None:
    """The standard's schema comes with a package, which is installed beside."""
    _, wheel = build("HEAD", tmp_path / "dist")
    made = bill(resolve(wheel), 0)
    (tmp_path / "bill.json").write_text(json.dumps(made))
    assert made["metadata"]["component"]["hashes"][0]["content"] == digest_of(wheel)
    assert {"numba", "llvmlite", "numpy", "python-calamine"} <= {part["name"] for part in made["components"]}
    place = tmp_path / "site"
    install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(place),
        "cyclonedx-python-lib[json-validation]",
    ]
    subprocess.run([sys.executable, *install], check=True)
    subprocess.run(
        [sys.executable, "-c", CHECK, str(tmp_path / "bill.json")], check=True, env={"PYTHONPATH": str(place)}
    )
