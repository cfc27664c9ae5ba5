"""Which pairs of records are compared at all: keys, grids and hashes, in passes."""
