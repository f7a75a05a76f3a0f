"""tagmix learns tags from loosely captioned pictures, for whole pictures and for their regions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagmix.annotate import Annotator
    from tagmix.bags import Bags
    from tagmix.datasets import Album, open_album
    from tagmix.errors import (
        AlbumError,
        BagsError,
        ImageError,
        ModelFileError,
        NetworkError,
        ParameterError,
        TagmixError,
    )
    from tagmix.evaluation.metrics import top_k_accuracy
    from tagmix.files import load, save
    from tagmix.images.describe import Describer
    from tagmix.images.sources import PictureBytes, Problem
    from tagmix.learners import (
        DBA,
        EMM,
        KNN,
        CandidateEM,
        CorrLDA,
        KernelRidge,
        LinearRanker,
        MaxPooling,
        NaiveRegions,
        TagProp,
        TopicRidge,
        TwoPassKNN,
    )
    from tagmix.model.sample import Sample, planted_topics, sample_bags

__version__ = "0.1.0"

# Loaded when first asked for: `tagmix --help` must not wait for numba, scikit-learn and OpenCV.
_HOMES = {
    "EMM": "learners",
    "ContextEMM": "learners",
    "CandidateEM": "learners",
    "CorrLDA": "learners",
    "DBA": "learners",
    "KNN": "learners",
    "KernelRidge": "learners",
    "LinearRanker": "learners",
    "MaxPooling": "learners",
    "NaiveRegions": "learners",
    "TagProp": "learners",
    "TopicRidge": "learners",
    "TwoPassKNN": "learners",
    "Album": "datasets",
    "AlbumError": "errors",
    "Annotator": "annotate",
    "Bags": "bags",
    "BagsError": "errors",
    "Describer": "images.describe",
    "ImageError": "errors",
    "ModelFileError": "errors",
    "NetworkError": "errors",
    "ParameterError": "errors",
    "PictureBytes": "images.sources",
    "Problem": "images.sources",
    "Sample": "model.sample",
    "TagmixError": "errors",
    "load": "files",
    "open_album": "datasets",
    "planted_topics": "model.sample",
    "sample_bags": "model.sample",
    "save": "files",
    "top_k_accuracy": "evaluation.metrics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tagmix' has no attribute {name!r}")
    return getattr(import_module(f"tagmix.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "DBA",
    "EMM",
    "KNN",
    "Album",
    "AlbumError",
    "Annotator",
    "Bags",
    "BagsError",
    "CandidateEM",
    "CorrLDA",
    "Describer",
    "ImageError",
    "KernelRidge",
    "LinearRanker",
    "MaxPooling",
    "ModelFileError",
    "NaiveRegions",
    "NetworkError",
    "ParameterError",
    "PictureBytes",
    "Problem",
    "Sample",
    "TagProp",
    "TagmixError",
    "TopicRidge",
    "TwoPassKNN",
    "load",
    "open_album",
    "planted_topics",
    "sample_bags",
    "save",
    "top_k_accuracy",
]
