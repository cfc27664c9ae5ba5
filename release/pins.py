"""What the image installs, to the byte: requirements with digests, for pip's `--require-hashes`.

The versions are those of the bill of materials. A wheel belongs to one Python and one kind of machine, so
each of them is resolved by itself, held to these versions, and the digests of all are joined: pip takes the
wheel that fits and refuses what is not listed. Accord's own wheel is in the list, too; a package of its name
in an index is not it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.utils import canonicalize_name

from release.materials import Json, resolve

NAME = "image.txt"
PYTHON = "3.13"
"""That of the image; a test compares."""
MACHINES = ("x86_64", "aarch64")
# Versions of the C library: wheels for 2.28 run on every system that is still maintained.
_LIBRARIES = range(17, 29)


def write_pins(wheel: Path, here: Json, python: str, machines: Iterable[str]) -> Path:
    """The list beside a wheel, for one Python and these machines, at the versions that pip found here."""
    with TemporaryDirectory() as name:
        versions = Path(name, "versions.txt")
        versions.write_text("".join(f"{_pin(item)}\n" for item in here["install"] if not item["requested"]))
        reports = [_resolve_for(wheel, versions, python, machine) for machine in machines]
    path = wheel.with_name(NAME)
    path.write_text(pins(reports), encoding="utf-8")
    return path


def _resolve_for(wheel: Path, versions: Path, python: str, machine: str) -> Json:
    """What pip would install there; it fails where a version has no such wheel."""
    names = (f"manylinux_2_{n}_{machine}" for n in reversed(_LIBRARIES))
    platforms = [word for name in (*names, f"manylinux2014_{machine}") for word in ("--platform", name)]
    # pip asks for a target wherever another machine is meant; nothing is written there.
    target = str(versions.parent / "target")
    return resolve(
        wheel, "--constraint", str(versions), "--python-version", python, *platforms, "--target", target
    )


def pins(reports: Iterable[Json]) -> str:
    """The list, with the digests of all reports, whose versions agree."""
    digests: dict[str, set[str]] = {}
    for report in reports:
        for item in report["install"]:
            hashes = item["download_info"]["archive_info"]["hashes"]
            digests.setdefault(_pin(item), set()).add(hashes["sha256"])
    lines = [
        " \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in sorted(found))])
        for pin, found in sorted(digests.items())
    ]
    return "".join(f"{line}\n" for line in lines)


def _pin(item: Json) -> str:
    said = item["metadata"]
    return f"{canonicalize_name(said['name'])}=={said['version']}"
