"""The default engine: distances and lookups from oblivious transfer."""
