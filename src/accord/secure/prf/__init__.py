"""An oblivious pseudo-random function, and the group that it needs: what intersections are made of."""
