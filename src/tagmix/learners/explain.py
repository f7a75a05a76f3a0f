"""Say why: which regions of an image spoke for a tag, and which of their words."""

from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.model.instance import Words
from tagmix.model.params import Params, Settings


class Explanation(NamedTuple):
    """Why an image has a tag: a probability a region, and the words that spoke for it by view.

    ``words[view]`` lists word numbers, the loudest first; ``gains[view]`` how many nats each adds
    for the tag against the other tags, given how probable those are in the image.
    """

    image: str
    tag: str
    regions: Floats
    words: dict[str, Ints]
    gains: dict[str, Floats]


def explain_image(
    image: Bags, phi: Floats, tag: int, name: str, params: Params, settings: Settings, n_words: int
) -> Explanation:
    """Return which regions hold ``tag`` (φ) and which of their words weigh for it against the others.

    A word's gain in region m is κ φ_m,tag x_d (E[log β_tag,d] − Σ_c φ_mc E[log β_cd]): what its
    evidence for the tag exceeds the evidence that the region's tags have on average.
    """
    words, gains = {}, {}
    for view, model in params.instances.items():
        if isinstance(model, Words):
            total = settings.evidence[view] * _gains(model, image.views[view], phi, tag)
            best = np.argsort(-total, kind="stable")[:n_words]
            best = best[total[best] > 0]
            words[view], gains[view] = best, total[best]
    return Explanation(image.ids[0], name, phi[:, tag].copy(), words, gains)


def _gains(model: Words, view: Any, phi: Floats, tag: int) -> Floats:
    counts = view.multiply(phi[:, [tag]]).tocsr()
    own = np.asarray(counts.sum(axis=0)).ravel() * model.E_log_beta[tag]
    used = phi.max(axis=0) > 1e-12
    others = np.asarray(phi[:, used].T @ counts).reshape(int(used.sum()), -1)
    return own - (others * model.E_log_beta[used]).sum(axis=0)
