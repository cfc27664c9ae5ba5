"""Both sides in one process, and how good their matches are where the truth is known."""
