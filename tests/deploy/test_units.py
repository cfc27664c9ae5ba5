"""The units: systemd understands them, they retry what may be retried, and a run that is killed goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accord.errors import RETRIED
from accord.side import Side
from tests.cli.terminal import free_port
from tests.cli.test_cli import COMMANDS
from tests.deploy.units import DEPLOY, command, read_environment, settings
from tests.run import faults
from tests.run.faults import A_ROWS, B_ROWS, Office
from tests.run.processes import PATIENCE, Fault, Proxy
from tests.run.test_resume import EXPECTED

DOCS = DEPLOY.parent / "docs"
EXAMPLE = read_environment((DEPLOY / "example.env").read_text())


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
    (tmp_path / "accord@it.service").write_text("[Service]\nExecStart=relative\nNoNewPrivilege=yes\n")
    wrong = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
    assert "NoNewPrivilege" in wrong.stderr


def documented() -> set[int]:
    """All exit codes that the reference lists, but the one of success."""
    text = (DOCS / "exit-codes.md").read_text().partition("## Exit codes")[2]
    return set(map(int, re.findall(r"^\| (\d+) \|", text, re.M))) - {0}


def test_what_may_succeed_later_is_tried_again_and_nothing_else() -> None:
    service = settings("accord@.service")
    assert service["Restart"] == ["on-failure"]
    prevented = {int(code) for code in service["RestartPreventExitStatus"][0].split()}
    assert prevented == documented() - RETRIED
    assert documented() >= RETRIED


def test_the_page_says_what_is_tried_again() -> None:
    text = (DOCS / "operate.md").read_text().partition("## Exit codes")[2]
    (said,) = re.findall(r"tries again after ([\d, and]+) \(", text)
    assert set(map(int, re.findall(r"\d+", said))) == RETRIED


def test_the_command_and_the_example_use_options_that_exist() -> None:
    words = command(EXAMPLE, {"S": "/var/lib", "i": "NAME", "C": "/var/cache"})
    assert words[1:5] == ["--state", "/var/lib/accord/NAME/state", "link", "/srv/accord/north.csv"]
    known = {name for one in COMMANDS[("link",)].params for name in one.opts} | {"--state"}
    assert {word for word in words if word.startswith("--")} <= known
    assert words[words.index("--json") + 1 :] == EXAMPLE["OPTIONS"].split()


def start(office: Office, way: str) -> subprocess.Popen[str]:
    """The unit's command for this organisation: no terminal, nobody at the keyboard, a session of its own."""
    home = office.data.parent
    agreement = home / "agreement.toml"
    agreement.write_text(office.agreement.to_toml())
    told = {
        "DATA": str(office.data),
        "AGREEMENT": str(agreement),
        "PARTNER": office.partner,
        "OPTIONS": f"{way} --out {office.out} --snapshot first --wait {PATIENCE} --timeout 60",
    }
    words = command(told, {"S": str(home / "lib"), "i": "it", "C": str(home / "cache")})
    words[2] = str(office.state.folder)
    program = [sys.executable, "-c", "from accord.cli import main; main()"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*program, *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={key: value for key, value in os.environ.items() if key not in ("TERM", "HOME", "USER")},
    )


def run_units(both: dict[Side, Office], kill_after: int | None = None) -> dict[Side, tuple[int, str]]:
    """Both units; after so many bytes towards the listener all their processes are killed −9."""
    port = free_port()
    listener = start(both[Side.A], f"--listen 127.0.0.1:{port}")
    started, heard = [listener], ""
    assert listener.stdout
    for line in listener.stdout:
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
    codes = [process.returncode for process in started]
    return {Side.A: (codes[0], heard + told[0]), Side.B: (codes[1], told[1])}


def require_no_value(log: str) -> None:
    """No cell of a table, no id: as words of their own, since numbers of the run look like cells."""
    ids = {f"{side}{n}" for side, rows in (("A", A_ROWS), ("B", B_ROWS)) for n in range(len(rows))}
    points = {f"{x},{y}" for x, y in (*A_ROWS, *B_ROWS)}
    assert not ids & set(re.findall(r"[\w,]+", log))
    assert not any(re.search(rf"(?<!\d){point}(?!\d)", log) for point in points)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [12_000, 17_500])
def test_a_run_of_the_timer_that_is_killed_is_resumed_by_the_next(moment: int, tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    killed = run_units(both, moment)
    assert {code for code, _ in killed.values()} == {-signal.SIGKILL}, killed
    name = faults.common_run(both)
    assert name is not None
    again = run_units(both)
    for side, office in both.items():
        code, log = again[side]
        assert code == 0, log
        assert f"Resuming the run {name}." in log
        assert json.loads(log.splitlines()[-1])["run"] == name
        assert office.out.read_bytes() == EXPECTED["greedy"]
        faults.require_one_charge(office)
        require_no_value(killed[side][1] + log)
