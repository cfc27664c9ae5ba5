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

The receipt of a run, which both signed, names the last links of all connections of the attempt that it ended.
They are held against the replay likewise: other messages received, and nothing can be said; else other
messages sent, and the side departed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accord.accountable.signing import Links
from accord.accountable.transcript import Seal
from accord.replay.evidence import Signatures
from accord.replay.stand_ins import ReplayedConnection
from accord.side import Side
from accord.wording import counted


@dataclass(frozen=True)
class Objection:
    """Why a side is not cleared."""

    departed: bool
    """Or else nothing can be said."""
    problem: str


def judge(
    attempt: int, connections: Mapping[int, ReplayedConnection], signed: Mapping[int, Signatures], ended: bool
) -> Objection | None:
    """What is wrong with an attempt, if anything. `ended`: the program came to an end of its own."""
    if len(signed) > 1:
        for number, one in signed.items():
            if not _all_came(connections.get(number), one):
                return lost(attempt, number)
    waits = not ended or any(connection.starved for connection in connections.values())
    return gravest(
        _judge_connection(attempt, n, connections.get(n), signed[n], waits) for n in causes_first(signed)
    )


def judge_end(
    attempt: int, side: Side, connections: Mapping[int, ReplayedConnection], last: Sequence[Links]
) -> Objection | None:
    """What is wrong with the attempt that a receipt ended, which names these last links, if anything."""
    if sorted(connections) != list(range(len(last))):
        named = counted(len(last), "connection")
        return Objection(
            False, f"its receipt names {named} in attempt {attempt}, and the replay has {len(connections):,}"
        )
    for number, links in enumerate(last):
        if connections[number].last[side.other] != links[side.other]:
            return Objection(
                False, f"what was received {where(attempt, number)} is not what its receipt names"
            )
    for number in causes_first(connections):
        if connections[number].last[side] != last[number][side]:
            return Objection(
                True,
                f"the receipt that it signed names other messages that it sent {where(attempt, number)} than "
                "follow from its table, its seed and what it had received",
            )
    return None


def gravest(found: Iterable[Objection | None]) -> Objection | None:
    """The first by which a side departed, or else the first."""
    objections = [one for one in found if one is not None]
    return next((one for one in objections if one.departed), objections[0] if objections else None)


def causes_first(numbers: Iterable[int]) -> list[int]:
    """Connections, those of workers first: what a coordinator sends that differs may come from them."""
    return sorted(numbers, key=lambda number: (number == 0, number))


def _judge_connection(
    attempt: int, number: int, connection: ReplayedConnection | None, signed: Signatures, waits: bool
) -> Objection | None:
    good = 0
    for seal in in_order(signed.seals):
        if connection is None or not _came(connection, seal.received, seal.received_link):
            return lost(attempt, number)
        if len(connection.links) < seal.sent:
            return lost(attempt, number) if waits else went_on(attempt, number, connection, good, seal.sent)
        if seal.sent and connection.links[seal.sent - 1] != seal.sent_link:
            return Objection(True, name_message(attempt, number, connection, good, seal.sent))
        if (seal.sent, seal.received) not in connection.marks:
            return Objection(True, misstated(attempt, number, connection, seal.sent, seal.received))
        good = seal.sent
    return None if connection is None or _fits_the_partner(connection, signed) else lost(attempt, number)


def _fits_the_partner(connection: ReplayedConnection, signed: Signatures) -> bool:
    """Whether what the partner signed as sent is what was received, if that came; what its own word from
    then confirms is not asked again."""
    sure = max(
        (seal.sent for seal in signed.own_partner_seals if _came(connection, seal.sent, seal.sent_link)),
        default=0,
    )
    later = [seal for seal in signed.partner_seals if seal.sent > sure]
    return all(
        _came(connection, seal.sent, seal.sent_link) or len(connection.came) < seal.sent for seal in later
    )


def _all_came(connection: ReplayedConnection | None, signed: Signatures) -> bool:
    """Whether all that the side signed for was received."""
    due = [seal for seal in signed.seals if seal.received]
    if connection is None:
        return not due
    return all(_came(connection, seal.received, seal.received_link) for seal in due)


def _came(connection: ReplayedConnection, count: int, link: bytes) -> bool:
    """Whether the first messages received, so many, are those that this is the last link of."""
    if not count:
        return True
    connection.read_on(count)
    return len(connection.came) >= count and connection.came[count - 1] == link


def name_message(attempt: int, number: int, connection: ReplayedConnection, good: int, at: int) -> str:
    """The first message known to differ, of those behind the `good` first ones, up to message `at`."""
    first = next((n for n in connection.off if good < n <= at), at)
    return (
        f"message {first:,} that it sent {where(attempt, number)} is not the one, of "
        f"{counted(connection.sizes[first - 1], 'byte')}, that follows from its table, its seed and "
        "what it had received"
    )


def in_order(seals: list[Seal]) -> list[Seal]:
    """Seals in the order in which they were given."""
    return sorted(seals, key=lambda seal: (seal.sent, seal.received))


def went_on(attempt: int, number: int, connection: ReplayedConnection, good: int, sent: int) -> Objection:
    """That a side sent more than the protocol has, or what it then sent first that differs."""
    if connection.off and connection.off[0] > good:
        return Objection(True, name_message(attempt, number, connection, good, connection.off[0]))
    return Objection(
        True,
        f"it signed for {counted(sent, 'message')} that it sent {where(attempt, number)}, where the "
        f"protocol ends after {len(connection.links):,}",
    )


def misstated(attempt: int, number: int, connection: ReplayedConnection, sent: int, received: int) -> str:
    """What is wrong with a seal of these numbers."""
    due = [r for s, r in sorted(connection.marks) if s == sent]
    place = f"behind message {sent:,} that it sent {where(attempt, number)}"
    if not due:
        return f"it signed {place}, where the protocol has no signature"
    return f"it signed {place} for {counted(received, 'message')} received, but had received {due[0]:,}"


def lost(attempt: int, number: int) -> Objection:
    """That the record does not have what was received."""
    place = where(attempt, number)
    return Objection(False, f"the messages received {place} are not all there, or not those it signed for")


def where(attempt: int, number: int) -> str:
    """A connection of an attempt, in words."""
    connection = f"worker {number}" if number else "the coordinator"
    return f"as {connection} in attempt {attempt}"
