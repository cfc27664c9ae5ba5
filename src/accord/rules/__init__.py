"""What a match is, and which pairs may be one."""
