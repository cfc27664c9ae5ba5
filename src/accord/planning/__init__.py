"""What a run will cost, before it is run; how to choose."""
