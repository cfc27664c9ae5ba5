"""Engines of the paper that Accord is compared with, as plug-ins."""
