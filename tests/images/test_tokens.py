"""Transformers: grids of tokens become maps for regions, the special token describes the picture."""

import numpy as np
import pytest
from tests.networks import constant, node, save_network

from tagmix import NetworkError
from tagmix.images.network import load_network
from tagmix.images.region_means import region_means

PATCH, WIDTH, ROWS, COLUMNS = 4, 6, 3, 5
RNG = np.random.default_rng(0)
WEIGHTS = {
    "kernel": RNG.normal(0, 0.3, (WIDTH, 3, PATCH, PATCH)),
    "special": RNG.normal(0, 1, (1, 1, WIDTH)),
    "position": RNG.normal(0, 1, (1, 1 + ROWS * COLUMNS, WIDTH)),
    **{name: RNG.normal(0, 0.5, (WIDTH, WIDTH)) for name in ("query", "key", "value")},
}
WEIGHTS = {name: array.astype(np.float32) for name, array in WEIGHTS.items()}
LABELS = np.zeros((ROWS * PATCH, COLUMNS * PATCH), dtype=np.int32)
LABELS[5:, 9:], LABELS[:3, :2] = 1, 2
TOKENS = {"cls": 1, "patch": PATCH}


def transformer():
    """Return the nodes of a patch embedding and one block of attention, and their constants."""
    numbers = {
        "flat": np.array([1, WIDTH, -1]),
        "scale": np.float32(WIDTH**-0.5),
    }
    nodes = [
        node("Conv", ["image", "kernel"], "patches", kernel_shape=[PATCH] * 2, strides=[PATCH] * 2),
        node("Reshape", ["patches", "flat"], "columns"),
        node("Transpose", ["columns"], "rows", perm=[0, 2, 1]),
        node("Concat", ["special", "rows"], "sequence", axis=1),
        node("Add", ["sequence", "position"], "x"),
        *(node("MatMul", ["x", name], f"{name}s") for name in ("query", "key", "value")),
        node("Transpose", ["keys"], "turned", perm=[0, 2, 1]),
        node("MatMul", ["querys", "turned"], "products"),
        node("Mul", ["products", "scale"], "scores"),
        node("Softmax", ["scores"], "attention", axis=-1),
        node("MatMul", ["attention", "values"], "mixed"),
        node("Add", ["x", "mixed"], "tokens"),
    ]
    return nodes, [constant(name, array) for name, array in {**WEIGHTS, **numbers}.items()]


def slow_tokens(pixels):
    """Return the tokens, 1 + patches × channels, in NumPy."""
    batch = (pixels.astype(float) - 100) / 50
    patches = batch.reshape(ROWS, PATCH, COLUMNS, PATCH, 3)
    rows = np.einsum("rpcqk,wkpq->rcw", patches, WEIGHTS["kernel"]).reshape(-1, WIDTH)
    x = np.vstack([WEIGHTS["special"][0], rows]) + WEIGHTS["position"][0]
    scores = (x @ WEIGHTS["query"]) @ (x @ WEIGHTS["key"]).T / np.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return x + weights / weights.sum(axis=1, keepdims=True) @ (x @ WEIGHTS["value"])


def saved(folder, **fields):
    nodes, constants = transformer()
    usual = {"size": [ROWS * PATCH, COLUMNS * PATCH], "regions": ["tokens"], "picture": ["tokens"]}
    given = {**usual, "tokens": None, **fields}
    tokens = given.pop("tokens")
    toml = save_network(folder, nodes, ["tokens"], constants, **given)
    if tokens is not None:
        listed = ", ".join(f"{name} = {value}" for name, value in tokens.items())
        toml.write_text(f"{toml.read_text()}tokens = {{{listed}}}\n")
    return toml


def test_patch_tokens_are_averaged_over_regions_and_the_special_token_is_the_picture(tmp_path):
    network = load_network(saved(tmp_path, tokens=TOKENS))
    assert (network.widths, network.picture_widths) == ({"tokens": WIDTH}, {"tokens": WIDTH})
    pixels = RNG.integers(0, 256, (*LABELS.shape, 3), dtype=np.uint8)
    expected = slow_tokens(pixels)
    found = network.describe(pixels, LABELS)
    np.testing.assert_allclose(found.picture[0], expected[0], rtol=1e-3, atol=1e-4)
    grid = expected[1:].reshape(ROWS, COLUMNS, WIDTH).transpose(2, 0, 1)
    np.testing.assert_allclose(found.regions[0], region_means(grid, LABELS), rtol=1e-3, atol=1e-4)
    assert np.ptp(found.regions[0], axis=0).min() > 0.01


def test_roots_of_both_signs_keep_their_sign_at_length_one(tmp_path):
    network = load_network(saved(tmp_path, tokens=TOKENS, root=["tokens"]))
    pixels = RNG.integers(0, 256, (*LABELS.shape, 3), dtype=np.uint8)
    cls = slow_tokens(pixels)[0]
    roots = np.sign(cls) * np.sqrt(np.abs(cls))
    (found,) = network.describe(pixels, LABELS).picture
    assert found.min() < 0 < found.max()
    np.testing.assert_allclose(found, roots / np.linalg.norm(roots), atol=1e-4)


def test_without_a_special_token_the_mean_describes_the_picture(tmp_path):
    nodes, constants = transformer()
    cut = [node("Slice", ["tokens", "one", "end", "axis"], "grid")]
    more = [constant("one", np.array([1])), constant("end", np.array([99])), constant("axis", np.array([1]))]
    size = [ROWS * PATCH, COLUMNS * PATCH]
    toml = save_network(
        tmp_path, [*nodes, *cut], ["grid"], [*constants, *more], size=size, regions=["grid"], picture=["grid"]
    )
    toml.write_text(f"{toml.read_text()}tokens = {{cls = 0, patch = {PATCH}}}\n")
    pixels = RNG.integers(0, 256, (*LABELS.shape, 3), dtype=np.uint8)
    (found,) = load_network(toml).describe(pixels, LABELS).picture
    np.testing.assert_allclose(found, slow_tokens(pixels)[1:].mean(axis=0), rtol=1e-3, atol=1e-4)


def test_tokens_of_the_picture_alone_must_be_as_many_as_well(tmp_path):
    with pytest.raises(NetworkError, match=r"must have 2 \+ 3 × 5 tokens for 20 × 12 pixels, got 16"):
        load_network(saved(tmp_path, regions=None, tokens={"cls": 2, "patch": PATCH}))


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (None, r"or add tokens = \{cls"),
        ({"cls": 2, "patch": PATCH}, r"must have 2 \+ 3 × 5 tokens for 20 × 12 pixels, got 16"),
        ({"cls": 1, "patch": 2}, r"must have 1 \+ 6 × 10 tokens"),
        ({"cls": 1, "patch": 5}, "patches that divide"),
        ({"cls": 1, "patch": 0}, "tokens must be whole numbers"),
        ({"cls": -1, "patch": 4}, "tokens must be whole numbers"),
        ({"patch": 4}, r"tokens must be \{cls"),
        ({"cls": 1, "patch": 4, "grid": 2}, r"tokens must be \{cls"),
    ],
)
def test_tokens_that_do_not_fit_are_refused_in_one_line(tmp_path, tokens, said):
    toml = saved(tmp_path, tokens=tokens)
    with pytest.raises(NetworkError, match=said) as caught:
        load_network(toml)
    assert len(str(caught.value).splitlines()) == 1
