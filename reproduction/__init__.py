"""The paper's evaluation, rebuilt: not a part of the package, and no more than a user of it."""
