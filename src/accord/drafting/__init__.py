"""From one's own table to a draft of an agreement: what columns are, and what suits such a mix.

    kinds, sampling, guessing, confirming    what a column may be, looks like, and is confirmed to be
    answers                                  all that a draft is made of: no table is among it
    made_up                                  records of nobody with the columns of a draft
    fields, rules, passes, draft             from answers to fields, a rule, a blocking, an agreement

What drafts is not given a table: a contract holds that.
"""
