"""The page around a report: one file that asks for nothing, in light, in the dark, on paper and on a phone.

Its content security policy forbids every request and every script, so that opening it tells nobody. Colours
are of the palette of Okabe and Ito, and nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accord.report.markup import Markup, element, join, prose

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = Markup("""
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #f1f3f5; --line: #8a9299;
  --quiet: #4d545a; --main: #005a8f; --other: #a84300; --good: #00694b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9ecee; --paper: #16191c; --soft: #23282d;
  --line: #7b858d; --quiet: #b3bbc2; --main: #6cbcf0; --other: #f5a05a; --good: #58cfa5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1rem 1.2rem 3rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem;
  border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin-bottom: .2rem; }
p.lead { font-size: 1.05rem; } p.brief { font-size: 1.2rem; line-height: 1.4; margin: .7rem 0; }
.brief + .lead { font-size: 1rem; color: var(--quiet); }
 .quiet { color: var(--quiet); } .missing, .bad { color: var(--other); }
.good { color: var(--good); } .good, .bad { font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding-bottom: .2rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid var(--soft); min-width: 4rem; }
th.number, td.number { text-align: right; overflow-wrap: normal; } td.number { white-space: nowrap; }
th[scope=row] { font-weight: 600; min-width: 9rem; } th[scope=col] { min-width: 4.8rem; }
.keep th[scope=row] { min-width: 4.6rem; } .keep th[scope=col] { overflow-wrap: break-word; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
pre { white-space: pre-wrap; background: var(--soft); padding: .6rem .9rem; font-size: .85rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; }
dl.bars { display: block; } .bars div { margin-bottom: .6rem; } .bars dt { font-weight: 400; }
.bars dd { display: flex; gap: .5rem; align-items: center; margin: 0; }
.bars svg { flex: 1 1 0; min-width: 0; } .bars span { flex: 0 0 8.5rem; font-variant-numeric: tabular-nums; }
.large { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1rem 0; } .large div { flex: 0 0 auto; }
.large dd { font-size: 2.6rem; line-height: 1.1; font-weight: 600; font-variant-numeric: tabular-nums; }
.large dt { font-weight: 400; color: var(--quiet); } .large .first dd { color: var(--main); }
.pair { border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .9rem .4rem; margin: 1rem 0; }
.pair h4 { margin: .5rem 0 .2rem; font-size: 1rem; }
figure { margin: 1rem 0; } figcaption { color: var(--quiet); } .paint { position: absolute; }
.plot { display: block; width: 100%; height: 300px; padding: 32px 16px 48px 60px; overflow: visible; }
.plot text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.edge { stroke: var(--line); } .level { stroke: var(--line); stroke-width: .5; }
.key { list-style: none; padding: 0; margin: .4rem 0; } .key li { display: flex; gap: .5rem; }
.key svg { flex: 0 0 1rem; height: 1rem; margin-top: .25rem; overflow: visible; }
.note { border-left: .3rem solid var(--main); background: var(--soft); padding: .6rem .9rem; }
summary { cursor: pointer; color: var(--main); padding: .2rem 0; }
@media (max-width: 34rem) { dl { display: block; } dd { margin: 0 0 .5rem; }
  .bars span { flex-basis: 6.5rem; }
  .large { gap: .6rem 1.1rem; } .large dd { font-size: 1.7rem; margin: 0; }
  table:not(.keep), table:not(.keep) :is(caption, tbody, tr, th, td) { display: block; }
  :not(.keep) > thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px;
    overflow: hidden; }
  :not(.keep) > tbody > tr { padding: .3rem 0; border-bottom: 1px solid var(--line); }
  :not(.keep) > tbody > tr > :is(th, td) { border: 0; padding: .1rem 0; }
  :not(.keep) > tbody td { display: flex !important; gap: 1rem; justify-content: space-between;
    text-align: left; }
  :not(.keep) > tbody td::before { content: attr(data-name); content: attr(data-name) / "";
    color: var(--quiet); flex: 0 0 8rem; }
  :not(.keep) > tbody td span { text-align: right; } .keep { font-size: .8rem; }
  .keep :is(td, th[scope=col]) { min-width: 0; padding-right: .3rem; } .pair { padding: .1rem .6rem .3rem; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #eee; --line: #777;
  --quiet: #333; --main: #005a8f; --other: #a84300; --good: #00694b; }
  body { max-width: none; font-size: 10pt; padding: 0; } h2, h3 { break-after: avoid; }
  figure, tr, .note, .pair { break-inside: avoid; }
  details:not(.whole) { display: none; } .whole::details-content { content-visibility: visible; } }
""")
HATCHED = "url(#hatch)"
"""A filling that is told from a plain one without colours."""
_PAINT = Markup(
    '<svg class="paint" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" '
    'height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" '
    'y2="6" style="stroke:var(--other);stroke-width:3"></line></pattern></defs></svg>'
)


@dataclass(frozen=True)
class Section:
    """A heading and what is under it."""

    title: str
    body: Markup


def page(title: str, lead: str, sections: list[Section], brief: Sequence[str] = ()) -> str:
    """The whole file; what is `brief` comes before all else."""
    head = join(
        [
            element("meta", charset="utf-8"),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", title),
            element("style", _STYLE),
        ]
    )
    parts = [element("h1", title), *(paragraph(said, "brief") for said in brief), paragraph(lead, "lead")]
    for number, section in enumerate(sections, 1):
        name = f"part-{number}"
        heading = element("h2", section.title, id=name)
        parts.append(element("section", heading, section.body, aria_labelledby=name))
    body = element("body", _PAINT, element("main", join(parts)))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


def paragraph(text: Markup | str, kind: str = "") -> Markup:
    return element("p", prose(text), _class=kind) if kind else element("p", prose(text))


def bullets(lines: list[str]) -> Markup:
    return element("ul", join([element("li", prose(line)) for line in lines]))


def facts(pairs: list[tuple[str, Markup | str | int]]) -> Markup:
    """Names and what they are."""
    return element("dl", join([join([element("dt", name), element("dd", value)]) for name, value in pairs]))


def large(numbers: list[tuple[str, str]]) -> Markup:
    """Figures that are seen first, the first of them before the others."""
    shown = [
        element("div", element("dt", name), element("dd", number), **({"_class": "first"} if not at else {}))
        for at, (name, number) in enumerate(numbers)
    ]
    return element("dl", join(shown), _class="large")


def table(
    caption: str, names: list[str], rows: list[list[str]], numbers: bool = True, *, keep: bool = False
) -> Markup:
    """A table whose first column names the row; the others are `numbers` to compare, or words.

    On a phone the cells of a row are under each other, each with its column's name; a table that is narrow
    enough to `keep` stays one, in smaller letters. Roles are spelt out,
    since a browser forgets that a table is one when it is laid out in another way.
    """
    kind = {"_class": "number"} if numbers else {}
    head = [element("th", names[0], scope="col", role="columnheader")]
    head += [element("th", name, scope="col", role="columnheader", **kind) for name in names[1:]]
    body = []
    for row in rows:
        cells = [
            element("td", element("span", cell), role="cell", data_name=name, **kind)
            for name, cell in zip(names[1:], row[1:], strict=True)
        ]
        first = element("th", row[0], scope="row", role="rowheader")
        body.append(element("tr", first, join(cells), role="row"))
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", join(head), role="row"), role="rowgroup"),
        element("tbody", join(body), role="rowgroup"),
        role="table",
        **({"_class": "keep"} if keep else {}),
    )


def unfold(summary: str, text: str) -> Markup:
    """A long text to unfold; on paper it is all there."""
    return element("details", element("summary", summary), element("pre", text), _class="whole")
