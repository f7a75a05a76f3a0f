"""What is promised about speed, each beside its peer in the same run: ``make bench``."""
