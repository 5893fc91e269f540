"""Splines, coefficients from codes, and layers: exact answers and plain twins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline

torch = pytest.importorskip("torch")

from skinterp.explanation import _edge_curves_math as plain  # noqa: E402
from skinterp.kan import _kan_module as modules  # noqa: E402
from skinterp.kan._splines import Grid, features  # noqa: E402


def config(widths: tuple[int, ...], **changes: Any) -> dict[str, Any]:
    """Give the description of a network, reference settings unless changed."""
    return {
        "widths": widths,
        "grid_size": 5,
        "spline_order": 3,
        "low": -1.0,
        "high": 1.0,
        "base": "silu",
        "squash": False,
        "checkpoint": False,
        "code_dim": 1,
        "meta_hidden": 32,
        "meta_activation": "relu",
        "groups": tuple(range(len(widths) - 1)),
        **changes,
    }


def meta(widths: tuple[int, ...], seed: int = 0, **changes: Any) -> Any:
    """Build a network in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return modules.MetaKANModule(config(widths, **changes)).double()


def splines(x: Any, grid: Grid) -> Any:
    """B-splines alone, a row per number."""
    x = torch.as_tensor(np.atleast_1d(x), dtype=torch.float64)
    return features(x[None], grid, None)[0, :-1].T


def n_parameters(module: Any) -> int:
    return sum(p.numel() for p in module.parameters())


# -- splines ---------------------------------------------------------------------------


def test_known_values_at_the_middle() -> None:
    three = splines(0.0, Grid(3, 3))[0].tolist()
    assert three == pytest.approx([0, 1 / 48, 23 / 48, 23 / 48, 1 / 48, 0], abs=1e-15)
    five = splines(0.0, Grid(5, 3))[0].tolist()
    right = [0, 0, 1 / 48, 23 / 48, 23 / 48, 1 / 48, 0, 0]
    assert five == pytest.approx(right, abs=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_partition_of_unity(order: int, dtype: str) -> None:
    """On the grid, both ends included; order 0 closes its last interval."""
    x = torch.linspace(-1, 1, 201, dtype=getattr(torch, dtype))[None]
    total = features(x, Grid(4, order), None)[0, :-1].sum(dim=0)
    assert torch.allclose(total, torch.ones_like(total), atol=1e-6)


def test_sums_outside_the_grid() -> None:
    total = splines([1.5, -1.2, 3.0, -3.0], Grid(3, 3)).sum(dim=1)
    expected = [0.9296875, 1 - 0.3**3 / 6, 0, 0]
    assert total.tolist() == pytest.approx(expected, abs=1e-12)


@given(
    st.integers(1, 6),
    st.integers(0, 5),
    st.lists(st.floats(-3, 3), min_size=1, max_size=8),
)
def test_closed_form_is_the_recursion(size: int, order: int, x: list[float]) -> None:
    """Against a recursion over the order, and scipy's B-splines, inside and outside."""
    grid = Grid(size, order, -1.0, 1.5)
    got = splines(x, grid).numpy()
    table = plain.features(np.array(x), size, order, -1.0, 1.5, "none")[:, :-1]
    if order == 0:  # on a knot, rounding decides between two intervals
        steps = (np.array(x) + 1) / grid.step
        keep = np.abs(steps - steps.round()) > 1e-9
        got, table, x = got[keep], table[keep], list(np.array(x)[keep])
    np.testing.assert_allclose(got, table, atol=1e-12)
    knots = -1 + grid.step * np.arange(-order, size + order + 1)
    for g in range(size + order):
        element = BSpline.basis_element(knots[g : g + order + 2], extrapolate=False)
        values = np.nan_to_num(element(np.array(x)))
        np.testing.assert_allclose(got[:, g], values, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("base", ["silu", None])
def test_gradients_of_features(order: int, base: str | None) -> None:
    x = torch.tensor([[-1.37, -0.9, -0.31, 0.05, 0.77, 1.21]], dtype=torch.float64)
    x.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda x: features(x, Grid(5, order), base), (x,))
    table = plain.slopes(x.detach().numpy()[0], 5, order, -1.0, 1.0, base or "none")
    made = torch.autograd.functional.jacobian(
        lambda x: features(x, Grid(5, order), base).sum(dim=2), x
    )
    np.testing.assert_allclose(made[0, :, 0].T.numpy(), table, atol=1e-12)


def test_blocks_of_large_inputs_change_nothing() -> None:
    x = torch.rand(300, 90, dtype=torch.float64) * 2.4 - 1.2
    whole = features(x, Grid(5, 3), "silu")
    rows = torch.cat([features(part, Grid(5, 3), "silu") for part in x.split(7)])
    torch.testing.assert_close(whole, rows, rtol=0, atol=1e-14)


# -- coefficients ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("widths", "changes", "kan", "meta_kan"),
    [
        ((784, 32, 10), {}, 228_672, 26_130),
        ((784, 32, 10), {"meta_hidden": 16}, 228_672, 25_778),
        ((64, 32, 10), {}, 21_312, 3_090),
        ((784, 256, 10), {}, 1_829_376, 203_986),
        ((2, 5, 1), {"grid_size": 3, "meta_hidden": 16}, 105, 317),
        ((2, 5, 1), {"grid_size": 3, "meta_hidden": 16, "groups": (0, 0)}, 105, 166),
    ],
)
def test_parameter_counts(
    widths: tuple[int, ...], changes: dict[str, Any], kan: int, meta_kan: int
) -> None:
    assert n_parameters(modules.KANModule(config(widths, **changes))) == kan
    assert n_parameters(modules.MetaKANModule(config(widths, **changes))) == meta_kan


def set_biases(learner: Any, seed: int = 0) -> None:
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(seed)
        learner.first.bias.uniform_(-1, 1)
        learner.second.bias.uniform_(-1, 1)


def as_network(learner: Any, codes: Any) -> Any:
    """The meta-learner unit by unit."""
    return learner.second(torch.relu(learner.first(codes)))


@pytest.mark.parametrize("n_codes", [50, modules._MANY_CODES + 100])
def test_pieces_are_the_network(n_codes: int) -> None:
    """Values and all gradients of the look-up are those of the hidden units."""
    learner = modules.MetaLearner(1, 32, 9, "relu").double()
    learner.few = 0  # else few codes go through the hidden units
    set_biases(learner)
    with torch.no_grad():
        learner.first.weight[:2] = 0.0  # units that are on or off for all codes
        learner.first.bias[:2] = torch.tensor([0.3, -0.3])
    codes = torch.randn(n_codes, 1, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(n_codes, 9, dtype=torch.float64)
    found = []
    for work in (learner, lambda z: as_network(learner, z)):
        made = work(codes)
        parts = [codes, *learner.parameters()]
        found.append((made, *torch.autograd.grad((made * weight).sum(), parts)))
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=6), st.integers(0, 5))
def test_pieces_hold_at_and_between_kinks(biases: list[float], seed: int) -> None:
    torch.manual_seed(seed)
    learner = modules.MetaLearner(1, len(biases), 3, "relu").double()
    learner.few = 0
    with torch.no_grad():
        learner.first.bias[:] = torch.tensor(biases, dtype=torch.float64)
        kinks = -learner.first.bias / learner.first.weight[:, 0]
        codes = torch.cat([kinks, kinks + 0.1, torch.zeros(1)]).reshape(-1, 1)
        expected = as_network(learner, codes)
        torch.testing.assert_close(learner(codes), expected, rtol=1e-9, atol=1e-9)


def test_gradients_of_codes() -> None:
    """With a code at no kink."""
    module = meta((2, 3, 2))
    for learner, few in zip(module.learners, (0, 100), strict=True):
        learner.few = few
        set_biases(learner)
    x = torch.rand(4, 2, dtype=torch.float64) * 2 - 1
    codes = [p.detach().clone().requires_grad_(True) for p in module.codes]

    def run(*codes: Any) -> Any:
        named = {f"codes.{i}": code for i, code in enumerate(codes)}
        return torch.func.functional_call(module, named, (x,))

    assert torch.autograd.gradcheck(run, tuple(codes))


def rank(coefficients: Any) -> int:
    table = coefficients.reshape(-1, coefficients.shape[-1])
    values = torch.linalg.svdvals(table - table.mean(dim=0))
    return int((values > 1e-4 * values[0]).sum())


def test_rank_of_coefficients() -> None:
    """One line without activation, two rays at the start, everything with biases."""
    n_edges = (64, 32)
    assert rank(meta(n_edges, meta_activation=None).coefficients(0)) == 1
    start = meta(n_edges)
    assert rank(start.coefficients(0)) == 2
    set_biases(start.learners[0])
    with torch.no_grad():
        start.codes[0].normal_()
    assert rank(start.coefficients(0)) == 9


def test_equal_codes_are_equal_curves() -> None:
    module = meta((3, 2, 2), groups=(0, 0))
    with torch.no_grad():
        for codes in module.codes:
            codes.fill_(0.7)
    for layer in (0, 1):
        made = module.coefficients(layer)
        assert torch.equal(made, made[:1, :1].expand_as(made))
    assert torch.equal(module.coefficients(0)[0, 0], module.coefficients(1)[0, 0])


def test_wide_codes_and_affine_learners() -> None:
    wide = modules.MetaLearner(3, 8, 5, "relu").double()
    codes = torch.randn(4, 3, dtype=torch.float64)
    torch.testing.assert_close(wide(codes), as_network(wide, codes))
    affine = modules.MetaLearner(1, 8, 5, None).double()
    ends = affine(torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64))
    torch.testing.assert_close(ends[2] - ends[1], ends[1] - ends[0])


# -- layers ----------------------------------------------------------------------------


def test_constant_edges_count_inputs() -> None:
    module = meta((7, 3))
    with torch.no_grad():
        module.learners[0].second.weight.zero_()
        module.learners[0].second.bias.fill_(1.0)
        module.learners[0].second.bias[-1] = 0.0
    x = torch.rand(20, 7, dtype=torch.float64) * 2 - 1
    torch.testing.assert_close(module(x), torch.full((20, 3), 7.0).double())


def test_order_zero_is_constant_and_order_one_interpolates() -> None:
    with torch.random.fork_rng():
        steps = modules.KANModule(config((1, 1), spline_order=0, base=None)).double()
        lines = modules.KANModule(config((1, 1), spline_order=1, base=None)).double()
    own = steps.coefficients(0)[0, 0].detach()
    x = torch.tensor([[-1.0], [-0.7], [-0.5], [0.99], [1.0]], dtype=torch.float64)
    expected = own[[0, 0, 1, 4, 4]]
    torch.testing.assert_close(steps(x)[:, 0].detach(), expected)
    knots = torch.linspace(-1, 1, 6, dtype=torch.float64)
    own = lines.coefficients(0)[0, 0, :6].detach()
    torch.testing.assert_close(lines(knots[:, None])[:, 0].detach(), own)
    middle = (knots[1:] + knots[:-1]) / 2
    between = (own[1:] + own[:-1]) / 2
    torch.testing.assert_close(lines(middle[:, None])[:, 0].detach(), between)


@pytest.mark.parametrize("squash", [False, True])
def test_network_is_the_sum_over_edges(squash: bool) -> None:
    """Against loops over all edges."""
    module = meta((3, 4, 2), squash=squash)
    x = torch.rand(5, 3, dtype=torch.float64) * 2 - 1
    values = x.numpy()
    for layer, (n_in, n_out) in enumerate(pairwise((3, 4, 2))):
        own = module.coefficients(layer).detach().numpy()
        total = np.zeros((5, n_out))
        for o in range(n_out):
            for i in range(n_in):
                table = plain.features(values[:, i], 5, 3, -1.0, 1.0, "silu")
                total[:, o] += table @ own[o, i]
        values = np.tanh(total) if squash and layer == 0 else total
    np.testing.assert_allclose(module(x).detach().numpy(), values, atol=1e-12)
    np.testing.assert_array_equal(module.nodes(x)[-1].detach(), module(x).detach())


def test_short_of_memory_gives_the_same() -> None:
    """Outputs in chunks, features computed twice: values and gradients."""
    whole, parts = (meta((3, 150, 2), checkpoint=c) for c in (False, True))
    x = torch.rand(6, 3, dtype=torch.float64) * 2 - 1
    torch.testing.assert_close(whole(x), parts(x), rtol=0, atol=1e-10)
    gradients = []
    for module in (whole, parts):
        module(x).square().sum().backward()
        gradients.append([p.grad for p in module.parameters()])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_sizes_of_edges_are_standard_deviations() -> None:
    module = meta((2, 3))
    x = torch.rand(40, 2, dtype=torch.float64) * 2 - 1
    _, (sizes,) = module.forward_with_sizes(x)
    own = module.coefficients(0).detach().numpy()
    table = plain.features(x.numpy(), 5, 3, -1.0, 1.0, "silu")
    edges = np.einsum("nik,oik->noi", table, own)
    np.testing.assert_allclose(sizes.detach().numpy(), edges.std(axis=0), atol=1e-10)


def test_codes_start_near_zero() -> None:
    """With the deviation of Xavier's rule for a table of all edges."""
    module = meta((60, 50, 2))
    for codes, n_edges in zip(module.codes, (3000, 100), strict=True):
        expected = (2 / (n_edges + 1)) ** 0.5
        assert float(codes.detach().std()) == pytest.approx(expected, rel=0.2)
    for learner in module.learners:
        assert not learner.first.bias.any()
        assert not learner.second.bias.any()
