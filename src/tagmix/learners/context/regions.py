"""The region model of ``ContextEMM``: how it is trained, with the linear scorers that enter its evidence."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Ints, is_sparse
from tagmix.bags import Bags
from tagmix.evaluation.folds import Fold
from tagmix.learners.em import shard_size
from tagmix.learners.monitor import Monitor
from tagmix.learners.regions.max_pooling import MaxPooling
from tagmix.model.given import RegionModel, captioned_shard, em_step
from tagmix.model.instance import InstanceModel
from tagmix.model.linear import Linear
from tagmix.model.mstep import start_instances
from tagmix.model.params import LINEAR, Settings, view_of

# The Dirichlet prior of words, where learning starts.
ETA = 0.1
# The ridge of the linear scorer. On MSRC regions .3, 1 and 3 differ by less than .002.
RIDGE = 1.0
# The scorer stops earlier than ``MaxPooling`` alone: what is left changes no name, and costs most.
TOLERANCE, STEPS = 1e-2, 8


# Wider embeddings are no candidates: a Gaussian's principal directions cost the cube of the width. On 300
# drawn scenes the 1,280 numbers of a network's last map doubled the time of training and changed nothing.
WIDEST = 512


class Scorer(MaxPooling):
    """Max-pooling without the middle sharpness, a third cheaper, and as good inside the evidence."""

    sharpnesses = (1.0, np.inf)


def instance_names(bags: Bags) -> list[str]:
    """Return the instance models to choose from: one for each view, and a linear scorer for embeddings.

    Embeddings of more than ``WIDEST`` numbers are left out, unless there is no other view.
    """
    narrow = {n: v for n, v in bags.views.items() if is_sparse(v) or v.shape[1] <= WIDEST}
    names = []
    for view, matrix in (narrow or bags.views).items():
        names += [view] if is_sparse(matrix) else [view, view + LINEAR]
    return names


def train_scorer(bags: Bags, name: str, settings: Settings) -> Linear:
    """Return the linear scorer of a view, trained through the best region of each picture."""
    view = view_of(name)
    alone = Bags({view: bags.views[view]}, bags.offsets, tags=bags.captions, tag_names=bags.tag_names)
    learnt = Scorer(ridge=RIDGE, tol=TOLERANCE, max_iter=STEPS).fit(alone)
    centre, scale = learnt.scaling_[view]
    return Linear(centre, scale, learnt.weights_.T.copy(), settings.kernels, settings.n_threads)


def train_scorers(bags: Bags, settings: Settings) -> dict[str, InstanceModel]:
    """Return the linear scorers that the settings name."""
    return {name: train_scorer(bags, name, settings) for name in settings.evidence if name.endswith(LINEAR)}


class RegionTrainer(NamedTuple):
    """How region models are trained: settings, when to stop, and bytes for a shard's arrays."""

    settings: Settings
    max_iter: int
    tol: float
    memory: float

    def fit(
        self, bags: Bags, scorers: Mapping[str, InstanceModel] | None = None, monitor: Monitor | None = None
    ) -> RegionModel:
        """Return the model of captioned pictures; ``scorers`` may be trained already."""
        known = train_scorers(bags, self.settings) if scorers is None else scorers
        model = RegionModel(start_instances(bags, self.settings, ETA, known), bags.n_tags)
        shards = [captioned_shard(bags[where], model) for where in bags.shards(self._shard_size(bags, True))]
        watch = Monitor(self.tol, self.max_iter) if monitor is None else monitor
        for _ in range(self.max_iter):
            model, bound = em_step(model, shards, self.settings)
            if watch.stop_after(bound):
                break
        return model

    def shards(self, bags: Bags) -> Iterator[slice]:
        """Yield shards of pictures whose regions × all tags fit into memory."""
        return bags.shards(self._shard_size(bags, False))

    def _shard_size(self, bags: Bags, own_tags: bool) -> int:
        return shard_size(bags, own_tags, self.memory)


class TrainedFold(NamedTuple):
    """A region model and the pictures it has not seen."""

    model: RegionModel
    test: Ints


def train_folds(bags: Bags, trainer: RegionTrainer, folds: list[Fold]) -> list[TrainedFold]:
    """Return one region model per fold, trained on the other folds."""
    return [TrainedFold(trainer.fit(bags[train]), np.sort(test)) for train, test in folds]
