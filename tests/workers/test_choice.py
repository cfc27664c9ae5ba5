"""What `workers=` means, and who is chosen before anybody is called."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from accord.errors import UsageError
from accord.peer.connection import Reach
from accord.peer.handshake import Wish
from accord.workers import ray as workers_ray
from accord.workers.choice import MOST_WORKERS, OnCluster, choose_workers, require_workers
from accord.workers.local import LocalWorkers

MEANINGS = {
    None: None,
    1: 1,
    256: 256,
    "ray": OnCluster("auto"),
    "8@ray": OnCluster("auto", 8),
    "ray://head:10001": OnCluster("ray://head:10001"),
    "ray://[2001:db8::7]:10001": OnCluster("ray://[2001:db8::7]:10001"),
    "12@ray://192.0.2.7:10001": OnCluster("ray://192.0.2.7:10001", 12),
}


@pytest.mark.parametrize(("given", "meant"), MEANINGS.items(), ids=map(str, MEANINGS))
def test_what_it_means(given: Any, meant: Any) -> None:
    assert require_workers(given, False) == meant


WRONG: list[Any] = [
    0, 257, -1, True, 2.0, b"ray", "", "2", "Ray", "ray:8", "0@ray", "257@ray", "@ray", "ray://", "ray://head",
    "ray://head:10001/x", "ray://me@head:10001", "http://head:8265", "ray ", "8@", "ray://head:1?workers=8",
]  # fmt: skip


@pytest.mark.parametrize("given", WRONG, ids=repr)
def test_anything_else_is_refused_with_what_there_is(given: Any) -> None:
    with pytest.raises(UsageError, match=r"`workers=` is a number from 1 to 256, 'ray'"):
        require_workers(given, False)


@pytest.mark.parametrize("given", [None, 4])
def test_who_has_no_cluster_has_none_to_trust(given: Any) -> None:
    with pytest.raises(UsageError, match="`trust_cluster=`"):
        require_workers(given, True)
    with pytest.raises(UsageError, match="`trust_cluster=` is True or False"):
        require_workers("ray", "yes")


def test_processes_need_nobody_to_be_asked() -> None:
    with choose_workers(3, False, Reach()) as chosen:
        assert (chosen.wish, chosen.make) == (Wish(3, always=True), LocalWorkers)


class Foreign:
    """A cluster with so much room."""

    ended = 0

    def __init__(self, address: str, vouched: bool, listens: bool) -> None:
        self.given = address, vouched, listens
        self.room = int(address.rsplit(":", 1)[1])

    def end(self) -> None:
        self.ended += 1


@pytest.mark.parametrize(("room", "most", "wanted"), [(3, 8, 3), (12, 8, 8), (1000, None, MOST_WORKERS)])
def test_as_many_as_have_room_and_no_more_than_was_said(
    room: int, most: int | None, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_ray, "RayWorkers", Foreign)
    cluster = OnCluster(f"ray://head:{room}", most or MOST_WORKERS)
    with choose_workers(cluster, True, Reach(listen=":0")) as chosen:
        assert chosen.wish == Wish(wanted, always=True)
        found = chosen.make()
        assert isinstance(found, Foreign)
        assert found is chosen.make()
        assert found.given == (f"ray://head:{room}", True, True)
        assert not found.ended
    assert found.ended


def test_a_cluster_without_room_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_ray, "RayWorkers", Foreign)
    with (
        pytest.raises(UsageError, match="no free processor"),
        choose_workers(OnCluster("x:0"), False, Reach()),
    ):
        pass


def test_without_ray_it_is_said_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(UsageError, match=r"pip install 'accord\[ray\]'"),
        choose_workers(OnCluster("auto"), False, Reach()),
    ):
        pass
