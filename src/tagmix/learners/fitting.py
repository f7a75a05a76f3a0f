"""What EMM.fit does, step by step: check, learn by likelihood, learn by margins, calibrate."""

import difflib
import warnings
from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import BagsError, ParameterError
from tagmix.evaluation.folds import duplicate_groups, grouped_folds
from tagmix.learners.calibrate import FOLDS as CALIBRATION_FOLDS
from tagmix.learners.calibrate import (
    Calibration,
    best_thresholds,
    fit_calibration,
    left_out_probabilities,
)
from tagmix.learners.context.fitting import USUAL_POWER, Context, Joint, Regions, join
from tagmix.learners.context.prior import fit_prior
from tagmix.learners.context.scorer import scorers_of
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.inputs import check_no_rates, check_rates, useful_images
from tagmix.learners.monitor import Monitor
from tagmix.learners.parameters import check_parameters, rewired, settings_of_views
from tagmix.learners.em import Corpus, expectation_maximisation, free_shares, guided_shares
from tagmix.model import mstep
from tagmix.model.estep import Posterior
from tagmix.model.margin import MarginSolution, label_duals, own_label_duals, solve_margin
from tagmix.model.params import Params, Settings, dense_views, views_read

if TYPE_CHECKING:
    from tagmix.learners.emm import EMM

# Iterations between two margin problems: the topics move little once the bound has settled.
ITERATIONS_PER_ROUND = 5
# Held-out scores that the calibration is fitted on, at most: 8 bytes each, four arrays at a time.
CALIBRATION_SCORES = 20_000_000
# The model itself: μ, its statistics and E[log β], tags × words each.
MOST_BYTES = 64.0 * 2**30
# A fold's model is trained afresh and in silence.
FOR_A_FOLD = {"calibration_folds": 0, "verbose": 0, "warm_start": False, "callback": None}


def fit(emm: "EMM", bags: Bags, rates: Any) -> None:
    """Set the fitted attributes of ``emm``."""
    check_parameters(emm)
    settings = settings_of_views(emm, {name: issparse(view) for name, view in bags.views.items()})
    check_trainable(bags)
    if emm.context is not None:
        check_no_rates(rates)
    own_rates = check_rates(rates, len(bags), bags.n_tags)
    useful = useful_images(bags)
    bags = bags if useful.all() else bags[useful]
    warn_of_constant_tags(bags)
    own_rates = None if own_rates is None else own_rates[useful]
    corpus = Corpus(bags, settings, emm.memory_mb * 2**20, own_rates)
    params = _start(emm, bags, settings)
    context = None
    with Monitor(emm.tol, emm.max_iter, emm.verbose, emm.callback) as monitor:
        params = expectation_maximisation(corpus, params, monitor, emm.max_iter, emm.learn_eta)
        monitor.warn_if_early()
        converged, margin = monitor.converged, None
        if emm.learning == "margin" and emm.context is None:
            params, margin = learn_weights(emm, corpus, params, monitor)
    if emm.context is not None:
        context, margin, calibration = learn_context(emm, corpus)
        params = params if margin is None else params.with_weights(margin.weights)
    else:
        calibration = calibrate(emm, corpus) if emm.calibration_folds else None
    # All at once and last: whoever interrupts a fit keeps the model that was there before.
    emm.params_, emm.settings_, emm.margin_, emm.calibration_ = params, settings, margin, calibration
    emm.context_ = context
    emm.bound_history_, emm.n_iter_, emm.converged_ = monitor.history, len(monitor.history), converged
    emm.tag_names_ = bags.tag_names
    emm.widths_ = {view: bags.views[view].shape[1] for view in views_read(settings)}
    emm.fitted_with_ = emm.get_params(deep=False)
    emm.calibrated_for_ = (emm.inference, emm.ranking)


def check_trainable(bags: Bags) -> None:
    """Refuse bags that teach nothing."""
    if not len(bags):
        raise BagsError("EMM learns from images, got bags of 0 images: pass some.")
    if bags.tags is None or not bags.tags.nnz:
        raise BagsError("no image has a tag, so there is nothing to learn from: pass bags with `tags`, or y.")
    if bags.n_tags < 2:
        raise BagsError(f"EMM tells tags apart and needs at least 2, got {bags.n_tags} (1 class): add tags.")
    for view, counts in bags.views.items():
        if counts.shape[1] < 1 or 24.0 * bags.n_tags * counts.shape[1] > MOST_BYTES:
            raise BagsError(
                f"view {view!r} must have at least one word, and {bags.n_tags:,} tags × "
                f"{counts.shape[1]:,} words must fit into {MOST_BYTES / 2**30:.0f} GiB three times: use a "
                "smaller vocabulary or fewer tags."
            )
    if not useful_images(bags).any():
        raise BagsError(
            "no tagged image has a region, so there is nothing to learn from: describe them first."
        )


def warn_of_constant_tags(bags: Bags) -> None:
    """Warn of tags that every image has."""
    per_tag = np.bincount(bags.captions.indices, minlength=bags.n_tags)
    everywhere = np.flatnonzero(per_tag == len(bags))
    if len(everywhere) and len(bags) > 1 and bags.tag_names is not None:
        names = ", ".join(repr(bags.tag_names[i]) for i in everywhere[:3])
        warnings.warn(
            f"{len(everywhere)} tag(s) are on every image ({names}) and cannot be told from the rest: leave "
            "them out with bags.select_tags, or add images without them.",
            UserWarning,
            stacklevel=4,
        )


def _start(emm: "EMM", bags: Bags, settings: Settings) -> Params:
    widths = {view: bags.views[view].shape[1] for view in views_read(settings)}
    if emm.warm_start and hasattr(emm, "params_"):
        dense = tuple(view for view in widths if not issparse(bags.views[view]))
        same_views = emm.widths_ == widths and set(dense_views(emm.params_)) == set(dense)
        same_models = emm.params_.instances.keys() == settings.evidence.keys()
        if not same_views or not same_models or emm.tag_names_ != bags.tag_names:
            raise ParameterError("warm_start needs the same tags and words as the last fit: set it to False.")
        last = rewired(emm.params_, settings.kernels, settings.n_threads)
        rates = last.rates if settings.bounded else np.ones_like(last.rates)
        return Params(rates, last.instances, np.ones_like(last.weights))  # margins are learnt afresh
    return mstep.start(bags, settings, emm.eta, scorers_of(bags, settings))


def learn_weights(
    emm: "EMM", corpus: Corpus, params: Params, monitor: Monitor
) -> tuple[Params, MarginSolution]:
    """Return tag weights by maximum margins; between rounds their multipliers guide the topics."""
    solution = _solve(emm, corpus, params)
    for _ in range(emm.margin_rounds):
        params = params.with_weights(solution[0].weights)
        _set_deltas(corpus, *solution)
        monitor.new_objective()
        params = expectation_maximisation(corpus, params, monitor, ITERATIONS_PER_ROUND, emm.learn_eta)
        solution = _solve(emm, corpus, params)
    return params.with_weights(solution[0].weights), solution[0]


def _solve(emm: "EMM", corpus: Corpus, params: Params) -> tuple[MarginSolution, Any]:
    free = emm.margin_posterior == "free"
    shares = free_shares(corpus, params, emm.inference) if free else guided_shares(corpus, params)
    solution = solve_margin(
        shares,
        corpus.bags.captions,
        nu1=emm.nu1,
        nu2=emm.nu2,
        tolerance=emm.margin_tol,
        n_threads=corpus.settings.n_threads,
    )
    return solution, shares


def _set_deltas(corpus: Corpus, solution: MarginSolution, shares: Any) -> None:
    duals = own_label_duals if corpus.settings.hard else label_duals
    for i, where in enumerate(corpus.shards):
        tags = corpus.bags[where].captions
        corpus.deltas[i] = duals(shares[where], tags, solution, n_total=len(corpus.bags))


def learn_context(emm: "EMM", corpus: Corpus) -> Joint:
    """Return what whole pictures say, and how it joins with what regions say."""
    prior, held_out = fit_prior(emm.context, corpus.bags, emm.random_state)
    if not emm.calibration_folds:
        power = USUAL_POWER if emm.context_power is None else float(emm.context_power)
        return Joint(Context(prior, power, 0.0, {}))

    regions = Regions(partial(learn_regions, emm, corpus.settings), corpus.settings, corpus.memory)
    return join(emm, corpus.bags, prior, held_out, regions)


def learn_regions(
    emm: "EMM", settings: Settings, bags: Bags, fold: int, scorers: Mapping[str, Any] | None = None
) -> Params:
    """Return what these pictures teach about regions, in silence; ``scorers`` may be known already."""
    known = scorers_of(bags, settings) if scorers is None else scorers
    with Monitor(emm.tol, emm.max_iter, 0, None) as monitor:
        return expectation_maximisation(
            Corpus(bags, settings, emm.memory_mb * 2**20),
            mstep.start(bags, settings, emm.eta, known),
            monitor,
            emm.max_iter,
            emm.learn_eta,
        )


def calibrate(emm: "EMM", corpus: Corpus) -> Calibration | None:
    """Return the calibration of scores that models trained on the other folds gave; None if too few."""
    bags, folds = corpus.bags, emm.calibration_folds
    if len(bags) < 2 * folds:
        warnings.warn(
            f"{folds} calibration folds need at least {2 * folds} images with tags and regions, got "
            f"{len(bags)}, so that predict and predict_marginals are left out: lower calibration_folds (0 if "
            "you only rank), or add images.",
            UserWarning,
            stacklevel=4,
        )
        return None
    keep = max(2 * folds, int(CALIBRATION_SCORES / bags.n_tags))
    rng = check_random_state(emm.random_state)
    scores, truths = [], []
    seed, duplicates = int(rng.randint(2**31 - 1)), duplicate_groups(bags)
    chosen = []
    for train, test in grouped_folds(duplicates, folds, seed):
        part = np.sort(rng.permutation(test)[: max(1, keep // folds)])
        model = type(emm)(**{**emm.get_params(deep=False), **FOR_A_FOLD})
        rates = corpus.rates
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the whole fit has said it already
            model.fit(bags[train], rates=None if rates is None else rates[train])
        scores.append(model.predict_proba(bags[part], rates=None if rates is None else rates[part]))
        truths.append(bags[part].captions.toarray())
        chosen.append(part)
    held_out, truth = np.vstack(scores), np.vstack(truths).astype(np.float64)
    apart = grouped_folds(duplicates[np.concatenate(chosen)], CALIBRATION_FOLDS, seed)
    p = left_out_probabilities(held_out, truth, apart)
    return fit_calibration(held_out, truth)._replace(
        thresholds=best_thresholds(p, truth), evening=rare_tag_weights_of(p, truth, seed)
    )


def overwrite_captioned(phi: Floats, shard: Bags, posterior: Posterior) -> None:
    """Put the guided φ in place of the free one, for images that have a caption."""
    if posterior.entries is None:
        tagged = np.repeat(np.diff(shard.captions.indptr) > 0, np.diff(shard.offsets))
        phi[tagged] = posterior.phi.reshape(phi.shape)[tagged]
        return
    entries = posterior.entries
    for n in np.flatnonzero(np.diff(entries.starts)):
        own = entries.tags[entries.starts[n] : entries.starts[n + 1]]
        part = phi[shard.offsets[n] : shard.offsets[n + 1]]
        part[:] = 0.0
        block = posterior.phi[entries.block_starts[n] : entries.block_starts[n + 1]]
        part[:, own] = block.reshape(len(part), len(own))


def tag_column(names: tuple[str, ...], tag: str | int) -> int:
    """Return the column of a tag given by name or number."""
    if isinstance(tag, str):
        if tag not in names:
            near = difflib.get_close_matches(tag, names)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "choose one of tag_names_."
            raise ParameterError(f"the tag must be one of the model's {len(names)}, got {tag!r}: {hint}")
        return names.index(tag)
    if not isinstance(tag, Integral) or not 0 <= tag < len(names):
        raise ParameterError(
            f"a tag must be a name or a number from 0 to {len(names) - 1}, got {tag!r}: see tag_names_."
        )
    return int(tag)
