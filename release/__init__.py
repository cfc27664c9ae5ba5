"""A release: the files to hand out, what is in them, and the lowest versions that they work with."""
