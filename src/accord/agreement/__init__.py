"""The agreement: the document, its file, its differences, and what it lets the partner learn.

    document, learnt                             what is agreed; whose data a rule was learnt from
    limits, file, file_shape, file_meaning       from text to a document, or to all its faults
    disclosure, differences                      in words: what a partner learns; how two documents differ
    adjusting, by_pass, cheaper                  other settings, and what passes and thresholds cost

It reads no file but the agreement's.
"""
