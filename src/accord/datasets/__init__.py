"""Tables with known truth: generators that ship with Accord, and builders of the paper's set-ups.

Data here is made to be seen, so it comes from numpy's seeded generator and not from the entropy of a linkage.
"""
