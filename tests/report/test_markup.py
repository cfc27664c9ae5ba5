"""HTML and Markdown: a text is shown as it is spelt, and nothing is made of it."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from accord.report import markdown
from accord.report.markdown import Markdown, bullets, code, heading, labelled, paragraph, plain
from accord.report.markup import element, escape, join, prose
from tests.report import outline


class _Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(markup: str) -> _Read:
    found = _Read()
    found.feed(markup)
    found.close()
    return found


@given(st.text(), st.text())
def test_no_text_becomes_a_tag(text: str, title: str) -> None:
    found = _read(element("p", text, title=title))
    assert [tag for tag, _ in found.tags] == ["p"]
    assert list(found.tags[0][1]) == ["title"]
    assert found.text == "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def test_what_is_markup_stays_and_commands_are_code() -> None:
    assert element("p", element("b", "<"), join([escape("&"), "&"])) == "<p><b>&lt;</b>&amp;&amp;</p>"
    assert element("meta", _class="a", aria_label='"') == '<meta class="a" aria-label="&quot;">'
    shown = prose("`accord a`, `<b>` and `; `accord <i>`")
    assert shown == "<code>accord a</code>, `&lt;b&gt;` and `; <code>accord &lt;i&gt;</code>"
    assert prose(shown) is shown
    assert plain("`accord a`, or `and` `<b>`") == "`accord a`, or `and` \\`\\<b\\>\\`"
    assert markdown.join([Markdown("**a**"), "*b*"]) == "**a** \\*b\\*"
    assert plain(plain("*")) == "\\*"


LOOKS_LIKE_MARKDOWN = (
    *("# head", "- item", "1. first", "1) first", "=== ", "a_b", "_a_", "**b**", "[a](http://b)", "![a](b)"),
    *("<b>x</b>", "&lt;", "`x", "a|b", "~~a~~", "\\", "a\nb", "    code"),
)
ADDRESSES = re.findall(
    r"\S+",
    "http://a.b HTTPS://a.b/c_d ftp://a.b www.a.org (www.a.org x.www.a.org http://www.a.org a@b.org "
    "a_b@c.org a.b+c@d.org mailto:a@b.org xmpp:a@b.org/c https://a@b.org mailto:@b.org",
)
# What GitHub makes links of, as written: extended autolinks of its flavour of Markdown. A mail is found after
# escapes are undone, so that a sign before its @ would not help.
BARE = re.compile(r"www\.|(?<!\\)://|[\w.+:-]\\*@", re.I)


def _tags(text: str) -> set[str]:
    return set(re.findall(r"<(\w+)", MarkdownIt("commonmark").enable("table").render(text)))


def _shown(text: str) -> str:
    return unescape(re.sub("<[^>]*>", "", MarkdownIt("commonmark").render(text))).strip()


@pytest.mark.parametrize("text", [*outline.ALL, *LOOKS_LIKE_MARKDOWN, *ADDRESSES])
def test_a_text_is_text(text: str) -> None:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    assert _tags(bullets([text])) <= {"ul", "li"}
    assert _tags(paragraph(f"by {text}")) == {"p"}
    assert _shown(paragraph(f"by {text}")).split() == f"by {shown}".split()
    assert _tags(heading(2, text)) == {"h2"}
    assert _tags(paragraph(labelled("Name", text))) == {"p", "strong"}
    if text in ADDRESSES:
        assert BARE.search(text)
        assert not BARE.search(bullets([text])), "an address is no link"


@given(st.text(alphabet="ab1.)#-+=*_`[](){}<>&|\\~! ", max_size=30))
def test_no_text_becomes_more_than_text(text: str) -> None:
    assert _tags(f"x\n{bullets([text])}") <= {"p", "ul", "li", "code"}
    assert _tags(paragraph("x", code(f"y{text}"))) == {"p", "code"}
