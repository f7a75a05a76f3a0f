"""What the default network costs on a large photo, beside decoding it: CPU time, one process, one thread."""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import isolated, timed
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.decode import decode
from tagmix.images.describe import Describer
from tagmix.images.network import networks_of
from tagmix.images.picture import segment_picture
from tagmix.images.process_pool import one_thread
from tagmix.images.published import DEFAULT
from tagmix.images.quantise import Quantiser

SIZE, REPEATS = (4000, 3000), 7


def costs(folder: str) -> dict[str, Any]:
    """Return CPU milliseconds of decoding a photo, and of describing it with the network and without."""
    album = open_album(folder)
    content = album[0].image.read_bytes()
    words = Describer(n_words=200, n_colours=50, restarts=1, network=None).fit(album)
    alone = Quantiser.of(words.config, words.vocabularies_, words.cache)
    both = words.with_(network=DEFAULT)
    describe = Quantiser.of(both.config, both.vocabularies_, both.cache)
    (network,) = (one.found() for one in networks_of(DEFAULT))
    picture = segment_picture(content, words.config)
    work = {
        "decode": lambda: decode(content),
        "shrink": lambda: decode(content, max_side=words.config.max_side),
        "words": lambda: alone(content),
        "all": lambda: describe(content),
        "network": lambda: network.describe(*picture),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    with one_thread():
        for one in work.values():
            one()
        for _ in range(REPEATS):
            for name, one in work.items():
                times[name].append(1e3 * timed(one)["cpu"])
    return {name: median(own) for name, own in times.items()} | {"bytes": len(content)}


def run() -> list[dict[str, Any]]:
    """Return CPU times and their ratios to decoding the photo at its full size."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"  drawing a picture of {SIZE[0]} × {SIZE[1]} …", flush=True)
        draw_album(str(Path(folder) / "album"), 1, size=SIZE)
        at = isolated("bench_network", "costs", str(Path(folder) / "album" / "annotations.jsonl"))
    size = f"{at['bytes'] / 1e6:.1f} MB"
    decoded = f"decoding it {at['decode']:,.0f} ms CPU"

    def row(what: str, name: str) -> dict[str, Any]:
        return {
            "what": what,
            "ours": f"{at[name]:,.0f} ms CPU",
            "peer": decoded,
            "ratio": at[name] / at["decode"],
        }

    return [
        row(f"decode a JPEG of {SIZE[0]} × {SIZE[1]} ({size}) at the size it is described at", "shrink"),
        row("the network alone: regions and picture, after decoding and cutting", "network"),
        row("describe it by words: decode, cut, patches", "words"),
        row("describe it by words and the network", "all"),
    ]
