"""Compare learners: data sets in parts, methods, tasks, and one stored record per task."""
