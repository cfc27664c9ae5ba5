"""A table and where it lives: how a file is laid out, how its cells are read, where pairs go.

    address, layout, cell_text    where a table is; how a file is written; a cell as text
    csv_scan, sniffing            a csv byte by byte; how a file is written, found out for its owner
    opened, sources               an open table and the faults of its rows; one file a kind of table
    pairs, sinks                  pairs, from their order to their readers; one file a kind of target

Nothing here knows of fields or of an agreement.
"""
