"""The image without an engine for containers: the Containerfile's steps in bare file systems of Debian.

What an engine would do is done by the system's own tools: each stage is a folder that is entered with chroot,
a container is a name space of mounts, processes and networks around one, with a read-only root. Only the step
that installs packages has a network. This knows the instructions that the file has, and raises at others.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PACKAGES = "python3,python3-venv,ca-certificates"
_OWNER = 10001
_ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


@dataclass
class Image:
    """A root file system, and what a container of it is started with."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    folder: str = "/"
    entry: list[str] = field(default_factory=list)


def make_base(tar: Path) -> str:
    """A bare system with Python, of the release that this machine has, whose keys are here; which Python."""
    name = platform.freedesktop_os_release()["VERSION_CODENAME"]
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", name, str(tar)]
    subprocess.run(command, check=True)
    listed = subprocess.run(["tar", "-tf", str(tar)], check=True, capture_output=True, text=True).stdout
    (version,) = set(re.findall(r"^\./usr/bin/python(3\.\d+)$", listed, re.M))
    return version


def build(context: Path, base: Path, folder: Path) -> Image:
    """The last stage of the Containerfile in a context, with the stages in a folder."""
    stages: dict[str, Image] = {}
    arguments: dict[str, str] = {}
    image = Image(folder)
    text = (context / "deploy" / "Containerfile").read_text()
    for line in re.sub(r"\\\n", "", text).splitlines():
        word, _, rest = line.partition(" ")
        rest = re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], rest)
        if word == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif word == "FROM":
            name = rest.partition(" AS ")[2] or "last"
            image = stages[name] = Image(folder / name)
            _unpack(base, image.root)
        elif word == "ENV":
            image.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "COPY":
            _copy(context, stages, image.root, rest.split())
        elif word == "RUN":
            run_step(image, rest)
        elif word in ("USER", "WORKDIR"):
            setattr(image, {"USER": "user", "WORKDIR": "folder"}[word], rest)
        elif word == "ENTRYPOINT":
            image.entry = json.loads(rest)
        elif word and word not in ("#", "VOLUME", "CMD"):
            raise ValueError(f"an instruction that this does not know: {line}")
    return image


def _unpack(base: Path, root: Path) -> None:
    root.mkdir(parents=True)
    subprocess.run(["tar", "-xf", str(base), "-C", str(root)], check=True)
    # What an engine puts a file of its own over.
    (root / "etc" / "hosts").touch()
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    # Where certificates of the organisation are needed to reach an index, the base image has them.
    shutil.copy(CERTIFICATES, root / CERTIFICATES[1:])


def _copy(context: Path, stages: Mapping[str, Image], root: Path, words: list[str]) -> None:
    source = context
    if words[0].startswith("--from="):
        source = stages[words.pop(0).partition("=")[2]].root
    target = root / words[-1].lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if words[-1].endswith("/"):
        target.mkdir(exist_ok=True)
    found = [path for word in words[:-1] for path in sorted(source.glob(word.lstrip("/")))]
    subprocess.run(["cp", "-a", *map(str, found), str(target)], check=True)


def run_step(image: Image, step: str) -> None:
    """As an administrator, with a network only for pip."""
    alone = [] if "pip install" in step else ["unshare", "--net"]
    told = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "PIP_CERT": CERTIFICATES, **image.environment}
    variables = [f"{name}={value}" for name, value in told.items()]
    inside = ["/usr/bin/env", "-i", *variables, "/bin/sh", "-c", step]
    subprocess.run([*alone, "chroot", str(image.root), *inside], check=True)


def start(
    image: Image, volumes: Mapping[str, Path], words: Sequence[str], network: str = ""
) -> subprocess.Popen[str]:
    """A container: read-only root, memory at /tmp, these volumes, in the named network or in none."""
    root = str(image.root)
    mounts = [
        "mount --make-rprivate /",
        f"mount --bind {root} {root}",
        *(f"mount --bind {source} {root}{target}" for target, source in volumes.items()),
        f"mount -t tmpfs -o mode=1777,noexec,nosuid,nodev none {root}/tmp",
        f"mount -t proc proc {root}/proc",
        f"mount -o remount,ro,bind {root}",
    ]
    told = [f"{name}={value}" for name, value in image.environment.items()]
    inside = ["/usr/bin/env", "-i", *told, "/bin/sh", "-c", f'cd {image.folder} && exec "$@"', "sh", *words]
    enter = ["setpriv", "--no-new-privs", "chroot", "--groups=", f"--userspec={image.user}", root, *inside]
    where = ["ip", "netns", "exec", network] if network else ["unshare", "--net"]
    return subprocess.Popen(
        [*where, *_ENTER, "sh", "-ec", "; ".join([*mounts, f"exec {shlex.join(enter)}"])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def volume(path: Path) -> Path:
    """A new volume, whose owner is the image's user."""
    path.mkdir(parents=True)
    os.chown(path, _OWNER, _OWNER)
    return path


@contextmanager
def network() -> Iterator[str]:
    """A network name space that reaches nothing but itself."""
    name = f"accord-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
