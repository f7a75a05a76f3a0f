"""Which tags of a photo are written, and which regions: neighbours as one, without crumbs."""

from types import SimpleNamespace

import numpy as np
import pytest

from tagmix.annotate import Annotation, Guess, Region
from tagmix.images.polygons import area_of
from tagmix.library.decisions import Decision
from tagmix.library.events import PhotoTagged
from tagmix.library.tag import tag
from tagmix.library.wishes import Wishes, region_tags
from tests.library.makers import FixedAnnotator


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"min_probability": 0.8}, ["boat", "sea"]),  # as probable as asked for is enough
        ({"min_probability": 0.2}, ["boat", "sea", "Places|Berlin", "night"]),
        ({"min_probability": 0.1, "precision": 0.8}, ["boat", "sea", "Places|Berlin"]),
        ({"min_probability": 0.8, "top": 3}, ["boat", "sea"]),
        ({"top": 2}, ["boat", "sea"]),
    ],
)
def test_a_least_probability_replaces_the_threshold_or_narrows_other_wishes(wishes, expected):
    guesses = [Guess(tag, p, p > 0.5) for tag, p in FixedAnnotator().tags]
    assert [tag for tag, _ in Wishes(**wishes).wanted(guesses)] == expected


def test_a_tag_that_stands_in_for_better_ones_is_not_written_unless_it_is_asked_for():
    alone, threshold = [Guess("boat", 0.2, True)], {"boat": 0.3}
    assert Wishes().wanted(alone, threshold) == ()
    assert Wishes().wanted([Guess("boat", 0.3, True)], threshold) == (("boat", 0.3),)
    for wishes in (Wishes(top=1), Wishes(precision=0.5), Wishes(min_probability=0.1)):
        assert wishes.wanted(alone, threshold) == (("boat", 0.2),)


@pytest.mark.parametrize("asked", [False, True])
def test_a_doubtful_tag_is_a_question_and_no_keyword(catalogue, photos, monkeypatch, asked):
    annotator = FixedAnnotator(tags=[("boat", 0.6)])
    thresholds = np.full(len(annotator.model.tag_names_), 0.7)
    monkeypatch.setattr(type(annotator.model), "calibration_", SimpleNamespace(thresholds=thresholds))
    seen = []

    def decide(proposal):
        seen.append(proposal.new)
        return Decision()

    events = list(tag(catalogue, annotator, decide=decide if asked else None))
    assert bool(seen) == asked
    written = [one for one in events if isinstance(one, PhotoTagged)]
    assert not any(one.added for one in written)


def square(x, y, side=0.25):
    return ((x, y), (x + side, y), (x + side, y + side), (x, y + side))


def region(tag, share, *rings):
    own = () if tag is None else ((tag, share), ("second", 0.1))
    area = abs(float(area_of(rings[0]))) - sum(abs(float(area_of(hole))) for hole in rings[1:])
    return Region(own, (0.0, 0.0, 1.0, 1.0), area, 0.1, (rings,))


def found(catalogue, *regions, tags=("boat", "sea")):
    return region_tags(catalogue, Annotation("a.jpg", (), regions), tags)


def test_neighbouring_regions_of_a_tag_are_one_with_its_box_and_mean_share(catalogue):
    wide = ((0.75, 0.25), (1.0, 0.25), (1.0, 0.75), (0.75, 0.75), (0.75, 0.5))
    regions = [
        region("sea", 0.9, square(0.0, 0.0)),
        region("boat", 0.9, square(0.5, 0.25)),
        region("boat", 0.6, wide),
        region("boat", 0.5, square(0.0, 0.5)),
    ]
    first, *others = found(catalogue, *regions)
    assert (first.tag, first.box) == ("boat", (0.5, 0.25, 0.5, 0.5))
    assert len(first.polygons) == 1
    assert first.probability == pytest.approx((0.9 + 2 * 0.6 + 0.5) / 4)
    assert sorted((one.tag, one.box) for one in others) == [
        ("boat", (0.0, 0.5, 0.25, 0.25)),
        ("sea", (0.0, 0.0, 0.25, 0.25)),
    ]


def test_crumbs_rings_of_nothing_and_tags_that_are_not_written_have_no_region(catalogue):
    ring = region("sea", 0.9, square(0.0, 0.0, 0.5), tuple(reversed(square(0.005, 0.005, 0.49))))
    crumb = region("boat", 0.9, square(0.75, 0.75, 0.09))
    others = [region("moon", 0.9, square(0.5, 0.5)), region(None, 0.9, square(0.5, 0.0))]
    assert 0.009 < ring.area < 0.01
    assert found(catalogue, ring, crumb, *others) == ()
    (hollow,) = found(catalogue, region("sea", 0.9, square(0.0, 0.0, 0.5), tuple(reversed(square(0.1, 0.1)))))
    assert [len(one) for one in hollow.polygons] == [2]


def test_regions_have_the_names_that_tags_have_now(catalogue):
    run = catalogue.runs.begin("tag", "model")
    photo = catalogue.photos.note("a.jpg", bytes(32), 1, 1).id
    catalogue.runs.guess(run, photo, {"boat": 0.9})
    catalogue.tags.rename("boat", "ship")
    assert [one.tag for one in found(catalogue, region("boat", 0.9, square(0, 0)), tags=("ship",))] == [
        "ship"
    ]
