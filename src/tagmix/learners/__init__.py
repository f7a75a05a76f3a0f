"""Learners: scikit-learn estimators over Bags. A new one is one file and one line here."""

from typing import Any

from tagmix.learners.regions.candidate_em import CandidateEM
from tagmix.learners.regions.corrlda import CorrLDA
from tagmix.learners.regions.dba import DBA
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.pictures.linear_ranker import LinearRanker
from tagmix.learners.regions.max_pooling import MaxPooling
from tagmix.learners.regions.naive_regions import NaiveRegions
from tagmix.learners.pictures.tagprop import TagProp
from tagmix.learners.pictures.topic_ridge import TopicRidge
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN
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
