"""A release: the same bytes of the same commit, its parts and their versions, and limits of size."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from accord import __version__
from release import building, pins
from release.building import ROOT, SUMS, build, digest_of, time_of, write_sums, write_tree
from release.lowest import lowest
from release.materials import bill, resolve
from release.pins import MACHINES, NAME, PYTHON, write_pins
from release.size import HEAD, faults, sizes, tokens, with_limits

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NEEDED = PROJECT["project"]["dependencies"]

# -- building ----------------------------------------------------------------------------------------------


def test_a_wheel_has_the_time_of_its_commit_and_the_files_of_git(tmp_path: Path) -> None:
    source, wheel = build("HEAD", tmp_path)
    with tarfile.open(source) as archive:
        assert {member.mtime for member in archive} == {time_of("HEAD")}
        names = {member.name.partition("/")[2] for member in archive}
    listed = ["git", "ls-tree", "-r", "--name-only", "HEAD"]
    known = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    assert names - {"PKG-INFO"} <= set(known.stdout.splitlines())
    assert {"src/accord/version.py", "CHANGELOG.md", "pyproject.toml"} <= names
    with ZipFile(wheel) as archive:
        assert "accord/version.py" in archive.namelist()
    (tmp_path / "accord-0.0.1.tar.gz").touch()
    with pytest.raises(SystemExit):
        build("HEAD", tmp_path)


@pytest.mark.slow
def test_two_builds_are_equal_byte_for_byte(tmp_path: Path) -> None:
    """And the one from the sdist alone."""
    one, other = build("HEAD", tmp_path / "one"), build("HEAD", tmp_path / "other")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    with tarfile.open(one[0]) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    told = {**os.environ, "SOURCE_DATE_EPOCH": str(time_of("HEAD"))}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "third")]
    subprocess.run(command, cwd=tree, env=told, check=True, capture_output=True)
    (third,) = (tmp_path / "third").glob("*.whl")
    assert third.read_bytes() == one[1].read_bytes()


def git(folder: Path, *words: str) -> str:
    """As somebody whose settings change files that git hands out."""
    people = {f"GIT_{who}_{what}": "it@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    told = {"PATH": os.environ["PATH"], "HOME": str(folder), **people}
    done = subprocess.run(["git", *words], cwd=folder, env=told, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_settings_of_the_builder_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no plain file is not released."""
    told = {"a.txt": b"one\ntwo $Format:%H$ $Id$\n", "in a folder/b.sh": b"#!/bin/sh\n", "ä.bin": b"\0\r\n"}
    for name, content in told.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "in a folder" / "b.sh").chmod(0o755)
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "It")):
        git(tmp_path, *words)
    (tmp_path / "other").write_bytes(b"something else\n")
    blob = git(tmp_path, "hash-object", "-w", "other")
    git(tmp_path, "replace", git(tmp_path, "rev-parse", "HEAD:a.txt"), blob)
    for line in ("core.autocrlf true", "core.eol crlf", "tar.umask 0077", "log.showSignature true"):
        git(tmp_path, "config", *line.split())
    attributes = "* text eol=crlf ident export-subst\n*.sh export-ignore\n"
    (tmp_path / ".git" / "info" / "attributes").write_text(attributes)
    assert "something else" in git(tmp_path, "archive", "HEAD", "a.txt"), "these settings do change files"
    monkeypatch.setattr(building, "ROOT", tmp_path)
    write_tree("HEAD", tmp_path / "tree")
    written = [path for path in (tmp_path / "tree").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "tree").as_posix(): path.read_bytes() for path in written} == told
    assert {path.name for path in written if path.stat().st_mode & 0o100} == {"b.sh"}
    (tmp_path / "link").symlink_to("/etc/hostname")
    git(tmp_path, "add", "link")
    git(tmp_path, "commit", "--quiet", "--message", "More")
    with pytest.raises(SystemExit):
        write_tree("HEAD", tmp_path / "again")


def test_sums_and_the_version(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    for _ in range(2):
        write_sums(tmp_path)
    assert (tmp_path / SUMS).read_text() == f"{hashlib.sha256(b'a').hexdigest()}  a.whl\n"
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/accord/version.py"
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {__version__} (20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# -- lowest versions ---------------------------------------------------------------------------------------


def test_each_dependency_has_a_lower_bound_that_it_allows() -> None:
    assert lowest(["numpy>=1.26", "jellyfish>=1.3,<2"]) == ["numpy==1.26", "jellyfish==1.3"]
    for needed, line in zip(map(Requirement, NEEDED), lowest(NEEDED), strict=True):
        name, _, version = line.partition("==")
        assert name == needed.name
        assert needed.specifier.contains(version)
    for line in ("numpy", "numpy<3", "numpy>1"):
        with pytest.raises(ValueError, match=line):
            lowest([line])


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the lowest numba has no wheel for this Python")
def test_the_demo_runs_with_the_lowest_versions(tmp_path: Path) -> None:
    """As a user would install them; `make lowest` runs all fast tests with them."""
    _, wheel = build("HEAD", tmp_path / "dist")
    venv.create(tmp_path / "lowest", with_pip=True)
    python = str(tmp_path / "lowest" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel)]
    subprocess.run([*install, *lowest(NEEDED)], check=True)
    told = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    demo = [python, "-m", "accord", "demo", "--records", "200"]
    done = subprocess.run(demo, cwd=tmp_path, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- materials ---------------------------------------------------------------------------------------------


def item(name: str, *needs: str, **said: object) -> dict[str, Any]:
    hashes = {"hashes": {"sha256": name.encode().hex() * 8}}
    return {
        "requested": name == "accord",
        "download_info": {"url": f"file:///home/somebody/{name}.whl", "archive_info": hashes},
        "metadata": {"name": name, "version": "1.0", "requires_dist": list(needs), **said},
    }


NEEDS = (
    "zed-lib>=1", "mid; python_version >= '3.11'", "gone; sys_platform == 'win32'",
    "sheets; extra == 'xlsx'", "not-asked; extra == 'ray'",
)  # fmt: skip
BSD = "License :: OSI Approved :: BSD License"
REPORT: dict[str, Any] = {
    "pip_version": "25.0",
    "environment": {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"},
    "install": [
        item("Zed_Lib", license="A\nlong\ntext", classifier=[BSD]),
        item("accord", *NEEDS, license_expression="Apache-2.0") | {"requested_extras": ["xlsx"]},
        item("mid", "zed-lib", license="MIT"),
        item("sheets", license="MIT"),
    ],
}


def test_the_bill_names_parts_licences_and_who_needs_what() -> None:
    """No path of the machine it was made on; the same parts have the same bill."""
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
    assert made == bill({**REPORT, "install": REPORT["install"][::-1]}, 0)
    fewer = {**REPORT, "install": REPORT["install"][1:]}
    assert bill(fewer, 0)["serialNumber"] != made["serialNumber"]


def test_the_image_lists_every_wheel_by_its_digest_for_all_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def resolve(wheel: Path, *options: str) -> Any:
        asked.append((options, set(Path(options[1]).read_text().splitlines())))
        report = copy.deepcopy(REPORT)
        if f"manylinux2014_{MACHINES[1]}" in options:
            report["install"][2]["download_info"]["archive_info"]["hashes"]["sha256"] = "ab"
        return report

    monkeypatch.setattr(pins, "resolve", resolve)
    path = write_pins(tmp_path / "accord.whl", REPORT, PYTHON, MACHINES)
    assert path == tmp_path / NAME
    line = re.compile(r"^([\w-]+)==1\.0((?: \\\n    --hash=sha256:\w+)+)\n", re.M)
    listed = {name: re.findall(r"sha256:(\w+)", digests) for name, digests in line.findall(path.read_text())}
    digests = {name: name.encode().hex() * 8 for name in ("accord", "mid", "sheets", "Zed_Lib")}
    assert listed == {
        "accord": [digests["accord"]],
        "mid": [digests["mid"], "ab"],
        "sheets": [digests["sheets"]],
        "zed-lib": [digests["Zed_Lib"]],
    }
    assert not line.sub("", path.read_text())
    for machine, (options, held) in zip(MACHINES, asked, strict=True):
        assert held == {"mid==1.0", "sheets==1.0", "zed-lib==1.0"}, "the wheel itself is given as a file"
        assert f"manylinux_2_28_{machine}" in options
        assert options[2:4] == ("--python-version", PYTHON)
    text = (ROOT / "deploy" / "Containerfile").read_text()
    assert re.findall(r"^ARG BASE=\S+/python:(\d+\.\d+)-slim$", text, re.M) == [PYTHON]
    assert {"--require-hashes", f"/build/{NAME}"} <= set(text.split())


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
    made, place = bill(resolve(wheel), 0), tmp_path / "site"
    (tmp_path / "bill.json").write_text(json.dumps(made))
    assert made["metadata"]["component"]["hashes"][0]["content"] == digest_of(wheel)
    assert {"numba", "llvmlite", "numpy", "python-calamine"} <= {part["name"] for part in made["components"]}
    package = "cyclonedx-python-lib[json-validation]"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), package]
    subprocess.run(install, check=True)
    validate = [sys.executable, "-c", CHECK, str(tmp_path / "bill.json")]
    subprocess.run(validate, check=True, env={"PYTHONPATH": str(place)})


# -- size --------------------------------------------------------------------------------------------------


def test_rooms_are_measured_by_their_code(tmp_path: Path) -> None:
    """Comments, docstrings, imports and line breaks are no code; data are counted by lines."""
    bare = "def root(x: float) -> float: return math.sqrt(x)"
    spread = '"""Theory."""\nimport math\n\ndef root(\n x: float\n) -> float:\n """Meaning."""\n'
    assert tokens(f"{spread} # A remark.\n return math.sqrt(x)") == tokens(bare)
    assert tokens(f"{bare}\nx = 'text'") == tokens(bare) + 3
    for name, text in {
        "src/accord/kernel.py": "a = 1\n",
        "src/accord/rules/rule.py": "a = b = 1\n",
        "src/accord/rules/deep/word.py": "a\n",
        "src/accord/datasets/people.toml": "[fields]\na = 1\n",
        "src/accord/datasets/cache.nbc": "no text \udcff",
        "tests/test_kernel.py": "assert a\n",
        "tests/transcripts.json": "{\n}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, errors="surrogateescape")
    code = {"accord": 3, "rules": 6, "src/accord": 9, "tests": 2}
    assert sizes(tmp_path) == code | {"lines of src/accord": 2, "lines of tests": 2}


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_limit_is_neither_below_the_size_nor_far_above(size: int, limit: int) -> None:
    assert bool(faults({"rules": size}, {"rules": limit})) == (not size <= limit <= size + limit // 50)
    assert len(faults({"rules": 1}, {"fields": 1})) == 2, "every room has a limit and every limit a room"


def test_the_limits_are_replaced_and_nothing_else() -> None:
    project = f'[tool.ruff]\nline-length = 110\n\n# Why.\n{HEAD}\n"rules" = 9\n'
    changed = with_limits(project, {"rules": 3, "src/accord": 3})
    limits = {"accord": {"size": {"rules": 3, "src/accord": 3}}}
    assert tomllib.loads(changed)["tool"] == {"ruff": {"line-length": 110}} | limits
    assert changed.startswith(project[: project.index(HEAD)])
