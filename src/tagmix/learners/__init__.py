"""Learners: scikit-learn estimators over Bags. A new one is one file and one line here."""

from typing import Any

from tagmix.learners.baselines.candidate_em import CandidateEM
from tagmix.learners.baselines.corrlda import CorrLDA
from tagmix.learners.baselines.dba import DBA
from tagmix.learners.baselines.kernel_ridge import KernelRidge
from tagmix.learners.baselines.knn import KNN
from tagmix.learners.baselines.linear_ranker import LinearRanker
from tagmix.learners.baselines.max_pooling import MaxPooling
from tagmix.learners.baselines.naive_regions import NaiveRegions
from tagmix.learners.baselines.tagprop import TagProp
from tagmix.learners.baselines.topic_ridge import TopicRidge
from tagmix.learners.baselines.two_pass_knn import TwoPassKNN
from tagmix.learners.emm import EMM

LEARNERS: dict[str, Any] = {
    "EMM": EMM,
    "DBA": DBA,
    "CorrLDA": CorrLDA,
    "KNN": KNN,
    "TagProp": TagProp,
    "TwoPassKNN": TwoPassKNN,
    "KernelRidge": KernelRidge,
    "LinearRanker": LinearRanker,
    "TopicRidge": TopicRidge,
    "NaiveRegions": NaiveRegions,
    "CandidateEM": CandidateEM,
    "MaxPooling": MaxPooling,
}

__all__ = [
    "DBA",
    "EMM",
    "KNN",
    "LEARNERS",
    "CandidateEM",
    "CorrLDA",
    "KernelRidge",
    "LinearRanker",
    "MaxPooling",
    "NaiveRegions",
    "TagProp",
    "TopicRidge",
    "TwoPassKNN",
]
