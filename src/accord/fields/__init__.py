"""Cells to arrays: the agreed fields, how their values are cleaned and made, and encoders.

    schema, recipe                    an agreed field, and how its value is made from cells
    folding, cleaning, census         texts as they are compared, cleaned and derived; public names
    making, encoders                  cells → values → codes and bits (siphash, letters)
    columns, gathering, load          a table in memory, the batches that become it, and all faults on the way
    row_ids                           ids that are made for the rows of a file, and found again
    vectors                           whether two installations make the same of texts
    date_formats, showing             what an owner asks of the own table; no linkage comes here

A table comes in by `load`. Nothing here knows of rules.
"""
