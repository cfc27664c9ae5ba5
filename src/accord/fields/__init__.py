"""Cells to arrays: the agreed fields, how their values are cleaned and made, and encoders."""
