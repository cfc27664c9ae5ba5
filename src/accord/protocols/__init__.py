"""The linkage protocols and their schedule, as parties that two processes, or one, can run."""
