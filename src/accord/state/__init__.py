"""What an installation keeps on disk: accounts, noise, runs and their journals."""
