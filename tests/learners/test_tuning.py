"""The choice of κ: it finds what a search over all finds, looks only at captions it may see, and is cheap."""

import numpy as np
import pytest

from tagmix import EMM, Bags, planted_topics, sample_bags
from tagmix.learners.tuning import ENOUGH, VALUES, choose_evidence, most_tried


def two_views(n: int = 120, seed: int = 0) -> Bags:
    """Bags of one view that says which tag, and one of noise that says nothing, but in many equal words."""
    rng = np.random.default_rng(seed)
    told = sample_bags(planted_topics(8, 60, 0.6, rng), n, n_regions=4, words_per_region=15, rng=rng).bags
    noise = rng.poisson(rng.gamma(0.2, 15.0, (told.n_regions, 40)))
    return Bags({"told": told.views["words"], "noise": noise}, told.offsets, told.tags, told.tag_names)


def test_a_view_of_noise_is_turned_down() -> None:
    choice = choose_evidence(EMM(max_iter=20), two_views())
    assert choice.evidence["noise"] <= choice.evidence["told"] / 8
    assert choice.accuracy > 0.3 + choice.tried[VALUES[-1], VALUES[-1]]  # one κ for both is not enough


def test_the_choice_is_the_best_of_all_that_was_tried() -> None:
    choice = choose_evidence(EMM(max_iter=20), two_views())
    assert choice.accuracy == max(choice.tried.values())
    assert choice.tried[tuple(choice.evidence.values())] == choice.accuracy
    assert all(kappa in VALUES for kappa in choice.evidence.values())


def test_progress_counts_every_setting_once() -> None:
    seen: list[int] = []
    choice = choose_evidence(EMM(max_iter=5), two_views(40), progress=seen.append)
    assert seen == list(range(1, len(choice.tried) + 1))
    assert len(seen) <= most_tried(EMM(), two_views(40))


def test_the_same_seed_makes_the_same_choice() -> None:
    bags = two_views(60)
    assert choose_evidence(EMM(max_iter=5), bags) == choose_evidence(EMM(max_iter=5), bags)


def test_the_given_estimator_is_left_as_it_was() -> None:
    emm = EMM(max_iter=5, learning="margin", evidence=0.7)
    choose_evidence(emm, two_views(40))
    assert emm.get_params()["evidence"] == 0.7
    assert not hasattr(emm, "params_")


def test_shuffled_captions_give_no_better_accuracy_than_tag_frequency() -> None:
    bags = two_views(150)
    shuffled = bags.with_tags(bags.captions[np.random.default_rng(1).permutation(len(bags))], bags.tag_names)
    honest, control = (
        choose_evidence(EMM(max_iter=10), bags, k=2),
        choose_evidence(EMM(max_iter=10), shuffled, k=2),
    )
    assert control.accuracy < honest.accuracy - 0.1


@pytest.mark.slow
def test_no_more_pictures_are_looked_at_than_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    fit = EMM.fit

    def watched(self: EMM, X: Bags, y: object = None, **how: object) -> EMM:
        sizes.append(len(X))
        return fit(self, X, y, **how)

    monkeypatch.setattr(EMM, "fit", watched)
    choose_evidence(EMM(max_iter=2), two_views(ENOUGH + 300), folds=2)
    assert max(sizes) <= ENOUGH / 2
