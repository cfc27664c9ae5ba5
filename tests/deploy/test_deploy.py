"""What operators start: the units, a tunnel through a third host, and the image, each by its own steps."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from accord.errors import RETRIED
from accord.side import Side
from release.building import build as build_release
from release.materials import resolve
from release.pins import write_pins
from tests.cli.terminal import free_port
from tests.cli.test_cli import COMMANDS
from tests.run import faults
from tests.run.faults import Office
from tests.run.processes import PATIENCE, Fault, Proxy, ended, link_arguments

DEPLOY = Path(__file__).parents[2] / "deploy"
PAGE = (DEPLOY.parent / "docs" / "operate.md").read_text()
LINK = {name for option in COMMANDS[("link",)].params for name in option.opts} | {"--state"}

# -- the units ---------------------------------------------------------------------------------------------


def settings(unit: str) -> dict[str, list[str]]:
    """All values of each setting of a unit."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / unit).read_text().splitlines():
        name, equal, value = line.partition("=")
        if equal and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def command(environment: dict[str, str], specifiers: dict[str, str]) -> list[str]:
    """What `ExecStart` of the service comes to, by the rules of systemd.service(5): `${NAME}` is part of a
    word, `$NAME` is as many words as it has."""
    (line,) = settings("accord@.service")["ExecStart"]
    words: list[str] = []
    for word in shlex.split(line):
        word = re.sub(r"%(.)", lambda found: specifiers[found[1]], word)
        if alone := re.fullmatch(r"\$(\w+)", word):
            words += environment[alone[1]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None and "ACCORD_REQUIRE_ALL" not in os.environ:
        pytest.skip("no systemd is here: `apt-get install systemd`")
    for unit in ("accord@.service", "accord@.timer"):
        # The program need not be installed where this is tested.
        text = (DEPLOY / unit).read_text().replace("/usr/local/bin/accord ", "/bin/true ")
        (tmp_path / unit.replace("@", "@it")).write_text(text)
    verify = ["systemd-analyze", "verify", "--man=no", "./accord@it.service", "./accord@it.timer"]
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_may_succeed_later_is_tried_again_and_nothing_else() -> None:
    service = settings("accord@.service")
    table = (DEPLOY.parent / "docs" / "exit-codes.md").read_text().partition("## Exit codes")[2]
    documented = set(map(int, re.findall(r"^\| (\d+) \|", table, re.M))) - {0}
    assert service["Restart"] == ["on-failure"]
    assert {int(code) for code in service["RestartPreventExitStatus"][0].split()} == documented - RETRIED
    (said,) = re.findall(r"tries again after ([\d, and]+) \(", PAGE)
    assert set(map(int, re.findall(r"\d+", said))) == RETRIED <= documented


def test_the_command_and_the_example_use_options_that_exist() -> None:
    lines = (DEPLOY / "example.env").read_text().splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    words = command(example, {"S": "/var/lib", "i": "NAME", "C": "/var/cache"})
    assert words[1:5] == ["--state", "/var/lib/accord/NAME/state", "link", "/srv/accord/north.csv"]
    assert {word for word in words if word.startswith("--")} <= LINK
    assert words[words.index("--json") + 1 :] == example["OPTIONS"].split()


def start(office: Office, way: str) -> subprocess.Popen[str]:
    """The unit's command for this organisation: no terminal, nobody at the keyboard, a session of its own."""
    home, pipe = office.data.parent, subprocess.PIPE
    (home / "agreement.toml").write_text(office.agreement.to_toml())
    options = f"{way} --out {office.out} --snapshot first --wait {PATIENCE} --timeout 60"
    told = {"DATA": str(office.data), "AGREEMENT": str(home / "agreement.toml")}
    told |= {"PARTNER": office.partner, "OPTIONS": options}
    words = command(told, {"S": str(home / "lib"), "i": "it", "C": str(home / "cache")})
    words[:3] = [
        sys.executable,
        "-c",
        "from accord.cli import main; main()",
        "--state",
        str(office.state.folder),
    ]
    bare = {key: value for key, value in os.environ.items() if key not in ("TERM", "HOME", "USER")}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": subprocess.STDOUT}
    return subprocess.Popen(words, text=True, start_new_session=True, env=bare, **streams)


def run_units(both: dict[Side, Office], kill_after: int | None = None) -> list[tuple[int, str]]:
    """Both units; after so many bytes towards the listener all their processes are killed −9."""
    port = free_port()
    started, heard = [start(both[Side.A], f"--listen 127.0.0.1:{port}")], ""
    assert started[0].stdout
    for line in started[0].stdout:
        heard += line
        if '"listening"' in line:
            break

    def kill() -> None:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)

    proxy = Proxy(port, None if kill_after is None else Fault(kill_after, True, kill))
    try:
        started.append(start(both[Side.B], f"--connect 127.0.0.1:{proxy.port}"))
        told = [process.communicate(timeout=PATIENCE)[0] for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
        proxy.close()
    assert proxy.fired is (kill_after is not None)
    return [
        (process.returncode, text) for process, text in zip(started, (heard + told[0], told[1]), strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("moment", [12_000, 17_500])
def test_a_run_of_the_timer_that_is_killed_is_resumed_by_the_next(moment: int, tmp_path: Path) -> None:
    """No log has an id of a table."""
    both = faults.offices(tmp_path)
    killed = run_units(both, moment)
    assert [code for code, _ in killed] == [-signal.SIGKILL] * 2, killed
    name = faults.common_run(both)
    for (side, office), (code, log) in zip(both.items(), run_units(both), strict=True):
        assert code == 0, log
        assert json.loads(log.splitlines()[-1])["run"] == name
        assert office.out.read_bytes().count(b"\n") > 4
        faults.require_one_charge(office)
        assert not re.findall(rf"\b{side}\d+\b", killed[0][1] + killed[1][1] + log)


# -- through a third host ----------------------------------------------------------------------------------

LINES = re.findall(r"^ssh -N .*$", PAGE, re.M)
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@contextmanager
def waiting(command: list[str], for_text: str) -> Iterator[None]:
    """A process, as soon as it says that it is ready."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr
        assert any(for_text in line for line in process.stderr)
        yield
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.slow
def test_two_sides_link_through_a_third_host_as_the_page_types_it(tmp_path: Path) -> None:
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("no ssh server is here: `apt-get install openssh-server openssh-client`")
    both = faults.offices(tmp_path)
    port, north, lent, fetched = (free_port() for _ in range(4))
    host, key = make_key(tmp_path / "host"), make_key(tmp_path / "user")
    allowed = re.findall(r"^Match User tunnel\n((?: {4}.*\n)+)", PAGE, re.M)[0].replace("7411", str(lent))
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nHostKey {host}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {key}.pub\nPasswordAuthentication no\nAllowTcpForwarding no\n"
        f"Match User {getpass.getuser()}\n{allowed}"
    )
    with suppress(PermissionError):
        Path("/run/sshd").mkdir(exist_ok=True)
    known = f"UserKnownHostsFile={tmp_path / 'known'}"
    more = ["-v", "-p", str(port), "-i", str(key), "-o", "StrictHostKeyChecking=accept-new", "-o", known]
    with ExitStack() as stack:
        begun = stack.enter_context(ended())
        stack.enter_context(waiting([SSHD, "-D", "-e", "-f", str(tmp_path / "sshd_config")], "listening"))
        a = begun(both[Side.A], *link_arguments(both[Side.A]), "--listen", f"127.0.0.1:{north}")
        a.event("listening")
        for line, ends in zip(LINES, ((lent, north), (fetched, lent)), strict=True):
            typed = line.replace("127.0.0.1:7411:127.0.0.1:7411", f"127.0.0.1:{ends[0]}:127.0.0.1:{ends[1]}")
            words = [*typed.split()[:-1], f"{getpass.getuser()}@127.0.0.1"]
            ready = "remote forward success" if "-R" in words else "Local forwarding listening"
            stack.enter_context(waiting([words[0], *more, "-F", "none", *words[1:]], ready))
        b = begun(both[Side.B], *link_arguments(both[Side.B]), "--connect", f"127.0.0.1:{fetched}")
        codes = [b.end(), a.end()]
    assert [code for code, _ in codes] == [0, 0], codes
    assert len({office.out.read_bytes() for office in both.values()}) == 1


# -- the image ---------------------------------------------------------------------------------------------

# An engine's work is done by the system's own tools: each stage is a folder that is entered with chroot. A
# container is a name space of mounts, processes and networks around one, with a read-only root. Only the step
# that installs packages has a network. Unknown instructions of the Containerfile raise.

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


def start_container(
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


COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PARTIES = ("north", "south")


def test_the_image_is_for_an_ordinary_user_and_compose_has_options_that_exist() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert re.findall(r"^USER (.*)$", text, re.M) == ["10001:10001"]
    assert "pip install" not in text.rpartition("\nFROM ")[2]
    # Loops are found only by a process that compiles for the same processor as the image did.
    assert len(re.findall(r"^ENV NUMBA_CPU_NAME=\$\{CPU\} NUMBA_CPU_FEATURES= ", text, re.M)) == 2
    for party in PARTIES:
        service = COMPOSE["services"][party]
        assert service["read_only"] is True
        assert {word for word in service["command"] if word.startswith("--")} <= LINK
        assert {place.partition(":")[0] for place in service["volumes"]} <= set(COMPOSE["volumes"])
    assert COMPOSE["networks"]["between"]["internal"] is True


def finish(process: subprocess.Popen[str]) -> str:
    told, _ = process.communicate(timeout=600)
    assert process.returncode == 0, told
    return told


@pytest.mark.slow
def test_two_parties_link_from_the_steps_of_the_image_alone(tmp_path: Path) -> None:
    """As compose.yaml starts them, in one network, with all loops compiled and a read-only root."""
    tools = ("mmdebstrap", "unshare", "ip", "setpriv", "chroot")
    if os.geteuid() != 0 or not all(map(shutil.which, tools)):
        pytest.skip("needs root: `apt-get install mmdebstrap iproute2`")
    context, base = tmp_path / "context", tmp_path / "base.tar"
    shutil.copytree(DEPLOY, context / "deploy")
    _, wheel = build_release("HEAD", context / "dist")
    # The Python of this machine's Debian, in place of the one that the file names.
    write_pins(wheel, resolve(wheel), make_base(base), [platform.machine()])
    made = build(context, base, tmp_path / "stages")
    volumes = {f"/{name}": volume(tmp_path / name) for name in (*PARTIES, "shared")}
    for place in volumes:
        (made.root / place[1:]).mkdir()
    (tmp_path / "hosts").write_text("127.0.0.1 localhost north south\n")
    shutil.copy(DEPLOY / "prepare.sh", tmp_path / "shared")
    finish(start_container(made, volumes, ["/bin/sh", "/shared/prepare.sh"]))
    parties, shared = [], {"/etc/hosts": tmp_path / "hosts", "/data": tmp_path / "shared"}
    with network() as between:
        for party in PARTIES:
            words = [*made.entry, *COMPOSE["services"][party]["command"]]
            parties.append(start_container(made, {"/state": tmp_path / party} | shared, words, between))
        logs = [finish(process) for process in parties]
    assert not any("Compiling" in log for log in logs)
    pairs = [(tmp_path / party / "pairs.csv").read_bytes() for party in PARTIES]
    assert pairs[0] == pairs[1]
    assert pairs[0].count(b"\n") > 10
    by_root = Image(made.root, made.environment, "0:0")
    refused = start_container(by_root, {}, ["touch", "/opt/accord/bin/new"])
    assert "Read-only" in refused.communicate()[0]
