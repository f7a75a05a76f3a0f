"""The terms of a record are those of the metrics, computed over all regions at once."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.comparison.measure import measured
from tagmix.comparison.parts import Places
from tagmix.comparison.records import Task
from tagmix.comparison.terms import picture_terms, ranks_of, ranks_of_regions, region_terms
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.metrics import mean_average_precision_of_pictures, precision_at_k
from tagmix.evaluation.pointing import pointing
from tagmix.evaluation.recall import recall_at_precision
from tagmix.evaluation.regions import NONE, UNKNOWN, object_f1, region_accuracy
from tests.comparison.conftest import planted_part


@pytest.fixture(scope="module")
def open_part():
    """A part in which a third of the regions is none, some are unknown, and one picture has no caption."""
    part = planted_part(60, 40)
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(len(part.truth)) < 0.3, NONE, part.truth)
    truth[rng.random(len(truth)) < 0.1] = UNKNOWN
    tags = part.test.captions.toarray()
    tags[3] = 0
    sizes = (40, part.test.n_regions, part.test.n_regions)
    places = Places(*(csr_array((rng.random((n, 6)) < 0.4).astype(float)) for n in sizes))
    return part._replace(test=part.test.with_tags(tags, part.test.tag_names), truth=truth, places=places)


def shares_of(part, seed):
    drawn = np.random.default_rng(seed).random((part.test.n_regions, part.test.n_tags + 2)) ** 4
    return (drawn / drawn.sum(axis=1, keepdims=True))[:, :-2]


def value(terms, name):
    return quotient(Parts(*map(np.asarray, terms[name])))


def test_terms_of_regions_sum_up_to_the_metrics_of_all_regions(open_part):
    free, captioned = shares_of(open_part, 1), shares_of(open_part, 2)
    terms = region_terms(open_part, free, captioned)
    assert value(terms, "regions free") == region_accuracy(open_part.truth, free)
    assert value(terms, "f1 free") == pytest.approx(object_f1(open_part.truth, free))
    told = np.repeat(np.diff(open_part.test.captions.indptr) > 0, np.diff(open_part.test.offsets))
    assert not told.all()
    assert value(terms, "regions captioned") == region_accuracy(open_part.truth[told], captioned[told])
    assert value(terms, "f1 captioned") == pytest.approx(object_f1(open_part.truth[told], captioned[told]))
    pairs, inside, near = open_part.places
    offsets = open_part.test.offsets
    assert value(terms, "inside free") == pointing(pairs, inside, free, offsets)
    assert value(terms, "near captioned") == pointing(pairs, near, captioned, offsets)
    assert value(terms, "inside free") < value(terms, "inside any")
    assert 0 < value(terms, "covered free") < 1


def test_regions_that_a_caption_misses_are_those_whose_tag_it_lacks(open_part):
    own = open_part.test.captions.toarray()
    truth, bounds = open_part.truth, open_part.test.offsets
    wrong = [0 if row[t] else 1 for row, a, b in zip(own, bounds, bounds[1:], strict=False) if row.any()
             for t in truth[a:b] if t >= 0]  # fmt: skip
    terms = region_terms(open_part, *2 * [shares_of(open_part, 0)])
    assert value(terms, "missed") == pytest.approx(np.mean(wrong))


def test_the_first_rank_is_the_right_name(open_part):
    free, captioned = shares_of(open_part, 1), shares_of(open_part, 2)
    ranks, terms = ranks_of_regions(open_part, free, captioned), region_terms(open_part, free, captioned)
    assert quotient(ranks.parts(1, captioned=False)) == value(terms, "regions free")
    assert quotient(ranks.parts(1, captioned=True)) == value(terms, "regions captioned")
    assert set(ranks.captioned) >= {0, 1}
    assert 0 not in ranks.free
    assert max(ranks.free) == open_part.test.n_tags + 1


def test_none_is_ranked_by_the_rest_of_the_shares():
    shares = np.array([[0.3, 0.3], [0.3, 0.2], [0.5, 0.5]])
    assert ranks_of(shares, np.array([NONE, NONE, NONE])).tolist() == [1, 1, 3]
    assert ranks_of(shares, np.array([0, 0, 1])).tolist() == [2, 2, 2]


def test_terms_of_pictures_sum_up_to_the_metrics(open_part):
    truth = open_part.test.captions
    scores = np.random.default_rng(5).random(truth.shape)
    terms = picture_terms(truth, scores)
    assert value(terms, "map") == mean_average_precision_of_pictures(truth, scores)
    assert value(terms, "recall") == recall_at_precision(truth, scores)
    tagged = np.diff(truth.indptr) > 0
    assert value(terms, "first") == pytest.approx(precision_at_k(truth[tagged], scores[tagged], 1))


def test_a_record_has_the_terms_of_what_its_method_predicts(open_part):
    record = measured(Task("planted", "NaiveRegions", ("sift",)), open_part, {})
    assert {"map", "first", "recall", "regions free", "near any"} < record.terms.keys()
    assert all(len(column) == 40 for own in record.terms.values() for column in own)
    # NaiveRegions knows no background: its shares sum to 1, and no region is none
    none = open_part.truth == NONE
    picture = np.repeat(np.arange(40), 3)[open_part.truth != UNKNOWN]
    first = np.array(record.regions.free) == 1
    assert len(picture) == len(first)
    assert not first[none[open_part.truth != UNKNOWN]].any()
    frequency = measured(Task("planted", "frequency", ("sift",)), open_part, {})
    assert frequency.terms.keys() == {"map", "first", "recall"}
