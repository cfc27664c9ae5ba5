"""The agreement: the document, its file, its differences, and what it lets the partner learn."""
