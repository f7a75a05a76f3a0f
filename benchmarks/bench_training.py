"""Training and annotation, beside Labeled LDA (tomotopy) and LDA (gensim), on the same words."""

import tempfile
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import tagmix as tm
from benchmarks.albums import corel_like
from benchmarks.measure import isolated, timed

N_TRAIN, N_TEST, SWEEPS = 4500, 500, 100


def _halves(path: str) -> tuple[tm.Bags, tm.Bags]:
    bags = tm.load(path)
    return bags[:N_TRAIN], bags[N_TRAIN:]


def _learner(n_jobs: int) -> tm.EMM:
    return tm.EMM(learning="likelihood", calibration_folds=0, n_jobs=n_jobs)


def _warm(bags: tm.Bags) -> None:
    """Compile the kernels (or load them from the cache): a cost per machine, not per training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tm.EMM(learning="likelihood", calibration_folds=0, max_iter=2).fit(bags[:20]).predict_proba(bags[:3])


def tagmix_training(path: str, n_jobs: int) -> dict[str, Any]:
    """Train to convergence under hard supervision; return times, iterations and top-5 accuracy."""
    train, test = _halves(path)
    _warm(train)
    emm = _learner(n_jobs)
    result: dict[str, Any] = timed(lambda: emm.fit(train), repeat=3)
    assert emm.converged_
    top5 = emm.score(test)
    return result | {"iterations": emm.n_iter_, "top5": top5}


def tagmix_annotation(path: str, n_jobs: int, inference: str) -> dict[str, Any]:
    """Annotate uncaptioned pictures; return the total times."""
    train, test = _halves(path)
    emm = _learner(n_jobs).fit(train).set_params(inference=inference)
    emm.predict_proba(test[:2])
    scores = emm.predict_proba(test)
    result: dict[str, Any] = timed(lambda: emm.predict_proba(test), repeat=5)
    return result | {
        "images": len(test),
        "top5": tm.top_k_accuracy(test.tags, scores),
    }


def tagmix_threads(path: str) -> dict[str, Any]:
    """Time one and two threads alternately, under the same load; the best of several counts."""
    train, test = _halves(path)
    _warm(train)
    walls: dict[str, dict[int, float]] = {"training": {}, "annotation": {}}
    bits: dict[str, set[bytes]] = {"training": set(), "annotation": set()}
    for _ in range(5):
        for n in (1, 2):
            emm = _learner(n)
            spent = timed(lambda emm=emm: emm.fit(train))["wall"]
            walls["training"][n] = min(spent, walls["training"].get(n, spent))
            bits["training"].add(emm.params_.instances["words"].mu.tobytes())
            bits["annotation"].add(emm.predict_proba(test).tobytes())
            spent = timed(lambda emm=emm: emm.predict_proba(test), repeat=5)["wall"]
            walls["annotation"][n] = min(spent, walls["annotation"].get(n, spent))
    assert all(len(found) == 1 for found in bits.values()), "the number of threads changed the bits"
    return {name: [both[1], both[2]] for name, both in walls.items()}


def _documents(bags: tm.Bags) -> list[list[str]]:
    words = bags.views["words"]
    starts = words.indptr[bags.offsets]
    names = np.arange(words.shape[1]).astype(str)
    return [np.repeat(names[words.indices[a:b]], words.data[a:b]).tolist() for a, b in pairwise(starts)]


def tomotopy_labeled_lda(path: str) -> dict[str, Any]:
    """Train 100 sweeps with two workers, then infer a sample of pictures with tomotopy's default of 100."""
    import tomotopy

    warnings.simplefilter("ignore")  # it warns that two workers are not reproducible
    train, test = _halves(path)
    model = tomotopy.LLDAModel(seed=1)
    captions = train.captions
    for n, document in enumerate(_documents(train)):
        own = captions.indices[captions.indptr[n] : captions.indptr[n + 1]]
        model.add_doc(document, labels=[str(tag) for tag in own])
    model.train(0)
    training = timed(lambda: model.train(SWEEPS, workers=2))
    asked = [model.make_doc(document) for document in _documents(test[:50])]
    inference = timed(lambda: model.infer(asked, iterations=100, workers=2))
    return {"training": training, "inference": inference, "images": len(asked)}


def gensim_lda(path: str) -> dict[str, Any]:
    """Train gensim's LDA with as many topics as tags for one pass, its default settings."""
    from gensim.models import LdaModel

    train, _ = _halves(path)
    words = train.views["words"]
    starts = words.indptr[train.offsets]
    corpus = []
    for a, b in pairwise(starts):
        found, where = np.unique(words.indices[a:b], return_inverse=True)
        corpus.append(list(zip(found.tolist(), np.bincount(where, words.data[a:b]).tolist(), strict=True)))
    id2word = {i: str(i) for i in range(words.shape[1])}
    return timed(lambda: LdaModel(corpus, num_topics=train.n_tags, id2word=id2word, passes=1, random_state=0))


def run() -> list[dict[str, Any]]:
    """Return the numbers and promises of training and annotation."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "album.tagmix")
        tm.save(corel_like(N_TRAIN + N_TEST), path)
        one = isolated("bench_training", "tagmix_training", path, 1)
        ask = {
            how: isolated("bench_training", "tagmix_annotation", path, 1, how)
            for how in ("variational", "map")
        }
        threads = isolated("bench_training", "tagmix_threads", path)
        tomotopy = isolated("bench_training", "tomotopy_labeled_lda", path)
        gensim = isolated("bench_training", "gensim_lda", path)
    per_image = tomotopy["inference"]["cpu"] / tomotopy["images"]
    rows = [
        {
            "what": f"training ({one['iterations']} iterations, converged) against LLDA, {SWEEPS} sweeps",
            "ours": f"{one['cpu']:.2f} s CPU, {one['peak_mb']:.0f} MB",
            "peer": f"tomotopy {tomotopy['training']['cpu']:.0f} s CPU, {tomotopy['peak_mb']:.0f} MB",
            "ratio": tomotopy["training"]["cpu"] / one["cpu"],
            "promise": 50.0,
        },
        {
            "what": "training to convergence against one pass of LDA",
            "ours": f"{one['cpu']:.2f} s CPU",
            "peer": f"gensim {gensim['cpu']:.1f} s CPU, {gensim['peak_mb']:.0f} MB",
            "ratio": gensim["cpu"] / one["cpu"],
            "promise": 1.0,
        },
    ]
    for how in ("variational", "map"):
        ours = ask[how]
        rows.append(
            {
                "what": f"annotation of uncaptioned bags, {how}, images a CPU second",
                "ours": f"{ours['images'] / ours['cpu']:,.0f}, {ours['peak_mb']:.0f} MB",
                "peer": f"tomotopy infer {1 / per_image:,.1f}",
                "ratio": per_image * ours["images"] / ours["cpu"],
            }
            | ({"promise": 300.0} if how == "variational" else {})
        )
    for name in ("training", "annotation"):
        single, double = threads[name]
        rows.append(
            {
                "what": f"{name}: two threads against one, same bits",
                "ours": f"{double:.3f} s",
                "peer": f"{single:.3f} s",
                "ratio": single / double,
                "promise": 1.6,
            }
        )
    return rows
