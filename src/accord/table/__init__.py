"""A table and where it lives: how a file is laid out, how its cells are read, where pairs go."""
