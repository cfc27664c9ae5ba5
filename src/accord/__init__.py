"""Accord: private record linkage between two organisations, without a third party.

The public face, in the order of a first linkage. `propose` says what the columns of one's own table look
like, `draft` makes an agreement of what its owner confirms, and `check` lists all faults of a table under an
agreement and what the partner will learn. `plan` says what it will cost, and what to agree on instead;
`simulate` runs it on two tables that one may both see; `link` links one's own table with the partner's, and
`resume` goes on after a cut.

    proposal = accord.propose("a.csv")
    answers = proposal.confirm(types={"phone": "skip"}, parties=("north", "south"), records=(5000, 5000))
    draft = accord.draft(answers)
    fit = proposal.fit(draft)
    check = accord.check(draft.agreement, "a.csv", party="north", layout=fit.layout)

    agreement = accord.read_agreement("agreement.toml")
    plan = accord.plan(agreement, records=(5000, 5000))
    result = accord.simulate("a.csv", "b.csv", agreement)
    accord.set_budget("products", epsilon=5, delta="2^-30")
    linked = accord.link("a.csv", agreement, partner="south-shop", listen=":7000", confirm=accord.ask)

An `Agreement` holds what both parties sign up to: `read_agreement` and `parse_agreement` give one, `diff`
says how two differ, `learned_about` what the partner learns of a `Side`, in words, and `adjust` gives it with
another protocol or other options, to simulate and plan. The words of a rule (`same`, `hamming`, …) build a
`Rule` in Python, and a `Layout` says how one's own file is laid out; `read_layout` reads one. A `Proposal`
holds cells of the table and shows them only when asked; its `Confirmation` holds none, and a `Draft` is made
of nothing else; a `Fit` says where the agreed fields are in a table, and a `Check` what is wrong with it. A
table is a file, an address in a database, or anything that speaks Arrow. `learn` finds the weights of a
rule's score and returns a `Learnt`. `plan` returns a `Plan`, `simulate` a `Simulation`, with what each `Side`
is `Promised`, the others a `Linked`.

Before the first `link` one makes an `identity` and comes to `trust` the partner's `Card`. `link` charges an
account that its owner made with `set_budget`, asks its `confirm` with an `Offer` before anything leaves
(`ask` a person, or `agree` in scripts), tells its `tell` a `Notice` as things happen (`narrate` puts them
into words), and takes from a `Reach` how long to wait. What goes wrong is an `AccordError`; `accord.errors`
has them all.

Names are imported when they are first used, so that `import accord` costs nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from accord.version import __version__ as __version__

if TYPE_CHECKING:
    from accord.agreement.adjusting import adjust as adjust
    from accord.agreement.differences import diff as diff
    from accord.agreement.disclosure import learned_about as learned_about
    from accord.agreement.document import Agreement as Agreement
    from accord.agreement.file import parse_agreement as parse_agreement
    from accord.agreement.file import read_agreement as read_agreement
    from accord.errors import AccordError as AccordError
    from accord.forecast.plan import plan as plan
    from accord.learning.learn import Learnt as Learnt
    from accord.learning.learn import learn as learn
    from accord.notices import Charged as Charged
    from accord.notices import Connected as Connected
    from accord.notices import Done as Done
    from accord.notices import Listening as Listening
    from accord.notices import Notice as Notice
    from accord.notices import Progress as Progress
    from accord.notices import Reading as Reading
    from accord.notices import Waiting as Waiting
    from accord.peer.channel import Patience as Patience
    from accord.peer.connection import Reach as Reach
    from accord.peer.identity import Card as Card
    from accord.peer.introduction import identity as identity
    from accord.peer.introduction import trust as trust
    from accord.planning.figures import Plan as Plan
    from accord.preparing.check import Check as Check
    from accord.preparing.check import check as check
    from accord.preparing.confirmation import Confirmation as Confirmation
    from accord.preparing.draft import Draft as Draft
    from accord.preparing.draft import draft as draft
    from accord.preparing.fit import Fit as Fit
    from accord.preparing.proposal import Proposal as Proposal
    from accord.preparing.proposal import propose as propose
    from accord.rules.rule import Rule as Rule
    from accord.rules.words import compare as compare
    from accord.rules.words import cosine as cosine
    from accord.rules.words import dice as dice
    from accord.rules.words import edit as edit
    from accord.rules.words import either_way as either_way
    from accord.rules.words import euclidean as euclidean
    from accord.rules.words import hamming as hamming
    from accord.rules.words import jaccard as jaccard
    from accord.rules.words import mismatches as mismatches
    from accord.rules.words import missing as missing
    from accord.rules.words import same as same
    from accord.rules.words import score as score
    from accord.rules.words import within as within
    from accord.run.link import Linked as Linked
    from accord.run.narrator import narrate as narrate
    from accord.run.offer import Offer as Offer
    from accord.run.offer import agree as agree
    from accord.run.offer import ask as ask
    from accord.run.verbs import link as link
    from accord.run.verbs import resume as resume
    from accord.side import Side as Side
    from accord.simulation.pair import Promised as Promised
    from accord.simulation.pair import Simulation as Simulation
    from accord.simulation.pair import simulate as simulate
    from accord.state.accounts import set_budget as set_budget
    from accord.table.layout import Layout as Layout
    from accord.table.layout import read_layout as read_layout


@cache
def _homes() -> dict[str, str]:
    """The module of each public name. The imports above are the one list of them: it is read as text, since
    nothing follows it but a type checker."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(__file__).read_text("utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        name.name: node.module
        for node in found
        if node.module is not None and node.module.startswith("accord.")
        for name in node.names
    }


if not TYPE_CHECKING:
    # Out of sight of a type checker, for which a name that is not above would have no type.
    def __getattr__(name: str) -> object:
        if name.startswith("_") or name not in _homes():
            raise AttributeError(f"module 'accord' has no attribute '{name}'")
        return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted(_homes())
