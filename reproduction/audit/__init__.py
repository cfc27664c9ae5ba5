"""Audits: what a protocol lets the partner tell apart, by experiment."""
