"""Before a linkage, on one's own side: what one's table looks like, a draft for it, how it fits, and a check.

    own_table      a table read under an agreement: how it is written, and all its faults
    facts, check   what an agreement says and who learns what; `check`
    proposal       what columns look like, and what their owner confirms: `propose`
    fit            where the agreed fields are found in the table
    draft          from what was confirmed to an agreement: `draft`, which is given no table

The command line asks and tells; whatever it knows, it knows from here.
"""
