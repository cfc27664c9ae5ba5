"""Which version of Accord this is: told to the partner, and written into receipts."""

__version__ = "0.1.0"
