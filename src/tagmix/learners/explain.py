"""Explanations of a predicted tag: regions, words, and the context."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.model.instance import Multinomial
from tagmix.model.params import Instances, Settings


class Explanation(NamedTuple):
    """Why a picture has a tag: a probability per region, and the words per view that support it.

    ``words[view]`` lists word indices, the largest gain first; ``gains[view]`` is the gain of each in nats,
    relative to the mean over all tags. ``context`` is the contribution of the whole picture in nats: 0 for
    ``EMM``, which has no context.
    """

    picture: str
    tag: str
    regions: Floats
    words: dict[str, Ints]
    gains: dict[str, Floats]
    context: float = 0.0


class Explainer:
    """Compute the gain of each word for one tag: κ (E[log β_tag,d] − mean over tags of E[log β_cd]).

    The mean is over all tags, not over φ of the region: relative to φ, no word would have a gain where the
    model is certain.
    """

    def __init__(self, model: Instances, settings: Settings, tag: int, name: str) -> None:
        self.tag, self.name = tag, name
        self.gain_per_word = {
            view: settings.evidence[view] * (own.E_log_beta[tag] - own.E_log_beta.mean(axis=0))
            for view, own in model.instances.items()
            if isinstance(own, Multinomial)
        }

    def explain_shard(
        self, shard: Bags, phi: Floats, log_shares: Floats | None, n_words: int
    ) -> list[Explanation]:
        """Return one explanation per picture, from the φ of its regions and its log prior shares."""
        bounds = pairwise(shard.offsets)
        return [
            self._explain(shard[n], phi[start:stop], None if log_shares is None else log_shares[n], n_words)
            for n, (start, stop) in enumerate(bounds)
        ]

    def _explain(self, picture: Bags, phi: Floats, log_shares: Floats | None, n_words: int) -> Explanation:
        own = phi[:, self.tag]
        words, gains = {}, {}
        for view, gain in self.gain_per_word.items():
            counts: Any = picture.views[view]
            total = (counts.T @ own) * gain
            best = np.argsort(-total, kind="stable")[:n_words]
            best = best[total[best] > 0]
            words[view], gains[view] = best, total[best]
        context = 0.0 if log_shares is None else float(log_shares[self.tag] - log_shares.mean())
        return Explanation(picture.ids[0], self.name, own.copy(), words, gains, context)
