"""Weights and threshold of a score, learnt on one's own side.

    learn                                        from a draft to a rule with weights
    drafts                                       the score of a draft, and what was learnt in its place
    evidence, labels                             what is learnt from; labelled pairs
    unlabelled                                   which pairs are likely matches, where nobody says
    patterns, weights, threshold                 counts of pairs → weights → where to draw the line

No record leaves the side that learns.
"""
