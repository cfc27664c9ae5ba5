"""Scripts that run under `.venv-peers`: they import peers, and nothing of Accord."""
