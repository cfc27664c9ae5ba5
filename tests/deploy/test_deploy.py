"""What operators start: the units, a tunnel through a third host, and the files of the image."""

from __future__ import annotations

import getpass
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from accord.errors import RETRIED
from accord.side import Side
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


def test_a_unit_that_is_stopped_ends_as_an_interrupt_does(tmp_path: Path) -> None:
    """`systemctl stop` sends SIGTERM to the process that the unit started."""
    office = faults.offices(tmp_path)[Side.A]
    with start(office, f"--listen 127.0.0.1:{free_port()}") as process:
        assert process.stdout
        assert any('"listening"' in line for line in process.stdout)
        process.terminate()
        process.stdout.read()
    assert {process.returncode} == set(map(int, settings("accord@.service")["SuccessExitStatus"]))
    assert not office.ledger.runs()


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

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def test_the_image_is_for_an_ordinary_user_and_compose_has_options_that_exist() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert re.findall(r"^USER (.*)$", text, re.M) == ["10001:10001"]
    assert "pip install" not in text.rpartition("\nFROM ")[2]
    # Loops are found only by a process that compiles for the same processor as the image did.
    assert len(re.findall(r"^ENV NUMBA_CPU_NAME=\$\{CPU\} NUMBA_CPU_FEATURES= ", text, re.M)) == 2
    for party in ("north", "south"):
        service = COMPOSE["services"][party]
        assert service["read_only"] is True
        assert {word for word in service["command"] if word.startswith("--")} <= LINK
        assert {place.partition(":")[0] for place in service["volumes"]} <= set(COMPOSE["volumes"])
    assert COMPOSE["networks"]["between"]["internal"] is True
