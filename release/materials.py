"""The bill of materials: what pip installs with a wheel on this machine, as CycloneDX 1.6.

With it are the extras that the image has, so that the bill is the image's, too. pip resolves and says what it
would install, with digests; nothing is installed. Another Python, another kind of machine or a later day may
give other versions, so the bill names Python and machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("postgres", "xlsx")
_LONGEST_NAME = 80
_RESOLVE = [
    "install",
    "--dry-run",
    "--ignore-installed",
    "--quiet",
    "--only-binary",
    ":all:",
    "--report",
    "-",
]

Json = dict[str, Any]


def resolve(wheel: Path, *options: str) -> Json:
    """What pip would install with the extras, by its own report."""
    command = [sys.executable, "-m", "pip", *_RESOLVE, *options, f"{wheel}[{','.join(EXTRAS)}]"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


def bill(report: Json, made: int) -> Json:
    """The bill of a report, for the first thing in it that was asked for; `made` is when, in seconds."""
    asked = next(item for item in report["install"] if item["requested"])
    rest = sorted((item for item in report["install"] if item is not asked), key=_purl)
    known = {str(canonicalize_name(item["metadata"]["name"])): _purl(item) for item in report["install"]}
    there = report["environment"]
    components = [_component(item) for item in rest]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid5(NAMESPACE_URL, json.dumps([_component(asked), components])).urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [_tool("hatchling"), {**_tool("pip"), "version": report["pip_version"]}]},
            "component": _component(asked),
            "properties": [
                {"name": "accord:python", "value": there["python_version"]},
                {"name": "accord:machine", "value": f"{there['sys_platform']} {there['platform_machine']}"},
            ],
        },
        "components": components,
        "dependencies": [
            {"ref": _purl(item), "dependsOn": _needs(item, known, there)} for item in (asked, *rest)
        ],
    }


def _purl(item: Json) -> str:
    said = item["metadata"]
    return f"pkg:pypi/{canonicalize_name(said['name'])}@{said['version']}"


def _tool(name: str) -> Json:
    return {"type": "application", "name": name, "version": version(name)}


def _component(item: Json) -> Json:
    said, hashes = item["metadata"], item["download_info"]["archive_info"]["hashes"]
    return {
        "type": "library",
        "bom-ref": _purl(item),
        "name": said["name"],
        "version": said["version"],
        "hashes": [{"alg": "SHA-256", "content": hashes["sha256"]}],
        "licenses": _licences(said),
        "purl": _purl(item),
    }


def _licences(said: Json) -> list[Json]:
    """As the package says it best: an expression, a name, or what it is classified as."""
    if "license_expression" in said:
        return [{"expression": said["license_expression"]}]
    name = said.get("license", "")
    if name and len(name) <= _LONGEST_NAME and "\n" not in name:
        return [{"license": {"name": name}}]
    classes = [line for line in said.get("classifier", ()) if line.startswith("License ::")]
    return [{"license": {"name": line.rsplit(" :: ", 1)[1]}} for line in classes]


def _needs(item: Json, known: dict[str, str], there: Json) -> list[str]:
    needed = [Requirement(line) for line in item["metadata"].get("requires_dist", ())]
    names = {
        canonicalize_name(one.name)
        for one in needed
        for extra in ("", *item.get("requested_extras", ()))
        if one.marker is None or one.marker.evaluate({**there, "extra": extra})
    }
    return sorted(known[name] for name in names if name in known)
