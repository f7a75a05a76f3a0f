"""The kernels in NumPy, written for readability: they are the definition of the compiled ones."""

from tagmix.kernels.reference.dirichlet import dirichlet_terms
from tagmix.kernels.reference.variational import explain_given, infer_pictures, theta_sums
from tagmix.kernels.reference.words import (
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
