"""EfficientNet-Lite layer by layer in NumPy: what the converted network is compared with.

It is written to be read and takes the weights as they were published, batch normalisations apart.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats
from tagmix.images.efficientnet import EPSILON, Stage, Weights


def forward(weights: Weights, stages: Sequence[Stage], picture: NDArray[Any]) -> dict[str, Floats]:
    """Return the output of every block, of the head, and "pooled" and "logits", of 3 × height × width."""
    x = relu6(normalised(weights, "_bn0", convolved(picture, weights["_conv_stem.weight"], stride=2)))
    found: dict[str, Floats] = {}
    for stage in stages:
        for repeat in range(stage.repeats):
            stride = stage.stride if repeat == 0 else 1
            x = found[f"block{len(found)}"] = block(weights, f"_blocks.{len(found)}.", x, stride)
    head = relu6(normalised(weights, "_bn1", convolved(x, weights["_conv_head.weight"])))
    pooled = head.mean(axis=(1, 2))
    logits = weights["_fc.weight"].astype(np.float64) @ pooled + weights["_fc.bias"]
    return {**found, "head.clipped": head, "pooled": pooled, "logits": logits}


def block(weights: Weights, layer: str, x: Floats, stride: int) -> Floats:
    """Return an inverted bottleneck: wider, one filter per channel, narrower; plus its input if it fits."""
    before = x
    if f"{layer}_expand_conv.weight" in weights:
        x = relu6(normalised(weights, f"{layer}_bn0", convolved(x, weights[f"{layer}_expand_conv.weight"])))
    x = convolved(x, weights[f"{layer}_depthwise_conv.weight"], stride)
    x = relu6(normalised(weights, f"{layer}_bn1", x))
    x = normalised(weights, f"{layer}_bn2", convolved(x, weights[f"{layer}_project_conv.weight"]))
    return x + before if x.shape == before.shape else x


def convolved(x: NDArray[Any], kernel: NDArray[Any], stride: int = 1) -> Floats:
    """Return a convolution that keeps ⌈n / stride⌉ cells; a kernel of one input is one filter per channel.

    >>> convolved(np.ones((1, 2, 2)), np.ones((1, 1, 3, 3))).tolist()
    [[[4.0, 4.0], [4.0, 4.0]]]
    """
    out, into, side, _ = kernel.shape
    height, width = (-(-n // stride) for n in x.shape[1:])
    missing = [max((m - 1) * stride + side - n, 0) for m, n in zip((height, width), x.shape[1:], strict=True)]
    padded = np.pad(x.astype(np.float64), [(0, 0), *((pad // 2, pad - pad // 2) for pad in missing)])
    result = np.zeros((out, height, width))
    for row, column in np.ndindex(side, side):
        moved = padded[:, row : row + stride * height : stride, column : column + stride * width : stride]
        factors = kernel[:, :, row, column].astype(np.float64)
        result += factors[:, 0, None, None] * moved if into == 1 else np.tensordot(factors, moved, 1)
    return result


def normalised(weights: Weights, layer: str, x: Floats) -> Floats:
    """Return (x − mean) / √(variance + ε) · gain + bias, channel by channel."""
    mean, variance, gain, bias = (
        weights[f"{layer}.{part}"].astype(np.float64)[:, None, None]
        for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / np.sqrt(variance + EPSILON) * gain + bias


def relu6(x: Floats) -> Floats:
    """Return x between 0 and 6."""
    return np.clip(x, 0, 6)
