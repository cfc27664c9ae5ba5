"""What an accountable run adds: a committed seed, pledges, and a signed transcript of every connection.

    seed          what all that a side draws follows from
    transcript    two chains of hashes a connection, signed on the way
    pledge        what both are committed to before the first byte that depends on data
    stored        what is kept on disk for a replay
    signing       what stands around a run and its connections; a null object where it is not accountable

It stands upon `peer` and `state`; workers, runs and replays stand upon it.
"""
