"""The page of a contest: methods beside each other on the same pictures."""
