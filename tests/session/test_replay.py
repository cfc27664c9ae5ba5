"""Replays of accountable runs: who followed the protocol is never convicted, and who did not always is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.errors import AccordError, DepartedError, StateError, UsageError
from accord.protocols import bound, disclose, disclosed
from accord.session.book import Book, Chain, Meeting, Seal, signed_bytes
from accord.session.course import Linked
from accord.session.evidence import Evidence, Said, decode_evidence, encode_evidence
from accord.session.record import attempts
from accord.session.replay import Replayed, make_evidence, open_case, replay_side
from accord.session.seed import decode_seed
from accord.session.store import list_runs
from accord.side import Side
from tests.session import cheats, faults
from tests.session.faults import KINDS, Office, Wire

pytestmark = pytest.mark.usefixtures("quick")

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
    return replay_side(open_case(both[side].state, name, None), found)


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
        assert own.attempts == judged.attempts >= least
        assert own.messages == judged.messages


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


def done(ending: faults.Ending) -> None:
    for result in ending.values():
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked)


# -- who followed the protocol -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, *faults.INTERSECTIONS])
def test_an_honest_run_of_each_protocol(kind: str, tmp_path: Path) -> None:
    both = offices(tmp_path, kind)
    done(faults.link(both))
    require_honest(both)


@pytest.mark.parametrize(
    "engine", ["garbled", "paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)]
)
def test_an_honest_run_of_each_engine(engine: str, tmp_path: Path) -> None:
    both = offices(tmp_path, "all-pairs", engine=engine)
    for side, office in both.items():
        office.data.write_text(f"id,x,y\n{side.value}0,1,1\n{side.value}1,9,9\n")
    done(faults.link(both))
    require_honest(both)


def test_an_honest_run_of_randomised_responses(tmp_path: Path) -> None:
    part = {"kind": "key", "field": "x"}
    promise = {"epsilon": "2"}
    protocol = {"name": "local-dp", "window": 3, "A": promise, "B": promise}
    both = offices(tmp_path, "greedy", blocking=[part], protocol=protocol, rule="same(x)")
    done(faults.link(both))
    require_honest(both)


def frames(folder: Path, kind: str) -> int:
    """How many frames a run of this kind has."""
    wire = Wire()
    done(faults.link(offices(folder, kind), wire))
    return len(wire.passed)


def require_honest_after_cut(folder: Path, kind: str, at: int) -> None:
    """A run that is cut after so many frames, goes on, and is then replayed with its cut attempt."""
    both = offices(folder, kind)
    faults.link(both, Wire(frames=at, told=True))
    name = faults.common_run(both)
    if name is None:
        return
    require_honest(both, least=0, unsigned=True)
    done(faults.resume(both, name))
    require_honest(both)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_an_honest_run_that_was_cut(share: float, tmp_path: Path) -> None:
    count = frames(tmp_path / "whole", "greedy")
    require_honest_after_cut(tmp_path / "cut", "greedy", int(share * count))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "plain", "all-pairs"])
def test_an_honest_run_that_was_cut_anywhere(kind: str, tmp_path: Path) -> None:
    count = frames(tmp_path / "whole", kind)
    for at in range(1, count):
        require_honest_after_cut(tmp_path / str(at), kind, at)


def test_a_run_that_is_done_again_for_its_receipt(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    done(faults.resume(both, the_run(both)))
    require_honest(both, least=2)


def test_a_killed_side_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, wire = offices(tmp_path / "whole", "greedy"), Wire()
    with faults.deaths(monkeypatch, wire, Side.A, None, before=True) as writes:
        done(faults.link(whole, wire))
    both, wire = offices(tmp_path / "killed", "greedy"), Wire()
    with faults.deaths(monkeypatch, wire, Side.A, int(0.7 * len(writes)), before=True):
        faults.link(both, wire)
    require_honest(both, least=0)
    done(faults.resume(both, the_run(both)))
    require_honest(both, least=2)


# -- who did not ---------------------------------------------------------------------------------------------

CHEATS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], dict[str, Any]]] = {
    "filters read in ot": (cheats.read_filters, {}),
    "Δ read in garbled": (cheats.read_delta, {"engine": "garbled", "name": "all-pairs"}),
    "everything matches": (cheats.claim_all, {"name": "all-pairs", "disclose": ()}),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_convicted(cheat: str, tmp_path: Path) -> None:
    made, options = CHEATS[cheat]
    both = accountable(cheats.offices(tmp_path, cheats.agreement(**options)))
    with made():
        done(faults.link(both))
    require_convicted(both)


def frame_of_loot(wire: Wire, records: bool) -> int:
    """The number of the frame in which A gives away what B is after: its records, or its largest tables."""
    mine = {n: content for n, (sender, content) in enumerate(wire.passed) if sender is Side.A}
    if records:
        return next(n for n, content in mine.items() if content.startswith(b"accord disclosed"))
    return max(mine, key=lambda n: len(mine[n]))


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_that_hangs_up_is_convicted(cheat: str, tmp_path: Path) -> None:
    """B goes as soon as it has what it wants; by then it has signed what it did for it."""
    made, options = CHEATS[cheat]
    agreed, wire = cheats.agreement(**options), Wire()
    with made():
        done(faults.link(accountable(cheats.offices(tmp_path / "whole", agreed)), wire))
    both = accountable(cheats.offices(tmp_path / "cut", agreed))
    with made():
        at = frame_of_loot(wire, records=made is cheats.claim_all) + 1
        faults.link(both, Wire(frames=at, told=True))
    require_convicted(both)


def test_a_record_that_was_changed_does_not_help(tmp_path: Path) -> None:
    """B puts what an honest B would have sent into its record, and takes its signatures away."""
    both = accountable(cheats.offices(tmp_path, cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    name = the_run(both)
    for attempt in attempts(both[Side.B].state.run(name)):
        (attempt / "0.sent").write_bytes(b"accord sent 1\n")
        (attempt / "0.seals").write_bytes(b"accord seals 1\n")
    with pytest.raises(StateError, match="did not get as far as a signature"):
        replayed(both, Side.B, name, evidence=False)
    with pytest.raises(DepartedError, match=SHOWN):
        replayed(both, Side.B, name)


def test_a_side_that_goes_on_where_the_protocol_ends_is_convicted(tmp_path: Path) -> None:
    """B does not stop at its own bound."""
    both, true = offices(tmp_path, "plain", most_matches={"B": 2}), bound.require_within
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "require_within", lambda b, s, *a: None if s is Side.B else true(b, s, *a))
        done(faults.link(both))
    require_convicted(both, "where the protocol ends after")


def test_who_signs_for_less_than_it_received_is_convicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could invent afterwards what it had not signed for."""
    true_sign = Book.sign

    def sign(self: Any) -> bytes:
        if self._side is Side.A:
            return true_sign(self)
        chain = Chain(MEETINGS[self._name], 0, Side.A)
        made = Seal(self._sent.count, self._sent.last, 0, chain.last, b"")
        signature = self._pen.sign(signed_bytes(self._about, self._name, 0, Side.B, made))
        self._keeper.gave(replace(made, signature=signature))
        return bytes(8) + signature

    MEETINGS: dict[bytes, Meeting] = {}
    true_init = Book.__init__

    def init(self: Book, meeting: Meeting, *rest: Any) -> None:
        MEETINGS[meeting.name] = meeting
        true_init(self, meeting, *rest)

    monkeypatch.setattr(Book, "__init__", init)
    monkeypatch.setattr(Book, "sign", sign)
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    require_convicted(both, "for 0 messages received, and had received")


def test_an_invented_record_is_convicted_by_the_table_from_its_source(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    data = both[Side.B].data
    source = data.read_text()
    data.write_text(source + "B99,7,7\n")
    done(faults.link(both))
    require_honest(both)
    data.write_text(source)
    with pytest.raises(DepartedError, match="the table is not the one"):
        replayed(both, Side.B, the_run(both))


def test_an_extract_in_another_order_is_the_same_table(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    data = both[Side.B].data
    head, *rows = data.read_text().splitlines(keepends=True)
    data.write_text("".join([head, *reversed(rows)]))
    require_honest(both)


def test_another_seed_is_convicted(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    path = both[Side.B].state.run(name) / "seed"
    content = bytearray(path.read_bytes())
    content[-70] ^= 1
    path.write_bytes(content)
    assert decode_seed(bytes(content)) is not None
    with pytest.raises(DepartedError, match="the seed is not the one"):
        replayed(both, Side.B, name)


def test_other_noise_is_convicted(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    path = both[Side.B].state.run(name) / "noise"
    content = bytearray(path.read_bytes())
    content[-4] += 1
    path.write_bytes(content)
    with pytest.raises(DepartedError, match=r"message 1 that it sent as the coordinator in attempt 1 is not"):
        replayed(both, Side.B, name)


# -- what cannot be judged --------------------------------------------------------------------------------


def test_a_record_with_other_messages_convicts_nobody(tmp_path: Path) -> None:
    """One whose messages are lost, or changed, is told apart from a side that departed."""
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    (attempt,) = attempts(both[Side.B].state.run(name))
    path = attempt / "0.received"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]):
        path.write_bytes(content)
        with pytest.raises(StateError, match="not all there, or not those it signed for"):
            replayed(both, Side.B, name)


def forged(both: dict[Side, Office], change: Callable[[dict[str, Any]], None]) -> Evidence:
    """A's evidence about B, with each of its connections changed."""
    body = json.loads(encode_evidence(make_evidence(both[Side.A].state, the_run(both))))
    for connections in body["meetings"].values():
        for one in connections.values():
            change(one)
    return decode_evidence(json.dumps(body).encode(), Path("evidence"))


def _zero_between(one: dict[str, Any]) -> None:
    signed = {int.from_bytes(bytes.fromhex(seal)[:8], "little") for seal in one["seals"]}
    count = len(one["links"]) // 64
    at = next(n for n in range(1, count) if n not in signed)
    one["links"] = one["links"][: 64 * at - 64] + "00" * 32 + one["links"][64 * at :]


def _zero_all(one: dict[str, Any]) -> None:
    one["links"] = "00" * (len(one["links"]) // 2)


def _add_behind(one: dict[str, Any]) -> None:
    one["links"] += "11" * 32


@pytest.mark.parametrize("change", [_zero_between, _zero_all, _add_behind])
def test_links_that_nobody_signed_convict_nobody(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=50, told=True))
    case = open_case(both[Side.B].state, the_run(both), None)
    assert replay_side(case, forged(both, change)).signatures


def test_evidence_without_signatures_says_nothing(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_case(both[Side.B].state, the_run(both), None)
    with pytest.raises(StateError, match="did not get as far as a signature") as found:
        replay_side(case, forged(both, lambda one: one.update(seals=[], links="00" * 32)))
    assert found.value.exit_code == 6


def test_an_attempt_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=40, told=True))
    name = the_run(both)
    done(faults.resume(both, name))
    first, _ = attempts(both[Side.B].state.run(name))
    shutil.rmtree(first)
    with pytest.raises(StateError, match="lacks an attempt"):
        replayed(both, Side.B, name)


def test_attempts_of_another_run_or_invented_ones_are_refused(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    one = the_run(both)
    done(faults.link(both))
    state = both[Side.A].state
    two = next(run.manifest.run for run in list_runs(state)[0] if run.manifest.run != one)
    foreign, own = (make_evidence(state, name) for name in (one, two))
    invented = {b"0" * 32: {0: Said([], [Seal(1, bytes(32), 0, bytes(32), bytes(64))])}}
    case = open_case(both[Side.B].state, two, None)
    for meetings in (foreign.meetings, invented):
        with pytest.raises(UsageError, match="signatures of another run"):
            replay_side(case, replace(own, meetings=own.meetings | meetings))


@pytest.mark.parametrize("kind", ["plain", "greedy"])
def test_a_small_machine_convicts_nobody(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path, kind)
    done(faults.link(both))
    monkeypatch.setattr(disclosed, "memory", lambda: 64)
    for side in Side:
        with pytest.raises(StateError, match="this machine is too small"):
            replayed(both, side, the_run(both))


def test_evidence_about_somebody_else_is_refused(tmp_path: Path) -> None:
    both, others = offices(tmp_path / "one", "plain"), offices(tmp_path / "two", "plain")
    done(faults.link(both))
    done(faults.link(others))
    foreign = make_evidence(others[Side.A].state, the_run(others))
    case = open_case(both[Side.B].state, the_run(both), None)
    with pytest.raises(UsageError, match="another run"):
        replay_side(case, foreign)
    own = make_evidence(both[Side.B].state, the_run(both))
    with pytest.raises(UsageError, match="the other side of it"):
        replay_side(case, own)


def test_a_run_that_is_not_accountable_cannot_be_replayed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    done(faults.link(both))
    for question in (lambda s, n: open_case(s, n, None), make_evidence):
        with pytest.raises(AccordError, match="not accountable"):
            question(both[Side.A].state, the_run(both))
