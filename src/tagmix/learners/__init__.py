"""Learners: scikit-learn estimators over Bags. A new one is one file and one line here."""

from typing import Any

from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.emm import EMM
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.pictures.linear_ranker import LinearRanker
from tagmix.learners.pictures.tagprop import TagProp
from tagmix.learners.pictures.topic_ridge import TopicRidge
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN
from tagmix.learners.regions.candidate_em import CandidateEM
from tagmix.learners.regions.corrlda import CorrLDA
from tagmix.learners.regions.dba import DBA
from tagmix.learners.regions.max_pooling import MaxPooling
from tagmix.learners.regions.naive_regions import NaiveRegions

LEARNERS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ContextEMM,
        EMM,
        DBA,
        CorrLDA,
        KNN,
        TagProp,
        TwoPassKNN,
        KernelRidge,
        LinearRanker,
        TopicRidge,
        NaiveRegions,
        CandidateEM,
        MaxPooling,
    )
}

__all__ = ["LEARNERS", *LEARNERS]  # noqa: PLE0604 (names of the registry)
