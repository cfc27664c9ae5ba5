"""The course of two runs side by side: two bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from accord.cli.children import Ended, Note, Told
from accord.cli.terminal import make_bars, say
from accord.notices import (
    Charged,
    Connected,
    Done,
    Dropped,
    Listening,
    Mended,
    Notice,
    Progress,
    Reading,
    Waiting,
)
from accord.wording import counted, sized

if TYPE_CHECKING:
    from rich.progress import TaskID

_SECONDS_A_LINE = 2.0


class PairDisplay:
    """Shows on stderr what two runs tell; use it as a context."""

    def __init__(self, names: Sequence[str]) -> None:
        from rich.progress import BarColumn, TextColumn

        self._bars = make_bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[told]}"),
            transient=False,
        )
        self._tasks: dict[str, TaskID] = {
            name: self._bars.add_task(name, total=None, told="starts") for name in names
        }
        self._said = dict.fromkeys(names, "")
        self._at = dict.fromkeys(names, 0.0)

    def __enter__(self) -> PairDisplay:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, told: Told) -> None:
        """Show one thing that was told, if it says anything new."""
        sentence = _sentence(told.what)
        if sentence is None or sentence == self._said[told.child]:
            return
        if not self._bars.disable:
            completed, total = _share(told.what)
            self._bars.update(self._tasks[told.child], told=sentence, completed=completed, total=total)
        elif self._due(told):
            say(f"{told.child}  {sentence}", err=True)
        self._said[told.child] = sentence

    def _due(self, told: Told) -> bool:
        """Whether it is time for another line; only progress has to wait."""
        if not isinstance(told.what, Progress | Reading):
            return True
        now = time.monotonic()
        if now - self._at[told.child] < _SECONDS_A_LINE:
            return False
        self._at[told.child] = now
        return True


def _sentence(what: Notice | Note | Ended) -> str | None:
    match what:
        case Reading(rows):
            return f"reads its table: {rows:,} rows"
        case Listening(partner, port):
            return f"waits for {partner} at port {port}"
        case Waiting(partner):
            return f"waits for {partner} to listen"
        case Connected(partner):
            return f"connected to {partner}; both cards are right"
        case Charged(run, epsilon, _, unless):
            from accord.privacy.events import tell_unless

            spent = "nothing" if epsilon is None else f"ε = {epsilon:g}{tell_unless(unless)}"
            return f"ledger charged: {spent}; run {run}"
        case Progress():
            done = f"{counted(what.comparisons, 'comparison')}, of which {what.matches:,} matched"
            return f"{done}, {sized(what.bytes)}"
        case Done():
            found = counted(what.matches or 0, "match", "matches")
            return f"done: {found} after {counted(what.comparisons, 'comparison')}"
        case Note() | Dropped() | Mended() | Ended():
            return None


def _share(what: Notice | Note | Ended) -> tuple[int | None, int | None]:
    """How far a bar is, if that is news: matches make later work smaller, so that a run is done before its
    bar is full."""
    if isinstance(what, Progress):
        return what.comparisons, what.most_comparisons
    return (1, 1) if isinstance(what, Done) else (None, None)
