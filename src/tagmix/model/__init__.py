"""The paper as pure functions on arrays: E-step, M-step, bound, margins, prediction, sampling."""
