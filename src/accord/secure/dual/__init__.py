"""Dual execution: every pair is garbled by both sides, and both results are compared before one is shown."""
