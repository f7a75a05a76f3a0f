"""Small albums that learn on: words, embeddings, whole pictures, duplicates, unknown and rejected pairs."""

import numpy as np
from scipy.sparse import csr_array

from tagmix import Bags, ContextEMM
from tagmix.learners.continued.remember import remember
from tagmix.learners.continued.verdicts import labels_of

N_TAGS = 6
KINDS = ("words", "vocabularies", "embeddings", "several")


def album(n, kind, seed=0):
    """Return bags of n pictures, one in eight a duplicate of the one before."""
    rng, truth = np.random.default_rng(seed), np.random.default_rng(99)
    tags = (rng.random((n, N_TAGS)) < 0.3).astype(np.uint8)
    tags[np.arange(n), rng.integers(N_TAGS, size=n)] = 1
    sizes = rng.integers(2, 6, size=n)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owner = np.repeat(np.arange(n), sizes)
    shown = np.array([rng.choice(np.flatnonzero(tags[i])) for i in owner])
    shown[rng.random(len(shown)) < 0.4] = N_TAGS
    views, pictures = {}, {}
    if kind != "embeddings":
        topics = truth.dirichlet(np.full(30, 0.3), size=N_TAGS + 1)
        views["words"] = csr_array(np.array([rng.multinomial(20, topics[k]) for k in shown]))
    if kind == "vocabularies":  # one of them so wide that its rows stay sparse
        topics = truth.dirichlet(np.full(90, 0.05), size=N_TAGS + 1)
        views["wide"] = csr_array(np.array([rng.multinomial(5, topics[k]) for k in shown]))
    if kind in ("embeddings", "several"):
        for name, width in {"fine": 6, "deep": 12, "deeper": 16}.items():
            kinds = 1.2 * truth.standard_normal((N_TAGS + 1, width))
            views[name] = kinds[shown] + rng.standard_normal((len(shown), width))
        vectors = truth.standard_normal((N_TAGS, 20))
        pictures["net"] = tags @ vectors + 2 * rng.standard_normal((n, 20))
    bags = Bags(views, starts, tags, ids=[f"{seed}-{i}" for i in range(n)], pictures=pictures)
    order = np.where(np.arange(n) % 8 == 7, np.arange(n) - 1, np.arange(n))
    copied = bags[order]
    own = Bags(copied.views, copied.offsets, ids=bags.ids, pictures=copied.pictures)
    return own.with_tags(tags, [f"tag{i}" for i in range(N_TAGS)])


def relabelled(bags, codes):
    """Return the same pictures with these verdicts."""
    return Bags(
        bags.views,
        bags.offsets,
        ids=bags.ids,
        pictures=bags.pictures,
        **labels_of(codes, bags.tag_names),
    )


def with_verdicts(bags, seed=0):
    """Return the same pictures with some absent pairs rejected and some unknown."""
    rng = np.random.default_rng(seed)
    codes = bags.captions.toarray().astype(np.int8)
    codes[(codes == 0) & (rng.random(codes.shape) < 0.2)] = 2
    codes[(codes == 0) & (rng.random(codes.shape) < 0.2)] = 3
    return relabelled(bags, codes)


def learnt(bags, **parameters):
    """Return a model and its memory."""
    model = ContextEMM(tol=1e-3, **parameters)
    return remember(model, model.learn(bags))


def everything(model, bags):
    """Return all scores of the model: probabilities, shares of regions, rankings, and those with captions."""
    marginals, regions = model.predict_both(bags.with_tags(None))
    captioned = model.predict_regions(bags, captioned=True)
    return {
        "marginals": marginals,
        "regions": regions,
        "balanced": model.balanced_scores(bags),
        "captioned": captioned,
    }
