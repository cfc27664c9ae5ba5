"""Whether a run will fit: on the disk, an estimate for its owner before anybody is called; and whether the
partner's slots will fit into memory, once it has told its size.

What a run keeps is known up to the partner's table. So the estimate takes a partner like oneself, with as
many records of the same length, each of which matches once:

    ledger    the noise, a number for each bin
    slots     a number for each bin and each slot, dummies as many as there can be
    journal   the partner's counts, the places of the matches, and the partner's matching records
    scratch   the matches twice, while they are sorted; both sides' texts and encoded fields (spill.py)
    output    both sides' matching records

A partner with more makes it more; that is no reason to refuse a run, and one that runs out of room can be
resumed once there is some.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from accord.errors import RefusedError
from accord.fields.columns import Bits, Column, Records
from accord.protocols.base import Task
from accord.side import Side
from accord.table.sinks.targets import Target, folder_of
from accord.wording import counted, sized

_NUMBER = 8
_CELL = 9
"""In front of every text: its length, and whether there is one."""

_IN_MEMORY = 1 << 23
"""What is less than this stays in memory."""


BYTES_A_SLOT = 64
"""What a slot of the partner takes in memory: its state, its record, its place in a round."""


MOST_PAIRS = (1 << 63) - 1
"""Of slots: a match is one signed number of 64 bits (protocols/disclose.py)."""


def require_room(task: Task, side: Side, partner: str, own_size: int, size: int) -> None:
    """Refuse a partner whose table is too large to link or to hold here, before anything is charged.

    Its slots need memory here from the first round on, whether or not it ever sends anything for them.
    """
    if problem := task.protocol.refuse_sizes(task, side, own_size, size):
        raise RefusedError(problem=problem)
    own_slots = most_slots(task, side, own_size)
    slots = most_slots(task, side.other, size)
    if own_slots * slots > MOST_PAIRS:
        raise RefusedError(
            problem=f"{partner} announces {counted(size, 'record')}. With the agreed noise they can need "
            f"{slots:,} slots and yours {own_slots:,}: more pairs of slots than can be told apart."
        )
    need = slots * BYTES_A_SLOT
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > room // 2:
        raise RefusedError(
            problem=f"{partner} announces {counted(size, 'record')}. With the agreed noise they can need "
            f"{sized(need)} of memory here; this machine has {sized(room)}."
        )


def most_slots(task: Task, side: Side, size: int) -> int:
    """What a side with so many records can have at the most."""
    return size * task.blocking.per_record(side) + task.protocol.padding(task, side, size).all


def free_bytes(folder: Path) -> int:
    """What may still be written there."""
    return shutil.disk_usage(folder).free


def predict(task: Task, side: Side, records: Records) -> tuple[int, int]:
    """The bytes that a run takes in the state folder, and those of its output."""
    bins, size = task.blocking.bins if task.protocol.lists_bins else 0, records.size
    slots = most_slots(task, side, size)
    shown = _shown_bytes(records)
    fields = sum(_field_bytes(records.columns[name]) for name in task.shown_fields)
    kept = _NUMBER * (3 * bins + slots + len(records)) + shown + fields
    encoded = sum(map(_field_bytes, records.columns.values())) + fields
    scratch = 2 * _NUMBER * len(records) + 2 * shown + encoded
    return kept + (scratch if scratch > _IN_MEMORY else 0), 2 * shown


def warn_of_room(
    task: Task, side: Side, records: Records, state: Path, out: Target | None
) -> tuple[str, ...]:
    """A sentence for each folder that has too little room, of a server's nobody knows."""
    kept, written = predict(task, side, records)
    needs = {state: kept}
    folder = None if out is None else folder_of(out)
    if folder is not None:
        same = next((known for known in needs if _device(known) == _device(folder)), folder)
        needs[same] = needs.get(same, 0) + written
    return tuple(
        f"{folder} has {sized(free)} left, but with a partner's table like yours this run takes "
        f"{sized(need)} there. Make room first; a run that stops for lack of it can be resumed."
        for folder, need in needs.items()
        if (free := free_bytes(folder)) < need
    )


def _shown_bytes(records: Records) -> int:
    """Ids and disclosed cells of all records."""
    cells = len(records) * (1 + records.disclosed.num_columns)
    return int(records.ids.nbytes + records.disclosed.nbytes) + _CELL * cells


def _field_bytes(column: Column) -> int:
    words = column.words if isinstance(column, Bits) else column.values
    return int(words.nbytes + column.present.nbytes)


def _device(folder: Path) -> int:
    return folder.stat().st_dev
