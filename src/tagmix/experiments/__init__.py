"""Experiments: the paper's, and the same on anybody's album."""
