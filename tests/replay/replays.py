"""What the tests of replays share: accountable runs, and what is to be said of their sides."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from accord.accountable.stored import StoredTranscript
from accord.accountable.transcript import Chain
from accord.agreement.document import Agreement
from accord.errors import DepartedError, StateError
from accord.replay.evidence import decode_evidence, encode_evidence
from accord.replay.one_side import Replayed, make_evidence, replay_side
from accord.replay.pledged import Attempt, open_pledged_side
from accord.run.stages import Linked
from accord.side import Side
from tests.run import cheats, faults
from tests.run.faults import Office

SHOWN = "is not the one"


def accountable(both: dict[Side, Office], **changes: object) -> dict[Side, Office]:
    """The same organisations under an accountable agreement."""
    for office in both.values():
        plain = office.agreement.model_dump(mode="json", exclude_none=True) | changes
        office.agreement = Agreement.model_validate(plain | {"accountable": True})
    return both


def offices(folder: Path, kind: str = "greedy", **changes: object) -> dict[Side, Office]:
    return accountable(faults.offices(folder, kind), **changes)


def replayed(both: dict[Side, Office], side: Side, name: str, evidence: bool = True) -> Replayed:
    """A side as it is replayed, before the partner's evidence or by itself."""
    found = None
    if evidence:
        content = encode_evidence(make_evidence(both[side.other].state, name))
        found = decode_evidence(content, Path("evidence"))
    return replay_side(open_pledged_side(both[side].state, name, None), found)


def the_run(both: dict[Side, Office]) -> str:
    name = faults.common_run(both)
    assert name
    return name


def require_honest(both: dict[Side, Office], least: int = 1, unsigned: bool = False) -> None:
    """Both sides are cleared, by their own records and before the other's evidence."""
    name = the_run(both)
    for side in Side:
        own, judged = (unsuspected(both, side, name, evidence) for evidence in (False, True))
        if own is None or judged is None:
            assert unsigned
            continue
        assert own.party == both[side].agreement.party(side)
        # Of an attempt that was cut before the other side had begun it, that side has nothing to show.
        assert own.attempts >= judged.attempts >= least
        assert own.messages >= judged.messages
        assert own.attempts > judged.attempts or own.messages == judged.messages


def require_convicted(both: dict[Side, Office], said: str = SHOWN) -> None:
    """B is convicted by its own record and by A's evidence; A is cleared."""
    name = the_run(both)
    for evidence in (False, True):
        with pytest.raises(DepartedError, match=said) as found:
            replayed(both, Side.B, name, evidence)
        assert found.value.exit_code == 15
        assert "bob departed from the protocol" in str(found.value)
        unsuspected(both, Side.A, name, evidence)


def unsuspected(both: dict[Side, Office], side: Side, name: str, evidence: bool) -> Replayed | None:
    """A side that is cleared, or None if it had signed nothing yet: that is no verdict."""
    try:
        return replayed(both, side, name, evidence)
    except StateError as error:
        if "did not get as far as a signature" not in str(error):
            raise
        return None


def received(attempt: Attempt, side: Side, number: int = 0) -> list[bytes]:
    """The messages that a side received on a connection."""
    chain = Chain(attempt.meeting, number, side.other)
    return list(StoredTranscript(attempt.stored.folder, number).received(chain))


def rewrite_received(attempt: Attempt, side: Side, messages: list[bytes], number: int = 0) -> None:
    """The record of a side with these messages in place of what it received, as if they had come."""
    chain, body = Chain(attempt.meeting, number, side.other), b"accord received 1\n"
    for message in messages:
        body += len(message).to_bytes(8, "little") + chain.add(message) + message
    (attempt.stored.folder / f"{number}.received").write_bytes(body)


def done(ending: faults.Ending) -> None:
    for result in ending.values():
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked)


CHEATS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], dict[str, Any]]] = {
    "filters read in ot": (cheats.read_filters, {}),
    "wrong tables in garbled": (
        cheats.garble_wrongly,
        {"engine": "garbled", "name": "all-pairs", "disclose": ()},
    ),
    "everything matches": (cheats.claim_all, {"name": "all-pairs", "disclose": ()}),
}
"""How B cheats, and in which agreement."""
