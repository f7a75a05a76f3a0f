"""Learners: scikit-learn estimators over Bags. A new one is one file and one line here."""

from tagmix.learners.emm import EMM

LEARNERS = {"EMM": EMM}

__all__ = ["EMM", "LEARNERS"]
