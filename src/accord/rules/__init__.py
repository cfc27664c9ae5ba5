"""What a match is, and which pairs may be one.

    rule, words, text      a rule as data, in Python, as people write it
    check, thresholds      whether it makes sense for the fields; its fractions as whole numbers of steps
    implied                what follows from a rule by itself
    evaluate, join         a rule in the clear (loops: distances), and all its matches
    lowering               a rule as a circuit
    blocking               which pairs are compared at all
    assignment             of the pairs found the best in which no record stands twice

Of `secure` it knows what a circuit is, and no more.
"""
