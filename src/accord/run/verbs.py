"""`link` and `resume` as whoever imports accord calls them: each makes the one value that a run is given.

What a run needs is imported when one is started, so that naming a verb takes no time.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accord.arguments import as_path_or_none, require, require_function, require_text
from accord.exact import Number
from accord.notices import Tell, tell_nobody

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.peer.connection import Reach
    from accord.run.link import Confirm, Linked
    from accord.table.layout import Layout
    from accord.table.sinks.targets import Target
    from accord.table.sources.opening import TableLike


def link(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    data: TableLike,
    agreement: Agreement,
    *,
    partner: str,
    confirm: Confirm,
    listen: str = "",
    connect: str = "",
    out: Target | str | None = None,
    dataset: str | None = None,
    snapshot: str | None = None,
    layout: Layout | None = None,
    state: Path | str | None = None,
    force: bool = False,
    tell: Tell = tell_nobody,
    reach: Reach | None = None,
    raw: bool = False,
    workers: int | str | None = None,
    trust_cluster: bool = False,
    uncovered: Number | None = None,
) -> Linked:
    """Link your own table (a file, or anything that speaks Arrow) with the partner's.

    `partner` is the other party, as the agreement names it and as its card was added. One side listens at
    HOST:PORT, the other connects there. The pairs are returned, and written to `out` if that is given: a file
    (.csv, .parquet, .arrow) or a table, such as 'duckdb:FILE?table=NAME'. The account that is charged is
    `dataset`, one that its owner has made with `set_budget`; by default the only one. `snapshot` says that
    this is the table as of that name: its noise is drawn and paid for once, and repeated in later runs under
    the name; without one every run is paid for. `layout` says how the file is laid out; `state` is the folder
    of identity, ledger and runs, if not the usual one. A file that is already there is replaced only with
    `force`, and a table never. `tell` is called with what happens, in this thread; `reach` says how long to
    wait. In a csv, cells that a spreadsheet takes for formulas get a quote in front, unless `raw` is set.
    `workers` processes share the comparisons, as many as the side that wants fewer allows; by default one, or
    one for each core where one process would take 20 seconds. They may be on your Ray cluster: "ray",
    "ray://HOST:PORT", "8@ray" for at most eight; one that lets anybody in is refused, unless you vouch for it
    with `trust_cluster`. `uncovered` is the share of your records, such as 0.05 or "5%", that may share a key
    with too many others for the promise to hold; by default 1 %. With a larger share the run does not begin.
    It is your own limit: neither the partner nor the agreement knows it.

    `confirm` decides whether to spend what the offer says: `accord.ask` shows it to a person at a terminal,
    `accord.agree` says yes to whatever it is, for scripts; or any function of the `Offer`. Nothing is sent
    before it has been asked. Raises an `AccordError`; if it names a run, `resume` can continue that run.
    """
    from accord.run.link import link_request, own_side
    from accord.run.output import require_learner
    from accord.run.request import Output, Request, WorkerChoice
    from accord.state.folder import open_state
    from accord.table.layout import Layout
    from accord.table.sinks.targets import as_target_or_none

    request = Request(
        data=data,
        agreement=agreement,
        partner=partner,
        dataset=dataset,
        layout=Layout() if layout is None else layout,
        snapshot=snapshot,
        output=Output(as_target_or_none("out", out), raw, force),
        reach=_way(reach, listen, connect),
        workers=WorkerChoice(workers, trust_cluster),
        uncovered=uncovered,
    )
    if request.output.target is not None:
        require_learner(agreement, own_side(agreement, partner))
    require_function("confirm", confirm, "a function of an Offer, such as accord.ask or accord.agree")
    require_function("tell", tell, "a function of a Notice")
    return link_request(request, open_state(as_path_or_none("state", state), os.environ), confirm, tell)


def resume(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    name: str,
    *,
    data: TableLike | None = None,
    listen: str = "",
    connect: str = "",
    out: Target | str | None = None,
    state: Path | str | None = None,
    force: bool = False,
    tell: Tell = tell_nobody,
    reach: Reach | None = None,
    raw: bool = False,
    workers: int | str | None = None,
    trust_cluster: bool = False,
) -> Linked:
    """Continue an interrupted run: same noise, same slots, fresh masks, no second charge.

    What is not named stays as it was; either side may listen. The data must be what the run began with. A
    finished run can be resumed, too, for a partner that was interrupted before it had the receipt; an
    intersection can be resumed only for that. Parameters and errors are those of `link`.
    """
    from accord.run.link import resume_run
    from accord.run.request import Output, Resumption, WorkerChoice
    from accord.state.folder import open_state
    from accord.table.sinks.targets import as_target_or_none
    from accord.table.sources.opening import require_table

    require_text("name", name)
    if data is not None:
        require_table("data", data)
    require_function("tell", tell, "a function of a Notice")
    changes = Resumption(
        data=data,
        output=Output(as_target_or_none("out", out), raw, force),
        reach=_way(reach, listen, connect),
        workers=WorkerChoice(workers, trust_cluster),
    )
    return resume_run(open_state(as_path_or_none("state", state), os.environ, new=False), name, changes, tell)


def _way(reach: object, listen: str, connect: str) -> Reach:
    """How to come to the partner."""
    from accord.peer.connection import Reach

    if reach is not None:
        require("reach", reach, "a Reach", Reach)
    given = reach if isinstance(reach, Reach) else Reach()
    return replace(given, listen=listen, connect=connect)
