"""Searches find what holds, say where they are wrong, and read few rows."""

import pytest

from tagmix.catalogue.query import parse
from tagmix.errors import CatalogueError


@pytest.fixture
def shelf(library):
    """Five photos: what a file, a human and the machine say."""
    catalogue = library.catalogue
    tags = {
        "2018/a.jpg": ["boat", "Water|Sea"],
        "2018/b.jpg": ["boat", "night"],
        "2019/c.jpg": ["Water|Lake|Big", "at night"],
        "2019/d.jpg": [],
        "2020 x/e.jpg": ["Sky"],
    }
    photos = {place: library.photo(place) for place in tags}
    for place, some in tags.items():
        catalogue.verdicts.found(photos[place], some)
    run = catalogue.runs.begin("tag", "model")
    catalogue.runs.guess(run, photos["2019/d.jpg"], {"boat": 0.9})
    catalogue.runs.finish(run)
    catalogue.verdicts.set(photos["2018/a.jpg"], "Sky", "no")
    catalogue.tags.add_synonym("ship", "boat")
    return library


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("boat", "abd"),
        ("boat -night", "ad"),
        ("-boat", "ce"),
        ("ship", "abd"),
        ("BOAT", "abd"),
        ("Water", "ac"),
        ("-Water", "bde"),
        ("Water|Lake", "c"),
        ("lake", "c"),
        ('"at night"', "c"),
        ('-"at night" -boat', "e"),
        ("tag:sky", "e"),
        ('tag:"at night"', "c"),
        ("no:sky", "a"),
        ("night OR sky", "be"),
        ("boat -night OR water", "ad"),
        ("source:machine", "d"),
        ("boat -source:machine", "ab"),
        ("source:human", "a"),
        ("source:metadata", "abce"),
        ("reviewed:no", "bcde"),
        ("reviewed:yes", "a"),
        ("tagged:no", ""),
        ("path:2019/", "cd"),
        ("path:201 -path:2018/", "cd"),
        ('path:"2020 x/"', "e"),
        ("path:nothing", ""),
        ("path:201 path:2018/ -path:2018/b", "a"),
        ("path:2019/ path:2018/", ""),
        ("path:2018/a OR path:2020 tagged:yes", "ae"),
        ("path:2019/ missing:no OR path:2018/", "cd"),
        ("missing:yes", ""),
        ("", "abcde"),
    ],
)
def test_a_search_finds(shelf, question, expected):
    found = shelf.catalogue.search(question)
    assert [photo.place[-5] for photo in found] == list(expected)
    assert len(found) == len(expected)
    assert [photo.place for photo in found.page(1, 2)] == [photo.place for photo in found][1:3]


def test_missing_photos_are_found_only_when_asked_for(shelf):
    shelf.catalogue.photos.miss([shelf.catalogue.photos.at("2018/b.jpg")])
    assert [photo.place[-5] for photo in shelf.catalogue.search("boat")] == ["a", "d"]
    assert [photo.place[-5] for photo in shelf.catalogue.search("boat missing:yes")] == ["b"]
    assert shelf.catalogue.tags.counts()["boat"] == 2


def test_what_a_human_denies_is_not_found_through_the_tags_below(shelf):
    photo = shelf.catalogue.photos.at("2018/a.jpg")
    shelf.catalogue.verdicts.set(photo, "Water", "no")
    assert [one.place[-5] for one in shelf.catalogue.search("Water")] == ["c"]


def test_what_the_machine_denies_is_found_through_a_tag_below_that_a_human_gave(shelf):
    photo, runs = shelf.catalogue.photos.at("2019/d.jpg"), shelf.catalogue.runs
    runs.guess(runs.begin("tag", "model"), photo, {}, no=["Water"])
    assert [one.place[-5] for one in shelf.catalogue.search("Water")] == ["a", "c"]
    shelf.catalogue.verdicts.set(photo, "Water|Lake", "yes")
    assert [one.place[-5] for one in shelf.catalogue.search("Water")] == ["a", "c", "d"]


def test_a_reviewed_photo_is_open_again_when_the_machine_says_more(shelf):
    photo, runs = shelf.catalogue.photos.at("2018/a.jpg"), shelf.catalogue.runs
    run = runs.begin("tag", "model")
    runs.guess(run, photo, {"cliff": 0.9})
    assert "2018/a.jpg" in [one.place for one in shelf.catalogue.search("reviewed:no")]
    shelf.catalogue.photos.review(photo)
    assert "2018/a.jpg" not in [one.place for one in shelf.catalogue.search("reviewed:no")]


@pytest.mark.parametrize(
    ("question", "column", "reason"),
    [
        ("boat nigth", 6, r"did you mean 'night'\?$"),
        ("boat -nigth", 6, r"did you mean 'night'\?$"),
        ("boat zzzzzz", 6, "tagmix tags lists all"),
        ('boat "open', 6, "not closed"),
        ("OR boat", 1, "between two terms"),
        ("boat OR", 6, "between two terms"),
        ("boat OR OR sky", 9, "between two terms"),
        ("boat colour:red", 6, "is none of"),
        ("source:dog", 1, "must be human, metadata, machine"),
        ("boat -", 6, "is missing"),
        ("tag:", 1, "is missing"),
        ('"boat"x', 7, "a space must follow"),
        ("x" * 20_000, 10_000, "longer than"),
        (" ".join(["boat"] * 300), 1499, "more than 200"),
    ],
)
def test_a_wrong_search_is_refused_at_its_column(shelf, question, column, reason):
    with pytest.raises(CatalogueError, match=reason) as caught:
        shelf.catalogue.search(question)
    assert f"at column {column}:" in str(caught.value)
    assert str(caught.value).isprintable()


def test_photos_without_a_tag_that_no_photo_has_are_all_photos(shelf):
    every = [one.place for one in shelf.catalogue.search("boat")]
    assert [one.place for one in shelf.catalogue.search("boat -zzzzzz")] == every


def test_quoted_marks_are_part_of_a_name():
    ((term,),) = parse(r'"-a \"b\" \\ c: OR"')
    assert (term.key, term.value, term.negated) == ("tag", '-a "b" \\ c: OR', False)


@pytest.mark.parametrize(
    "question", ["boat\0x", "\ud800", "a'; DROP TABLE photo; --", "path:\ud800", "%", "\u202e"]
)
def test_hostile_searches_find_nothing_or_are_refused(shelf, question):
    try:
        assert len(shelf.catalogue.search(question)) == 0
    except CatalogueError as error:
        assert str(error).isprintable()  # noqa: PT017
    assert len(shelf.catalogue.search("")) == 5


def test_a_large_result_has_the_order_of_places(library, monkeypatch):
    monkeypatch.setattr("tagmix.catalogue.search.FEW", 2)
    places = ["b/1.jpg", "a/2.jpg", "c.jpg", "a/1.jpg", "B.jpg"]
    for place in places:
        library.photo(place)
    assert [photo.place for photo in library.catalogue.search("")] == sorted(places)
    library.catalogue.photos.miss([library.catalogue.photos.at("b/1.jpg")])
    rest = [photo.place for photo in library.catalogue.search("tagged:no")]
    assert rest == ["B.jpg", "a/1.jpg", "a/2.jpg", "c.jpg"]


@pytest.mark.parametrize(
    "question", ["boat", "-night", "Water", "boat OR sky -night", "reviewed:no", "path:2019/"]
)
def test_no_search_reads_a_table_from_end_to_end(shelf, question):
    store, statements = shelf.catalogue._store, []
    store._connection.set_trace_callback(statements.append)
    shelf.catalogue.search(question).page(0, 10)
    store._connection.set_trace_callback(None)
    plans = [
        row[3]
        for sql in statements
        if sql.startswith("SELECT")
        for row in store.rows(f"EXPLAIN QUERY PLAN {sql}")
    ]
    scans = [plan for plan in plans if plan.startswith("SCAN")]
    # The order of all places is read from its index, never from the table
    assert all("COVERING INDEX photo_order" in scan or "subquery" in scan.lower() for scan in scans), scans
    assert not any("TEMP B-TREE" in plan for plan in plans), plans
    assert len(statements) < 40
