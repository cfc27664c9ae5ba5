"""The documentation as a site, and its pictures: `make docs` and `make pictures`.

    docs/*.md            written by hand, readable on a code host as they are
    docs/diagrams/*.txt  messages of a protocol as lines of text; drawn beside them as SVG
    this package         puts pages in order, writes the reference from the code, draws

A page is staged into a folder of its own (`stage.py`) before Sphinx reads it, so that nothing generated
stands among what people edit. Nothing here is part of the wheel, and nothing asks a network for anything.
"""
