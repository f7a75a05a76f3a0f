"""How a page names methods and scores, and which methods it emphasises."""

from collections.abc import Container, Iterable
from typing import NamedTuple

from tagmix.learners import LEARNERS
from tagmix.report.comparison.samples import Group, Samples


class MethodLabel(NamedTuple):
    """How a method is shown: its name, a note, and whether the paper compares it."""

    name: str
    note: str
    paper: bool = False


# In the order of legends; other methods follow under their own names.
LABELS = {
    "EMM_d": MethodLabel("EMM_d", "Yang, Bian, Zha 2010, tags weighted by maximum margin", True),
    "EMM_m": MethodLabel("EMM_m", "Yang, Bian, Zha 2010, by maximum likelihood", True),
    "DBA": MethodLabel("DBA", "Yang, Zha, Hu 2009", True),
    "CorrLDA": MethodLabel("CorrLDA", "Blei, Jordan 2003", True),
    "ContextEMM": MethodLabel("EMM with context", "used by tagmix train"),
    "ContextEMM_balanced": MethodLabel("EMM balanced", "EMM with context, ranked with weights for rare tags"),
    "ContextEMM_expected": MethodLabel(
        "EMM expected tags", "EMM with context, and an expert that reads the tags which others expect"
    ),
    "EMM_calibrated": MethodLabel("EMM calibrated", "EMM_m ranked by calibrated probability"),
    "KNN": MethodLabel("KNN", "nearest neighbours; Makadia, Pavlovic, Kumar 2008"),
    "TagProp": MethodLabel("TagProp", "Guillaumin, Mensink, Verbeek, Schmid 2009"),
    "TwoPassKNN": MethodLabel("2PKNN", "Verma, Jawahar 2012, without its metric learning"),
    "KernelRidge": MethodLabel("Kernel ridge", "Saunders, Gammerman, Vovk 1998"),
    "LinearRanker": MethodLabel("Linear ranker", "one logistic regression per tag"),
    "TopicRidge": MethodLabel("Topics + ridge", "topics without tags (Hoffman, Blei, Bach 2010), then ridge"),
    "NaiveRegions": MethodLabel("Naive regions", "each region has all its picture's tags; Ray, Craven 2005"),
    "CandidateEM": MethodLabel("Candidate EM", "Jin, Ghahramani 2002"),
    "MaxPooling": MethodLabel(
        "Max pooling", "score of the best region; Ramon, De Raedt 2000, Andrews et al. 2002"
    ),
    "frequency": MethodLabel("Tag frequency", "always the most frequent tags"),
    "KernelRidge_calibrated": MethodLabel("Kernel ridge, calibrated", "as EMM with context is calibrated"),
    "KernelRidge_balanced": MethodLabel("Kernel ridge, balanced", "ranked with weights for rare tags"),
    "Stack": MethodLabel("Stack of rivals", "one logistic over all rivals on whole pictures"),
    "ScorerZero": MethodLabel("Scorer's zero", "the scorer of ContextEMM alone, none where it is below 0"),
    "MaxPoolingZero": MethodLabel("Max pooling's zero", "max pooling, none where its best score is below 0"),
    "CAM": MethodLabel("CAM", "a linear model of pictures applied to regions; Zhou et al. 2016"),
    "AlwaysNone": MethodLabel("Always none", "no region has a tag; pictures by tag frequency"),
}
CONTEXT, FREQUENCY = "ContextEMM", "frequency"
# Those that rank by calibrated probability, the model of tagmix train first.
OURS = (CONTEXT, "EMM_calibrated")
EMM = ("EMM_d", "EMM_m")


def label(name: str) -> MethodLabel:
    """Return how a method is shown; one without a label under its own name, with its summary as the note."""
    if name in LABELS:
        return LABELS[name]
    summary = (LEARNERS[name].__doc__ or "").partition("\n")[0] if name in LEARNERS else ""
    return MethodLabel(name, summary.rstrip("."))


def in_order(names: Iterable[str]) -> list[str]:
    """Return methods in the order of ``LABELS``, then the others by name."""
    known = list(LABELS)
    return sorted(names, key=lambda name: (known.index(name) if name in LABELS else len(known), name))


def listed(names: Iterable[str]) -> str:
    """Return methods as running text names them.

    >>> listed(["KNN", "EMM_calibrated", "frequency"])
    'KNN, EMM calibrated and Tag frequency'
    """
    *others, last = [label(name).name for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def champion(names: Container[str]) -> str:
    """Return the form of EMM to compare with the best: with context if there, else the paper's EMM_d."""
    return CONTEXT if CONTEXT in names else "EMM_d"


def ours_of(names: Container[str]) -> list[str]:
    """Return the first of ours among these methods, as a list; empty if there is none."""
    return [name for name in OURS if name in names][:1]


def top_k(samples: Iterable[Samples]) -> str:
    """Return the name of the score, with its k if that is the same for all samples."""
    counted = {sample.k for own in samples for sample in own.values()}
    return f"Top-{counted.pop()} accuracy" if len(counted) == 1 else "Top-k accuracy"


def learners(group: Group) -> list[str]:
    """Return the methods of the whole but tag frequency, best first."""
    return [name for name in group.order if name != FREQUENCY]


def strong(group: Group) -> list[str]:
    """Return the methods to emphasise: the paper's, or the best and ours if EMM with context takes part."""
    if CONTEXT not in group.methods and any(name in group.methods for name in EMM):
        return [name for name in LABELS if LABELS[name].paper and name in group.methods]
    return list(dict.fromkeys([*learners(group)[:1], *ours_of(group.methods)]))
