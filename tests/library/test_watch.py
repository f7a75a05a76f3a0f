"""A watched folder: new photos are tagged once, when they are whole."""

import time

import pytest

from tagmix.library import watch as module
from tagmix.library.events import PhotoTagged
from tagmix.library.scan import scan
from tagmix.library.watch import Pace, Watching, is_remote, watch
from tests.library.makers import FixedAnnotator, draw_photo

QUICK = Pace(settled=0.2, rescan=60, poll=0.1, step=0.05)
PATIENCE = 15.0


@pytest.fixture(autouse=True)
def _model(monkeypatch):
    monkeypatch.setattr(module, "model_id", lambda annotator: annotator.name)


def watched(catalogue, photos, *, until, poll=True, existing=False, act=None, annotator=None):
    """Return the names of photos tagged until so many are, or for a moment if it is 0."""
    found, end = [], time.monotonic() + (PATIENCE if until else 1.0)
    # A rescan yields nothing when nothing is new, so a thread of time ends the loop
    events = watch(catalogue, annotator or FixedAnnotator(), photos, existing=existing, poll=poll, pace=QUICK)
    real = module.Arrivals.wait

    def wait(self):
        real(self)
        if time.monotonic() > end:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.Arrivals, "wait", wait)
        try:
            for event in events:
                if isinstance(event, Watching) and act:
                    act()
                if isinstance(event, PhotoTagged):
                    found.append(event.path.name)
                    if len(found) == until:
                        break
        except KeyboardInterrupt:
            pass
        finally:
            events.close()
    return found


@pytest.mark.parametrize("poll", [True, False])
def test_new_photos_are_tagged_and_old_ones_are_left_alone(catalogue, photos, poll):
    def arrive():
        draw_photo(photos / "new.jpg", 50)
        draw_photo(photos / "folder" / "inside.jpg", 51)

    assert sorted(watched(catalogue, photos, until=2, poll=poll, act=arrive)) == ["inside.jpg", "new.jpg"]
    assert (photos / "new.jpg.xmp").exists()
    assert not (photos / "a.jpg.xmp").exists()
    assert [run.state for run in catalogue.runs.all()] == ["finished"]


def test_photos_that_arrive_while_nobody_watches_are_found_at_the_next_start(catalogue, photos):
    assert watched(catalogue, photos, until=0) == []
    draw_photo(photos / "new.jpg", 50)
    list(scan(catalogue))  # that another verb notes it first changes nothing
    assert watched(catalogue, photos, until=1) == ["new.jpg"]
    assert watched(catalogue, photos, until=0) == []


def test_existing_photos_are_tagged_if_wanted_and_a_broken_one_is_tried_once(catalogue, photos):
    annotator = FixedAnnotator()
    assert watched(catalogue, photos, until=0, existing=True, annotator=annotator) == [
        "c.png",
        "a.jpg",
        "b.jpg",
    ]
    assert annotator.calls == 4


def test_a_photo_that_still_grows_is_not_whole(photos):
    arrivals = module.Arrivals(photos, QUICK, polled=True)
    path = draw_photo(photos / "new.jpg", 50)
    content = path.read_bytes()
    arrivals.add([path])
    for n in range(4):
        assert arrivals.ripe() == []
        path.write_bytes(content[: -n - 1])
        time.sleep(0.15)
    assert arrivals.ripe() == []
    time.sleep(0.3)
    assert arrivals.ripe() == [path]
    arrivals.add([path])
    assert arrivals.ripe() == []


def test_our_own_files_are_not_heard(photos):
    arrivals = module.Arrivals(photos, QUICK, polled=True)
    added = module.watchfiles.Change.added
    heard = [
        n
        for n in ("a.jpg", "a.jpg.xmp", ".tagmix-00.tmp", "x.txt", ".trash/a.jpg", "2026")
        if arrivals._is_heard(added, str(photos / n))
    ]
    assert heard == ["a.jpg", "2026"]


def test_a_folder_of_this_machine_is_not_remote(photos):
    assert not is_remote(photos)
