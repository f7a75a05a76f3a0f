"""The page of a comparison: methods tested on the same pictures."""
