"""How good matches are, where the true pairs are known: by field, by threshold, and pair by pair."""
