"""The course of two runs side by side: two bars on a terminal, plain lines in a pipe."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from accord.cli.children import NOTE, Told

if TYPE_CHECKING:
    from rich.progress import TaskID

_SECONDS_A_LINE = 2.0
_SENTENCES = {
    "listening": "waits for {partner} at port {port}",
    "waiting": "waits for {partner} to listen",
    "connected": "connected to {partner}; both cards are right",
    "charged": "ledger charged: ε = {charged_epsilon:g}; run {run}",
    "progress": "{comparisons:,} comparisons, {matches:,} matches, {megabytes:,.0f} MB",
    "done": "done: {matches:,} matches after {comparisons:,} comparisons",
}


class PairDisplay:
    """Shows on stderr what two runs tell; use it as a context."""

    def __init__(self, names: Sequence[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[told]}"),
            console=Console(stderr=True),
        )
        self._terminal = self._bars.console.is_terminal
        self._tasks: dict[str, TaskID] = {
            name: self._bars.add_task(name, total=None, told="starts") for name in names
        }
        self._said = dict.fromkeys(names, "")
        self._at = dict.fromkeys(names, 0.0)

    def __enter__(self) -> PairDisplay:
        if self._terminal:
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
        sentence = _sentence(told)
        if sentence is None or sentence == self._said[told.child]:
            return
        if self._terminal:
            self._bars.update(self._tasks[told.child], told=sentence, **_share(told))
        elif self._due(told):
            typer.echo(f"{told.child}  {sentence}", err=True)
        self._said[told.child] = sentence

    def _due(self, told: Told) -> bool:
        """Whether it is time for another line; only progress has to wait."""
        if told.event != "progress":
            return True
        now = time.monotonic()
        if now - self._at[told.child] < _SECONDS_A_LINE:
            return False
        self._at[told.child] = now
        return True


def is_compiling(told: Told) -> bool:
    """Whether this note is about the work of a first run (kernel.py)."""
    return told.event == NOTE and str(told.facts["line"]).startswith("Compiling ")


def _sentence(told: Told) -> str | None:
    if told.event == NOTE:
        return "compiles for this machine, once" if is_compiling(told) else None
    facts = {**told.facts, "megabytes": told.facts.get("bytes", 0) / 1e6}
    sentence = _SENTENCES.get(told.event)
    return sentence.format(**facts) if sentence is not None else None


def _share(told: Told) -> Mapping[str, Any]:
    """How far a bar is: matches make later work smaller, so that a run is done before its bar is full."""
    if told.event == "progress":
        return {"completed": told.facts["comparisons"], "total": told.facts["most_comparisons"]}
    return {"completed": 1, "total": 1} if told.event == "done" else {}
