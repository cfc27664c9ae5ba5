"""Protocols of the paper and of prior work that Accord is compared with, as plug-ins."""
