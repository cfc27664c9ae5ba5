"""Oblivious transfer: base transfers, their extension, and the bytes that both OT-based engines share."""
