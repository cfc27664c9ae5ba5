"""The owner's Ray cluster: joined, judged, and given workers.

This is the only module that knows Ray, and only the foreman's process reads it (foreman.py). Scheduling,
placement and the detection of lost nodes are Ray's. No cluster is ever started here.

Who can reach a cluster that lets anybody in can run programs on it, read what lies in its object store and
take part as a worker. So a cluster must encrypt, which is so if this process does and was let in, and must
turn away a stranger: one is played here, with the certificates and without the token.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from accord.errors import TrustError, UsageError
from accord.peer.connect import HostPort, parse_address
from accord.workers.ray_worker import WATCH, RayWorker

AUTO = "auto"
"""The cluster that this machine is a node of, or that RAY_ADDRESS names."""
_CLIENT = "ray://"
_MOST_BY_CLIENT = 48
"""The server of Ray Client has a hundred threads, and whoever waits there holds one."""
_PROBE_SECONDS = 10.0
_LEAVE_SECONDS = 8.0


class Cluster:
    """A cluster that this process has joined."""

    def __init__(self, address: str, vouched: bool) -> None:
        import ray

        named = (os.environ.get("RAY_ADDRESS") or AUTO) if address == AUTO else address
        self._by_client = named.startswith(_CLIENT)
        try:
            _require_answer(named)
            ray.init(address=named, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            raise _cannot_join(named, error) from None
        self._ray: Any = ray
        where = named.removeprefix(_CLIENT) if self._by_client else ray.get_runtime_context().gcs_address
        if not vouched and not _turns_strangers_away(where, self._by_client):
            raise TrustError(
                problem="The Ray cluster lets in anyone who can reach it: it lacks TLS or tokens.",
                mend="Set both up ('A Ray cluster' in Accord's documentation); or add `trust_cluster=`, if "
                "nobody else can reach it.",
            )
        self.host = _own_host(parse_address(where, "workers"))
        """Where nodes reach this machine."""
        self._group: Any = None
        self._actors: list[Any] = []
        self._stays: dict[Any, int] = {}
        """Calls that last as long as their worker."""

    @property
    def room(self) -> int:
        """How many workers have room now, of one processor each."""
        free = int(self._ray.available_resources().get("CPU", 0))
        return min(free, _MOST_BY_CLIENT) if self._by_client else free

    def place(self, count: int, seconds: float) -> list[Any]:
        """So many workers, in one placement group; none if there was no room in time.

        Packed on as few nodes as hold them: a run ends with any of its nodes, and each sees its share of the
        rows. All start or none, so that two runs cannot wait for each other with half of their workers.
        """
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self._group = placement_group([{"CPU": 1}] * count, strategy="PACK")
        if not self._group.wait(seconds):
            return []
        remote = self._ray.remote(
            num_cpus=1, max_restarts=0, max_task_retries=0, concurrency_groups={WATCH: 1}
        )(RayWorker)
        for index in range(count):
            bundle = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=index)
            self._actors.append(remote.options(scheduling_strategy=bundle).remote())
        self._stays = {actor.stay.remote(): number for number, actor in enumerate(self._actors)}
        return self._actors

    def wait(self, asked: Any) -> Any:
        """What a call came to; raises what Ray makes of a worker that is gone."""
        return self._ray.get(asked)

    def watch(self, seconds: float) -> dict[int, str]:
        """Which workers are found to be gone within so many seconds, and how, in words."""
        gone, _ = self._ray.wait(list(self._stays), num_returns=1, timeout=seconds)
        found = {}
        for stay in gone:
            try:
                self._ray.get(stay)
            except Exception as error:
                found[self._stays.pop(stay)] = in_words(error)
        return found

    def leave(self) -> None:
        """End all workers, and wait until Ray knows that they have."""
        from ray.util.placement_group import remove_placement_group

        for actor in self._actors:
            with suppress(Exception):
                self._ray.kill(actor, no_restart=True)
        with suppress(Exception):
            self._ray.wait(list(self._stays), num_returns=len(self._stays), timeout=_LEAVE_SECONDS)
        if self._group is not None:
            with suppress(Exception):
                remove_placement_group(self._group)
        with suppress(Exception):
            self._ray.shutdown()


def in_words(error: Exception) -> str:
    """What became of a worker; nothing of what Ray quotes, which may be much."""
    from ray import exceptions

    said = str(error)
    if isinstance(error, exceptions.OutOfMemoryError):
        return "Ray ended it for lack of memory on its node"
    if isinstance(error, exceptions.NodeDiedError) or re.search("node (has died|was terminated)", said):
        return "its node was lost"
    if isinstance(error, exceptions.RayActorError):
        if error.actor_init_failed or "No module named" in said:
            return "it could not start on its node: is this version of accord installed there?"
        return "it was killed, perhaps for lack of memory, or its node was lost"
    return f"its cluster failed ({type(error).__name__})"


def _turns_strangers_away(where: str, by_client: bool) -> bool:
    """Whether TLS is spoken there, and who has no token is refused."""
    if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
        return False
    import grpc

    root, key, chain = (
        Path(os.environ[f"RAY_TLS_{name}"]).read_bytes() for name in ("CA_CERT", "SERVER_KEY", "SERVER_CERT")
    )
    credentials = grpc.ssl_channel_credentials(root, key, chain)
    call = "RayletDriver/ClusterInfo" if by_client else "NodeInfoGcsService/CheckAlive"
    with grpc.secure_channel(where, credentials) as channel:
        try:
            channel.unary_unary(f"/ray.rpc.{call}")(b"", timeout=_PROBE_SECONDS)
        except grpc.RpcError as error:
            return error.code() is grpc.StatusCode.UNAUTHENTICATED
    return False


def _require_answer(address: str) -> None:
    """Raise at once where nobody listens: Ray would try for minutes."""
    if address != AUTO:
        where = parse_address(address.removeprefix(_CLIENT), "workers")
        socket.create_connection((where.host, where.port), _PROBE_SECONDS).close()


def _own_host(cluster: HostPort) -> str:
    """The address of this machine towards the cluster; nothing is sent to find it."""
    family, kind, *_, where = socket.getaddrinfo(cluster.host, cluster.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as towards:
        towards.connect(where)
        host: str = towards.getsockname()[0]
        return host


def _cannot_join(address: str, error: Exception) -> UsageError:
    if address == AUTO:
        reason = "none runs on this machine, and RAY_ADDRESS names none"
        mend = "Start one as 'A Ray cluster' in Accord's documentation says, or name one as ray://HOST:PORT"
    elif "version" in str(error).lower():
        reason = f"{address} has another version of Ray or of Python"
        mend = "Both must be the same on all machines of a cluster"
    else:
        reason = f"{address} does not answer as one ({type(error).__name__})"
        mend = "Does it run? With TLS and tokens RAY_USE_TLS, RAY_TLS_… and RAY_AUTH_MODE are set here, too"
    return UsageError(problem=f"The Ray cluster cannot be joined: {reason}. {mend}.")
