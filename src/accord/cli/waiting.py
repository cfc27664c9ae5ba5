"""`accord link --resume-first`: what waits is continued, and only otherwise a new run begins.

For timers, which start the same command on both sides whatever became of the last run. A side knows only its
own half of that: a run may wait here and be done there, or never have been kept there. So where the partner
turns out to do something else, both decide once more, each by what it has heard, and come to the same;
nothing is sent before they agree. Where a run may not go on, as an intersection in its midst, both begin
anew. Nobody is there to wonder about a run that is cut again and again, so after a few times it is left to a
person.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.terminal import say
from accord.cli.words import as_options
from accord.errors import NotResumedError, OtherRunError, UsageError
from accord.naming import fold_name

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.run.link import Linked
    from accord.state.folder import State
    from accord.state.manifest import Manifest
    from accord.state.runs import StoredRun

UNATTENDED = 8
"""How often a run is resumed without anybody asking why it was cut."""


@dataclass(frozen=True)
class Wanted:
    """Which runs a command would continue: those of the same agreement, partner and account."""

    state: State
    partner: str
    agreement: str
    """As TOML."""
    dataset: str | None

    def find(self) -> str | None:
        """The latest of them that waits."""
        from accord.state.runs import find_waiting

        return next((run.run for run in find_waiting(self.state) if self._fits(run)), None)

    def known(self, name: str) -> StoredRun | None:
        """The run of that name, if it is kept here and one of them, done or not."""
        from accord.state.runs import open_run

        with suppress(UsageError):
            run = open_run(self.state, name)
            return run if self._fits(run.manifest) else None
        return None

    def is_cut(self, name: str) -> bool:
        """Whether it was cut where it may not go on."""
        run = self.known(name)
        return run is not None and run.manifest.ended == "cut"

    def require_few_cut(self) -> None:
        """Raise where so many were cut that somebody should ask why."""
        from accord.state.runs import list_runs

        found, _ = list_runs(self.state)
        cut = [run for run in found if self._fits(run.manifest) and run.manifest.ended == "cut"]
        if len(cut) >= UNATTENDED:
            raise NotResumedError(
                problem=f"{len(cut)} runs with {self.partner} were cut where they may not go on. Find out "
                "why. Remove them with `accord forget`, then run `accord link` again."
            )

    def _fits(self, run: Manifest) -> bool:
        named = self.dataset is None or fold_name(run.dataset) == fold_name(self.dataset)
        same = (run.partner, run.agreement) == (self.partner, self.agreement)
        return same and named


def wanted(state: Path | None, agreement: Agreement, partner: str, dataset: str | None) -> Wanted:
    """What a command would continue."""
    from accord.state.folder import open_state

    return Wanted(open_state(state, os.environ), partner, agreement.to_toml(), dataset)


def resume_or_link(runs: Wanted, start: Callable[[], Linked], go_on: Callable[[str], Linked]) -> Linked:
    """Continue the run that waits, or start a new one; decided once more if the partner does otherwise."""

    def attempt(name: str | None) -> Linked:
        if name is None:
            return start()
        _require_few(runs.known(name), name, runs.partner)
        say(f"Resuming the run {name}.", err=True)
        return go_on(name)

    mine = runs.find()
    try:
        return attempt(mine)
    except OtherRunError as error:
        say(as_options(f"accord: {error}"), err=True)
        again = reconsider(runs, mine, error.theirs)
    except NotResumedError as error:
        if mine is None or not runs.is_cut(mine):
            raise
        runs.require_few_cut()
        say(as_options(f"accord: {error}"), err=True)
        return attempt(None)
    if mine and again is None and (given_up := runs.known(mine)):
        # It would be tried every time, and be refused as soon as the table has changed.
        with given_up.lock():
            given_up.abandon()
    return attempt(again)


def reconsider(runs: Wanted, mine: str | None, theirs: str) -> str | None:
    """Which run both continue, where this side tried `mine` and the partner `theirs`; None for a new one.

    A run that was charged here is not given up. One that was not is, if the partner begins anew: had the
    partner kept it, it would wait there, too.
    """
    kept = [name for name in (mine, theirs) if name and (run := runs.known(name)) and run.charged]
    # Where both sides keep both, they take the same.
    return max(kept, default=None)


def _require_few(run: StoredRun | None, name: str, partner: str) -> None:
    # Also of one that is done here: the partner may say that it is not.
    if run is not None and run.manifest.resumes >= UNATTENDED:
        raise NotResumedError(
            problem=f"The run {name} was resumed {run.manifest.resumes} times. Each time {partner} may ask "
            "again for what was under way: find out why it is cut. Then continue with `accord resume "
            f"{name}`."
        )
