"""The open world: which pictures are for design, how its data sets are made, and what its tables say."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.comparison.parts import Places, load_part, save_parts
from tagmix.comparison.region_truth import picture_truth, see
from tagmix.comparison.variations import STUFF, apply_variation
from tagmix.datasets import Album, Item, open_album
from tagmix.errors import AlbumError
from tagmix.evaluation.metrics import n_plus, per_tag_f1
from tagmix.evaluation.regions import NONE
from tagmix.images.describe import Describer
from tagmix.report import page
from tagmix.report.comparison.balanced import balanced_cells, balanced_draws
from tagmix.report.comparison.samples import groups
from tagmix.studies import openworld
from tagmix.studies.documents import write_documents
from tagmix.studies.names import open_name, title_of
from tagmix.studies.openworld import (
    number_of,
    odd_pictures,
    open_tasks,
    prepare_open,
    split_by_number,
    varied_set,
)
from tagmix.studies.openworld_tables import facts_of, open_groups, open_tables, open_world, terms_of
from tagmix.studies.tasks import STUDIES, USUAL, tasks_of
from tests.comparison.conftest import data_set, planted_part
from tests.report.comparison.makers import compared

DATA = Path(os.environ.get("TAGMIX_DATA", "data"))


def numbered(*names):
    return Album(tuple(Item(Path(name), ("cow",), "train") for name in names), Path())


def test_odd_pictures_are_for_design_and_even_ones_for_the_report():
    album = numbered("10_1_s.jpg", "10_2_s.jpg", "3_15_s.jpg", "3_30_s.jpg")
    assert [number_of(item) for item in album] == [1, 2, 15, 30]
    assert [item.split for item in split_by_number(album)] == ["train", "test", "train", "test"]
    odd = odd_pictures(album)
    assert [item.image.name for item in odd] == ["10_1_s.jpg", "3_15_s.jpg"]
    assert {item.split for item in odd} == {None}
    with pytest.raises(AlbumError, match=r"named like 10_21_s.jpg, got 'cow.jpg': rename it"):
        split_by_number(numbered("cow.jpg"))


class FewSources:
    """Stands in for the description of pictures: planted bags, stored as they would be."""

    def __init__(self, out):
        self.out, self.networks, self.asked = out, (), []

    def album(self, name):
        return numbered(*(f"1_{i}_s.jpg" for i in range(1, 7)))

    def described(self, name, album, *, n_folds, network):
        self.asked.append((name, [item.split for item in album], n_folds))
        part = planted_part(30, 12)
        names = ("car", "cow", "grass", "sky", "tree", "water")
        train, test = (bags.with_tags(bags.captions, names) for bags in (part.train, part.test))
        return save_parts(self.out / "data", name, [part._replace(train=train, test=test)], name, [])


def test_msrc_is_described_once_and_varied_twice(tmp_path):
    sources = FewSources(tmp_path)
    sets = prepare_open(["openworld", "development"], sources, ["coco_part", "msrc_v2"])
    assert [name for name, *_ in sources.asked] == ["coco_part_open", "msrc_v2_open", "msrc_v2_odd_open"]
    assert sources.asked[1][1] == ["train", "test"] * 3
    assert sources.asked[2][1:] == ([None] * 3, 3)
    assert list(sets) == [
        "coco_part_open",
        *(f"msrc_v2{odd}_open{what}" for odd in ("", "_odd") for what in ("", "_objects", "_half")),
    ]
    whole, objects, half = (
        load_part(tmp_path / "data", f"msrc_v2_open{v}", 0) for v in ("", "_objects", "_half")
    )
    assert objects.train.tag_names == half.train.tag_names == ("car", "cow")
    assert (objects.truth == NONE).sum() == (whole.truth >= 2).sum() > 0
    assert half.train.captions.nnz < objects.train.captions.nnz
    assert half.test.captions.toarray().tolist() == objects.test.captions.toarray().tolist()
    assert list(prepare_open(["development"], sources, ["msrc_v2"])) == list(sets)[4:]


def test_a_variation_is_made_anew_only_where_its_data_changed(tmp_path):
    sources = FewSources(tmp_path)
    (data,) = list(prepare_open(["openworld"], sources, ["coco_part"]).values())
    home = tmp_path / "data"

    def made(point):
        varied_set(home, data, "varied", point)
        return (home / "varied" / "about.json").stat().st_mtime_ns

    first = made({"objects": True})
    assert made({"objects": True}) == first
    assert made({"objects": True, "dropped": 0.5}) > first
    about = home / data.name / "about.json"
    second = made({"objects": True})
    about.write_text(json.dumps({**json.loads(about.read_text()), "mark": "other"}))
    assert made({"objects": True}) > second


def test_each_part_is_varied_and_the_pictures_that_could_not_be_read_are_still_named(tmp_path):
    first, second = planted_part(10, 4), planted_part(8, 3)
    data = save_parts(tmp_path, "a_open", [first, second], "mark", ["a.jpg is no picture"])
    varied = varied_set(tmp_path, data, "a_open_few", {"tags": 3})
    for i, part in enumerate((first, second)):
        own, expected = load_part(tmp_path, "a_open_few", i), apply_variation(part, {"tags": 3})
        assert own.train.captions.toarray().tolist() == expected.train.captions.toarray().tolist()
    assert varied.problems == data.problems
    assert len(varied.problems) == 1


def test_methods_for_words_and_for_maps_run_where_there_are_any():
    def methods(views, *, known=True):
        return [task.method for task in open_tasks(data_set("a_open", views, knows_regions=known))]

    assert methods(("map", "pooled")) == [*openworld.REGIONS, "CAM"]
    assert methods(("sift", "layout")) == [*openworld.REGIONS, "EMM_calibrated"]
    pictures = methods(("sift", "map"), known=False)
    assert pictures == [*openworld.PICTURES, *openworld.BALANCED, "EMM_calibrated"]
    assert {"ScorerZero", "CAM", "AlwaysNone"}.isdisjoint(pictures)


def test_the_report_never_has_the_pictures_for_design_twice_and_development_runs_by_name_alone():
    sets = {
        name: data_set(name) for name in ("coco_part_open", "msrc_v2_open_half", "msrc_v2_odd_open", "scenes")
    }
    assert {task.data for task in tasks_of(["openworld"], sets)} == {"coco_part_open", "msrc_v2_open_half"}
    assert {task.data for task in tasks_of(["development"], sets)} == {"msrc_v2_odd_open"}
    paper = tasks_of(["figure2", "figure3", "figure4", "why", "flagship", "ablation"], sets)
    assert {task.data for task in paper} == {"scenes"}
    assert set(STUDIES) - set(USUAL) == {"development"}


def test_stuff_is_what_cannot_be_counted():
    assert {"building", "grass", "mountain", "road", "sky", "tree", "water"} == STUFF
    assert title_of(open_name("msrc_v2", "half"), ("map",)).startswith("MSRC v2, objects only, half of")


def opened(data="coco_part_open"):
    """Return records of methods with terms, of which ours is better on nearly every picture."""
    made = compared({"ContextEMM": 1.0, "KernelRidge": 0.5, "AlwaysNone": 0.0}, data=data, regions=True)
    rng = np.random.default_rng(0)
    records = []
    for record in made:
        n, ours = len(record.ids), record.task.method == "ContextEMM"
        weight = np.full(n, 4.0)
        gain = np.minimum(rng.integers(0, 3, n) + 2.0 * ours, 4.0)
        names = ["first", "map", "recall"]
        if record.task.method != "KernelRidge":
            names += [
                f"{m} {k}"
                for m in ("regions", "f1", "inside", "near", "covered")
                for k in ("free", "captioned")
            ]
            names += ["missed", "inside any", "near any"]
        records.append(replace(record, terms={name: [gain.tolist(), weight.tolist()] for name in names}))
    return records


def test_the_tables_have_each_metric_and_what_ours_gains():
    (group,) = open_groups(groups([*opened(), *compared(data="album")], title_of))
    tables = {title: table for title, _, table in open_tables(group)}
    assert list(tables) == ["Regions", "Pointing", "Pictures"]
    lines = {line.name: line for line in tables["Regions"].lines}
    assert list(lines) == ["EMM with context", "Always none"]  # kernel ridge names no regions
    terms = {name: terms_of(group.whole[name], "regions free") for name in ("ContextEMM", "AlwaysNone")}
    shares = {
        name: sum(p.gain.sum() for p in own.values()) / sum(p.weight.sum() for p in own.values())
        for name, own in terms.items()
    }
    ours, none = (lines[name].cells[0] for name in ("EMM with context", "Always none"))
    assert (ours.text, none.text) == (f"{shares['ContextEMM']:.3f}", f"{shares['AlwaysNone']:.3f}")
    assert f"; +{shares['ContextEMM'] - shares['AlwaysNone']:.3f}, +" in none.small
    assert "≈" not in none.small
    assert {line.name for line in tables["Pictures"].lines} >= {"Kernel ridge", "Always none"}
    assert tables["Pictures"].heads[2:5] == ["P@1", "mAP", "Recall at precision .6"]
    balanced = balanced_cells(group.whole, "ContextEMM")
    for line, name in zip(tables["Pictures"].lines, ("ContextEMM", "KernelRidge", "AlwaysNone"), strict=True):
        assert list(line.cells[-2:]) == list(balanced[name])
    assert balanced["ContextEMM"] != balanced["AlwaysNone"]
    facts = facts_of(group)
    assert f"{none.text} of the regions are none of the tags." in facts
    assert "Pointing can reach" in facts


SHARES = {
    "first": 0.91, "map": 0.92, "recall": 0.93,
    "regions free": 0.11, "regions captioned": 0.12, "f1 free": 0.13, "f1 captioned": 0.14,
    "inside free": 0.21, "inside captioned": 0.22, "near free": 0.23, "near captioned": 0.24,
    "covered free": 0.25, "covered captioned": 0.26,
    "missed": 0.31, "inside any": 0.32, "near any": 0.33,
}  # fmt: skip


def with_shares(records):
    n = len(records[0].ids)
    terms = {name: [[share] * n, [1.0] * n] for name, share in SHARES.items()}
    return [replace(record, terms=terms) for record in records]


def test_every_column_and_every_fact_has_its_own_metric():
    (group,) = open_groups(groups(with_shares(opened()), title_of))
    found = {
        title: {head: cell.text for head, cell in zip(table.heads[1:], table.lines[0].cells, strict=True)}
        for title, _, table in open_tables(group)
    }
    assert found["Regions"] == {
        "Right, free": "0.110", "Right, captioned": "0.120", "F1, free": "0.130", "F1, captioned": "0.140"
    }  # fmt: skip
    assert found["Pointing"] == {
        "Inside, free": "0.210", "Inside, captioned": "0.220", "15 pixels, free": "0.230",
        "15 pixels, captioned": "0.240", "Covered": "0.260",
    }  # fmt: skip
    pictures = [found["Pictures"][head] for head in ("P@1", "mAP", "Recall at precision .6")]
    assert pictures == ["0.910", "0.920", "0.930"]
    facts = facts_of(group)
    assert "0.310 of the regions with a tag have one that the caption lacks." in facts
    assert "0.110 of the regions are none of the tags." in facts
    assert "Pointing can reach 0.320 of the pairs, 0.330 within 15 pixels." in facts


def test_the_page_and_the_document_have_the_same_tables(tmp_path):
    found = groups(opened(), title_of)
    text = open_world(found)
    assert "COCO photos, open world" in text
    assert page.grid(*open_tables(found[0])[0][2]) in text
    (path,) = write_documents(tmp_path, opened())
    assert path.name == "openworld.md"
    headings = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert headings == [
        "# Open world: tables",
        "## COCO photos, open world",
        "### Regions",
        "### Pointing",
        "### Pictures",
    ]
    write_documents(tmp_path, [*with_shares(opened()), *opened("msrc_v2_open")])
    text = path.read_text(encoding="utf-8")
    assert text.count("0.310 of the regions with a tag have one that the caption lacks.") == 1
    both = write_documents(tmp_path, [*opened(), *compared(data="corel5k")])
    assert [path.name for path in both] == ["tables.md", "openworld.md"]
    assert "open world" not in both[0].read_text(encoding="utf-8").casefold()
    assert open_world(groups(compared(), title_of)) == ""


def test_a_metric_that_one_record_lacks_is_not_shown():
    (group,) = groups([replace(record, terms={}) for record in opened()], title_of)
    assert open_tables(group) == []
    whole, *_ = opened()
    draws = SimpleNamespace(units={0: [whole, whole], 1: [whole, replace(whole, terms={})]})
    assert terms_of(draws, "map") is None
    draws.units[1].pop()
    assert terms_of(draws, "map").keys() == {0, 1}


def test_the_first_draw_of_balanced_metrics_is_the_metric():
    (group,) = groups(opened(), title_of)
    for sample in group.whole.values():
        (record,) = sample.records
        scores = np.zeros(record.truth.shape)
        for row, top in zip(scores, record.top, strict=True):
            row[top] = -np.arange(len(top))
        drawn = balanced_draws(record, sample.k, draws=200)
        assert drawn.f1[0] == pytest.approx(per_tag_f1(record.truth, scores, sample.k))
        assert drawn.n_plus[0] == n_plus(record.truth, scores, sample.k)
        assert drawn.f1[1:].min() <= drawn.f1[0] <= drawn.f1[1:].max()
        assert drawn.n_plus[1:].mean() == pytest.approx(drawn.n_plus[0], abs=0.5)


def test_balanced_metrics_of_different_pictures_are_not_compared():
    (group,) = groups(opened(), title_of)
    cells = balanced_cells(group.whole, "ContextEMM")
    assert all(cell.text != "–" for own in cells.values() for cell in own)
    assert ";" not in cells["ContextEMM"][0].small
    assert ";" in cells["AlwaysNone"][1].small
    (folded,) = groups(compared({"ContextEMM": 1.0, "KNN": 0.5}, parts=2))
    assert {cell.text for own in balanced_cells(folded.whole, "ContextEMM").values() for cell in own} == {"–"}


@pytest.mark.skipif(
    not (DATA / "coco_part").is_dir(), reason="coco_part, which is not ours to ship, is absent"
)
def test_most_regions_of_photos_are_none_of_the_tags():
    album = open_album(DATA / "coco_part")
    config = Describer(n_regions=10).config
    assert {item.split for item in album} == {"train", "test"}
    truths = [picture_truth(album, item, see(item.image, config)) for item in list(album)[:12]]
    tags = [tag for truth in truths for tag in truth.tags]
    assert 0.3 < np.mean([tag is None for tag in tags]) < 0.8
    assert "" not in tags
    assert all(set(truth.placed) == set(item.tags) for truth, item in zip(truths, album, strict=False))


@pytest.mark.skipif(not (DATA / "msrc_v2").is_dir(), reason="set TAGMIX_DATA to the folder of msrc_v2")
def test_half_of_the_pictures_of_msrc_are_for_the_report():
    sides = [item.split for item in split_by_number(open_album(DATA / "msrc_v2"))]
    assert (sides.count("train"), sides.count("test")) == (296, 295)


def test_places_are_varied_with_the_tags(tmp_path):
    part = planted_part(8, 4)
    places = Places(*(csr_array(np.ones((n, 6))) for n in (4, part.test.n_regions, part.test.n_regions)))
    data = save_parts(tmp_path, "a_open", [part._replace(places=places)], "mark", [])
    varied_set(tmp_path, data, "a_open_objects", {"tags": 3})
    assert load_part(tmp_path, "a_open_objects", 0).places.pairs.shape[1] == 3
