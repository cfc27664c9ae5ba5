"""A linkage over bins, as one party [HMFS17, Algorithms 1 to 3]: the steps of every protocol with bins.

    1  commitments, then noisy counts; sizes are known                                       (slots.py)
    2  the engine's set-up, here or among workers                                        (comparers.py)
    3  rounds of secure comparisons, in the order of schedule.py; both sides learn the match bits (rounds.py)
    4  disclosure of what matched: with greedy after each round, matched in the clear against *all* own
       records to a fixed point, every copy cleaned (greedy.py); otherwise at the end, in slices (disclose.py)
    5  if it is agreed, a one-to-one set of what was found                              (one_to_one.py)
    6  a keyed digest of the output, which must be equal on both sides                     (confirm.py)

*Learns*: each side the other's size, noisy counts and matching records. A slot that matches nothing answers
0 to every comparison and is never named, so the view is a function of those and of one's own table [MATHS
§2.1]. The paper's Algorithm 3 removes matched records before it matches them in the clear and loses pairs;
here nothing is removed before it was matched against everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from accord.protocols.base import Ints, Task
from accord.protocols.binned import Binned
from accord.protocols.confirm import confirm
from accord.protocols.disclose import DiscloseAtEnd
from accord.protocols.found import Found
from accord.protocols.greedy import GreedyClean
from accord.protocols.one_to_one import keep_best, work_of
from accord.protocols.parts.journal import Answer, step, whole
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.phases import Phases, Stopwatch
from accord.protocols.parts.schedule import Schedule
from accord.protocols.parts.slots import exchange_commitments, exchange_counts, partner_counts
from accord.protocols.rounds import Disclosing, Rounds
from accord.secure.engine import AtOnceEngine, Engine
from accord.secure.party import Party
from accord.side import Side

MOST_RESUMES = 3
"""Of a run whose comparisons are tested at once, before they are kept."""
_COMPARED = 3
"""Steps of the journal that such a run has kept with its one round: commitments, counts, matches."""


def refuse_attempt(engine: Engine, steps: int, resumes: int) -> str:
    """Why a run of which both have kept so many steps, and which was resumed so often, is not tested again;
    empty if it may be, or need not."""
    if not isinstance(engine, AtOnceEngine) or steps >= _COMPARED or resumes < MOST_RESUMES:
        return ""
    return (
        f"The run was resumed {resumes} times before its comparisons were kept. Each attempt at them lets a "
        f"partner that cheats guess once, so a run with '{engine.name}' is resumed at most {MOST_RESUMES} "
        "times. Both start again with `accord link`, which counts as a run."
    )


def link_bins(task: Task, options: Binned, mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of the linkage. *Requires*: its records and the partner's are as many as were announced."""
    options.require_engine(task, engine)
    clock, bins = mine.stopwatch, task.blocking.bins

    def judge(counts: Ints) -> None:
        options.require_counts(task, mine.side.other, counts, mine.partner_size, mine.padding)

    theirs = yield from open_counts(mine, bins, judge)
    own = mine.slots.counts
    counts = (own, theirs) if mine.side is Side.A else (theirs, own)
    schedule = options.schedule(task, counts)
    if isinstance(engine, AtOnceEngine):
        node = task.lowered.node
        schedule = schedule.whole(engine.most_pairs(node), engine.most_rows(node))
    found = Found(task, mine, theirs)
    disclosing = (
        GreedyClean(task, options, mine, schedule, found)
        if options.greedy
        else DiscloseAtEnd(task, mine, found)
    )
    return (yield from compare_bins(task, options, mine, engine, schedule, found, disclosing, clock))


def compare_bins(
    task: Task,
    options: Binned,
    mine: OwnSide,
    engine: Engine,
    schedule: Schedule,
    found: Found,
    disclosing: Disclosing,
    clock: Stopwatch,
) -> Party[Outcome]:
    """Steps 2 to 6, once it is known what is compared when, and what becomes of the matches."""
    comparer = yield from mine.staff.gather(
        mine.side, engine, task.lowered.node, mine.entropy, schedule.most_comparisons
    )
    set_up = clock.lap()

    rounds = Rounds(task, mine, comparer, schedule, clock)
    yield from rounds.run(disclosing, min(options.steps_at_once(task), comparer.under_way))
    yield from disclosing.finish()

    phases = Phases(set_up, rounds.compared, rounds.disclosed + clock.lap())
    outcome = found.outcome(rounds.comparisons, rounds.count, phases)
    mine.expect(0, work_of(task, len(outcome.pairs)))
    outcome = keep_best(task, mine, outcome)
    digest = yield from confirm(mine.records.ids, outcome, mine.entropy)
    return replace(outcome, digest=digest)


def open_counts(mine: OwnSide, bins: int, judge: Callable[[Ints], None]) -> Party[Ints]:
    """The partner's counts in so many bins, to which it was committed before it saw ours; `judge` raises
    before they are kept if they cannot be."""
    made = whole(exchange_commitments(mine.slots, mine.side))
    committed = yield from step(mine.journal, made, lambda answer: bytes(answer[0]))

    def read(opened: Answer) -> Ints:
        counts = partner_counts(committed, bytes(opened[0]), mine.side)
        judge(counts)
        return counts

    return (yield from step(mine.journal, whole(exchange_counts(mine.slots, bins)), read))
