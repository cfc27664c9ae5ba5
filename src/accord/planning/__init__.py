"""What a run will cost, before it is run; how to choose. Pure.

    plan, choose                      all options with their bills, and the one policy of choosing
    variants                          what else could be agreed on
    spread, costs, machine            sizes of bins → comparisons → time on a machine
    saved, recall                     what cleaning saves; what an option finds
    figures                           what a plan says, as data

All of it follows from public numbers, or from one's own table.
"""
