"""Workers on a real cluster of two nodes: the same output, and whatever is lost, the run goes on."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from accord.errors import TrustError, UsageError
from accord.side import Side
from accord.workers.ray import RayWorkers
from tests.run import faults
from tests.run.faults import EXPECTED
from tests.workers import clusters
from tests.workers.clusters import Cluster
from tests.workers.test_workers import Meeting, children, crowds, is_running, meet, require_done

TRUSTED = "--trust-cluster"
PATIENCE = 120


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters.running(1, **clusters.OPEN) as found:
        yield found
        found.require_empty()


@pytest.mark.slow
def test_a_side_on_a_cluster_and_one_that_is_not(cluster: Cluster, tmp_path: Path) -> None:
    """What the partner's workers send is relayed; nobody but the coordinator tells the difference.

    In one test with a refusal: two might be run by two processes of tests, which need a cluster each.
    """
    with pytest.raises(TrustError):
        RayWorkers("auto", vouched=False, listens=True)
    both = faults.offices(tmp_path, "plain")
    meeting = meet(both, None, {Side.A: f"ray {TRUSTED}", Side.B: 3})
    require_done(meeting, both, EXPECTED["plain"])
    for process in meeting.both.values():
        assert len(process.events[-1]["peak_mib"]) == 3
    cluster.require_empty()


@pytest.mark.slow
def test_where_there_is_no_cluster_none_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters.require_ray()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UsageError):
        RayWorkers("auto", vouched=True, listens=False)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["connects", "client"])
def test_the_side_that_connects_and_ray_client(cluster: Cluster, way: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    where = "2@ray" if way == "connects" else f"2@ray://127.0.0.1:{cluster.client}"
    on_cluster = Side.B if way == "connects" else Side.A
    workers: dict[Side, int | str] = {on_cluster: f"{where} {TRUSTED}", on_cluster.other: 2}
    require_done(meet(both, None, workers), both, EXPECTED["plain"])
    cluster.require_empty()


@pytest.mark.slow
def test_both_sides_on_clusters(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "greedy")
    with clusters.running(2, **clusters.OPEN) as found:
        workers = f"2@ray {TRUSTED}"
        require_done(meet(both, None, dict.fromkeys(Side, workers)), both, EXPECTED["greedy"])
        found.require_empty()


def require_resumed(
    cluster: Cluster, folder: Path, act: Callable[[Meeting], object], codes: tuple[int, int], *where: str
) -> None:
    """What happens to side A after a round ends both and all workers; resumed, the output is the same."""

    def after_a_round(meeting: Meeting) -> None:
        meeting.both[Side.A].event("progress")
        act(meeting)

    both, expected = crowds(folder)
    first, again = (f"{one} {TRUSTED}" for one in where)
    meeting = meet(both, None, {Side.A: first, Side.B: 2}, after_a_round)
    assert tuple(meeting.ends[side][0] for side in Side) == codes, meeting.ends
    cluster.require_empty()
    name = faults.common_run(both)
    assert name
    require_done(meet(both, name, {Side.A: again, Side.B: 2}), both, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "codes"),
    [
        ("worker", (13, 10)),
        ("interrupt", (130, 10)),
        ("coordinator", (-signal.SIGKILL, 8)),
        ("foreman", (13, 10)),
        ("foreman of a client", (13, 10)),
    ],
)
def test_whoever_is_killed_the_run_goes_on(
    who: str, codes: tuple[int, int], cluster: Cluster, tmp_path: Path
) -> None:
    """Ray ends the workers of a driver that is gone; those of a client when it does not come back."""
    foremen: list[int] = []

    def kill(meeting: Meeting) -> None:
        popen = meeting.both[Side.A].popen
        foremen.extend(children(popen.pid))
        if who == "interrupt":
            popen.send_signal(signal.SIGINT)
        elif who == "coordinator":
            popen.kill()
        else:
            os.kill(cluster.workers()[0] if who == "worker" else foremen[0], signal.SIGKILL)

    where = f"2@ray://127.0.0.1:{cluster.client}" if who.endswith("client") else "2@ray"
    require_resumed(cluster, tmp_path, kill, codes, where, where)
    assert len(foremen) == 1
    until = time.monotonic() + PATIENCE
    while any(map(is_running, foremen)):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.slow
def test_a_node_that_is_lost(tmp_path: Path) -> None:
    with clusters.running(1, **clusters.OPEN) as found:
        require_resumed(found, tmp_path, lambda _: found.lose_node(), (13, 10), "2@ray", "1@ray")


def guarded(folder: Path) -> dict[str, str]:
    """What all who use a cluster with TLS and a token must set; the certificate is for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    hosts = [x509.IPAddress(ipaddress.ip_address(host)) for host in {"127.0.0.1", own_address()}]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "node.crt").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "node.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": str(folder / "node.crt"),
        "RAY_TLS_SERVER_CERT": str(folder / "node.crt"),
        "RAY_TLS_SERVER_KEY": str(folder / "node.key"),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "5" * 64,
    }


def own_address() -> str:
    """Where Ray thinks that this machine is; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:
        try:
            towards.connect(("8.8.8.8", 80))
        except OSError:
            return "127.0.0.1"
        return str(towards.getsockname()[0])


@pytest.mark.slow
def test_a_cluster_with_tls_and_tokens_need_not_be_vouched_for(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    with clusters.running(1, **guarded(tmp_path)) as found:
        for address in ("auto", f"ray://127.0.0.1:{found.client}"):
            workers = RayWorkers(address, vouched=False, listens=False)
            workers.end()
            assert workers.room == 2
        require_done(meet(both, None, {Side.A: "ray", Side.B: 2}), both, EXPECTED["plain"])
        found.require_empty()


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["token", "tls", "token of others"])
def test_one_of_them_is_not_enough(lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged is what the cluster does, not how this machine is set."""
    lacking = {"RAY_USE_TLS": "0"} if lacks == "tls" else {"RAY_AUTH_MODE": "disabled"}
    with clusters.running(1, **guarded(tmp_path) | lacking):
        if lacks == "token of others":
            monkeypatch.setenv("RAY_AUTH_MODE", "token")
        with pytest.raises((TrustError, UsageError)):
            RayWorkers("auto", vouched=False, listens=False)
