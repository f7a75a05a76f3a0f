"""Regions of runs, what humans say of them, and the view for learning."""

import pytest

from tagmix.annotate import Region
from tagmix.catalogue import RegionRecord
from tagmix.errors import CatalogueError

RING = ((0.1, 0.2), (0.5, 0.2), (0.5, 0.75))
REGION = Region((("sea", 0.75), ("sky", 0.125)), (0.1, 0.2, 0.4, 0.5), 0.25, 0.125, ((RING,),))


def test_regions_of_a_run_come_back_as_they_were_and_go_with_it(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.plan(run, photo, {"sea": 0.9})
    library.catalogue.regions.record(run, photo, [REGION, REGION])
    assert library.catalogue.regions.of(photo) == (RegionRecord(*REGION),) * 2
    runs.undo(run)
    assert library.catalogue.regions.of(photo) == ()


def test_the_regions_of_the_latest_run_are_shown_and_an_undo_brings_back_the_earlier_ones(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    for n in (1, 2):
        run = runs.begin("tag", "model")
        runs.guess(run, photo, {"sea": 0.9})
        library.catalogue.regions.record(run, photo, [REGION] * n)
        runs.finish(run)
    assert len(library.catalogue.regions.of(photo)) == 2
    runs.undo(run)
    assert len(library.catalogue.regions.of(photo)) == 1


def test_what_a_human_says_of_a_region_outlives_its_run(library):
    photo, runs, regions = library.photo("a.jpg"), library.catalogue.runs, library.catalogue.regions
    run = runs.begin("tag", "model")
    runs.guess(run, photo, {"sea": 0.9})
    regions.record(run, photo, [REGION])
    first = regions.say(photo, REGION, "lake")
    regions.say(photo, REGION, None)
    regions.say(photo, REGION, "sea", "no")
    runs.undo(run)
    said = [(one.tag, one.answer) for one in regions.said(photo)]
    assert said == [("lake", "yes"), (None, "yes"), ("sea", "no")]
    assert regions.said(photo)[0].region == RegionRecord(*REGION)
    regions.withdraw(first)
    assert len(regions.said(photo)) == 2
    assert library.answers(photo) == {}  # nothing is inferred of the whole photo


def test_regions_follow_renamed_and_merged_tags(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.guess(run, photo, {"sea": 0.9, "ocean": 0.8})
    library.catalogue.regions.record(run, photo, [REGION])
    library.catalogue.regions.say(photo, REGION, "sea")
    library.catalogue.tags.merge("sea", "ocean")
    library.catalogue.tags.rename("ocean", "Water|Ocean")
    assert library.catalogue.regions.of(photo)[0].tags[0] == ("Water|Ocean", 0.75)
    assert library.catalogue.regions.said(photo)[0].tag == "Water|Ocean"


def test_regions_need_a_photo_of_the_run(library):
    photo, run = library.photo("a.jpg"), library.catalogue.runs.begin("tag", "model")
    with pytest.raises(CatalogueError, match="plan it first"):
        library.catalogue.regions.record(run, photo, [REGION])
    with pytest.raises(CatalogueError, match="yes or no"):
        library.catalogue.regions.say(photo, REGION, "sea", "unknown")


def test_damaged_regions_are_refused_in_one_line(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.guess(run, photo, {"sea": 0.9})
    library.catalogue.regions.record(run, photo, [REGION])
    with library.catalogue.batch():
        library.catalogue._store.write("UPDATE regions SET content = x'00112233'")
    with pytest.raises(CatalogueError, match="damaged regions"):
        library.catalogue.regions.of(photo)


def test_lessons_are_what_humans_and_files_say_and_never_the_machine(library):
    first, second = library.photo("a.jpg"), library.photo("b.jpg")
    run = library.catalogue.runs.begin("tag", "model")
    for photo in (first, second):
        library.catalogue.runs.guess(run, photo, {"machine": 0.9, "confirmed": 0.8, "denied": 0.7})
    library.catalogue.verdicts.found(first, ["Places|Berlin", "wrong"])
    library.catalogue.verdicts.set(first, "confirmed", "yes")
    library.catalogue.verdicts.set(first, "denied", "no")
    library.catalogue.verdicts.set(first, "wrong", "no")
    lessons = list(library.catalogue.lessons.of([second, first]))
    assert lessons[0] == (second, (), ())
    assert lessons[1] == (first, ("Places", "Places|Berlin", "confirmed"), ("denied", "wrong"))
    (lesson,) = library.catalogue.lessons.of([first], above=False)
    assert lesson.yes == ("Places|Berlin", "confirmed")
    assert library.catalogue.lessons.photos() == [first]


def test_lessons_use_the_present_names_of_tags(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "boats", "yes")
    library.catalogue.verdicts.set(photo, "ship", "no")
    library.catalogue.tags.rename("boats", "Sea|Boat")
    library.catalogue.tags.put_below("ship", "Vehicle")
    (lesson,) = library.catalogue.lessons.of([photo])
    assert lesson == (photo, ("Sea", "Sea|Boat"), ("ship",))


def test_a_no_of_a_human_is_not_overruled_by_the_tags_below(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.found(photo, ["Animal|Toy"])
    library.catalogue.verdicts.set(photo, "Animal", "no")
    (lesson,) = library.catalogue.lessons.of([photo])
    assert lesson == (photo, ("Animal|Toy",), ("Animal",))
