"""How fast comparisons are on this machine, and what is compared to find out."""
