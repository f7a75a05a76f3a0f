# The public names, and the only list of them: type checkers read this file, and so does lazy.py at run time.
# A new public name is one line here; `tests/test_reference.py` then requires it in docs/reference/api.rst.

from tagmix.annotate import Annotator as Annotator
from tagmix.annotate import train as train
from tagmix.bags import Bags as Bags
from tagmix.datasets import Album as Album
from tagmix.datasets import open_album as open_album
from tagmix.errors import AlbumError as AlbumError
from tagmix.errors import BagsError as BagsError
from tagmix.errors import CatalogueError as CatalogueError
from tagmix.errors import ImageError as ImageError
from tagmix.errors import MetadataError as MetadataError
from tagmix.errors import ModelFileError as ModelFileError
from tagmix.errors import NetworkError as NetworkError
from tagmix.errors import ParameterError as ParameterError
from tagmix.errors import TagmixError as TagmixError
from tagmix.evaluation.metrics import top_k_accuracy as top_k_accuracy
from tagmix.files import load as load
from tagmix.files import model_id as model_id
from tagmix.files import save as save
from tagmix.images.describe import Describer as Describer
from tagmix.images.sources import PictureBytes as PictureBytes
from tagmix.images.sources import Problem as Problem
from tagmix.learners import DBA as DBA
from tagmix.learners import EMM as EMM
from tagmix.learners import KNN as KNN
from tagmix.learners import CandidateEM as CandidateEM
from tagmix.learners import ContextEMM as ContextEMM
from tagmix.learners import CorrLDA as CorrLDA
from tagmix.learners import KernelRidge as KernelRidge
from tagmix.learners import LinearRanker as LinearRanker
from tagmix.learners import MaxPooling as MaxPooling
from tagmix.learners import NaiveRegions as NaiveRegions
from tagmix.learners import RegionScorer as RegionScorer
from tagmix.learners import TagProp as TagProp
from tagmix.learners import TopicRidge as TopicRidge
from tagmix.learners import TwoPassKNN as TwoPassKNN
from tagmix.model.sample import Sample as Sample
from tagmix.model.sample import planted_topics as planted_topics
from tagmix.model.sample import sample_bags as sample_bags

__version__: str
__all__: list[str]
