"""The only package that talks to the partner or keeps anything after the program ends."""
