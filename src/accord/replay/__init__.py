"""Whether a side of an accountable run followed the protocol: its messages made again, and a verdict.

    evidence                what a side signed, as its partner holds it
    stand_ins               partner, journal and workers while a side is replayed
    verdict                 what follows from what was signed and what was made again
    series, followed        what a run followed from besides its seed
    pledged, signed         one side as it was pledged, and what it is held to
    one_side, both_sides    a side from its record; or both against each other

Each knows of those above it alone.
"""
