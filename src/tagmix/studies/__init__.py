"""Studies: the paper's experiments, what goes beyond them, and their pages."""
