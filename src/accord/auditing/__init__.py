"""Audits: what a protocol lets the partner tell apart, by experiment; what an agreement costs, by proof."""
