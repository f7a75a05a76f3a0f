"""tagmix learns tags from loosely captioned pictures, for whole pictures and for their regions."""

from tagmix.bags import Bags
from tagmix.errors import BagsError, ModelFileError, ParameterError, TagmixError
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners import EMM, load, save
from tagmix.model.sample import Sample, planted_topics, sample_bags

__version__ = "0.1.0"

__all__ = [
    "EMM",
    "Bags",
    "BagsError",
    "ModelFileError",
    "ParameterError",
    "Sample",
    "TagmixError",
    "load",
    "planted_topics",
    "sample_bags",
    "save",
    "top_k_accuracy",
]
