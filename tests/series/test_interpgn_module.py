"""Right answers of the network of InterpGN, and its brute-force twin."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from skinterp.explanation._shapelet_rules_math import (  # noqa: E402
    distances,
    normalised,
)
from skinterp.series._interpgn_deep import FCN, ResNet, make_deep  # noqa: E402
from skinterp.series._interpgn_module import (  # noqa: E402
    InterpGN,
    ShapeletBank,
    _BestWindow,
    confidence,
    diversity,
    l1_by_kernel,
    l1_by_torch,
    window_distances,
)
from skinterp.series._interpgn_params import LENGTHS, points_of, stride_of  # noqa: E402

RNG = np.random.default_rng(0)
DISTANCES = ("l1", "l2", "cosine", "pearson")


def module(T: int = 100, M: int = 6, K: int = 10, C: int = 4, **changes):
    """A network as the paper has it."""
    lengths = points_of(LENGTHS, T)
    config = {
        "n_channels": M,
        "n_timepoints": T,
        "lengths": lengths,
        "strides": tuple(stride_of(length, T) for length in lengths),
        "n_shapelets": K,
        "epsilon": 1.0,
        "distance": "l1",
        "n_classes": C,
        "regression": False,
        "deep": "fcn",
        "gate_threshold": 1.0,
    }
    torch.manual_seed(0)
    return InterpGN({**config, **changes}).double().eval()


def series(n: int = 5, M: int = 6, T: int = 100):
    return torch.tensor(normalised(RNG.normal(size=(n, M, T)).cumsum(axis=2)))


# -- right answers ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("distance", "epsilon", "predicate"),
    [(0, 1, 1), (0.5, 1, 0.778801), (1, 1, 0.367879), (0.5, 2, 0.367879)],
)
def test_a_predicate_falls_with_the_square_of_the_distance(
    distance, epsilon, predicate
):
    d = torch.tensor([[[[3.0, distance, 2.5]]]])
    p, least, at = _BestWindow.apply(d, float(epsilon))
    assert p.item() == pytest.approx(predicate, abs=1e-6)
    assert (least.item(), at.item()) == (distance, 1)


@pytest.mark.parametrize(
    ("shares", "eta"),
    [
        ([0.25, 0.25, 0.25, 0.25], 0.0),
        ([1.0, 0.0, 0.0, 0.0], 1.0),
        ([0.7, 0.1, 0.1, 0.1], 0.36),
        ([0.9, 0.1], 0.64),
        ([1.0], 1.0),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gate_is_the_gini_index_of_the_shares(shares, eta, dtype):
    scores = torch.tensor([shares], dtype=dtype).clamp(min=1e-30).log()
    found = confidence(scores).item()
    assert found == pytest.approx(eta, abs=1e-6)
    assert 0 <= found <= 1


def test_numbers_of_shapelets_and_weights():
    net = module()
    assert points_of(LENGTHS, 100) == (5, 10, 20, 30, 50, 80)
    assert net.rules.weight.shape == (4, 360)
    assert net.rules.bias is None
    assert sum(bank.weight.numel() for bank in net.banks) == 11_700


def test_number_of_parameters_of_the_deep_expert():
    net = FCN(6, 100, 4)
    assert sum(p.numel() for p in net.parameters()) == 270_340


@pytest.mark.parametrize("distance", DISTANCES)
def test_an_exact_copy_is_found_where_it_is(distance):
    net, x = module(distance=distance), series()
    with torch.no_grad():
        net.banks[2].weight[3, 7] = x[1, 3, 41:61]
        p, least, starts = net.predicates(x)
    j = 2 * 60 + 3 * 10 + 7
    assert p[1, j].item() == pytest.approx(1, abs=1e-6)
    assert least[1, j].item() == pytest.approx(0, abs=1e-6)
    assert starts[1, j].item() == 41
    assert (p[[0, 2, 3, 4], j] < 1 - 1e-4).all()


@pytest.mark.parametrize("a", [1e-9, 0.1, 1.0, 100.0, 1e12])
@pytest.mark.parametrize("b", [0.0, -10.0, 1e6])
def test_scale_and_level_of_a_series_are_nothing(a, b):
    X = RNG.normal(size=(4, 6, 100))
    net = module()
    moved = a * (X + b)
    with torch.no_grad():
        p = net.predicates(torch.tensor(normalised(X)))[0]
        q = net.predicates(torch.tensor(normalised(moved)))[0]
    np.testing.assert_allclose(p, q, atol=1e-7)


@pytest.mark.parametrize("length", [5, 80])
@pytest.mark.parametrize(("n", "expected"), [(10, 0.9), (5, 0.8), (1, 0.0)])
def test_diversity_of_equal_and_of_distant_shapelets(length, n, expected):
    one = torch.randn(3, 1, length)
    assert diversity(one.expand(-1, n, -1)).item() == pytest.approx(expected, abs=1e-5)
    far = 1e4 * torch.randn(3, n, length)
    assert diversity(far).item() == pytest.approx(0, abs=1e-12)


def test_diversity_has_a_gradient_where_shapelets_are_equal():
    weight = torch.ones(2, 3, 4, requires_grad=True)
    diversity(weight).backward()
    assert torch.isfinite(weight.grad).all()


def test_the_gate_hands_over_above_its_threshold_only():
    x = series()
    with torch.no_grad():
        said = module(gate_threshold=0.0).answer(x, x)
        assert torch.equal(said.mixed, said.own)
        assert (said.eta == 1).all()
        never = module(gate_threshold=1.0).answer(x, x)
        assert ((never.eta > 0) & (never.eta < 1)).all()
        assert not torch.allclose(never.mixed, never.own)
        training = module(gate_threshold=0.0).train().answer(x, x)
        assert (training.eta < 1).all()


def test_the_output_is_mixed_by_the_gate():
    net, x = module(), series()
    raw = torch.randn(*x.shape, dtype=x.dtype)
    with torch.no_grad():
        said, deep = net.answer(x, raw), net.deep(raw)
        eta = said.eta[:, None]
        np.testing.assert_allclose(said.mixed, eta * said.own + (1 - eta) * deep)
        q = said.own.softmax(1)
        np.testing.assert_allclose(said.eta, (4 * (q**2).sum(1) - 1) / 3)


# -- distances -------------------------------------------------------------------------
def by_broadcast(x, w, stride):
    """The straightforward formulation, with the length as a dimension."""
    windows = x.unfold(2, w.shape[2], stride)[:, :, None]
    return (windows - w[None, :, :, None]).abs().mean(dim=4)


@given(
    n=st.integers(1, 3),
    channels=st.integers(1, 3),
    shapelets=st.integers(1, 3),
    length=st.integers(1, 20),
    more=st.integers(0, 20),
    stride=st.integers(1, 4),
    distance=st.sampled_from(DISTANCES),
    seed=st.integers(0, 99),
)
def test_distances_are_those_of_the_twin(
    n, channels, shapelets, length, more, stride, distance, seed
):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, channels, length + more)).round(1)
    x[:, :, : length // 2] = 0.0  # flat pieces
    w = rng.normal(size=(channels, shapelets, length)).round(1)
    found = window_distances(torch.tensor(x), torch.tensor(w), stride, distance)
    for c, k in np.ndindex(channels, shapelets):
        expected = distances(x[:, c], w[c, k], stride, distance)
        # flat windows have no angle: what rounding leaves of them counts for little
        tolerance = 1e-10 if distance in ("l1", "l2") else 1e-5
        np.testing.assert_allclose(found[:, c, k], expected, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("copied", [1, 1200, 3000, 10**6])
def test_kernel_torch_and_broadcast_agree(dtype, stride, copied, monkeypatch):
    monkeypatch.setattr("skinterp.series._interpgn_module._COPIED", copied)
    x = series(n=7, M=3, T=50).to(dtype)
    slope, results = None, []
    for formula in (by_broadcast, l1_by_kernel, l1_by_torch):
        torch.manual_seed(1)
        w = torch.randn(3, 4, 13, dtype=dtype, requires_grad=True)
        d = formula(x, w, stride)
        slope = torch.randn_like(d) if slope is None else slope
        d.backward(slope)
        results.append((d.detach(), w.grad))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    for d, gradient in results[1:]:
        np.testing.assert_allclose(d, results[0][0], atol=tolerance)
        np.testing.assert_allclose(gradient, results[0][1], atol=10 * tolerance)


def test_series_have_a_gradient_where_it_is_asked_for():
    x = series(n=2, M=1, T=20).requires_grad_()
    bank = ShapeletBank(1, 2, 5, 1).double()
    bank(x, 1.0, "l1")[0].sum().backward()
    assert x.grad.abs().sum() > 0


class Largest(TorchDispatchMode):
    """Note the largest tensor that is made."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and "view" not in str(func):
            storage = out.untyped_storage().nbytes() // out.element_size()
            self.numel = max(self.numel, storage)
        return out


@pytest.mark.parametrize("distance", DISTANCES)
def test_memory_does_not_grow_with_the_length(distance):
    n, M, T, K, L = 8, 2, 200, 6, 100
    bank = ShapeletBank(M, K, L, 1)
    x = torch.randn(n, M, T)
    with Largest() as largest:
        bank(x, 1.0, distance)[0].sum().backward()
    assert largest.numel <= n * M * (T - L + 1) * K


def test_windows_are_not_kept_where_there_is_no_kernel(monkeypatch):
    n, M, T, K, L = 8, 2, 60, 3, 30
    monkeypatch.setattr("skinterp.series._interpgn_module._COPIED", 31 * 30)
    x, w = torch.randn(n, M, T), torch.randn(M, K, L, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: kept.append(t.untyped_storage().nbytes() // 4) or t, lambda t: t
    ):
        l1_by_torch(x, w, 1)
    assert max(kept, default=0) <= n * M * 31 * K


# -- the straight-through gradient -----------------------------------------------------
def test_gradient_is_that_of_the_best_window_and_of_the_softmax():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=13), rng.normal(size=5)
    epsilon, h = 0.8, 1e-6

    def parts(v):
        d = np.abs(np.lib.stride_tricks.sliding_window_view(x, 5) - v).mean(axis=1)
        p = np.exp(-((epsilon * d) ** 2))
        return p, np.exp(p) / np.exp(p).sum()

    p, _ = parts(w)
    expected, plain = np.empty(5), np.empty(5)
    for j in range(5):
        step = h * (np.arange(5) == j)
        (p_up, soft_up), (p_down, soft_down) = parts(w + step), parts(w - step)
        best = p.argmax()
        plain[j] = (p_up - p_down)[best] / (2 * h)
        expected[j] = plain[j] + (p * (soft_up - soft_down)).sum() / (2 * h)
    bank = ShapeletBank(1, 1, 5, 1).double()
    bank.weight.data = torch.tensor(w)[None, None]
    bank(torch.tensor(x)[None, None], epsilon, "l1")[0].backward(torch.ones(1, 1))
    np.testing.assert_allclose(bank.weight.grad.flatten(), expected, atol=1e-9)
    assert np.abs(expected - plain).max() > 1e-4


def test_forward_is_the_maximum_itself():
    d = torch.tensor(RNG.uniform(0, 2, size=(2, 3, 4, 50)))
    p = _BestWindow.apply(d, 1.0)[0]
    assert torch.equal(p, torch.exp(-(d.min(dim=3).values ** 2)))


# -- deep experts ----------------------------------------------------------------------
@pytest.mark.parametrize("n_points", range(3, 18))
@pytest.mark.parametrize("n", [1, 2])
def test_every_length_has_a_deep_expert(n_points, n):
    x = torch.randn(n, 2, n_points)
    for net in (FCN(2, n_points, 3), ResNet(2, 3)):
        assert net.train()(x).shape == (n, 3)
        assert torch.isfinite(net.eval()(x)).all()


def test_lengths_that_fit_are_not_padded():
    padded = [
        any(isinstance(layer, torch.nn.ConstantPad1d) for layer in FCN(1, n, 2).body)
        for n in range(3, 17)
    ]
    expected = [n in (3, 4, 5, 11, 12, 13) for n in range(3, 17)]
    assert padded == expected


def test_a_maker_of_a_deep_expert_must_give_a_module():
    made = make_deep(lambda m, t, c: torch.nn.Flatten(), 1, 3, 3)
    assert isinstance(made, torch.nn.Flatten)
    with pytest.raises(TypeError, match="torch module"):
        make_deep(lambda m, t, c: "net", 1, 3, 3)


# -- lengths ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lengths", "n", "points"),
    [
        ((0.07,), 100, (7,)),
        ((0.3, 0.5), 50, (15, 25)),
        ((0.05, 0.8), 10, (3, 8)),
        ((0.8, 1.0), 3, (3, 3)),
        ((5, np.int64(9)), 9, (5, 9)),
    ],
)
def test_lengths_are_rounded_up_to_points(lengths, n, points):
    assert points_of(lengths, n) == points


@pytest.mark.parametrize("wrong", [(), (0.0,), (1.5,), (2,), (11,), ("a",), (True,)])
def test_wrong_lengths_are_told(wrong):
    with pytest.raises(ValueError, match=r"lengths=.*(allowed|at least)"):
        points_of(wrong, 10)


def test_long_series_are_matched_at_some_offsets():
    assert [stride_of(n, 3000) for n in (3, 150, 2400)] == [1, 7, 11]
    assert stride_of(2400, 2999) == 1
