"""The metrics by name.

``METRICS`` read tags and scores that rank (any numbers), ``PROBABILITY_METRICS`` tags and probabilities of
each tag. All are called ``metric(tags, scores, k)``; metrics of whole rankings ignore ``k``. ``METRICS`` and
their parts have ``unknown``, too: pairs (picture, tag) of which nothing is known, which they leave out.
``PICTURE_PARTS`` has the terms of each picture, for metrics that are sums over pictures: intervals and paired
tests resample them.
"""

from collections.abc import Callable
from typing import Any

from tagmix.evaluation import per_tag, probabilities, ranking, top_k
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.per_tag import macro_f1, n_plus, per_tag_f1, per_tag_precision, per_tag_recall
from tagmix.evaluation.probabilities import calibration_error, effective_tags, share_of_zeros
from tagmix.evaluation.ranking import (
    coverage,
    mean_average_precision_of_pictures,
    mean_average_precision_of_tags,
    ranking_loss,
)
from tagmix.evaluation.top_k import (
    check_k,
    default_k,
    ndcg_at_k,
    precision_at_k,
    region_top_k_accuracy,
    top_k_accuracy,
    top_k_ceiling,
    top_tags,
)

Metric = Callable[..., float]


def _whole(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric of the whole ranking with the signature of the others."""
    return lambda tags, scores, k=5, unknown=None: metric(tags, scores, unknown)


def _said(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric of probabilities with the signature of the others."""
    return lambda tags, said, k=5: metric(tags, said)


METRICS: dict[str, Metric] = {
    "top_k_accuracy": top_k_accuracy,
    "top_k_ceiling": lambda tags, scores, k=5, unknown=None: top_k_ceiling(tags, k, unknown),
    "precision_at_k": precision_at_k,
    "ndcg_at_k": ndcg_at_k,
    "per_tag_precision": per_tag.per_tag_precision,
    "per_tag_recall": per_tag.per_tag_recall,
    "per_tag_f1": per_tag.per_tag_f1,
    "macro_f1": per_tag.macro_f1,
    "n_plus": per_tag.n_plus,
    "mean_average_precision_of_tags": _whole(mean_average_precision_of_tags),
    "mean_average_precision_of_pictures": _whole(mean_average_precision_of_pictures),
    "ranking_loss": _whole(ranking_loss),
    "coverage": _whole(coverage),
}

PROBABILITY_METRICS: dict[str, Metric] = {
    "calibration_error": _said(calibration_error),
    "calibration_error_equal_width": _said(lambda tags, said: calibration_error(tags, said, equal="width")),
    "share_of_zeros": _said(lambda tags, said: share_of_zeros(said)),
    "effective_tags": _said(lambda tags, said: effective_tags(said)),
}

LOWER_IS_BETTER = frozenset(
    {"ranking_loss", "coverage", "calibration_error", "calibration_error_equal_width"}
)

PICTURE_PARTS: dict[str, Callable[..., Parts]] = {
    "top_k_accuracy": top_k.top_k_parts,
    "precision_at_k": top_k.precision_parts,
    "ndcg_at_k": top_k.ndcg_parts,
    "mean_average_precision_of_pictures": _whole(ranking.picture_precision_parts),
    "ranking_loss": _whole(ranking.loss_parts),
    "coverage": _whole(ranking.coverage_parts),
    "effective_tags": _said(lambda tags, said: probabilities.effective_parts(said)),
}

__all__ = [
    "LOWER_IS_BETTER",
    "METRICS",
    "PICTURE_PARTS",
    "PROBABILITY_METRICS",
    "Metric",
    "calibration_error",
    "check_k",
    "coverage",
    "default_k",
    "effective_tags",
    "macro_f1",
    "mean_average_precision_of_pictures",
    "mean_average_precision_of_tags",
    "n_plus",
    "ndcg_at_k",
    "per_tag_f1",
    "per_tag_precision",
    "per_tag_recall",
    "precision_at_k",
    "ranking_loss",
    "region_top_k_accuracy",
    "share_of_zeros",
    "top_k_accuracy",
    "top_k_ceiling",
    "top_tags",
]
