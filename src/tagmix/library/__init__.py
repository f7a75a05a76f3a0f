"""A library of photos: scan it into the catalogue, tag it, undo runs, export it."""
