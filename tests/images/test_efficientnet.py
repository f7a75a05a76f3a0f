"""EfficientNet-Lite: the converted network against the same layers in NumPy, normalisations apart."""

import numpy as np
import onnxruntime
import pytest

from tagmix import NetworkError
from tagmix.images.efficientnet import Stage, build
from tagmix.images.efficientnet_reference import forward
from tagmix.images.network import load_network
from tagmix.images.published import PUBLISHED

RNG = np.random.default_rng(0)
SMALL = (Stage(1, 3, 1, 1, 4, 4), Stage(2, 5, 2, 3, 4, 6))


def random_weights():
    weights = {}

    def layer(conv, norm, out, into, kernel):
        weights[f"{conv}.weight"] = RNG.normal(0, 0.5, (out, into, kernel, kernel))
        weights[f"{norm}.weight"], weights[f"{norm}.bias"] = RNG.uniform(0.5, 2, out), RNG.normal(0, 1, out)
        weights[f"{norm}.running_mean"] = RNG.normal(0, 1, out)
        weights[f"{norm}.running_var"] = RNG.uniform(1e-4, 2, out)

    layer("_conv_stem", "_bn0", 4, 3, 3)
    for number, (before, after, wide, kernel) in enumerate([(4, 4, 4, 3), (4, 6, 12, 5), (6, 6, 18, 5)]):
        block = f"_blocks.{number}."
        if wide != before:
            layer(f"{block}_expand_conv", f"{block}_bn0", wide, before, 1)
        layer(f"{block}_depthwise_conv", f"{block}_bn1", wide, 1, kernel)
        layer(f"{block}_project_conv", f"{block}_bn2", after, wide, 1)
    layer("_conv_head", "_bn1", 8, 6, 1)
    weights["_fc.weight"], weights["_fc.bias"] = RNG.normal(0, 1, (5, 8)), RNG.normal(0, 1, 5)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def slow_layer(x, weights, conv, norm, stride=1):
    """Return a convolution that keeps ⌈n / stride⌉ cells, and the normalisation after it."""
    kernel = weights[f"{conv}.weight"].astype(float)
    out, into, side, _ = kernel.shape
    sizes = [-(-n // stride) for n in x.shape[1:]]
    pads = [max((m - 1) * stride + side - n, 0) for m, n in zip(sizes, x.shape[1:], strict=True)]
    padded = np.pad(x, [(0, 0), *((pad // 2, pad - pad // 2) for pad in pads)])
    y = np.empty((out, *sizes))
    for channel in range(out):
        own = padded if into == len(x) else padded[channel : channel + 1]
        for r in range(sizes[0]):
            for c in range(sizes[1]):
                window = own[:, r * stride : r * stride + side, c * stride : c * stride + side]
                y[channel, r, c] = (window * kernel[channel]).sum()
    mean, var, gain, bias = (
        weights[f"{norm}.{part}"].astype(float)[:, None, None]
        for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (y - mean) / np.sqrt(var + 1e-3) * gain + bias


def relu6(x):
    return np.clip(x, 0, 6)


def slow_blocks(image, weights, blocks=((1, False), (2, True), (1, True))):
    """Return the output of each block and of the head."""
    x, found = relu6(slow_layer(image, weights, "_conv_stem", "_bn0", 2)), []
    for number, (stride, expands) in enumerate(blocks):
        before, block = x, f"_blocks.{number}."
        if expands:
            x = relu6(slow_layer(x, weights, f"{block}_expand_conv", f"{block}_bn0"))
        x = relu6(slow_layer(x, weights, f"{block}_depthwise_conv", f"{block}_bn1", stride))
        x = slow_layer(x, weights, f"{block}_project_conv", f"{block}_bn2")
        x = x + before if x.shape == before.shape else x
        found.append(x)
    return [*found, relu6(slow_layer(x, weights, "_conv_head", "_bn1"))]


@pytest.mark.parametrize("size", [(16, 16), (13, 18)])
def test_the_converted_network_computes_what_its_layers_say(tmp_path, size):
    weights = random_weights()
    (tmp_path / "small.onnx").write_bytes(build(weights, SMALL, "small"))
    image = RNG.normal(0, 1, (3, *size)).astype(np.float32)
    *blocks, head = slow_blocks(image.astype(float), weights)
    session = onnxruntime.InferenceSession(tmp_path / "small.onnx")
    pooled, logits = session.run(["pooled", "logits"], {"image": image[None]})
    np.testing.assert_allclose(pooled[0], head.mean(axis=(1, 2)), rtol=1e-4, atol=1e-5)
    expected = weights["_fc.weight"] @ head.mean(axis=(1, 2)) + weights["_fc.bias"]
    np.testing.assert_allclose(logits[0], expected, rtol=1e-4, atol=1e-4)
    text = 'model = "small.onnx"\ninput = "image"\nsize = [{}, {}]\nregions = ["block0", "block2"]\n'
    (tmp_path / "small.toml").write_text(text.format(*size))
    network = load_network(tmp_path / "small.toml")
    picture = RNG.integers(0, 256, (*size, 3), dtype=np.uint8)
    found = network.describe(picture, np.zeros(size, dtype=np.int32))
    slow = slow_blocks(picture.transpose(2, 0, 1).astype(float), weights)
    for regions, block in zip(found.regions, (slow[0], slow[2]), strict=True):
        np.testing.assert_allclose(regions[0], block.mean(axis=(1, 2)), rtol=1e-4, atol=1e-3)
    assert [len(one) for one in blocks] == [4, 6, 6]


@pytest.mark.parametrize("size", [(16, 16), (13, 18)])
def test_the_reference_computes_what_slow_loops_do(size):
    weights, image = random_weights(), RNG.normal(0, 1, (3, *size))
    *blocks, head = slow_blocks(image, weights)
    found = forward(weights, SMALL, image)
    for number, block in enumerate(blocks):
        np.testing.assert_allclose(found[f"block{number}"], block, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["head.clipped"], head, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["pooled"], head.mean(axis=(1, 2)), rtol=1e-9, atol=1e-9)
    expected = weights["_fc.weight"] @ head.mean(axis=(1, 2)) + weights["_fc.bias"]
    np.testing.assert_allclose(found["logits"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "n_blocks"), [("lite0", 16), ("lite1", 21), ("lite2", 21)])
def test_the_channels_of_the_stages_follow_each_other(name, n_blocks):
    stages = PUBLISHED[f"efficientnet-{name}"].stages
    assert sum(stage.repeats for stage in stages) == n_blocks
    assert [stage.after for stage in stages[:-1]] == [stage.before for stage in stages[1:]]
    assert (
        stages[4:6]
        == {
            "lite0": (Stage(3, 5, 1, 6, 80, 112), Stage(4, 5, 2, 6, 112, 192)),
            "lite1": (Stage(4, 5, 1, 6, 80, 112), Stage(5, 5, 2, 6, 112, 192)),
            "lite2": (Stage(4, 5, 1, 6, 88, 120), Stage(5, 5, 2, 6, 120, 208)),
        }[name]
    )


def test_weights_that_the_layers_do_not_use_are_refused_but_for_counters():
    weights = random_weights()
    counted = {**weights, "_bn0.num_batches_tracked": np.float32(7)}
    assert build(counted, SMALL, "small") == build(weights, SMALL, "small")
    with pytest.raises(NetworkError, match=r"1 tensors that its layers do not use \(the first is _blocks\.3"):
        build({**weights, "_blocks.3._bn0.weight": np.ones(4, np.float32)}, SMALL, "small")


def test_weights_that_lack_a_tensor_are_refused_by_its_name():
    weights = random_weights()
    del weights["_blocks.2._bn1.running_var"]
    with pytest.raises(
        NetworkError, match=r"must have the tensor _blocks\.2\._bn1\.running_var, but lack it"
    ):
        build(weights, SMALL, "small")
