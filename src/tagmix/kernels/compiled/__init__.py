"""The kernels compiled by numba: the same names and, up to rounding, the same results as ``reference``."""

from tagmix.kernels.compiled.dirichlet import dirichlet_terms
from tagmix.kernels.compiled.variational import explain_given, infer_pictures, theta_sums
from tagmix.kernels.compiled.words import (
    add_evidence_of_all,
    add_evidence_of_own,
    add_statistics_of_all,
    add_statistics_of_own,
    for_all_tags,
)

__all__ = [
    "add_evidence_of_all",
    "add_evidence_of_own",
    "add_statistics_of_all",
    "add_statistics_of_own",
    "dirichlet_terms",
    "explain_given",
    "for_all_tags",
    "infer_pictures",
    "theta_sums",
]
