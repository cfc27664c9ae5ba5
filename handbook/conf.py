"""How Sphinx makes the site, of pages that `stage.py` has put in order."""

from __future__ import annotations

import accord
from handbook.theme import setup as setup

project = "Accord"
author = copyright = "The Accord authors"
release = version = accord.__version__
html_title = "Accord"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
# As a code host names its headings: a link to one works there and here, and a broken one is a warning.
myst_heading_anchors = 4
myst_enable_extensions: list[str] = []
# Attributes of several results have the name of a type, such as bytes.
suppress_warnings = ["ref.python"]

# Formulas and screens stand in blocks without a language.
highlight_language = "none"
default_role = "literal"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_sourcelink = False
html_show_sphinx = False
# Sphinx would fetch words of what was found, which a browser refuses to files: static/summaries.js has them.
html_show_search_summary = False
html_last_updated_fmt = None
html_theme_options = {"navigation_with_keys": False}
