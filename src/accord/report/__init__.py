"""Results as tables and figures: pure functions of data."""
