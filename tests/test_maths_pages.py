"""The mathematical pages are right: their paths exist, and their claims hold numerically."""

import ast
import importlib
import inspect
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import polygamma
from scipy.stats import gamma as gamma_law

from tagmix import Bags, planted_topics, sample_bags
from tagmix.kernels import reference
from tagmix.model import bound, estep, mstep
from tagmix.model.map_inference import infer_map
from tagmix.model.margin import label_duals, solve_margin
from tagmix.model.params import Settings
from tagmix.model.predict import tag_scores, theta_hat

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "maths"
FUNCTION = re.compile(r"`(tagmix(?:\.\w+)+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows_of_the_table():
    lines = (PAGES / "equations.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if set("".join(row)) != {"-"} and row[0] != "equation"]


def resolved(path):
    """Import as much of the dotted path as is a module; walk the rest by name."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def paths_in_pages(pattern):
    pages = [page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")]
    return sorted({found for page in pages for found in pattern.findall(page)})


def test_every_row_of_the_table_has_three_cells_with_a_function_and_a_test():
    rows = rows_of_the_table()
    assert len(rows) > 30
    for row in rows:
        assert len(row) == 3, f"expected equation, function, test: {row}"
        assert FUNCTION.search(row[1]), f"expected a function's path: {row}"
        assert TEST.search(row[2]), f"expected a test's path: {row}"


@pytest.mark.parametrize("path", paths_in_pages(FUNCTION))
def test_every_path_of_a_function_in_the_pages_leads_somewhere(path):
    resolved(path)


@pytest.mark.parametrize(("path", "name"), paths_in_pages(TEST))
def test_every_test_named_in_the_pages_exists(path, name):
    assert name in names_in(path)


def test_every_public_function_of_the_bound_is_in_the_table():
    named = {path for row in rows_of_the_table() for path in FUNCTION.findall(row[1])}
    functions = inspect.getmembers(bound, lambda f: inspect.isfunction(f) and f.__module__ == bound.__name__)
    missing = {name for name, _ in functions if not name.startswith("_")} - {
        path.rsplit(".", 1)[1] for path in named if path.startswith(bound.__name__)
    }
    assert not missing


def test_every_deviation_that_the_code_names_has_a_heading():
    headings = set(re.findall(r"^## (D\d+)\. ", (PAGES / "deviations.md").read_text("utf-8"), re.MULTILINE))
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        named = set(re.findall(r"\bD\d+\b", text))
        for low, high in re.findall(r"\bD(\d+)[–-]D(\d+)\b", text):
            named |= {f"D{k}" for k in range(int(low), int(high) + 1)}
        assert named <= headings, f"{file.relative_to(ROOT)} names {sorted(named - headings)}"


# The claims themselves, where no other file tests them.


def expected(function, shape, scale):
    law = gamma_law(shape, scale=scale)
    return quad(lambda t: law.pdf(t) * function(t), 0, np.inf, epsabs=1e-12, limit=400)[0]


def test_every_line_of_the_bound_is_the_expectation_it_stands_for():
    shapes, scales, rates = np.array([1.3, 4.0]), np.array([0.5, 2.0]), np.array([0.7, 3.0])
    phi, guide = np.array([[0.2, 0.8], [0.5, 0.5]]), np.full(2, 3.0)
    evidence = np.array([[-1.0, 2.0], [0.3, -4.0]])
    pairs = list(zip(shapes, scales, rates, strict=True))
    prior = sum(expected(lambda t, r=r: np.log(r) - r * t, a, s) for a, s, r in pairs)
    logs = np.array([expected(np.log, a, s) for a, s, _ in pairs])
    entropy = sum(gamma_law(a, scale=s).entropy() for a, s, _ in pairs)
    np.testing.assert_allclose(bound.log_prior(shapes, scales, rates), prior, rtol=1e-7)
    np.testing.assert_allclose(bound.assignments(phi, shapes, scales), (phi @ logs).sum(), rtol=1e-7)
    np.testing.assert_allclose(bound.entropy_of_theta(shapes, scales), entropy, rtol=1e-12)
    np.testing.assert_allclose(bound.entropy_of_z(phi), -(phi * np.log(phi)).sum(), rtol=1e-14)
    np.testing.assert_allclose(bound.words(phi, evidence), 1.4 + 0.15 - 2.0, rtol=1e-14)
    np.testing.assert_allclose(bound.captions(phi, guide), 6.0, rtol=1e-14)


@pytest.mark.parametrize("zeta", [0.3, 2.0, 5.0, 40.0])
def test_the_line_of_the_normaliser_lies_below_what_it_bounds(zeta):
    # Two Gamma variables of one scale sum to a third, whose expected logarithm is known.
    shapes, scales = np.array([1.5, 2.5]), np.array([1.25, 1.25])
    exact = -3 * expected(np.log, shapes.sum(), 1.25)
    assert bound.normaliser(3, shapes, scales, zeta) < exact
    assert bound.normaliser(3, shapes, scales, zeta) <= bound.normaliser(3, shapes, scales, 5.0)
    assert bound.update_zeta(shapes, scales) == 5.0


def inferred(evidence, rates):
    n_regions, n_tags = evidence.shape
    S, r, value, steps = np.full(n_tags, n_regions / n_tags), np.zeros(1), np.zeros(1), np.zeros(1, int)
    starts, block = np.array([0, n_tags]), evidence.ravel().copy()
    reference.infer_pictures(
        block, np.array([0, block.size]), starts, rates, np.zeros(n_tags), rates[None, :], True, 1e-12, 5000,
        S, r, value, steps,
    )  # fmt: skip
    return S, r[0], value[0]


def test_the_bound_does_not_see_the_scale_of_the_rates():
    rng = np.random.default_rng(0)
    evidence, rates = rng.normal(0, 3, (4, 6)), rng.gamma(2.0, 1.0, 6)
    (S, r, value), (S7, r7, value7) = inferred(evidence, rates), inferred(evidence, 7 * rates)
    np.testing.assert_allclose([value7, r7], [value, 7 * r], rtol=1e-9)
    np.testing.assert_allclose(S7, S, rtol=1e-6)


def test_rates_at_rest_have_the_mean_that_the_prior_asks_for():
    rng = np.random.default_rng(1)
    bags = sample_bags(planted_topics(5, 30, 0.3, rng), 12, n_regions=4, words_per_region=9, rng=rng).bags
    settings = Settings({"words": 1.0}, chi=(3.0, 4.0))
    params, S = mstep.start(bags, settings, 0.2), None
    for _ in range(800):
        posterior = estep.posterior_captioned(bags, params, settings, start=S)
        total = estep.accumulate(bags, posterior, params, settings, estep.Statistics.of_nothing(params))
        params, S = mstep.update(params, total, settings), posterior.S
    np.testing.assert_allclose(params.rates.mean(), (3.0 - 1.0) / 4.0, rtol=1e-3)


def test_without_captions_the_posterior_is_the_fixed_point_of_its_updates():
    rng = np.random.default_rng(6)
    bags = sample_bags(planted_topics(4, 12, 0.5, rng), 3, n_regions=5, words_per_region=6, rng=rng).bags
    settings = Settings({"words": 0.5}, tolerance=1e-11, max_iter=5000, kernels=reference)
    params = replace(mstep.start(bags, settings, 0.3), rates=np.array([0.2, 1.0, 3.0, 9.0]))
    free = estep.posterior_uncaptioned(bags, params, settings)
    evidence, phi = estep.evidence_of(bags, params, settings), free.phi.reshape(-1, 4)
    np.testing.assert_allclose(free.shares(bags.offsets).reshape(3, 4), phi.reshape(3, 5, 4).mean(axis=1))
    for n, r in enumerate(free.r):
        part = slice(5 * n, 5 * n + 5)
        gamma = bound.update_gamma(phi[part])
        rho = bound.update_rho(gamma, phi[part], params.rates, 5 / r)
        again = bound.update_phi(evidence[part], gamma, rho, np.zeros(4))
        np.testing.assert_allclose(bound.update_zeta(gamma, rho), 5 / r, rtol=1e-9)
        np.testing.assert_allclose(again, phi[part], atol=1e-8)


def test_training_starts_from_words_shared_equally_among_an_images_tags():
    bags = Bags(np.array([[2, 0], [4, 6], [0, 3]]), [0, 2, 3], tags=[[1, 1, 0], [0, 1, 0]])
    params = mstep.start(bags, Settings({"words": 0.1}), 0.5)
    np.testing.assert_allclose(params.instances["words"].mu, [[3.5, 3.5], [3.5, 6.5], [0.5, 0.5]], rtol=1e-15)
    assert params.rates.tolist() == params.weights.tolist() == [1.0, 1.0, 1.0]


def test_with_its_normaliser_the_most_probable_theta_shrinks_to_nothing():
    rng = np.random.default_rng(2)
    likelihood, rates = rng.random((5, 6)), rng.gamma(2.0, 1.0, 6)
    theta = infer_map(np.log(likelihood), np.array([0, 5]), rates).theta[0]
    np.testing.assert_allclose(rates @ theta, 5.0, rtol=1e-12)

    def kept(t):
        return np.log(likelihood @ t / t.sum()).sum() - rates @ t

    values = [kept(theta * 0.1**k) for k in range(8)]
    assert np.all(np.diff(values) > 0)


def test_dropping_the_normaliser_counts_the_prior_once_a_region():
    rng = np.random.default_rng(3)
    likelihood, rates = rng.random((4, 5)), rng.gamma(2.0, 1.0, 5)
    theta = infer_map(np.log(likelihood), np.array([0, 4]), rates, tolerance=1e-10).theta[0]

    def profile(shares):
        return np.log(shares @ likelihood.T).sum(axis=-1) - 4 * np.log(shares @ rates)

    others = rng.dirichlet(np.full(5, 0.3), size=20_000)
    assert np.all(profile(others) <= profile(theta / theta.sum()) + 1e-9)


def test_the_misprinted_update_makes_zeros_that_the_right_one_does_not():
    rate, held = 2.0, 0.7

    def printed(shape):  # Eq. 10 with the printed Eq. 7 put in
        return (held - shape + 1) * polygamma(1, shape) + 1 - rate * rate * shape / (1 + held)

    assert brentq(printed, 1e-3, 50.0) < 1.0
    shape = bound.update_gamma(np.array([[held]]))
    scale = bound.update_rho(shape, np.array([[held]]), np.array([rate]), None)
    assert shape > 1
    np.testing.assert_allclose((rate * scale - 1) / polygamma(1, shape), 0.0, atol=1e-15)  # footnote 1


def test_the_caption_of_a_sample_is_the_set_of_its_regions_tags():
    rng = np.random.default_rng(4)
    sample = sample_bags(planted_topics(40, 40, 0.0, rng), 30, n_regions=3, rng=rng)
    drawn = sample.region_tags.reshape(30, 3)
    for row, tags in zip(sample.bags.tags.toarray(), drawn, strict=True):
        assert set(np.flatnonzero(row)) == set(tags.tolist())


def test_theta_and_shares_rank_alike_when_rates_are_equal_and_not_otherwise():
    S = np.array([2.0, 1.5, 0.5])
    posterior = estep.Posterior(np.empty(0), S, np.array([0.2]), np.zeros(1), np.zeros(1, dtype=int), None)
    for rates, order in (np.ones(3), [0, 1, 2]), (np.array([4.0, 1.0, 0.1]), [2, 1, 0]):
        scores = tag_scores(theta_hat(posterior, rates[None, :]), np.ones(3), rates[None, :])
        assert np.argsort(-scores[0]).tolist() == order


def test_scaling_both_margin_weights_scales_the_multipliers_and_not_the_weights():
    rng = np.random.default_rng(5)
    tags = csr_array(np.eye(12, 6, dtype=int) + np.eye(12, 6, k=-6, dtype=int))
    shares = csr_array(rng.dirichlet(np.ones(6), size=12) * 0.5 + 0.5 * tags.toarray())
    one, ten = (solve_margin(shares, tags, nu1=0.01 * s, nu2=s, tolerance=1e-9) for s in (1.0, 10.0))
    np.testing.assert_allclose(ten.weights, one.weights, atol=1e-3)
    delta = label_duals(shares, tags, one)
    assert delta.max() <= 1 / 12 + 1e-12
    np.testing.assert_allclose(delta.sum(axis=1), 0.0, atol=1e-12)
    pull = shares.multiply(label_duals(shares, tags, ten)).sum(axis=0)
    np.testing.assert_allclose(np.maximum(pull, 0) / 0.1, one.weights, atol=1e-2)
