"""The image: from its steps alone two parties link over a cable of their own, and go on with a new image."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml

from release.building import build as build_release
from release.materials import resolve
from release.pins import write_pins
from tests.cli.test_cli import COMMANDS
from tests.deploy import image, test_tunnel
from tests.deploy.image import Image
from tests.deploy.units import DEPLOY

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PARTIES = ("north", "south")
SHARED = {"/etc/hosts": "hosts", "/data": "shared"}


def test_the_parties_of_compose_use_options_that_exist_and_volumes_that_are_named() -> None:
    known = {name for one in COMMANDS[("link",)].params for name in one.opts}
    for party in PARTIES:
        service = COMPOSE["services"][party]
        assert service["read_only"] is True
        assert {word for word in service["command"] if word.startswith("--")} <= known
        assert {place.partition(":")[0] for place in service["volumes"]} <= set(COMPOSE["volumes"])
    assert COMPOSE["networks"]["between"]["internal"] is True
    typed = re.findall(r"accord (?:--state \S+ )?(\w+)", (DEPLOY / "prepare.sh").read_text())
    assert {"generate", "identity", "ledger", "partner", "init"} == set(typed)


def test_the_image_is_for_an_ordinary_user_and_keeps_nothing_of_its_own() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert 'VOLUME ["/state", "/data"]' in text
    assert "\nUSER 10001:10001\n" in text
    last = text.rpartition("\nFROM ")[2]
    assert "pip install" not in last
    # Loops are found only by a process that compiles for the same processor as the image did.
    assert len(re.findall(r"^ENV NUMBA_CPU_NAME=\$\{CPU\} NUMBA_CPU_FEATURES= ", text, re.M)) == 2


def require_tools() -> None:
    missing = [
        tool for tool in ("mmdebstrap", "unshare", "ip", "setpriv", "chroot") if not shutil.which(tool)
    ]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {missing or 'nothing else'}: `apt-get install mmdebstrap iproute2`")


def finish(process: subprocess.Popen[str]) -> str:
    told, _ = process.communicate(timeout=600)
    assert process.returncode == 0, told
    return told


def link(made: Image, folder: Path, names: dict[str, str], port: str = "") -> list[subprocess.Popen[str]]:
    """The two parties, as compose.yaml starts them; `port` is where both reach each other, if elsewhere."""
    found = []
    for party in PARTIES:
        volumes = {"/state": folder / party} | {place: folder / name for place, name in SHARED.items()}
        words = [
            port or word if word.endswith(":7411") else word for word in COMPOSE["services"][party]["command"]
        ]
        found.append(image.start(made, volumes, [*made.entry, *words], names[party]))
    return found


def prepare(made: Image, folder: Path) -> None:
    """What compose.yaml does before the parties: tables, identities, cards."""
    volumes = {f"/{name}": image.volume(folder / name) for name in (*PARTIES, "shared")}
    for place in volumes:
        (made.root / place[1:]).mkdir()
    (folder / "hosts").write_text("127.0.0.1 localhost\n10.77.0.1 north\n10.77.0.2 south\n")
    shutil.copy(DEPLOY / "prepare.sh", folder / "shared")
    finish(image.start(made, volumes, ["/bin/sh", "/shared/prepare.sh"]))


def read_until(process: subprocess.Popen[str], event: str) -> str:
    told = ""
    assert process.stdout
    for line in process.stdout:
        told += line
        if f'"event": "{event}"' in line:
            return told
    raise AssertionError(told)


@pytest.mark.slow
def test_two_parties_link_from_the_steps_of_the_image_alone(tmp_path: Path) -> None:
    require_tools()
    context, base = tmp_path / "context", tmp_path / "base.tar"
    shutil.copytree(DEPLOY, context / "deploy")
    _, wheel = build_release("HEAD", context / "dist")
    # The Python of this machine's Debian, in place of the one that the file names.
    write_pins(wheel, resolve(wheel), image.make_base(base), [platform.machine()])
    made = image.build(context, base, tmp_path / "first")
    new, run = require_two_parties(made, tmp_path)
    require_every_table(new, tmp_path, run)
    require_tunnel(new, tmp_path)
    require_administrator(new, tmp_path, wheel)


def require_two_parties(made: Image, folder: Path) -> tuple[Image, str]:
    """They link, both killed −9 on the way, and go on in a new image, of which the root is read-only; it, and
    their run."""
    prepare(made, folder)
    with image.networks(PARTIES) as names:
        cut = link(made, folder, names)
        told = read_until(cut[1], "charged")
        for process in cut:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        new = Image(folder / "new", made.environment, made.user, made.folder, made.entry)
        subprocess.run(["cp", "-a", str(made.root), str(new.root)], check=True)
        shutil.rmtree(made.root)
        logs = [finish(process) for process in link(new, folder, names)]
    for log in logs:
        assert "Resuming the run" in log
        assert "Compiling" not in told + log, "all loops are inside"
    pairs = [(folder / party / "pairs.csv").read_bytes() for party in PARTIES]
    assert pairs[0] == pairs[1]
    assert pairs[0].count(b"\n") > 10
    state = {"/state": folder / "north"}
    (run,) = json.loads(finish(image.start(new, state, [*new.entry, "runs", "--json"])))
    assert (run["done"], run["charged"]) == (True, True)
    finish(image.start(new, state, [*new.entry, "state", "check"]))
    by_root = Image(new.root, new.environment, "0:0")
    refused = image.start(by_root, state, ["touch", "/opt/accord/bin/new"])
    assert "Read-only file system" in refused.communicate()[0]
    return new, run["run"]


def require_every_table(made: Image, folder: Path, run: str) -> None:
    """What was taken out of the packages is not missed: tables of every kind, the demo, pages."""
    shared = folder / "shared"
    table = pandas.read_csv(shared / "a.csv", dtype=str, keep_default_na=False)
    table.to_parquet(shared / "a.parquet")
    table.to_feather(shared / "a.arrow")
    table.to_excel(shared / "a.xlsx", index=False)
    with closing(sqlite3.connect(shared / "a.sqlite")) as database:
        table.to_sql("a", database, index=False)
    places = ("a.csv", "a.parquet", "a.arrow", "a.xlsx", "sqlite:a.sqlite?table=a")
    typed = [
        "sh /opt/accord/bin/start --version",
        *(f"accord simulate '{place}' b.csv --agreement agreement.toml --json" for place in places),
        "accord simulate a.csv b.csv --agreement agreement.toml --truth truth.csv --html /state/it.html",
        f"accord report {run} --out /state/report.html",
        f"accord report {run} --dpia --out /state/report.md",
        "python -c 'import adbc_driver_postgresql.dbapi'",
        "cd /tmp && accord demo --records 200",
    ]
    volumes = {"/data": shared, "/state": folder / "north"}
    with image.networks(PARTIES) as names:
        told = finish(image.start(made, volumes, ["/bin/sh", "-ec", "\n".join(typed)], names["north"]))
    found = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert len(found) == len(places), told
    assert len({one["matches"] for one in found}) == 1, found
    assert "What neither learned" in told
    assert "Compiling" not in told, "all loops are inside"


BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", (DEPLOY.parent / "docs" / "operate.md").read_text(), re.M | re.S)
DENIED = """
useradd --system accord-other
test -r /var/lib/accord/monthly/state/identity.pem
! runuser -u accord-other -- test -r /var/lib/accord/monthly/state/identity.pem
! runuser -u accord-other -- ls /var/lib/accord/monthly
runuser -u accord-monthly -- /usr/local/bin/accord --state /var/lib/accord/monthly/state partner list
"""


def require_administrator(made: Image, folder: Path, wheel: Path) -> None:
    """What docs/operate.md types as one, in the image's root. Accord is there, so pip fetches nothing."""
    install = next(block for block in BLOCKS if "/usr/local/bin/accord" in block)
    instance = next(block for block in BLOCKS if block.startswith("useradd"))
    here = made.root / "root"
    shutil.copytree(DEPLOY, here / "deploy")
    shutil.copy(wheel, here)
    shutil.copy(folder / "shared" / "south-shop.card", here)
    typed = [line for line in instance.splitlines() if not line.startswith("systemctl")]
    machine = Image(made.root, {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"})
    for step in (install, "\n".join(typed), DENIED):
        image.run_step(machine, f"set -e\ncd /root\n{step}")


def require_tunnel(made: Image, folder: Path) -> None:
    """They link again, with no cable between them but through a third host."""
    if test_tunnel.SSHD is None:
        return
    (folder / "relay").mkdir()
    reverse, local = test_tunnel.LINES
    with image.networks(("north", "relay"), ("south", "relay")) as names, ExitStack() as stack:
        inside = {who: ["ip", "netns", "exec", name] for who, name in names.items()}
        at = stack.enter_context(test_tunnel.relay(folder / "relay", 7411, inside["relay"]))
        for line, who, host in ((reverse, "north", "10.77.0.2"), (local, "south", "10.77.1.2")):
            stack.enter_context(test_tunnel.tunnel(line, (7411, 7411), host, at, inside[who]))
        # South first: it gives up where it finds something wrong, and north would wait.
        for process in reversed(link(made, folder, names, "127.0.0.1:7411")):
            assert json.loads(finish(process).splitlines()[-1])["event"] == "done"
