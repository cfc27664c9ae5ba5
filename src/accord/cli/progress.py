"""The course of a run on the terminal: a bar on stderr for people, events on stdout for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import typer

_EVENTS_A_SECOND = 5.0


class Display:
    """Shows what `link` tells; use it as a context."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet
        self._bar: Any = None
        self._task: Any = None
        self._last = 0.0

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, event: str, facts: Mapping[str, object]) -> None:
        """Show one event; progress is thinned out."""
        if event == "progress":
            now = time.monotonic()
            if now - self._last < 1 / _EVENTS_A_SECOND:
                return
            self._last = now
        if self._as_json:
            typer.echo(json.dumps({"event": event, **facts}, ensure_ascii=False))
            sys.stdout.flush()
        elif not self._quiet:
            self._show(event, facts)

    def _show(self, event: str, facts: Mapping[str, object]) -> None:
        if event == "progress":
            self._advance(facts)
            return
        sentence = _SENTENCES.get(event)
        if sentence is not None:
            typer.echo(sentence.format(**facts), err=True)

    def _advance(self, facts: Mapping[str, Any]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            self._bar = Progress(
                TextColumn("Comparing"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[told]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            if not self._bar.console.is_terminal:
                self._bar.disable = True
            self._task = self._bar.add_task("", total=None, told="")
            self._bar.start()
        told = f"{facts['matches']:,} matches, {facts['bytes'] / 1e6:,.0f} MB"
        self._bar.update(
            self._task, completed=facts["comparisons"], total=facts["most_comparisons"], told=told
        )


_SENTENCES = {
    "listening": "Waiting for {partner} at port {port}.",
    "waiting": "Waiting for {partner} to listen at port {port}.",
    "connected": "Connected to {partner}; both cards are right.",
    "charged": "Run {run}.",
    "done": "{comparisons:,} comparisons, {bytes:,} bytes, {seconds:.1f} s. Receipt of run {run} is kept.",
}
