"""An oblivious key-value store: values under points, in a table that does not show the points."""
