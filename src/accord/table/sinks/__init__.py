"""Pairs to files and tables of databases, whole or not at all."""
