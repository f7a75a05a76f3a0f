"""EfficientNet-Lite as an ONNX graph of given weights, batch normalisations folded into the convolutions.

Every block's output keeps its name, block0 to block15 (Lite0) or block20 (Lite1, Lite2), so that a TOML may
name any of them; head.clipped is the map before global pooling.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import NetworkError
from tagmix.images.network_session import needed

EPSILON = 1e-3  # of the batch normalisations
COUNTERS = "num_batches_tracked"  # of training steps: no part of the computation
OPSET, IR_VERSION = 13, 8  # old enough for every onnxruntime of the extra

Weights = dict[str, NDArray[Any]]


class Stage(NamedTuple):
    """A row of like blocks: how many, kernel, stride of the first, expansion, channels in and out."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    before: int
    after: int


def stages_of(repeats: tuple[int, ...], channels: tuple[int, ...]) -> tuple[Stage, ...]:
    """Return the seven stages of a member of the family; kernels, strides and expansions never differ."""
    kernels, strides, expansions = (3, 3, 5, 3, 5, 5, 3), (1, 2, 2, 2, 1, 2, 1), (1, 6, 6, 6, 6, 6, 6)
    rows = zip(repeats, kernels, strides, expansions, channels[:-1], channels[1:], strict=True)
    return tuple(Stage(*row) for row in rows)


def build(weights: Weights, stages: tuple[Stage, ...], name: str) -> bytes:
    """Return the network with these weights as ONNX: input "image", outputs "pooled" and "logits".

    Every tensor must be used: weights that are left over belong to layers that the stages lack.
    """
    graph = _Graph(weights, name)
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

    def __init__(self, weights: Weights, name: str) -> None:
        self.weights, self.name = weights, name
        self.used: set[str] = set()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.helper, self.onnx = needed("onnx.helper"), needed("onnx")
        self.constant("zero", np.float32(0))
        self.constant("six", np.float32(6))

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor of the weights, and remember that it was used."""
        if name not in self.weights:
            raise NetworkError(
                f"the weights of {self.name} must have the tensor {name}, but lack it: "
                "they belong to another network."
            )
        self.used.add(name)
        return self.weights[name]

    def constant(self, name: str, value: Any) -> str:
        array = np.asarray(value, dtype=np.float32)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def convolution(self, x: str, layer: str, norm: str, stride: int, group: int, output: str) -> str:
        """Add a convolution and the batch normalisation behind it as one; y = (Wx − mean) · gain + bias."""
        kernel, gain = self.tensor(f"{layer}.weight"), self.tensor(f"{norm}.weight").astype(np.float64)
        gain = gain / np.sqrt(self.tensor(f"{norm}.running_var").astype(np.float64) + EPSILON)
        bias = self.tensor(f"{norm}.bias") - self.tensor(f"{norm}.running_mean") * gain
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
        last = [self.constant(f"logits.{part}", self.tensor(f"_fc.{part}")) for part in ("weight", "bias")]
        self.node("Gemm", [pooled, *last], "logits", transB=1)
        n_classes, n_channels = self.tensor("_fc.weight").shape
        left = sorted(name for name in self.weights if name not in self.used and not name.endswith(COUNTERS))
        if left:
            raise NetworkError(
                f"the weights of {self.name} have {len(left)} tensors that its layers do not use (the first "
                f"is {left[0]:.60}): they belong to another network."
            )
        number = self.onnx.TensorProto.FLOAT
        graph = self.helper.make_graph(
            self.nodes,
            self.name,
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
