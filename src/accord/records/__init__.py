"""Rows in: schema, sources, layout of one's own file, and encoders that turn cells into arrays."""
