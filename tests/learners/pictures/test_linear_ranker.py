import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from tagmix import Bags, storage
from tagmix.errors import BagsError, ModelFileError, ParameterError
from tagmix.learners import CandidateEM, MaxPooling, NaiveRegions, linear_solver, serialise
from tagmix.learners.linear import Features, features_of, pooled_views, scaling_of
from tagmix.learners.linear_solver import logistic_loss
from tagmix.learners.pictures import linear_ranker
from tagmix.learners.pictures.linear_ranker import LinearRanker
from tagmix.learners.targets import Targets


def with_embedding(bags, seed=0):
    rng = np.random.default_rng(seed)
    views = {**bags.views, "network": rng.normal(3.0, 5.0, (bags.n_regions, 4))}
    return Bags(views, bags.offsets, bags.tags, bags.tag_names)


def test_a_picture_is_described_by_the_square_roots_of_the_shares_of_its_summed_words():
    bags = Bags(np.array([[4, 0, 1], [5, 7, 0], [0, 0, 3]]), [0, 2, 3])
    found = features_of(pooled_views(bags), {}).blocks[0]
    np.testing.assert_allclose(found, np.sqrt([[9 / 17, 7 / 17, 1 / 17], [0, 0, 1]]), rtol=1e-12)


def test_an_embedding_is_pooled_by_the_mean_and_standardised_to_a_squared_length_of_one():
    rng = np.random.default_rng(0)
    bags = Bags({"network": rng.normal(3.0, 5.0, (60, 4))}, np.arange(0, 61, 2))
    pictures = pooled_views(bags)
    np.testing.assert_allclose(pictures["network"][0], bags.views["network"][:2].mean(axis=0), rtol=1e-12)
    block = features_of(pictures, scaling_of(pictures)).blocks[0]
    np.testing.assert_allclose(block.mean(axis=0), 0, atol=1e-12)
    assert np.isclose((block**2).sum(axis=1).mean(), 1.0, rtol=1e-12)


def test_an_embedding_that_varies_by_rounding_only_does_not_outweigh_others_in_new_pictures():
    values = np.full((9, 2), 0.1)
    values[:, 1] = 0.1 * np.where(np.arange(9) % 2, 1, 1 + 4e-16)
    scaling = scaling_of({"network": values})
    np.testing.assert_array_equal(scaling["network"][1], np.full(2, np.sqrt(2)))


def test_thin_counts_stay_sparse_and_full_ones_do_not():
    thin = csr_array(np.eye(10, dtype=int))
    full = csr_array(np.ones((10, 3), dtype=int))
    sparse, dense = features_of({"thin": thin, "full": full}, {}).blocks
    assert isinstance(sparse, csr_array)
    assert isinstance(dense, np.ndarray)


def test_scores_and_their_gradient_are_products_with_the_stacked_matrix():
    rng = np.random.default_rng(0)
    blocks = [csr_array(rng.poisson(0.3, (7, 5)).astype(float)), rng.normal(size=(7, 2))]
    features, weights = Features(blocks), rng.normal(size=(8, 3))
    whole = np.hstack([blocks[0].toarray(), blocks[1], np.ones((7, 1))])
    np.testing.assert_allclose(features.scores(weights), whole @ weights, rtol=1e-12)
    residual = rng.normal(size=(7, 3))
    np.testing.assert_allclose(features.pull(residual), whole.T @ residual, rtol=1e-12)


@pytest.mark.parametrize(("widest", "n"), [(4096, 120), (4096, 30), (0, 120)])
def test_weights_are_those_of_scikit_learns_logistic_regressions(train, widest, n, monkeypatch):
    # Along principal axes of words or of pictures, whichever are fewer, and along the words themselves.
    monkeypatch.setattr(linear_ranker, "WIDEST", widest)
    train = train[:n]
    ranker = LinearRanker(ridge=0.5, tol=1e-9, max_iter=2000).fit(train)
    block = features_of(pooled_views(train), {}).blocks[0]
    for c in range(train.n_tags):
        tags = train.captions.toarray()[:, c]
        if not 0 < tags.sum() < n:
            continue
        peer = LogisticRegression(C=2.0, tol=1e-9, max_iter=5000).fit(np.asarray(block), tags)
        np.testing.assert_allclose(ranker.weights_[:-1, c], peer.coef_[0], atol=2e-4)
        assert np.isclose(ranker.weights_[-1, c], peer.intercept_[0], atol=2e-4)


def test_one_word_and_two_tags_by_hand():
    bags = Bags(
        np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), np.arange(5), tags=[[1, 0], [1, 0], [0, 1], [0, 1]]
    )
    w = LinearRanker(ridge=1.0, tol=1e-10).fit(bags).weights_
    # By symmetry the bias is 0 and the words' weights are ±a with a = 2·(1 − expit(a)).
    a = w[0, 0]
    assert np.isclose(a, 2 * (1 - expit(a)), atol=1e-8)
    np.testing.assert_allclose(w, [[a, -a], [-a, a], [0, 0]], atol=1e-8)


def test_every_column_is_minimised_as_if_it_were_alone():
    rng = np.random.default_rng(0)
    features = Features([rng.normal(size=(30, 4))])
    tags = (rng.random((30, 6)) < 0.4).astype(float)

    def loss_of(tags):
        def loss(scores, columns):
            own = tags[:, columns]
            return (np.logaddexp(0, scores) - own * scores).sum(axis=0), expit(scores) - own

        return loss

    how = {"ridge": 0.3, "max_iter": 500}
    together, _ = linear_solver.minimise(
        features, loss_of(tags), np.zeros((5, 6)), tol=np.full(6, 1e-9), **how
    )
    for c in range(6):
        alone, _ = linear_solver.minimise(
            features, loss_of(tags[:, [c]]), np.zeros((5, 1)), tol=np.full(1, 1e-9), **how
        )
        np.testing.assert_allclose(together[:, [c]], alone, atol=1e-7)


def test_a_column_keeps_its_own_curvature_when_others_have_ended():
    rng = np.random.default_rng(0)
    features = Features([rng.normal(size=(30, 4)) * [1, 2, 3, 4]])
    tags = (rng.random((30, 2)) < 0.4).astype(float)
    inverse = rng.uniform(0.01, 0.1, (5, 2))
    how = {"ridge": 0.3, "max_iter": 3}
    both, _ = linear_solver.minimise(
        features, logistic_loss(Targets(tags, None)), np.zeros((5, 2)), tol=np.array([1e9, 1e-9]),
        inverse=inverse, **how,
    )  # fmt: skip
    alone, _ = linear_solver.minimise(
        features, logistic_loss(Targets(tags[:, 1:], None)), np.zeros((5, 1)), tol=np.full(1, 1e-9),
        inverse=inverse[:, 1:], **how,
    )  # fmt: skip
    assert not both[:, 0].any()
    np.testing.assert_allclose(both[:, 1:], alone, rtol=1e-9)


def test_a_step_that_would_ascend_becomes_one_along_the_gradient():
    features, loss = Features([np.eye(2)]), logistic_loss(Targets(np.array([[1.0], [0.0]]), None))
    state = linear_solver._begin(features, loss, np.zeros((3, 1)), np.arange(1), 1.0, None)
    along = state.gradient / np.linalg.norm(state.gradient)
    state.pairs.append((along, -along, np.array([-1.0])))  # as rounding could make it
    assert (linear_solver._direction(state) * state.gradient).sum() > 0
    after = linear_solver._step(features, loss, state, 1.0, np.zeros((3, 1)))
    assert after.value < state.value


def test_planted_tags_are_found_and_shuffled_ones_are_not(train, test):
    found = LinearRanker().fit(train).score(test)
    order = np.random.default_rng(0).permutation(len(train))
    shuffled = LinearRanker().fit(train.with_tags(train.captions[order])).score(test)
    assert found > shuffled + 0.15
    assert found > 0.6


def test_counting_every_word_twice_changes_nothing(train, test):
    twice = Bags({"words": train.views["words"] * 2}, train.offsets, train.tags, train.tag_names)
    np.testing.assert_allclose(
        LinearRanker(ridge=1.0).fit(train).decision_scores(test),
        LinearRanker(ridge=1.0).fit(twice).decision_scores(test),
        atol=1e-8,
    )


def test_a_scaled_and_shifted_embedding_changes_nothing(train):
    bags = with_embedding(train)
    moved = Bags(
        {**bags.views, "network": 7 * bags.views["network"] - 2}, bags.offsets, bags.tags, bags.tag_names
    )
    np.testing.assert_allclose(
        LinearRanker(ridge=1.0).fit(bags).decision_scores(bags),
        LinearRanker(ridge=1.0).fit(moved).decision_scores(moved),
        atol=1e-8,
    )


def test_a_picture_without_regions_is_ranked_by_the_biases(train):
    ranker = LinearRanker(ridge=1.0).fit(with_embedding(train))
    empty = Bags({"words": csr_array((0, 60), dtype=int), "network": np.zeros((0, 4))}, [0, 0])
    np.testing.assert_array_equal(ranker.decision_scores(empty)[0], ranker.weights_[-1])


def with_scene(bags, **pictures):
    """Return the same bags with views of whole pictures, one of which shows the tags."""
    shown = bags.captions.toarray() + np.random.default_rng(len(bags)).normal(0, 0.3, (len(bags), 10))
    return Bags(bags.views, bags.offsets, bags.tags, bags.tag_names, pictures={**pictures, "scene": shown})


def test_views_of_whole_pictures_are_read_standardised_beside_the_words(train):
    scene = with_scene(train)
    ranker = LinearRanker(ridge=0.5, tol=1e-9, max_iter=2000).fit(scene)
    words, shown = features_of(pooled_views(train), {}).blocks[0], scene.pictures["scene"]
    shown = (shown - shown.mean(axis=0)) / shown.std(axis=0) / np.sqrt(10)
    peer = LogisticRegression(C=2.0, tol=1e-9, max_iter=5000)
    peer.fit(np.hstack([np.asarray(words), shown]), train.captions.toarray()[:, 3])
    np.testing.assert_allclose(ranker.weights_[:-1, 3], peer.coef_[0], atol=2e-4)


def test_tags_that_only_whole_pictures_show_are_found(train, test):
    train, test = (
        Bags(np.ones((b.n_regions, 1), int), b.offsets, b.tags, b.tag_names) for b in (train, test)
    )
    found = LinearRanker().fit(with_scene(train)).score(with_scene(test))
    assert found > LinearRanker().fit(train).score(test) + 0.2


def test_picture_views_other_than_those_of_the_training_are_refused_in_one_line(train, test):
    ranker, scene = LinearRanker(ridge=1.0).fit(with_scene(train)), with_scene(test).pictures["scene"]
    for pictures in ({}, {"scene": scene[:, :9]}, {"other": scene}, {"scene": scene, "more": scene}):
        other = Bags(test.views, test.offsets, pictures=pictures)
        with pytest.raises(BagsError, match="of whole pictures, these bags have") as caught:
            ranker.decision_scores(other)
        assert "\n" not in str(caught.value)
    with pytest.raises(BagsError, match="of whole pictures"):
        LinearRanker(ridge=1.0).fit(train).decision_scores(with_scene(test))


@pytest.mark.parametrize("kind", [LinearRanker, NaiveRegions])
def test_views_in_another_order_are_the_same_views(train, test, kind):
    def turned(bags):
        views, pictures = (dict(reversed(part.items())) for part in (bags.views, bags.pictures))
        return Bags(views, bags.offsets, bags.tags, bags.tag_names, pictures=pictures)

    more = {"alike": np.ones((len(test), 10))}
    learner = kind(ridge=1.0).fit(with_scene(with_embedding(train), alike=np.ones((len(train), 10))))
    bags = with_scene(with_embedding(test), **more)
    np.testing.assert_array_equal(learner.decision_scores(turned(bags)), learner.decision_scores(bags))


@pytest.mark.parametrize("kind", [NaiveRegions, CandidateEM, MaxPooling])
def test_learners_of_regions_do_not_read_views_of_whole_pictures(train, test, kind):
    learner = kind(ridge=1.0).fit(with_scene(train))
    np.testing.assert_array_equal(learner.weights_, kind(ridge=1.0).fit(train).weights_)
    np.testing.assert_array_equal(learner.decision_scores(test), learner.decision_scores(with_scene(test)))


def test_the_ridge_is_one_of_the_grid_and_the_best_of_those_tried(train):
    ranker = LinearRanker().fit(train)
    assert ranker.ridge_ == ranker.grid[int(np.argmax(ranker.ridge_scores_))]
    assert LinearRanker(ridge=0.25).fit(train).ridge_ == 0.25


def test_it_works_in_scikit_learns_tools(train):
    assert clone(LinearRanker(ridge=2.0)).ridge == 2.0
    assert cross_val_score(LinearRanker(ridge=1.0), train, cv=3).mean() > 0.5
    search = GridSearchCV(LinearRanker(), {"ridge": [0.3, 3.0]}, cv=2).fit(train)
    assert search.best_params_["ridge"] in (0.3, 3.0)


def test_a_saved_ranker_comes_back_the_same(train, test, tmp_path):
    ranker = LinearRanker(ridge=1.0).fit(with_scene(with_embedding(train)))
    ranker.save(tmp_path / "m")
    back = serialise.load(LinearRanker, storage.read(tmp_path / "m"), "m")
    new = with_scene(with_embedding(test, seed=1))
    np.testing.assert_array_equal(back.decision_scores(new), ranker.decision_scores(new))
    with pytest.raises(BagsError, match="of whole pictures"):
        back.decision_scores(with_embedding(test))


@pytest.mark.parametrize(("kind", "name"), [(LinearRanker, "scene"), (NaiveRegions, "pictures/scene")])
def test_a_file_that_scales_a_view_which_was_not_read_is_refused(train, tmp_path, kind, name):
    learner = kind(ridge=1.0).fit(train)
    learner.scaling_ = {name: np.ones((2, 3))}
    learner.weights_ = np.vstack([learner.weights_, np.zeros((3, 10))])
    learner.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="which was not read"):
        serialise.load(kind, storage.read(tmp_path / "m"), "m")


@pytest.mark.parametrize(
    "bad", [{"ridge": 0}, {"ridge": "auto"}, {"folds": 1}, {"tol": 0}, {"max_iter": 1.5}]
)
def test_settings_out_of_range_are_refused(train, bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        LinearRanker(**bad).fit(train)


def test_counts_where_an_embedding_was_are_refused(train):
    ranker = LinearRanker(ridge=1.0).fit(train)
    dense = Bags({"words": train.views["words"].toarray().astype(float)}, train.offsets)
    with pytest.raises(BagsError, match="fitted with word counts in view 'words'"):
        ranker.predict_proba(dense)


def test_an_axis_of_little_spread_keeps_its_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3)) * [1.0, 1.0, 1e-4]
    axes = linear_ranker._principal_axes(Features([x]))
    assert len(axes.spread) == 3
    wide = linear_ranker._principal_axes(Features([np.hstack([x, np.zeros((40, 60))])]))
    np.testing.assert_allclose(wide.spread, axes.spread, rtol=1e-6)


@pytest.mark.parametrize("n", [120, 30])
def test_axes_are_found_once_a_fold_among_whichever_are_fewer(train, n, monkeypatch):
    found, sizes = linear_ranker._principal_axes, []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or eigh(matrix))
    asked = []
    monkeypatch.setattr(linear_ranker, "_principal_axes", lambda f: asked.append(f) or found(f))
    LinearRanker(folds=3).fit(train[:n])
    assert len(asked) == 4
    assert sizes == [min(f.n_rows, f.width) for f in asked]
