"""Learners: scikit-learn estimators over Bags. A new one is one file and one line here."""

from typing import Any

from tagmix.learners.base import BagsEstimator
from tagmix.learners.context_emm import ContextEMM as ContextEMM
from tagmix.learners.emm import EMM as EMM
from tagmix.learners.pictures.kernel_ridge import KernelRidge as KernelRidge
from tagmix.learners.pictures.knn import KNN as KNN
from tagmix.learners.pictures.linear_ranker import LinearRanker as LinearRanker
from tagmix.learners.pictures.tagprop import TagProp as TagProp
from tagmix.learners.pictures.topic_ridge import TopicRidge as TopicRidge
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN as TwoPassKNN
from tagmix.learners.regions.candidate_em import CandidateEM as CandidateEM
from tagmix.learners.regions.corrlda import CorrLDA as CorrLDA
from tagmix.learners.regions.dba import DBA as DBA
from tagmix.learners.regions.max_pooling import MaxPooling as MaxPooling
from tagmix.learners.regions.naive_regions import NaiveRegions as NaiveRegions
from tagmix.learners.regions.region_scorer import RegionScorer as RegionScorer

# By name, for files, `tagmix evaluate` and the conformance tests: whatever was imported above.
LEARNERS: dict[str, Any] = {
    name: kind
    for name, kind in list(globals().items())
    if isinstance(kind, type) and issubclass(kind, BagsEstimator) and kind is not BagsEstimator
}
