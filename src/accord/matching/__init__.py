"""What a match is (rules) and which pairs may be one (blocking)."""
