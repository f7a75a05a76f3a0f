"""What the page of a contest calls its methods, data sets and scores, and which of them stand out."""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from tagmix.experiments.studies import rich_parts
from tagmix.images.views.layout import LAYOUT
from tagmix.report.contest.data import Group, Samples


class Method(NamedTuple):
    """How a method is shown: its name, a note that says what it is, and whether the paper compares it."""

    name: str
    note: str
    paper: bool = False


# In the order of legends; others follow under their own names.
METHODS = {
    "EMM_d": Method("EMM_d", "Yang, Bian, Zha 2010, tags weighted by maximum margin", True),
    "EMM_m": Method("EMM_m", "Yang, Bian, Zha 2010, by maximum likelihood", True),
    "DBA": Method("DBA", "Yang, Zha, Hu 2009", True),
    "CorrLDA": Method("CorrLDA", "Blei, Jordan 2003", True),
    "EMM_context": Method("EMM with context", "what tagmix train uses"),
    "EMM_calibrated": Method("EMM calibrated", "EMM_m ranked by calibrated probability"),
    "KNN": Method("KNN", "nearest neighbours; Makadia, Pavlovic, Kumar 2008"),
    "TagProp": Method("TagProp", "Guillaumin, Mensink, Verbeek, Schmid 2009"),
    "TwoPassKNN": Method("2PKNN", "Verma, Jawahar 2012, without its metric learning"),
    "KernelRidge": Method("Kernel ridge", "Saunders, Gammerman, Vovk 1998"),
    "LinearRanker": Method("Linear ranker", "logistic regression for each tag"),
    "TopicRidge": Method("Topics + ridge", "topics without tags (Hoffman, Blei, Bach 2010), then ridge"),
    "NaiveRegions": Method("Naive regions", "each region has all its picture's tags; Ray, Craven 2005"),
    "CandidateEM": Method("Candidate EM", "Jin, Ghahramani 2002"),
    "MaxPooling": Method("Max pooling", "best region speaks; Ramon, De Raedt 2000, Andrews et al. 2002"),
    "frequency": Method("Tag frequency", "always the most frequent tags"),
}
CONTEXT, FREQUENCY = "EMM_context", "frequency"
# What the program itself learns: with a context, and without one.
OURS = (CONTEXT, "EMM_calibrated")
EMM = ("EMM_d", "EMM_m")
# Methods that only a comparison with the paper has.
RIVALS = frozenset({"EMM_d", "DBA", "CorrLDA"})
ALBUM = "album"  # what tagmix evaluate calls whatever it is given
DATA = {
    "corel5k": "Corel5k",
    "msrc_v2": "MSRC v2",
    "scenes": "Scenes (drawn, every pixel known)",
    "tate": "Tate catalogue",
}


def method(name: str) -> Method:
    """Return how a method is shown; one that is not known under its own name."""
    return METHODS.get(name, Method(name, ""))


def in_order(names: Iterable[str]) -> list[str]:
    """Return methods in the order of ``METHODS``, then the others by name."""
    known = list(METHODS)
    return sorted(names, key=lambda name: (known.index(name) if name in METHODS else len(known), name))


def listed(names: Iterable[str]) -> str:
    """Return methods as running text names them.

    >>> listed(["KNN", "EMM_calibrated", "frequency"])
    'KNN, EMM calibrated and Tag frequency'
    """
    *others, last = [method(name).name for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def views_told(views: Sequence[str]) -> str:
    """Return views as running text names them.

    >>> views_told(["sift", "colour", "place"])
    'SIFT, colour and place'
    """
    told = " and ".join([", ".join(views[:-1]), views[-1]] if len(views) > 1 else views)
    return told.replace("sift", "SIFT")


def title_of(group: Group) -> str:
    """Return the data set and its views, as headings name them."""
    rich, views = rich_parts(group.data), views_told(group.views)
    if group.data == ALBUM:
        return f"your pictures ({views})" if views else "your pictures"
    name = DATA.get(group.data, group.data)
    if rich is not None:
        return f"{DATA.get(rich[0], rich[0])}, richly described: {views}"
    return f"{name}, {views}{'' if LAYOUT in group.views else ' words'}" if views else name


def is_rich(group: Group) -> bool:
    """Return whether the pictures are described otherwise than the paper's: its claims are not about it."""
    return rich_parts(group.data) is not None


def champion(names: Container[str]) -> str:
    """Return the method of EMM that is told beside the best: with a context where it is, else the paper's."""
    return CONTEXT if CONTEXT in names else "EMM_d"


def ours_of(names: Container[str]) -> list[str]:
    """Return the first of ours that is among these methods; nothing if none is."""
    return [name for name in OURS if name in names][:1]


def top_k(samples: Iterable[Samples]) -> str:
    """Return the name of the score, with the number of tags that it counts where that is the same for all."""
    counted = {sample.k for own in samples for sample in own.values()}
    return f"Top-{counted.pop()} accuracy" if len(counted) == 1 else "Top-k accuracy"


def learners(group: Group) -> list[str]:
    """Return the methods of the whole that look at pictures, best first."""
    return [name for name in group.order if name != FREQUENCY]


def strong(group: Group) -> list[str]:
    """Return the methods that stand out: the paper's, or else the best and ours.

    Else is where the paper's are not there, or are not what it is about, which is then EMM with context.
    """
    if CONTEXT not in group.methods and any(name in group.methods for name in EMM):
        return [name for name in METHODS if METHODS[name].paper and name in group.methods]
    return list(dict.fromkeys([*learners(group)[:1], *ours_of(group.methods)]))


def of_paper(groups: Iterable[Group]) -> bool:
    """Return whether this is a comparison with the paper, and not somebody's own album."""
    return any(name in RIVALS for group in groups if not is_rich(group) for name in group.methods)
