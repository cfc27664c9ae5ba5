"""A release is a commit and nothing else: the same commit gives the same bytes.

What is built is the tree as git has it, in a folder of its own, so that no other file of a checkout gets in.
Each file has the bytes that were committed: checkouts and `git archive` may change ends of lines and more, as
whoever builds has set it for themselves. Every time in it is the commit's. The builder writes its own version
into the wheel: another version of it may give other bytes, so the bill of materials names the one that was
used.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SUMS = "SHA256SUMS"
_MODES = {"100644": 0o644, "100755": 0o755}


def time_of(commit: str) -> int:
    """When it was made, in seconds."""
    return int(_git("rev-list", "--max-count=1", "--timestamp", commit).split()[0])


def require_clean() -> None:
    """Raise if a file that git knows was changed: it would not be in the release."""
    if changed := _git("status", "--porcelain", "--untracked-files=no").decode():
        raise SystemExit(f"What is not committed is not released:\n{changed.rstrip()}")


def build(commit: str, folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel of a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: perhaps it holds another release. Remove it first.")
    with TemporaryDirectory() as tree:
        write_tree(commit, Path(tree))
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())],
            cwd=tree,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(time_of(commit)), "PYTHONPATH": ""},
            check=True,
            capture_output=True,
        )
    source, wheel = sorted(folder.iterdir(), key=lambda path: path.suffix)
    return source, wheel


def write_tree(commit: str, folder: Path) -> None:
    """Its files, as they were committed."""
    listed = _git("ls-tree", "-r", "-z", commit).decode().rstrip("\0").split("\0")
    told = [(line.split()[:3], folder / line.partition("\t")[2]) for line in listed]
    contents = io.BytesIO(_git("cat-file", "--batch", given="".join(f"{key}\n" for (_, _, key), _ in told)))
    for (mode, kind, _), path in told:
        if kind != "blob" or mode not in _MODES:
            raise SystemExit(f"{path.relative_to(folder)} is no plain file: it cannot be in a release.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents.read(int(contents.readline().split()[2])))
        path.chmod(_MODES[mode])
        contents.read(1)


def write_sums(folder: Path) -> None:
    """The digest of every other file, as `sha256sum --check` reads it."""
    names = sorted(path.name for path in folder.iterdir() if path.name != SUMS)
    lines = [f"{digest_of(folder / name)}  {name}\n" for name in names]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def digest_of(path: Path) -> str:
    """Its SHA-256, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(*arguments: str, given: str = "") -> bytes:
    command = ["git", "--no-replace-objects", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, input=given.encode()).stdout
