"""Learning from verdicts: a fitted ContextEMM, its verdicts and its pictures, changed without a new fit."""
