"""The page of the experiment with a planted truth."""

from collections.abc import Mapping

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.evaluation.metrics import top_tags
from tagmix.learners import EMM
from tagmix.model.instance import Multinomial
from tagmix.report import figures, page
from tagmix.report.planted import Results, accuracy_by_tag, lift, pictures_of, words_found
from tagmix.report.style import ACCENT, INK, WARM

COLUMNS = (
    "",
    "Tags of a picture: top-5 accuracy",
    "Tag of a region, no caption",
    "Tag of a region, caption given",
)
EDGES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
TAGS_SHOWN = 8


def planted_page(results: Results, colours: Mapping[str, str], written_by: str) -> str:
    """Return the whole page."""
    parts = (
        _head(results),
        _pictures(results, colours),
        _numbers(results),
        page.columns(_recovery(results) + _bound(results), _words(results)),
        page.columns(_probabilities(results), _sparsity(results)),
        _small_print(results, written_by),
    )
    return page.document("tagmix: what the model finds", "\n".join(parts))


def _head(r: Results) -> str:
    s, size = r.scores, r.sizes
    n_tags, train = len(r.margin.tag_names_), r.world.train.bags
    story = (
        f"The model was trained on {size.n_train} pictures of {size.n_regions} regions with "
        f"{train.captions.nnz / len(train):.1f} of {n_tags} tags each on average, without positions of the "
        f"tags. It then tagged {size.n_test:,} pictures without captions, and every region in them."
    )
    tiles = (
        (f"{s['margin'].top5:.2f}", f"top-5 accuracy of whole pictures; a perfect ranking reaches "
         f"{s['ceiling'].top5:.2f}, the most frequent tags {s['frequency'].top5:.2f}", ""),
        (f"{100 * s['margin'].free:.0f} %", f"of the regions get the right tag out of {n_tags} without a "
         f"caption; chance is {100 * s['chance'].free:.1f} %", ""),
        (f"{100 * s['control'].free:.0f} %", "of the regions with shuffled training captions; "
         f"the most frequent tag is right for {100 * s['frequency'].free:.0f} %: {r.verdict}", "wrong"),
    )  # fmt: skip
    eyebrow = "tagmix demonstration · synthetic pictures sampled from the model, with known truth"
    return page.header(eyebrow, "Tags for pictures, and for every region in them", story) + page.tiles(tiles)


def _pictures(r: Results, colours: Mapping[str, str]) -> str:
    shown = pictures_of(r.margin, r.world.test, r.sizes.n_pictures)
    cards = "".join(page.picture_card(picture, colours) for picture in shown)
    legend = (
        f"The first {len(shown)} test pictures. Each block is a region: above, its true tag; below, the best "
        "tag without a caption, with ✗ and a red frame if it is wrong. The bars are the probabilities of the "
        "tags; ✓ marks tags of the true caption."
    )
    return page.section("Test pictures", page.paragraph(legend, "legend"), cards)


def _numbers(r: Results) -> str:
    s = r.scores
    rows = (
        page.Row("EMM_d", "tags weighted by maximum margin", s["margin"], "strong"),
        page.Row("EMM_m", "maximum likelihood", s["likelihood"], "strong"),
        page.Row("EMM_m, captions shuffled", "negative control", s["control"], "wrong"),
        page.Row("Tag frequency", "always the most frequent tags", s["frequency"], "quiet"),
        page.Row("Chance", "random tags; of the caption, if given", s["chance"], "quiet"),
        page.Row("Known words", "the same inference with the true words", s["known"], "quiet"),
        page.Row("Ceiling", "a perfect ranking of tags", (s["ceiling"].top5, None, None), "quiet"),
    )
    n = r.world.test.bags.n_regions
    error = float(np.sqrt(s["margin"].free * (1 - s["margin"].free) / n))
    by_tag = list(accuracy_by_tag(r.margin, r.world.test).items())
    (best, most), (worst, least) = by_tag[0], by_tag[-1]
    note = (
        "Top-5 accuracy is the micro-averaged F1 of the five best tags; its ceiling is below 1 because "
        f"pictures have more or fewer than five tags. {len(r.world.test.bags):,} test pictures with {n:,} "
        f"regions; the standard error of the region columns is about {error:.3f} for EMM_d, more if errors "
        "within a picture are correlated. These pictures are sampled from the model, so maximum likelihood "
        "is optimal and margins can add little; real pictures differ."
    )
    spread = (
        f"Without a caption EMM_d finds {100 * most:.0f} % of the regions of “{best}”, its best tag, and "
        f"{100 * least:.0f} % of those of “{worst}”, its worst."
    )
    note = f"{spread} {note}"
    return page.section("Accuracy", page.table(COLUMNS, rows), page.paragraph(note, "note"))


def _recovery(r: Results) -> str:
    names = {
        "known": "known words",
        "learnt": "learnt from captions",
        "shuffled": "captions shuffled",
    }
    looks = {"known": (INK, ":"), "learnt": (ACCENT, "-"), "shuffled": (WARM, "-")}
    curves = [figures.Curve(names[key], r.curves[key], *looks[key]) for key in names]
    drawn = figures.recovery_curve(r.sizes.overlaps, curves, r.scores["chance"].free)
    caption = (
        "The share of regions with the right tag without a caption, by the overlap of the tags' words: at 0 "
        f"no two tags share a word, at 1 they share all. {r.sizes.n_runs} runs (dots) and their mean; the "
        f"rest of the page is at {r.sizes.overlap:g}."
    )
    return page.section("Accuracy by overlap of words", page.figure(drawn, caption))


def _bound(r: Results) -> str:
    histories = {"right captions": r.likelihood.bound_history_, "shuffled": r.control.bound_history_}
    n_regions = r.world.train.bags.n_regions
    fell = int(np.sum(np.diff(r.likelihood.bound_history_) < 0))
    gap = (r.likelihood.bound_history_[-1] - r.control.bound_history_[-1]) / n_regions
    caption = (
        f"The lower bound of the likelihood of EMM_m converges after {r.likelihood.n_iter_} iterations and "
        f"decreases {fell} times (it must not). With shuffled captions the same pictures end "
        f"{abs(gap):.1f} nats per region {'lower' if gap > 0 else 'higher'}."
    )
    return page.section("Training", page.figure(figures.bound_curve(histories, n_regions), caption))


def _posterior(emm: EMM) -> Floats:
    model = emm.params_.instances["words"]
    assert isinstance(model, Multinomial)
    return model.mu


def _words(r: Results) -> str:
    n_tags, n_words = r.world.topics.shape
    per_tag = n_words // n_tags
    tags = np.linspace(0, n_tags - 1, min(TAGS_SHOWN, n_tags)).astype(int)
    # The words that mark each tag shown, strongest first: planted blocks are on the diagonal.
    order = np.concatenate([top_tags(lift(r.world.topics)[[tag]], per_tag)[0] for tag in tags])
    found, blind = _posterior(r.likelihood), _posterior(r.control)
    every = {"planted": r.world.topics, "learnt from captions": found, "learnt from shuffled captions": blind}
    maps = {name: lift(words)[np.ix_(tags, order)] for name, words in every.items()}
    names = [r.margin.tag_names_[tag] for tag in tags]
    caption = (
        f"Of the {per_tag} true words of a tag, {100 * words_found(r.world.topics, found, per_tag):.0f} % "
        f"are among its {per_tag} strongest words in the model, over all {n_tags} tags; with shuffled "
        f"captions {100 * words_found(r.world.topics, blind, per_tag):.0f} %, by chance "
        f"{100 * per_tag / n_words:.1f} %. Tags are ordered from the most frequent to the rarest."
    )
    return page.section(
        "The words of a tag, planted and found", page.figure(figures.word_maps(names, maps), caption)
    )


def _probabilities(r: Results) -> str:
    bags = r.world.test.bags
    truth = bags.captions.toarray().astype(np.float64)
    emm = r.margin
    bins = figures.reliability_bins(emm.predict_marginals(bags), truth, EDGES)
    gap = float(np.average(np.abs(bins.said - bins.right), weights=bins.size))
    caption = (
        f"Probabilities of all {truth.size:,} picture–tag pairs against observed frequencies, with 95 % "
        f"intervals. They were calibrated by cross-validation in {emm.calibration_folds} folds of the "
        f"training pictures; on the test pictures the mean difference is {gap:.3f}. A picture has "
        f"{truth.sum() / len(bags):.1f} tags; the model {_shown(emm, bags, truth)}."
    )
    drawn = page.figure(figures.reliability({"EMM_d": bins}), caption)
    return page.section("Probabilities and selected tags", drawn)


def _shown(emm: EMM, bags: Bags, truth: Floats) -> str:
    shown = emm.predict(bags)
    hits = float((shown * truth).sum())
    return (
        f"selects {shown.sum() / len(bags):.1f} (precision {hits / max(shown.sum(), 1):.2f}, "
        f"recall {hits / truth.sum():.2f})"
    )


def _sparsity(r: Results) -> str:
    bags, emm = r.world.test.bags, r.likelihood
    before = emm.inference
    try:
        scores = emm.set_params(inference="map").predict_proba(bags)
        top5 = emm.score(bags)
    finally:
        emm.set_params(inference=before)
    used = (scores > 0).sum(axis=1)
    own = np.diff(bags.captions.indptr)
    n_tags = scores.shape[1]
    caption = (
        f'With inference="map" a picture is explained by {used.mean():.1f} tags on average and the other '
        f"{n_tags - used.mean():.1f} of {n_tags} are exactly zero. Top-5 accuracy {top5:.3f}, against "
        f"{r.scores['likelihood'].top5:.3f} with the posterior."
    )
    drawn = figures.counts_chart("tags above zero", used, "tags in truth", own)
    return page.section("Few tags, exact zeros", page.figure(drawn, caption))


def _small_print(r: Results, written_by: str) -> str:
    size, n_words = r.sizes, r.world.topics.shape[1]
    facts = {
        "Sampled": f"shares of tags from exponentials, one tag per region, {size.words_per_region} of "
        f"{n_words} words from the tag; {100 * size.overlap:.0f} % of a tag's words are shared by all tags",
        "Trained on": f"{size.n_train} pictures; seed {size.seed}",
        "Paper": "Yang, Bian, Zha: Hybrid Generative/Discriminative Learning for Automatic Image Annotation",
        "Run": f"{written_by}, {r.seconds:.0f} s with compilation; make demo",
    }
    return f"<footer>{page.facts(facts)}</footer>"
