"""Tags have levels, synonyms and tags above; they are renamed and merged with what was said."""

import time

import pytest

from tagmix.catalogue.similar import alike, one_edit
from tagmix.errors import CatalogueError


def say(library, place, **answers):
    photo = library.photo(place)
    for tag, answer in answers.items():
        library.catalogue.verdicts.set(photo, tag, answer)
    return photo


def found(library, question):
    return [photo.place for photo in library.catalogue.search(question)]


def test_the_levels_of_a_name_are_tags(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.found(photo, ["Places|Germany|Berlin"])
    assert library.catalogue.tags.all() == ("Places", "Places|Germany", "Places|Germany|Berlin")
    assert list(library.answers(photo)) == ["Places|Germany|Berlin"]
    assert library.catalogue.tags.counts()["Places"] == 1


def test_people_may_type_a_name_in_capitals_or_its_last_level_alone(library):
    photo, tags = library.photo("a.jpg"), library.catalogue.tags
    library.catalogue.verdicts.found(photo, ["Places|Germany|Berlin", "Été"])
    assert tags.resolve("berlin") == "Places|Germany|Berlin"
    assert tags.resolve("places|germany") == "Places|Germany"
    assert tags.resolve("ÉTÉ") == "Été"
    library.catalogue.verdicts.found(photo, ["Places|Germany|Berlin", "People|Berlin"])
    assert tags.resolve("berlin") is None  # two tags


def test_a_keyword_of_a_file_means_what_it_says(library):
    photo, tags = library.photo("a.jpg"), library.catalogue.tags
    library.catalogue.verdicts.found(photo, ["Places|Berlin", "berlin"])
    assert tags.resolve("berlin", exact=True) == "berlin"
    assert [tuple(pair) for pair in tags.alike()] == [("Places|Berlin", "berlin", "level")]
    tags.merge("berlin", "Places|Berlin")
    assert library.catalogue.verdicts.found(photo, ["berlin"]) == ((), ())
    assert library.answers(photo) == {"Places|Berlin": ("metadata", "yes")}


def test_a_renamed_tag_takes_the_tags_below_it_along_and_keeps_its_old_names(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.found(photo, ["Places|Germany|Berlin"])
    renamed = library.catalogue.tags.rename("Places|Germany", "World|Europe|Germany")
    assert dict(renamed)["Places|Germany|Berlin"] == "World|Europe|Germany|Berlin"
    assert list(library.answers(photo)) == ["World|Europe|Germany|Berlin"]
    assert (
        library.catalogue.tags.resolve("Places|Germany|Berlin", exact=True) == "World|Europe|Germany|Berlin"
    )
    assert found(library, "Europe") == ["a.jpg"]
    assert found(library, "Places") == []


def test_a_new_keyword_below_an_old_name_goes_below_the_new_one(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.found(photo, ["Fauna|Dog"])
    library.catalogue.tags.rename("Fauna", "Animals")
    library.catalogue.verdicts.found(photo, ["Fauna|Dog", "Fauna|Cat"])
    assert list(library.answers(photo)) == ["Animals|Cat", "Animals|Dog"]


def test_merged_tags_move_their_verdicts_and_the_name_stays_a_synonym(library):
    first, second = say(library, "a.jpg", boats="yes"), say(library, "b.jpg", boat="yes", boats="yes")
    run = library.catalogue.runs.begin("tag", "model")
    library.catalogue.runs.guess(run, first, {"boats": 0.9, "boat": 0.4})
    library.catalogue.runs.finish(run)
    merged = library.catalogue.tags.merge("boats", "boat")
    assert merged == (2, ())
    assert library.answers(first) == library.answers(second) == {"boat": ("human", "yes")}
    assert library.catalogue.verdicts.of(first)[0].probability == 0.9
    assert library.catalogue.tags.resolve("boats") == "boat"
    assert library.catalogue.tags.describe()[0] == ("boat", 2, ("boats",), ())


def test_contradicting_humans_are_reported_and_the_tag_that_stays_decides(library):
    photo = say(library, "a.jpg", boats="yes", boat="no")
    merged = library.catalogue.tags.merge("boats", "boat")
    assert merged.conflicts == (("a.jpg", "boat"),)
    assert library.answers(photo) == {"boat": ("human", "no")}


def test_a_merge_moves_what_every_source_says_also_where_humans_contradict_each_other(library):
    photo, verdicts = say(library, "a.jpg", boats="yes", boat="no"), library.catalogue.verdicts
    verdicts.found(photo, ["boats"])
    library.catalogue.tags.merge("boats", "boat")
    verdicts.set(photo, "boat", "unknown")
    assert library.answers(photo) == {"boat": ("metadata", "yes")}


def test_a_human_goes_before_the_machine_when_tags_are_merged(library):
    photo = say(library, "a.jpg", boats="no")
    run = library.catalogue.runs.begin("tag", "model")
    library.catalogue.runs.guess(run, photo, {"boat": 0.9})
    assert library.catalogue.tags.merge("boats", "boat").conflicts == ()
    assert library.answers(photo) == {"boat": ("human", "no")}


def test_tags_below_merged_tags_are_merged_too(library):
    first, second = library.photo("a.jpg"), library.photo("b.jpg")
    library.catalogue.verdicts.found(first, ["Fauna|Dog|Poodle", "Fauna|Cat"])
    library.catalogue.verdicts.found(second, ["Animals|Dog"])
    library.catalogue.tags.merge("Fauna", "Animals")
    assert library.catalogue.tags.all() == ("Animals", "Animals|Cat", "Animals|Dog", "Animals|Dog|Poodle")
    assert found(library, "Animals|Dog") == ["a.jpg", "b.jpg"]


def test_a_flat_tag_may_be_put_below_another_and_taken_from_it(library):
    say(library, "a.jpg", Berlin="yes")
    tags = library.catalogue.tags
    tags.put_below("Berlin", "Germany")
    tags.put_below("Germany", "Europe")
    assert found(library, "europe") == ["a.jpg"]
    with pytest.raises(CatalogueError, match="or below it"):
        tags.put_below("Europe", "Berlin")
    tags.take_from("Germany", "Europe")
    assert found(library, "europe") == []
    assert found(library, "germany") == ["a.jpg"]


def test_impossible_changes_are_refused_in_one_line(library):
    photo, tags = library.photo("a.jpg"), library.catalogue.tags
    library.catalogue.verdicts.found(photo, ["A|B", "C"])
    for change, reason in (
        (lambda: tags.rename("A|B", "C"), "merge the two"),
        (lambda: tags.rename("A", "A|B|C"), "cannot be below itself"),
        (lambda: tags.rename("nothing", "C"), "there is no tag"),
        (lambda: tags.merge("A", "A|B"), "is above"),
        (lambda: tags.merge("C", "c"), "the same tag"),
        (lambda: tags.take_from("A|B", "A"), "by its name"),
        (lambda: tags.add_synonym("C", "A"), "merge the two"),
        (lambda: tags.remove_synonym("C"), "is no synonym"),
        (lambda: tags.rename("C", "x" * 300), "200 characters"),
    ):
        with pytest.raises(CatalogueError, match=reason) as caught:
            change()
        assert str(caught.value).isprintable()
    assert tags.all() == ("A", "A|B", "C")


def test_synonyms_stand_for_a_tag_in_searches_and_files(library):
    photo = say(library, "a.jpg", boat="yes")
    library.catalogue.tags.add_synonym("ship", "boat")
    assert found(library, "SHIP") == ["a.jpg"]
    assert library.catalogue.verdicts.found(photo, ["ship"]).added == ("boat",)
    library.catalogue.tags.remove_synonym("ship")
    assert library.catalogue.tags.resolve("ship") is None


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Boat", "boat", "capitals"),
        ("cafe", "café", "accents"),
        ("sail boat", "sailboat", "spacing"),
        ("sail-boat", "sail boat", "spacing"),
        ("boat", "boats", "plural"),
        ("beach", "beaches", "plural"),
        ("city", "cities", "plural"),
        ("sunest", "sunset", "typing"),
        ("mountian", "mountain", "typing"),
        ("собака", "собаки", "typing"),
        ("Ελλάδα", "ελλαδα", "accents"),
        ("東京 駅", "東京駅", "spacing"),
        ("Places|Berlin", "Places|berlin", "capitals"),
        ("Berlin", "Places|Berlin", "level"),
    ],
)
def test_names_that_may_mean_the_same_are_found(one, other, reason):
    assert [(set(pair[:2]), pair.reason) for pair in alike([one, other, "zebra"])] == [({one, other}, reason)]


@pytest.mark.parametrize(
    "pair", [("cat", "car"), ("img1234", "img1235"), ("Paris|Bar", "Rome|Bar"), ("sea", "sky"), ("कि", "की")]
)
def test_names_of_different_things_are_not(pair):
    assert alike(pair) == []


def test_one_edit_is_symmetric():
    words = ["beach", "peach", "beac", "baech", "beachh", "bach", "teach", "beech", "ebach", ""]
    assert all(one_edit(a, b) == one_edit(b, a) for a in words for b in words)


def test_near_names_are_found_in_a_time_that_grows_with_their_number():
    # Work is counted by the comparisons of pairs: a quadratic loop would make 600 million of them
    names = [
        f"{a}{b}{c}{d}word"
        for a in "bcdfghklmnprst"
        for b in "aeiou"
        for c in "bcdfghklmnprstvwz"
        for d in "xyz"
    ]
    names += [f"Level {n % 700}|thing number {n}" for n in range(35_000 - len(names))]
    began = time.process_time()
    pairs = alike(names)
    assert len(pairs) < 10 * len(names)
    small = time.process_time() - began
    began = time.process_time()
    alike(names[:3500])
    assert small < 40 * (time.process_time() - began) + 1


def test_a_merged_tag_takes_the_tags_above_and_below_along(library):
    say(library, "a.jpg", kept="yes")
    say(library, "b.jpg", lost="yes")
    say(library, "c.jpg", child="yes")
    tags = library.catalogue.tags
    tags.put_below("lost", "top")
    tags.put_below("child", "lost")
    tags.merge("lost", "kept")
    assert found(library, "top") == found(library, "kept") == ["a.jpg", "b.jpg", "c.jpg"]
