"""From one's own table to a draft of an agreement: what columns are, and what suits such a mix."""
