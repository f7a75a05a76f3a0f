"""Context: what the whole picture says about its tags, as the prior that its regions start from."""
