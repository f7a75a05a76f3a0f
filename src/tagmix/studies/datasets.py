"""The data sets of the studies: found, described as each study needs them, and stored."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagmix.comparison.parts import DataPart, DataSet, save_parts, saved
from tagmix.comparison.prepare import Progress, prepare_album, without_folders
from tagmix.datasets import READERS, Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError
from tagmix.images.describe import Describer
from tagmix.images.network import Network
from tagmix.studies.names import is_rich, rich_name
from tagmix.studies.openworld import OPEN, prepare_open
from tagmix.studies.planted import DESIGNS, planted
from tagmix.studies.tasks import RICH
from tagmix.studies.text import read_text_corpus

SCENES, SEED = 900, 7
TEXT_FILE = Path("tate", "tate.jsonl.gz")
TEXT_TRAIN, TEXT_TEST = 5000, 2000  # works: what every method can learn from with 7,848 tags
NEEDS = {
    "figure2": ("corel5k", "scenes"),
    "figure3": ("msrc_v2", "scenes"),
    "figure4": ("corel5k", "scenes"),
    "tags": ("tate",),
    "why": ("corel5k",),
    "margins": ("corel5k", *DESIGNS),
    "flagship": ("corel5k", "msrc_v2"),
    "ablation": ("corel5k", "msrc_v2"),
    "openworld": ("coco_part", "msrc_v2", "corel5k", "scenes"),
    "development": ("msrc_v2",),
}
SEEDS = 3  # of patches and words, for an album with its own test pictures
# The paper's comparisons: one word per patch, and no view of the whole picture. The rest is the default.
ONE_WORD: dict[str, Any] = {"mirrored": False, "layout": False, "nearest": 1, "n_regions": 10}
# The album that is described with other segmenters than normalised cuts too.
OTHER_SEGMENTERS = {"msrc_v2": ("grid", "graph")}


@dataclass(frozen=True)
class Sources:
    """Where data sets come from and go to, and how they are described.

    ``data`` is the folder of known data sets, ``albums`` are further ones by name; ``report_progress`` is
    called with (stage, done, of).
    """

    data: Path | None
    albums: dict[str, Album]
    out: Path
    networks: tuple[Network, ...]
    n_jobs: int
    report_progress: Progress

    def album(self, name: str) -> Album:
        """Return an album by name."""
        if name in self.albums:
            return self.albums[name]
        return self._scenes() if name == "scenes" else open_album((self.data or Path()) / name)

    def _scenes(self) -> Album:
        """Return the drawn album; it is drawn once, because new files would be described again."""
        folder = self.out / "scenes"
        if not (folder / "annotations.jsonl").is_file():  # written last
            draw_album(
                folder,
                SCENES,
                SEED,
                n_jobs=self.n_jobs,
                progress=lambda done, of: self.report_progress("album", done, of),
            )
        return open_album(folder)

    def described(self, name: str, album: Album, *, seeds: int = 1, n_folds: int = 5, **how: Any) -> DataSet:
        """Return an album described and stored under this name."""
        describer = Describer(cache=self.out / "cache", n_jobs=self.n_jobs, **{"network": None, **how})
        return prepare_album(
            self.out / "data", name, album, describer,
            n_folds=n_folds, seeds=seeds, progress=self.report_progress,
        )  # fmt: skip


def prepare(studies: Sequence[str], sources: Sources, left_out: Callable[[str], None]) -> dict[str, DataSet]:
    """Return the data sets that the studies need; ``left_out`` is called with those that are missing."""
    for name in _needed(studies):
        if not is_available(name, sources.data) and name not in sources.albums:
            left_out(name)
    closed, opened = ([study for study in studies if (study in OPEN) == own] for own in (False, True))
    for_open = [name for name in _needed(opened) if is_available(name, sources.data)]
    # Only the photos for design are developed on.
    further = [] if "openworld" not in opened else list(sources.albums)
    return _prepare_closed(closed, sources) | prepare_open(opened, sources, [*for_open, *further])


def _prepare_closed(studies: Sequence[str], sources: Sources) -> dict[str, DataSet]:
    """Return the data sets of the paper's studies and of EMM with context."""
    paper, rich = ([study for study in studies if (study in RICH) == own] for own in (False, True))
    there = [name for name in _needed([*paper, *rich]) if is_available(name, sources.data)]
    # `tagmix train` is meant for photos: drawn scenes stand in for them if there are none.
    drawn = bool(rich) and not sources.albums and not any(name in there for name in NEEDS["flagship"])
    there += ["scenes"] if drawn and "scenes" not in there else []
    wanted = {name for study in paper for name in NEEDS[study]} | (set(sources.albums) if paper else set())
    sets: dict[str, DataSet] = {}
    for name in (*there, *sources.albums) if studies else ():
        if name in ("tate", *DESIGNS):
            sets[name] = _without_pictures(name, sources)
            continue
        album = sources.album(name)
        if name in wanted:
            sets[name] = sources.described(name, album, **ONE_WORD)
        if rich and (drawn or name != "scenes"):
            full = rich_name(name)
            sets[full] = sources.described(full, album, seeds=SEEDS, network=sources.networks)
        for segmenter in OTHER_SEGMENTERS.get(name, ()) if "ablation" in rich else ():
            full = rich_name(name, segmenter)
            sets[full] = sources.described(full, album, segmenter=segmenter)
    return sets


def _needed(studies: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for study in studies for name in NEEDS[study]))


def is_available(name: str, data: Path | None) -> bool:
    """Return whether a known data set is in the folder; drawn ones are always available."""
    if name in ("scenes", *DESIGNS) or data is None:
        return name in ("scenes", *DESIGNS)
    return (data / TEXT_FILE).is_file() if name == "tate" else (data / name).is_dir()


def further_albums(
    specs: Sequence[str], studies: Sequence[str], data: Path | None, out: Path
) -> dict[str, Album]:
    """Return the albums of these specifications by name; AlbumError if a name is taken."""
    taken = [name for name in _needed(studies) if is_available(name, data)]
    albums: dict[str, Album] = {}
    for spec in specs:
        name = album_name(spec)
        if name in (*taken, *albums):
            raise AlbumError(f"albums must have different names, got {name!r} twice: rename one")
        if is_rich(name):
            raise AlbumError(f"an album must not be named like a rich description, got {name!r}: rename it")
        albums[name] = without_folders(open_album(spec), out / "figures", out / "scenes")
    return albums


def album_name(spec: str) -> str:
    """Return the name of an album's file or folder, with the characters that names of results keep.

    >>> album_name("labelme:/data/My photos"), album_name("/")
    ('My_photos', 'album')
    """
    kind, _, rest = spec.partition(":")
    path = Path(rest if kind in READERS else spec).expanduser().resolve()
    return re.sub(r"[^\w+=,.]", "_", path.name)[:60] or "album"


def _without_pictures(name: str, sources: Sources) -> DataSet:
    """Return a data set of text, or one drawn from the model."""
    if name in DESIGNS:
        return planted(name, sources.out / "data")
    return _text((sources.data or Path()) / TEXT_FILE, sources.out)


def _text(path: Path, out: Path) -> DataSet:
    status = path.stat()
    mark = f"text {TEXT_TRAIN} {TEXT_TEST} {status.st_size} {status.st_mtime_ns}"
    known = saved(out / "data", "tate", mark)
    if known is not None:
        return known
    parts = read_text_corpus(path)
    rng = np.random.default_rng(0)
    train, test = (
        bags[np.sort(rng.permutation(len(bags))[:most])]
        for bags, most in ((parts.train, TEXT_TRAIN), (parts.test, TEXT_TEST))
    )
    unknown = np.full(test.n_regions, -1)  # the subjects of single fields are not known
    return save_parts(out / "data", "tate", [DataPart(train, test, unknown)], mark, parts.problems)
