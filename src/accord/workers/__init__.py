"""Who compares, besides this process: processes on this machine, or actors on the owner's Ray cluster."""
