"""The partner: who it is, how it is reached, what is said first, and the channel over TLS."""
