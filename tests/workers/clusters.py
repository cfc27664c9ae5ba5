"""Real Ray clusters on this machine, by Ray's own utility: two nodes, each with processes of its own.

`python -m tests.workers.clusters` is one, in a process of its own: nothing of Ray is left in that of the
tests. It tells its address, loses its second node when it is told to, and ends when nobody listens any more.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPEN = {"RAY_AUTH_MODE": "disabled", "RAY_USE_TLS": "0"}
"""Lets anybody in."""
_STORE = 80 << 20
_PATIENCE = 120


@dataclass
class Cluster:
    """One that runs, and what those set who use it."""

    address: str
    client: int
    """The port of Ray Client."""
    popen: subprocess.Popen[str]

    def lose_node(self) -> None:
        """Kill the second node."""
        assert self.popen.stdin
        assert self.popen.stdout
        self.popen.stdin.write("lose\n")
        self.popen.stdin.flush()
        assert self.popen.stdout.readline() == "lost\n"

    def workers(self) -> list[int]:
        """The processes of workers on this cluster."""
        listed = subprocess.check_output(["ps", "-ww", "-eo", "pid=,ppid=,args="], text=True)
        rows = [line.split(maxsplit=2) for line in listed.splitlines()]
        commands = {pid: command for pid, _, command in rows}
        here = {pid for pid, command in commands.items() if self.address in command}
        return [int(pid) for pid, parent, command in rows if "ray::RayWorker" in command and parent in here]

    def require_empty(self) -> None:
        """Nobody works here, at the latest in a little while."""
        until = time.monotonic() + _PATIENCE
        while left := self.workers():
            assert time.monotonic() < until, f"left: {left}"
            time.sleep(0.1)


def require_ray() -> None:
    """Skip where there is no Ray, unless everything is required."""
    if importlib.util.find_spec("ray") is None:
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail("Ray is required but missing")
        pytest.skip("Ray is not installed", allow_module_level=True)


@contextmanager
def running(processors: int, **settings: str) -> Iterator[Cluster]:
    """A cluster of two nodes with so many processors each; `RAY_ADDRESS` names it meanwhile."""
    require_ray()
    command = [sys.executable, "-W", "ignore", "-m", "tests.workers.clusters", str(processors)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        path = f"{os.environ['PYTHONPATH']}{os.pathsep}{ROOT}"
        popen = subprocess.Popen(
            command, env=os.environ | {"PYTHONPATH": path}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with popen:
            assert popen.stdout
            assert popen.stdin
            try:
                found = json.loads(popen.stdout.readline())
                patch.setenv("RAY_ADDRESS", found["address"])
                yield Cluster(found["address"], found["client"], popen)
            finally:
                popen.stdin.close()
                popen.wait(_PATIENCE)


def main() -> None:
    from ray.cluster_utils import Cluster as Nodes

    from tests.cli.terminal import free_port

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    client = free_port()
    size = {"num_cpus": int(sys.argv[1]), "object_store_memory": _STORE}
    head = {"include_dashboard": False, "ray_client_server_port": client, **size}
    nodes = Nodes(initialize_head=True, head_node_args=head)
    second = nodes.add_node(**size)
    nodes.wait_for_nodes()
    said = sys.__stdout__
    assert said
    said.write(json.dumps({"address": nodes.address, "client": client}) + "\n")
    said.flush()
    for _ in sys.stdin:
        nodes.remove_node(second, allow_graceful=False)
        said.write("lost\n")
        said.flush()
    nodes.shutdown()


if __name__ == "__main__":
    main()
