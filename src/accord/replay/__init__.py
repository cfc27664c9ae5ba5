"""Whether a side of an accountable run followed the protocol: its messages made again, and a verdict."""
