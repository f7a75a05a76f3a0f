"""Data sets drawn from the model: the same for everybody, one part per seed, with the tags of regions."""

import numpy as np

from tagmix.comparison.parts import load_part
from tagmix.studies import planted as studied


def test_a_planted_data_set_has_one_part_per_seed_and_is_drawn_once(tmp_path, monkeypatch):
    monkeypatch.setattr(studied, "SEEDS", 2)
    monkeypatch.setattr(studied, "TRAIN", 60)
    monkeypatch.setattr(studied, "TEST", 40)
    data = studied.planted("planted_skewed", tmp_path)
    assert (data.n_parts, data.n_train, data.n_tags, data.views) == (2, 60, 20, ("drawn",))
    assert data.knows_regions
    assert not data.repeated  # the pictures of a seed are its own
    parts = [load_part(tmp_path, data.name, seed) for seed in (0, 1)]
    assert not np.array_equal(parts[0].truth, parts[1].truth)
    assert set(parts[0].train.ids).isdisjoint(parts[0].test.ids)
    for part in parts:
        own = part.test.captions.toarray()
        pictures = np.repeat(np.arange(40), np.diff(part.test.offsets))
        assert own[pictures, part.truth].all()  # captions are the tags of the regions
        counts = part.train.captions.toarray().sum(axis=0)
        assert counts[:5].mean() > 3 * counts[-5:].mean()
    stamp = (tmp_path / data.name / "about.json").stat().st_mtime_ns
    assert studied.planted("planted_skewed", tmp_path) == data
    assert (tmp_path / data.name / "about.json").stat().st_mtime_ns == stamp
