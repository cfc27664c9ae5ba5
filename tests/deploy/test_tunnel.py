"""Where neither side may open a port: both link through a third host by ssh, as docs/operate.md types it."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from accord.side import Side
from tests.cli.terminal import free_port
from tests.deploy.units import DEPLOY
from tests.run import faults
from tests.run.processes import ended, link_arguments
from tests.run.test_resume import EXPECTED

PAGE = (DEPLOY.parent / "docs" / "operate.md").read_text()
LINES = re.findall(r"^ssh -N .*$", PAGE, re.M)
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def test_the_page_has_a_tunnel_for_each_side() -> None:
    reverse, local = LINES
    assert "-R 127.0.0.1:7411:127.0.0.1:7411 " in reverse
    assert "-L 127.0.0.1:7411:127.0.0.1:7411 " in local
    assert "--listen 127.0.0.1:7411" in PAGE
    assert "--connect 127.0.0.1:7411" in PAGE


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@contextmanager
def relay(folder: Path, lent: int, inside: Sequence[str] = ()) -> Iterator[tuple[int, Path]]:
    """The third host: its port, and the key of the account that may do nothing but what the page allows."""
    port, host, key = free_port(), make_key(folder / "host"), make_key(folder / "user")
    allowed = re.findall(r"^Match User tunnel\n((?: {4}.*\n)+)", PAGE, re.M)[0].replace("7411", str(lent))
    (folder / "sshd_config").write_text(
        f"Port {port}\nHostKey {host}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {key}.pub\nPasswordAuthentication no\nAllowTcpForwarding no\n"
        f"Match User {getpass.getuser()}\n{allowed}"
    )
    with suppress(PermissionError):
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [*inside, str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr
        said = next((line for line in server.stderr if "listening" in line), None)
        assert said is not None, "sshd does not start"
        yield port, key
    finally:
        server.terminate()
        server.communicate()


@contextmanager
def tunnel(
    line: str, ports: tuple[int, int], host: str, at: tuple[int, Path], inside: Sequence[str] = ()
) -> Iterator[None]:
    """One of the page's lines, between ports of this test; it is there when the context begins."""
    words = line.replace(
        "127.0.0.1:7411:127.0.0.1:7411", f"127.0.0.1:{ports[0]}:127.0.0.1:{ports[1]}"
    ).split()
    words[-1] = f"{getpass.getuser()}@{host}"
    port, key = at
    way = "remote forward success" if "-R" in words else "Local forwarding listening"
    known = f"UserKnownHostsFile={key.parent / 'known'}"
    more = ["-v", "-p", str(port), "-i", str(key), "-o", "StrictHostKeyChecking=accept-new", "-o", known]
    process = subprocess.Popen(
        [*inside, words[0], *more, "-F", "none", *words[1:]],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr
        said = ""
        for heard in process.stderr:
            said += heard
            if way in heard:
                break
        assert way in said, said
        yield
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.slow
def test_two_sides_link_through_a_third_host(tmp_path: Path) -> None:
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("no ssh server is here: `apt-get install openssh-server openssh-client`")
    both = faults.offices(tmp_path)
    north, lent, fetched = free_port(), free_port(), free_port()
    reverse, local = LINES
    with ExitStack() as stack:
        begun = stack.enter_context(ended())
        (tmp_path / "relay").mkdir()
        at = stack.enter_context(relay(tmp_path / "relay", lent))
        a = begun(both[Side.A], *link_arguments(both[Side.A]), "--listen", f"127.0.0.1:{north}")
        a.event("listening")
        stack.enter_context(tunnel(reverse, (lent, north), "127.0.0.1", at))
        stack.enter_context(tunnel(local, (fetched, lent), "127.0.0.1", at))
        b = begun(both[Side.B], *link_arguments(both[Side.B]), "--connect", f"127.0.0.1:{fetched}")
        ends = [b.end(), a.end()]
    assert [code for code, _ in ends] == [0, 0], ends
    assert [office.out.read_bytes() for office in both.values()] == [EXPECTED["greedy"]] * 2
