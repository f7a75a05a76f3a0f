"""Say why: which regions of an image spoke for a tag, which of their words, and the context."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.model.instance import Multinomial
from tagmix.model.params import Params, Settings


class Explanation(NamedTuple):
    """Why an image has a tag: a probability a region, and the words that spoke for it by view.

    ``words[view]`` lists word numbers, the loudest first; ``gains[view]`` how many nats each adds
    for the tag, against what it says for tags on average. ``context`` is how many nats the image as a
    whole adds before any region is looked at: by its context or its own rates, 0 where it has neither.
    """

    image: str
    tag: str
    regions: Floats
    words: dict[str, Ints]
    gains: dict[str, Floats]
    context: float = 0.0


class Explainer:
    """Tell for one tag which words speak for it: κ (E[log β_tag,d] − Σ_c π_c E[log β_cd]).

    The average is over all tags as the prior shares them, π ∝ 1/λ: against the tags of the region
    itself a word would say nothing where the model is certain.
    """

    def __init__(self, params: Params, settings: Settings, tag: int, name: str) -> None:
        self.tag, self.name = tag, name
        self.shares = shares = 1 / params.rates / (1 / params.rates).sum()
        self.speaks = {
            view: settings.evidence[view] * (model.E_log_beta[tag] - shares @ model.E_log_beta)
            for view, model in params.instances.items()
            if isinstance(model, Multinomial)
        }

    def explain_all(
        self, bags: Bags, regions: Iterable[tuple[slice, Floats, Floats | None]], n_words: int
    ) -> list[Explanation]:
        """Return an explanation for each image, from shards of images, the φ of their regions, and rates."""
        answers = []
        for where, phi, rates in regions:
            shard = bags[where]
            for n in range(len(shard)):
                part = phi[shard.offsets[n] : shard.offsets[n + 1]]
                answers.append(self.explain(shard[n], part, n_words, None if rates is None else rates[n]))
        return answers

    def explain(self, image: Bags, phi: Floats, n_words: int, rates: Floats | None = None) -> Explanation:
        """Return which regions hold the tag (φ) and which of their words weigh for it, and what λ adds."""
        own = phi[:, self.tag]
        words, gains = {}, {}
        for view, speaks in self.speaks.items():
            counts: Any = image.views[view]
            total = (counts.T @ own) * speaks
            best = np.argsort(-total, kind="stable")[:n_words]
            best = best[total[best] > 0]
            words[view], gains[view] = best, total[best]
        context = 0.0 if rates is None else float(self.shares @ np.log(rates) - np.log(rates[self.tag]))
        return Explanation(image.ids[0], self.name, own.copy(), words, gains, context)
