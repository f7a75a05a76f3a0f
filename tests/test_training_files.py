"""A model and its memory: one pair, whatever happens while it is saved."""

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from tagmix import Describer
from tagmix.annotate import Annotator, train_described
from tagmix.continuing import continue_training
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import ModelFileError, ParameterError
from tagmix.files import model_id
from tagmix.learners import EMM, ContextEMM
from tagmix.learners.continued.verdicts import Correction
from tagmix.training_files import load_pair, save_pair, training_file


@cache
def pairs(folder):
    """Return an album and two pairs of model and memory: before and after a correction."""
    album = open_album(draw_album(folder, 24, seed=1, size=(64, 48)))
    describer = Describer.paper(n_words=12, n_patches=40, restarts=1).fit(album)
    described = describer.transform(album)
    trained = train_described(
        describer, described, ContextEMM(tol=0.1, evidence=0.1), album=album, remembering=True
    )
    old = trained.annotator, trained.memory
    name, tag = trained.memory.ids[0], trained.annotator.model.tag_names_[0]
    verdict = "no" if trained.memory.codes[0, 0] == 1 else "yes"
    after = continue_training(*old, [Correction(name, tag, verdict)], others=described.bags, note="one")
    return album, described, old, after


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return pairs(tmp_path_factory.mktemp("album"))


def test_a_pair_comes_back_and_learns_on(known, tmp_path):
    _, _, old, after = known
    save_pair(*old, tmp_path / "m")
    annotator, memory = load_pair(tmp_path / "m")
    assert model_id(annotator) == model_id(old[0])
    name, tag = memory.ids[0], annotator.model.tag_names_[0]
    verdict = "no" if memory.codes[0, 0] == 1 else "yes"
    again = continue_training(annotator, memory, [Correction(name, tag, verdict)])
    assert again.touched == after.touched == (tag,)
    unseen = known[1].bags
    one, other = (own.model.predict_marginals(unseen) for own in (again.annotator, after.annotator))
    assert np.abs(one - other).max() < 1e-9
    save_pair(again.annotator, again.memory, tmp_path / "m")
    assert load_pair(tmp_path / "m").memory.codes[0, 0] == (2 if verdict == "no" else 1)


def test_the_card_names_the_update(known):
    card = known[3].annotator.card
    assert [step.kind for step in card.steps] == ["train", "update"]
    assert (card.steps[1].pictures, card.steps[1].note) == (1, "one")
    assert card.regions == known[2][0].card.regions


def test_nothing_to_learn_gives_the_same_annotator(known):
    annotator, memory = known[2]
    same = continue_training(annotator, memory)
    assert same.annotator is annotator
    assert (same.touched, same.changed) == ((), ())


def test_only_the_model_with_a_memory_learns_on(known, tmp_path):
    album, described, old, _ = known
    paper = Annotator(old[0].describer, EMM(tol=0.1, calibration_folds=0).fit(described.bags))
    with pytest.raises(ParameterError, match="only ContextEMM can learn on, got EMM"):
        continue_training(paper, old[1])
    save_pair(*old, tmp_path / "m")
    save_pair(paper, None, tmp_path / "m")
    assert not training_file(tmp_path / "m").exists()
    assert load_pair(tmp_path / "m").memory is None
    assert len(album)


def test_the_memory_of_another_model_is_refused_in_one_line(known, tmp_path):
    _, _, old, after = known
    save_pair(*old, tmp_path / "m")
    after.annotator.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="belongs to another model than 'm'") as caught:
        load_pair(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_a_stop_between_the_files_leaves_the_old_or_the_new_pair(known, tmp_path, monkeypatch):
    _, _, old, after = known
    new = after.annotator, after.memory
    place = tmp_path / "m"
    save_pair(*old, place)
    with monkeypatch.context() as patched:
        patched.setattr(Annotator, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save_pair(*new, place)
    assert load_pair(place).memory.codes[0, 0] == old[1].codes[0, 0]
    with monkeypatch.context() as patched:
        patched.setattr("tagmix.training_files.training_file", lambda _: tmp_path / "no" / "such")
        with pytest.raises(ModelFileError, match="could not be renamed"):
            save_pair(*new, place)
    assert load_pair(place).memory.codes[0, 0] == new[1].codes[0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.training"]


# A fresh process may fork: it has no threads yet
KILLS = """
import os, pathlib, random, signal, sys, time
from tagmix.files import model_id
from tagmix.training_files import load_pair, save_pair
place, *kept = map(pathlib.Path, sys.argv[1:])
old, new = (load_pair(path) for path in kept)
codes = {model_id(pair.annotator): pair.memory.codes.tolist() for pair in (old, new)}
random.seed(0)
seen = set()
began = time.perf_counter()
save_pair(*new, place)
took = time.perf_counter() - began
for _ in range(KILLED):
    child = os.fork()
    if not child:
        while True:
            save_pair(*new, place)
            save_pair(*old, place)
    time.sleep(random.uniform(0.0, 4 * took))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pair = load_pair(place)
    assert codes[model_id(pair.annotator)] == pair.memory.codes.tolist()
    seen.add((model_id(pair.annotator), place.with_name("m.training.next").exists()))
print(len(seen))
"""


def test_kills_at_random_moments_leave_one_of_the_pairs(known, tmp_path):
    place, kept = tmp_path / "m", [tmp_path / name for name in ("old", "new")]
    for pair, path in zip((known[2], (known[3].annotator, known[3].memory)), kept, strict=True):
        save_pair(*pair, path)
    save_pair(*known[2], place)
    script = KILLS.replace("KILLED", os.environ.get("TAGMIX_KILLS", "40"))
    done = subprocess.run(
        [sys.executable, "-c", script, str(place), *map(str, kept)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
