"""Verdicts are kept by source; the strongest holds, and each can be withdrawn."""

import pytest

from tagmix.errors import CatalogueError, ParameterError


def machine(library, photo, **tags):
    run = library.catalogue.runs.begin("tag", "model")
    library.catalogue.runs.guess(run, photo, tags)
    return library.catalogue.runs.finish(run)


def test_a_human_goes_before_metadata_and_those_before_the_machine(library):
    photo, verdicts = library.photo("a.jpg"), library.catalogue.verdicts
    machine(library, photo, sea=0.9, sky=0.8, boat=0.7)
    verdicts.found(photo, ["sky", "boat"])
    verdicts.set(photo, "boat", "no")
    expected = {"boat": ("human", "no"), "sea": ("machine", "yes"), "sky": ("metadata", "yes")}
    assert library.answers(photo) == expected


def test_a_withdrawn_verdict_lets_the_next_source_hold_again(library):
    photo, verdicts = library.photo("a.jpg"), library.catalogue.verdicts
    machine(library, photo, sea=0.9)
    verdicts.set(photo, "sea", "no")
    verdicts.set(photo, "sea", "unknown")
    assert library.answers(photo) == {"sea": ("machine", "yes")}


def test_what_is_not_said_is_unknown(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.found(photo, ["sea"])
    assert library.catalogue.verdicts.get(photo, "boat") == "unknown"


def test_a_keyword_that_vanished_is_unknown_and_not_a_no(library):
    photo, verdicts = library.photo("a.jpg"), library.catalogue.verdicts
    assert verdicts.found(photo, ["sea", "sky"]) == (("sea", "sky"), ())
    assert verdicts.found(photo, ["sky", "boat"]) == (("boat",), ("sea",))
    assert library.answers(photo) == {"boat": ("metadata", "yes"), "sky": ("metadata", "yes")}


def test_a_confirmed_tag_is_a_humans_and_knows_its_run(library):
    photo = library.photo("a.jpg")
    run = machine(library, photo, sea=0.9)
    library.catalogue.verdicts.set(photo, "sea", "yes")
    (verdict,) = library.catalogue.verdicts.of(photo)
    assert (verdict.source, verdict.confirmed, verdict.run, verdict.probability) == (
        "human",
        True,
        run.id,
        0.9,
    )


def test_each_source_can_be_seen(library):
    photo = library.photo("a.jpg")
    machine(library, photo, sea=0.9)
    library.catalogue.verdicts.found(photo, ["sea"])
    library.catalogue.verdicts.set(photo, "sea", "no")
    said = library.catalogue.verdicts.by_source(photo)
    assert said == {"human": {"sea": "no"}, "metadata": {"sea": "yes"}, "machine": {"sea": "yes"}}


@pytest.mark.parametrize("tag", ["", "x" * 10_000, "\u202e", "\ud800", "|", "a|" * 17 + "b"])
def test_a_name_that_no_tag_may_have_is_refused_in_one_line(library, tag):
    photo = library.photo("a.jpg")
    with pytest.raises(CatalogueError, match="16 levels") as caught:
        library.catalogue.verdicts.set(photo, tag, "yes")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250
    assert library.catalogue.verdicts.found(photo, [tag, "sea"]).added == ("sea",)


@pytest.mark.parametrize("tag", ["a/b", "a'; DROP TABLE said; --", "été", "犬", "a\nb", "\u202eabc", "%_"])
def test_any_other_name_is_kept_in_its_normal_form(library, tag):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, tag, "yes")
    assert library.catalogue.verdicts.get(photo, tag) == "yes"


def test_wrong_verdicts_are_refused(library):
    photo = library.photo("a.jpg")
    with pytest.raises(ParameterError, match="yes, no or unknown"):
        library.catalogue.verdicts.set(photo, "sea", "maybe")
    with pytest.raises(ParameterError, match="runs record"):
        library.catalogue.verdicts.set(photo, "sea", "yes", by="machine")
    with pytest.raises(CatalogueError, match="no photo of number 99"):
        library.catalogue.verdicts.set(99, "sea", "yes")


def test_a_batch_is_made_whole_or_not_at_all(library):
    photo = library.photo("a.jpg")

    def half_a_batch():
        with library.catalogue.batch():
            library.catalogue.verdicts.set(photo, "sea", "yes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_a_batch()
    assert library.answers(photo) == {}


def test_a_refused_change_inside_a_batch_leaves_the_rest(library):
    photo = library.photo("a.jpg")
    with library.catalogue.batch():
        library.catalogue.verdicts.set(photo, "sea", "yes")
        with pytest.raises(CatalogueError):
            library.catalogue.verdicts.set(99, "sky", "yes")
    assert library.answers(photo) == {"sea": ("human", "yes")}


def test_a_part_of_a_batch_that_failed_is_taken_back_alone(library):
    photo = library.photo("a.jpg")

    def half():
        with library.catalogue.batch():
            library.catalogue.verdicts.set(photo, "sky", "yes")
            raise KeyError

    with library.catalogue.batch():
        library.catalogue.verdicts.set(photo, "sea", "yes")
        with pytest.raises(KeyError):
            half()
        library.catalogue.verdicts.set(photo, "boat", "yes")
    assert set(library.answers(photo)) == {"sea", "boat"}
    assert library.catalogue.tags.all() == ("boat", "sea")
