"""Networks: features against slow loops, the TOML, and files of strangers."""

import os
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tests.networks import CELL, averages, constant, node, save_network, save_toml

from tagmix import ImageError, NetworkError
from tagmix.images import network_session
from tagmix.images.network import input_shape, load_network, prepared
from tagmix.images.network_file import NetworkSettings
from tagmix.images.region_means import region_means

RNG = np.random.default_rng(0)
# Region 1 is smaller than any cell, region 2 is one pixel wide, region 3 lies in two pieces.
LABELS = np.zeros((8, 12), dtype=np.int32)
LABELS[5, 7] = 1
LABELS[:, 3] = 2
LABELS[0, 8:], LABELS[7, :2] = 3, 3


def slow_means(features, labels):
    """Return the means over regions by looking at each pixel in each cell, in whole fractions."""
    channels, rows, columns = features.shape
    height, width = labels.shape
    means = []
    for region in range(labels.max() + 1):
        total, weight = np.zeros(channels), 0.0
        for r in range(rows):
            for c in range(columns):
                for y, x in zip(*np.nonzero(labels == region), strict=True):
                    down = overlap(Fraction(r, rows), Fraction(1, rows), Fraction(int(y), height), height)
                    across = overlap(
                        Fraction(c, columns), Fraction(1, columns), Fraction(int(x), width), width
                    )
                    total += float(down * across) * features[:, r, c]
                    weight += float(down * across)
        means.append(total / weight)
    return np.array(means)


def overlap(start, length, pixel, n_pixels):
    return max(Fraction(0), min(start + length, pixel + Fraction(1, n_pixels)) - max(start, pixel))


@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (3, 5), (8, 12), (11, 17), (3, 20)])
def test_a_mean_weighs_cells_by_the_share_that_the_region_covers(grid):
    features = RNG.normal(size=(3, *grid)).astype(np.float32)
    found = region_means(features, LABELS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, slow_means(features, LABELS), rtol=1e-5, atol=1e-6)


def test_features_are_the_means_of_the_networks_map(tmp_path):
    network = load_network(save_network(tmp_path, size=[8, 12], mean=[10, 20, 30], std=[2, 4, 8]))
    assert (network.widths, network.picture_widths) == ({"map": 3}, {"vector": 3})
    image = RNG.integers(0, 256, (8, 12, 3), dtype=np.uint8)
    found = network.describe(image, LABELS)
    pixels = (image.astype(float) - [10, 20, 30]) / [2, 4, 8]
    cells = np.array(
        [
            [pixels[y : y + CELL, x : x + CELL].mean(axis=(0, 1)) for x in range(0, 12, CELL)]
            for y in range(0, 8, CELL)
        ]
    )
    np.testing.assert_allclose(found.regions[0], slow_means(cells.transpose(2, 0, 1), LABELS), rtol=1e-4)
    np.testing.assert_allclose(found.picture[0], pixels.mean(axis=(0, 1)), rtol=1e-4)


def test_a_layer_inside_the_network_can_be_asked_for(tmp_path):
    toml = save_network(tmp_path, outputs=["vector"], regions=["map"], picture=["means", "vector"])
    network = load_network(toml)
    found = network.describe(RNG.integers(0, 256, (40, 60, 3), dtype=np.uint8), np.zeros((40, 60), np.int32))
    assert found.regions[0].shape == (1, 3)
    np.testing.assert_allclose(found.picture[0], found.picture[1])
    np.testing.assert_allclose(found.picture[0], found.regions[0][0], rtol=1e-5)


def test_a_smaller_copy_is_made_by_means_of_pixels():
    settings = NetworkSettings("0" * 64, "image", (2, 3), regions=("map",))
    image = RNG.integers(0, 256, (8, 12, 3), dtype=np.uint8)
    expected = image.reshape(2, 4, 3, 4, 3).mean(axis=(1, 3)).transpose(2, 0, 1)
    batch = prepared(image, settings)
    assert batch.shape == (1, 3, 2, 3)
    np.testing.assert_allclose(batch[0], expected, atol=0.51)  # resized pictures are bytes


@pytest.mark.parametrize(
    ("picture", "size", "entered"),
    [
        ((213, 320), 320, (256, 384)),
        ((640, 480), 320, (384, 288)),
        ((100, 100), 64, (64, 64)),
        ((1, 640), 64, (32, 1632)),
        ((900, 7), (224, 192), (224, 192)),
    ],
)
def test_pictures_enter_in_their_proportion_or_in_the_one_size_a_network_takes(picture, size, entered):
    assert input_shape(*picture, NetworkSettings("0" * 64, "image", size, 32, regions=("map",))) == entered


def test_threads_that_meet_at_a_closed_network_open_it_once(tmp_path, monkeypatch):
    network = pickle.loads(pickle.dumps(load_network(save_network(tmp_path))))
    opened, opening = [], network_session.opened
    monkeypatch.setattr(network_session, "opened", lambda *a: opened.append(1) or opening(*a))
    image = RNG.integers(0, 256, (8, 12, 3), dtype=np.uint8)
    with ThreadPoolExecutor(4) as pool:
        one, *others = pool.map(lambda _: network.describe(image, LABELS), range(8))
    assert len(opened) == 1
    for other in others:
        np.testing.assert_array_equal(other.regions[0], one.regions[0])


def test_a_pickled_network_leaves_its_session_behind_and_says_the_same(tmp_path):
    network = load_network(save_network(tmp_path))
    back = pickle.loads(pickle.dumps(network))
    assert "session" in network._once._known
    assert not back._once._known
    assert back == network
    image = RNG.integers(0, 256, (8, 12, 3), dtype=np.uint8)
    for one, other in zip(network.describe(image, LABELS), back.describe(image, LABELS), strict=True):
        np.testing.assert_array_equal(one, other)


def refusal(toml):
    with pytest.raises(NetworkError) as caught:
        load_network(toml)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": None}, 'model = "….onnx"'),
        ({"model": 3}, 'model = "….onnx"'),
        ({"model": "none.onnx"}, "it does not exist"),
        ({"sha256": "0" * 64}, "must have sha256 0000"),
        ({"sha256": "short"}, "must have sha256 short"),
        ({"input": None}, "must have 'input'"),
        ({"input": "photo"}, "it takes image"),
        ({"size": 0}, "size must be"),
        ({"size": 1_000_000}, "size must be"),
        ({"size": [32]}, "size must be"),
        ({"size": [32, 32, 32]}, "size must be"),
        ({"size": "large"}, "size must be"),
        ({"size": True}, "size must be"),
        ({"multiple": 0.5}, "multiple must be"),
        ({"mean": [1, 2]}, "mean must be"),
        ({"mean": "grey"}, "mean must be"),
        ({"mean": 10**400}, "mean must be"),
        ({"std": 0}, "std must be above 0"),
        ({"std": float("nan")}, "std must be"),
        ({"layout": "NHWC"}, 'layout must be "NCHW"'),
        ({"regions": "map"}, "regions must be a list"),
        ({"regions": [1]}, "regions must be a list"),
        ({"regions": ["map", "map"]}, "names that differ"),
        ({"regions": [], "picture": []}, "at least one output"),
        ({"regions": ["mop"]}, "it has map, vector"),
        ({"regions": ["vector"]}, "1 × channels × rows × columns, got float32 of (1, 3)"),
        ({"colour": "BGR"}, "got 'colour'"),
    ],
)
def test_a_toml_that_is_wrong_is_refused_in_one_line_that_says_why(tmp_path, fields, said):
    save_network(tmp_path)
    assert said in refusal(save_toml(tmp_path, **fields))


@pytest.mark.parametrize("content", [b"", b"size = ", b"\xff\xfe", b"a = " + b"[" * 5000, b"#" * 70_000])
def test_a_file_that_is_no_toml_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "tiny.toml").write_bytes(content)
    refusal(tmp_path / "tiny.toml")


def test_a_toml_that_does_not_exist_is_refused(tmp_path):
    assert "it does not exist" in refusal(tmp_path / "gone.toml")


@pytest.mark.parametrize("content", [b"", b"no network", bytes(100), b"\x18\x00\x00\x00ORTM" + bytes(64)])
def test_a_file_that_is_no_network_is_refused_in_one_line(tmp_path, content):
    toml = save_network(tmp_path)
    (tmp_path / "tiny.onnx").write_bytes(content)
    assert "tiny.onnx" in refusal(toml)


def test_a_pipe_is_not_waited_for(tmp_path):
    toml = save_network(tmp_path)
    (tmp_path / "tiny.onnx").unlink()
    os.mkfifo(tmp_path / "tiny.onnx")
    refusal(toml)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(network_session, "MAX_MODEL_BYTES", 100)
    assert "at most 100 bytes" in refusal(save_network(tmp_path))


def outside(name, location):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[1, 3, 1, 1])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize("location", ["weights.bin", "../weights.bin", "/etc/passwd", "*/_ORT_MEM_ADDR_/*"])
@pytest.mark.parametrize("hidden", [False, True])
def test_weights_in_another_file_are_refused_wherever_they_are_named(tmp_path, location, hidden):
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    added = [node("Add", ["image", "w"], "sum"), *averages()]
    weights = outside("w", location)
    if hidden:
        toml = save_network(tmp_path, [helper.make_node("Constant", [], ["w"], value=weights), *added])
    else:
        toml = save_network(tmp_path, added, constants=[weights])
    assert "save it as one file" in refusal(toml)


def test_a_loop_is_refused_even_inside_of_a_branch(tmp_path):
    value = helper.make_tensor_value_info
    step = helper.make_graph(
        [node("Identity", ["go"], "on"), node("Identity", ["was"], "is")],
        "step",
        [
            value("i", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("was", TensorProto.FLOAT, None),
        ],
        [value("on", TensorProto.BOOL, []), value("is", TensorProto.FLOAT, None)],
    )
    branch = helper.make_graph(
        [helper.make_node("Loop", ["", "yes", "image"], ["same"], body=step)],
        "branch",
        [],
        [value("same", TensorProto.FLOAT, None)],
    )
    forever = helper.make_node("If", ["yes"], ["x"], then_branch=branch, else_branch=branch)
    toml = save_network(tmp_path, [forever, *averages()], constants=[constant("yes", np.array(True))])
    assert "operator Loop" in refusal(toml)


@pytest.mark.parametrize("kind", sorted(network_session.CHANCE))
def test_an_operator_of_chance_is_refused(tmp_path, kind):
    assert f"operator {kind}" in refusal(save_network(tmp_path, [node(kind, ["image"], "map")], ["map"], []))


@pytest.mark.parametrize("as_node", [False, True])
@pytest.mark.parametrize(("training", "refused"), [(True, True), (False, False)])
def test_a_dropout_is_refused_unless_it_is_surely_switched_off(tmp_path, training, refused, as_node):
    on = constant("on", np.array(training))
    nodes = [helper.make_node("Constant", [], ["on"], value=on)] if as_node else []
    nodes.append(node("Dropout", ["image", "half", "on"], "map"))
    constants = [constant("half", np.float32(0.5)), *([] if as_node else [on])]
    toml = save_network(tmp_path, nodes, ["map"], constants, picture=None)
    if refused:
        assert "operator Dropout" in refusal(toml)
    else:
        load_network(toml)


def test_functions_that_call_each_other_are_refused_before_they_are_opened(tmp_path):
    toml = save_network(tmp_path)
    path = next(tmp_path.glob("*.onnx"))
    proto = onnx.load(path)
    proto.functions.append(
        helper.make_function("own", "twice", ["x"], ["y"], [node("Identity", ["x"], "y")], proto.opset_import)
    )
    path.write_bytes(proto.SerializeToString())
    assert "function 'twice'" in refusal(toml)


def test_channels_that_follow_the_size_of_the_picture_are_refused(tmp_path):
    turned = helper.make_node("Transpose", ["image"], ["map"], perm=[0, 2, 1, 3])  # rows become channels
    network = load_network(save_network(tmp_path, [turned], ["map"], picture=[]))
    with pytest.raises(NetworkError, match="channels for every picture, got"):
        network.describe(np.zeros((40, 160, 3), np.uint8), np.zeros((40, 160), np.int32))


def test_an_operator_of_somebody_elses_library_is_refused(tmp_path):
    stranger = helper.make_node("Look", ["image"], ["map"], domain="stranger")
    assert "onnxruntime can run" in refusal(save_network(tmp_path, [stranger], ["map"], picture=[]))


def test_a_network_for_other_inputs_is_refused(tmp_path):
    assert "1 × 3 × height × width" in refusal(save_network(tmp_path, shape=[1, 4, "h", "w"]))


def test_a_network_of_one_size_says_so_if_it_is_asked_for_another(tmp_path):
    toml = save_network(tmp_path, shape=[1, 3, 16, 24])
    assert "set size" in refusal(toml)
    assert load_network(save_toml(tmp_path, size=[16, 24])).widths == {"map": 3}


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (node("Cast", ["image"], "map", to=TensorProto.INT32), "must be floats"),
        (node("Flatten", ["image"], "map"), "got float32 of (1, 3072)"),
        (node("Concat", ["image", "image"], "map", axis=0), "must be floats"),
        (node("Conv", ["image", "wide"], "map"), "at most 16,384 channels"),
        (node("SplitToSequence", ["image"], "map", axis=1), "must be floats"),
        (node("Log", ["none"], "map"), "NaN, infinite or beyond"),
        (node("Div", ["double", "tiny"], "map"), "NaN, infinite or beyond"),
        (node("Mul", ["image", "huge"], "map"), "NaN, infinite or beyond 1e+15"),
    ],
)
def test_outputs_that_describe_no_regions_are_refused(tmp_path, layer, said):
    constants = [constant("wide", np.ones((16_385, 3, 1, 1), np.float32)), constant("zero", np.float32(0))]
    constants += [constant("tiny", np.float64(1e-300)), constant("huge", np.float32(1e36))]
    double = node("Cast", ["image"], "double", to=TensorProto.DOUBLE)
    nodes = [node("Mul", ["image", "zero"], "none"), double, layer]
    assert said in refusal(save_network(tmp_path, nodes, ["map"], constants, picture=[]))


def test_a_picture_whose_features_are_no_numbers_is_the_pictures_trouble(tmp_path):
    nodes = [node("Sqrt", ["image"], "roots"), node("AveragePool", ["roots"], "map", kernel_shape=[1, 1])]
    network = load_network(save_network(tmp_path, nodes, ["map"], picture=[]))  # grey is above the mean
    with pytest.raises(ImageError, match="'map' NaN, infinite or beyond"):
        network.describe(np.zeros((8, 12, 3), np.uint8), LABELS)


def test_a_file_that_changed_since_is_refused(tmp_path):
    network = pickle.loads(pickle.dumps(load_network(save_network(tmp_path))))
    model = onnx.load(tmp_path / "tiny.onnx")
    model.doc_string = "changed"
    onnx.save(model, tmp_path / "tiny.onnx")
    with pytest.raises(NetworkError, match="changed or damaged"):
        network.describe(np.zeros((8, 12, 3), np.uint8), LABELS)


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_without_the_extra_the_error_says_how_to_get_it(tmp_path, monkeypatch, module):
    toml = save_network(tmp_path)
    found = network_session.import_module

    def without(name):
        if name == module:
            raise ImportError(f"No module named {name!r}")
        return found(name)

    monkeypatch.setattr(network_session, "import_module", without)
    assert re.search(rf"package {module},.*pip install '\.\[network\]'", refusal(toml))
