"""Accord: private record linkage between two organisations, without a third party."""
