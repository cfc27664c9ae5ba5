"""One linkage from offer to receipt: what it is given, `link`, `resume`, progress, output."""
