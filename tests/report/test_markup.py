"""Markup: whatever is not markup is escaped, wherever it stands."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from accord.report.markup import element, escape, join, prose


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


def test_markup_within_markup_stays_and_text_beside_it_is_escaped() -> None:
    assert element("p", element("b", "<"), "<", 3) == "<p><b>&lt;</b>&lt;3</p>"
    assert join([escape("&"), "&"]) == "&amp;&amp;"


def test_names_of_attributes() -> None:
    assert element("meta", _class="a", aria_label='"') == '<meta class="a" aria-label="&quot;">'


def test_a_quoted_command_is_code_and_nothing_else_is() -> None:
    made = prose("`accord report RUN --share` makes one, `<b>` and ` do not; `accord <i>` is escaped.")
    assert made == (
        "<code>accord report RUN --share</code> makes one, `&lt;b&gt;` and ` do not; "
        "<code>accord &lt;i&gt;</code> is escaped."
    )
    assert prose(made) is made
