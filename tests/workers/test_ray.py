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
from tests.run.test_resume import EXPECTED
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
    with pytest.raises(TrustError, match=r"lacks TLS or tokens.*trust_cluster"):
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
    with pytest.raises(UsageError, match=r"cannot be joined: 127.0.0.1:1 does not answer"):
        RayWorkers("auto", vouched=True, listens=False)


@pytest.mark.slow
def test_the_side_that_connects_may_be_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    meeting = meet(both, None, {Side.A: 2, Side.B: f"2@ray {TRUSTED}"})
    require_done(meeting, both, EXPECTED["plain"])


@pytest.mark.slow
def test_by_ray_client_as_well(cluster: Cluster, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    workers = f"2@ray://127.0.0.1:{cluster.client} {TRUSTED}"
    require_done(meet(both, None, {Side.A: workers, Side.B: 2}), both, EXPECTED["plain"])
    cluster.require_empty()


@pytest.mark.slow
def test_both_sides_on_clusters(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "greedy")
    with clusters.running(2, **clusters.OPEN) as found:
        workers = f"2@ray {TRUSTED}"
        require_done(meet(both, None, dict.fromkeys(Side, workers)), both, EXPECTED["greedy"])
        found.require_empty()


def after_a_round(act: Callable[[Meeting], object]) -> Callable[[Meeting], None]:
    """Something happens once a round was compared, and more are under way."""

    def acting(meeting: Meeting) -> None:
        meeting.both[Side.A].event("progress")
        act(meeting)

    return acting


def require_resumed(
    cluster: Cluster,
    folder: Path,
    act: Callable[[Meeting], object],
    codes: dict[Side, int],
    said: str,
    where: str = "ray",
) -> None:
    """What happens to side A ends both and all workers; then the run is resumed to the same output."""
    both, expected = crowds(folder)
    on_cluster = f"2@{where} {TRUSTED}"
    meeting = meet(both, None, {Side.A: on_cluster, Side.B: 2}, after_a_round(act))
    assert {side: end[0] for side, end in meeting.ends.items()} == codes, meeting.ends
    assert said in meeting.ends[Side.A][1]
    cluster.require_empty()
    name = faults.common_run(both)
    assert name
    again = f"1@ray {TRUSTED}" if "node" in said else on_cluster
    require_done(meet(both, name, {Side.A: again, Side.B: 2}), both, expected)


@pytest.mark.slow
def test_a_worker_that_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    def kill(meeting: Meeting) -> None:
        os.kill(cluster.workers()[0], signal.SIGKILL)

    require_resumed(cluster, tmp_path, kill, {Side.A: 13, Side.B: 10}, "it was killed")


@pytest.mark.slow
def test_an_interrupt(cluster: Cluster, tmp_path: Path) -> None:
    def interrupt(meeting: Meeting) -> None:
        meeting.both[Side.A].popen.send_signal(signal.SIGINT)

    require_resumed(cluster, tmp_path, interrupt, {Side.A: 130, Side.B: 10}, "Stopped.")


@pytest.mark.slow
def test_a_coordinator_that_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    """Its foreman leaves the cluster, and none of its workers is left."""
    foremen: list[int] = []

    def kill(meeting: Meeting) -> None:
        foremen.extend(children(meeting.both[Side.A].popen.pid))
        meeting.both[Side.A].popen.kill()

    require_resumed(cluster, tmp_path, kill, {Side.A: -signal.SIGKILL, Side.B: 8}, "")
    assert len(foremen) == 1
    require_gone(foremen)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["node", "client"])
def test_a_foreman_that_is_killed(cluster: Cluster, way: str, tmp_path: Path) -> None:
    """Ray ends the workers of a driver that is gone; those of a client when it does not come back."""
    where = "ray" if way == "node" else f"ray://127.0.0.1:{cluster.client}"

    def kill(meeting: Meeting) -> None:
        for pid in children(meeting.both[Side.A].popen.pid):
            os.kill(pid, signal.SIGKILL)

    require_resumed(cluster, tmp_path, kill, {Side.A: 13, Side.B: 10}, "leads the workers", where)


@pytest.mark.slow
def test_a_node_that_is_lost(tmp_path: Path) -> None:
    with clusters.running(1, **clusters.OPEN) as found:
        lose = lambda meeting: found.lose_node()  # noqa: E731
        require_resumed(found, tmp_path, lose, {Side.A: 13, Side.B: 10}, "its node was lost")


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
@pytest.mark.parametrize("lacks", ["token", "tls"])
def test_one_of_them_is_not_enough(lacks: str, tmp_path: Path) -> None:
    lacking = {"token": {"RAY_AUTH_MODE": "disabled"}, "tls": {"RAY_USE_TLS": "0"}}
    with clusters.running(1, **guarded(tmp_path) | lacking[lacks]), pytest.raises(TrustError):
        RayWorkers("auto", vouched=False, listens=False)


@pytest.mark.slow
def test_a_token_that_only_this_side_sends_guards_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is judged is what the cluster does, not how this machine is set."""
    settings = guarded(tmp_path)
    with clusters.running(1, **settings | {"RAY_AUTH_MODE": "disabled"}):
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        with pytest.raises((TrustError, UsageError)):
            RayWorkers("auto", vouched=False, listens=False)


def require_gone(pids: list[int]) -> None:
    until = time.monotonic() + PATIENCE
    while any(map(is_running, pids)):
        assert time.monotonic() < until
        time.sleep(0.1)
