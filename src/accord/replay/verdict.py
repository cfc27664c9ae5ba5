"""What follows from a replayed attempt: only what a side signed convicts it.

A *seal* says how many messages its signer had sent and received, and the last link of both chains. The replay
comes to the same point, and then, seal after seal:

    what it received is not what the seal says          incomplete: the record is not what it followed from
    what the replay sent is not what the seal says      departed
    the program sends less, and waits for nothing       departed: it went on where the protocol ends
    the program signs elsewhere, or for other numbers   departed: who signs for less than it had received
                                                        could invent the rest afterwards

Links between two seals were not signed one by one, and whoever hands them over may have made them up: they
help to name a message once a seal does not fit, and do nothing else. A party is a function of what it
received, and a seal at a place where the program signs fixes just what it had received by then: so up to its
last seal a side whose seals all fit sent what it had to. Behind it, answers may have come that the next
attempt goes on with; there what the partner signed as sent must be what was received. With several
connections the seals of all of them are first held against what was received, since what a coordinator sends
follows from what its workers received.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accord.accountable.transcript import Seal
from accord.replay.evidence import Said
from accord.replay.stand_ins import Line
from accord.wording import counted


@dataclass(frozen=True)
class Fault:
    """Why a side is not cleared."""

    departed: bool
    """Or else nothing can be said."""
    problem: str


def judge(attempt: int, lines: Mapping[int, Line], said: Mapping[int, Said], ended: bool) -> Fault | None:
    """What is wrong with an attempt, if anything. `ended`: the program came to an end of its own."""
    if len(said) > 1:
        for number, one in said.items():
            if not _all_came(lines.get(number), one):
                return lost(attempt, number)
    waits = not ended or any(line.starved for line in lines.values())
    faults = [_judge_line(attempt, n, lines.get(n), said[n], waits) for n in causes_first(said)]
    found = [fault for fault in faults if fault is not None]
    return next((fault for fault in found if fault.departed), found[0] if found else None)


def causes_first(numbers: Iterable[int]) -> list[int]:
    """Connections, those of workers first: what a coordinator sends that differs may come from them."""
    return sorted(numbers, key=lambda number: (number == 0, number))


def _judge_line(attempt: int, number: int, line: Line | None, said: Said, waits: bool) -> Fault | None:
    good = 0
    for seal in in_order(said.seals):
        if line is None or not _came(line, seal.received, seal.received_link):
            return lost(attempt, number)
        if len(line.links) < seal.sent:
            return lost(attempt, number) if waits else went_on(attempt, number, line, good, seal.sent)
        if seal.sent and line.links[seal.sent - 1] != seal.sent_link:
            return Fault(True, name_message(attempt, number, line, good, seal.sent))
        if (seal.sent, seal.received) not in line.marks:
            return Fault(True, misstated(attempt, number, line, seal.sent, seal.received))
        good = seal.sent
    return None if line is None or _is_heard(line, said) else lost(attempt, number)


def _is_heard(line: Line, said: Said) -> bool:
    """Whether what the partner signed as sent is what was received, if that came; what its own word from
    then confirms is not asked again."""
    sure = max((seal.sent for seal in said.sure if _came(line, seal.sent, seal.sent_link)), default=0)
    later = [seal for seal in said.heard if seal.sent > sure]
    return all(_came(line, seal.sent, seal.sent_link) or len(line.came) < seal.sent for seal in later)


def _all_came(line: Line | None, said: Said) -> bool:
    """Whether all that the side signed for was received."""
    due = [seal for seal in said.seals if seal.received]
    if line is None:
        return not due
    return all(_came(line, seal.received, seal.received_link) for seal in due)


def _came(line: Line, count: int, link: bytes) -> bool:
    """Whether the first messages received, so many, are those that this is the last link of."""
    if not count:
        return True
    line.read_on(count)
    return len(line.came) >= count and line.came[count - 1] == link


def name_message(attempt: int, number: int, line: Line, good: int, at: int) -> str:
    """The first message known to differ, of those behind the `good` first ones, up to message `at`."""
    first = next((n for n in line.off if good < n <= at), at)
    return (
        f"message {first:,} that it sent {where(attempt, number)} is not the one, of "
        f"{counted(line.sizes[first - 1], 'byte')}, that follows from its table, its seed and "
        "what it had received"
    )


def in_order(seals: list[Seal]) -> list[Seal]:
    """Seals in the order in which they were given."""
    return sorted(seals, key=lambda seal: (seal.sent, seal.received))


def went_on(attempt: int, number: int, line: Line, good: int, sent: int) -> Fault:
    """That a side sent more than the protocol has, or what it then sent first that differs."""
    if line.off and line.off[0] > good:
        return Fault(True, name_message(attempt, number, line, good, line.off[0]))
    return Fault(
        True,
        f"it signed for {counted(sent, 'message')} that it sent {where(attempt, number)}, where the "
        f"protocol ends after {len(line.links):,}",
    )


def misstated(attempt: int, number: int, line: Line, sent: int, received: int) -> str:
    """What is wrong with a seal of these numbers."""
    due = [r for s, r in sorted(line.marks) if s == sent]
    place = f"behind message {sent:,} that it sent {where(attempt, number)}"
    if not due:
        return f"it signed {place}, where the protocol has no signature"
    return f"it signed {place} for {counted(received, 'message')} received, but had received {due[0]:,}"


def lost(attempt: int, number: int) -> Fault:
    """That the record does not have what was received."""
    place = where(attempt, number)
    return Fault(False, f"the messages received {place} are not all there, or not those it signed for")


def where(attempt: int, number: int) -> str:
    """A connection of an attempt, in words."""
    connection = f"worker {number}" if number else "the coordinator"
    return f"as {connection} in attempt {attempt}"
