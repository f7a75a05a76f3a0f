"""The catalogue: photos, tags and verdicts in one SQLite file per library of photos."""
