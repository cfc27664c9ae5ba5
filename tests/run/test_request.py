"""What a linkage is given: judged when it is made, kept with the run, and taken up again as it was."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.peer.connection import Reach
from accord.run.request import Output, Request, Resumption, WorkerChoice, request_again, store
from accord.state.manifest import Manifest, decode_manifest
from accord.table.layout import Layout
from tests.protocols.worlds import agreement

AGREED = agreement()
WAYS = st.sampled_from([Reach(listen=":7000"), Reach(connect="partner:7000")])
LAYOUTS = st.builds(
    Layout,
    id=st.sampled_from(["id", "key"]),
    delimiter=st.sampled_from([",", ";"]),
    encoding=st.just("latin-1"),
)
OUTPUTS = st.builds(Output, st.sampled_from([None, Path("/tmp/pairs.csv")]), raw=st.booleans())
WORKERS = st.sampled_from([WorkerChoice(), WorkerChoice(4), WorkerChoice("8@ray", True)])


def request(**changes: Any) -> Request:
    asked: dict[str, Any] = {"data": Path("/data/a.csv"), "agreement": AGREED, "partner": "bob"}
    return Request(**asked | {"dataset": "table", "reach": Reach(listen=":7000")} | changes)


def manifest(asked: Request) -> Manifest:
    """Of a run that was asked for so."""
    return Manifest("0123", "bob", "A", "table", "", 1, 1, "", "", store(asked))


@given(WAYS, LAYOUTS, OUTPUTS, WORKERS, st.sampled_from([None, "2026-11"]))
def test_what_is_kept_is_what_was_asked_for(
    way: Reach, layout: Layout, output: Output, workers: WorkerChoice, snapshot: str | None
) -> None:
    asked = request(layout=layout, output=output, reach=way, workers=workers, snapshot=snapshot)
    kept = decode_manifest(asdict(manifest(asked)))
    # The owner's word for a cluster is for one time.
    workers = replace(workers, trust_cluster=False)
    assert request_again(kept, asked.agreement, Resumption()) == replace(asked, workers=workers)


def test_what_is_named_anew_replaces_what_was_kept() -> None:
    asked = request(output=Output(Path("/tmp/pairs.csv"), raw=True), workers=WorkerChoice(4))
    changes = Resumption(
        data=Path("/data/moved.csv"),
        output=Output(Path("/tmp/other.csv"), force=True),
        reach=Reach(connect="partner:1"),
        workers=WorkerChoice(2),
    )
    again = request_again(manifest(asked), AGREED, changes)
    assert again == replace(
        asked,
        data=Path("/data/moved.csv"),
        output=Output(Path("/tmp/other.csv"), raw=True, force=True),
        reach=changes.reach,
        workers=changes.workers,
    )


def test_a_table_that_python_had_must_be_named_again() -> None:
    import pyarrow as pa

    kept = manifest(request(data=pa.table({"id": ["1"]})))
    with pytest.raises(UsageError, match="0123 was not given a file"):
        request_again(kept, AGREED, Resumption())


WRONG: dict[str, tuple[Any, ...]] = {
    "data": (7, None, b"a.csv"),
    "agreement": ("agreement.toml", None),
    "partner": (7, None),
    "dataset": (7,),
    "layout": ("a.toml", None),
    "snapshot": (202611,),
    "reach": (60,),
    "uncovered": (True, "some", 2, -0.1),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_a_wrong_kind_is_named(name: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(UsageError, match=f"`{name}=`"):
            request(**{name: value})


def test_every_field_of_a_request_is_judged_or_judges_itself() -> None:
    of_their_own = {"output", "workers"}
    assert {field.name for field in fields(Request)} == of_their_own | set(WRONG)


@pytest.mark.parametrize("reach", [Reach(), Reach(listen=":1", connect="x:1")])
def test_a_run_needs_one_way_to_the_partner(reach: Reach) -> None:
    with pytest.raises(UsageError, match="`listen=`"):
        request(reach=reach)


CHANGES: dict[str, Any] = {"raw": "yes", "layout": "{", "workers": True, "out": None, "other": 1, "data": 7}


@pytest.mark.parametrize("key", CHANGES)
def test_a_manifest_whose_request_was_changed_is_broken(key: str) -> None:
    found = asdict(manifest(request()))
    assert decode_manifest(found) == manifest(request())
    found["request"][key] = CHANGES[key]
    with pytest.raises(ValueError, match="not a manifest"):
        decode_manifest(found)


def test_a_manifest_without_a_request_is_broken() -> None:
    found = asdict(manifest(request()))
    del found["request"]
    with pytest.raises(ValueError, match="not a manifest"):
        decode_manifest(found)
