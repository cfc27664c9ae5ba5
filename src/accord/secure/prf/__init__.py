"""An oblivious pseudo-random function: what intersections are made of."""
