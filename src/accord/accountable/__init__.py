"""What an accountable run adds: a committed seed, pledges, and a signed transcript of every connection."""
