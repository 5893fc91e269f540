"""The network of SoftShape: known answers, and a twin that goes token by token."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf, expit, softmax

from skinterp.series import SoftShapeClassifier
from skinterp.series._softshape_inputs import windows_of, znormalised

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp.series import _softshape_module as parts  # noqa: E402
from skinterp.series._softshape_module import SoftShape  # noqa: E402


def make_module(sparse=True, seed=0, **changes):
    """A network in float64 whose weights, biases included, are far from zero."""
    config = {
        "n_channels": 1,
        "shape_length": 8,
        "stride": 3,
        "n_tokens": 12,
        "embed_dim": 8,
        "keep_ratios": (1.0, 0.5),
        "n_experts": 3,
        "n_classes": 3,
        "dropout": 0.1,
        "normalize_gate": False,
    }
    torch.manual_seed(seed)
    module = SoftShape(config | changes).double().eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.4 * torch.randn_like(weight))
    module.sparse.fill_(sparse)
    return module.requires_grad_(False)


def series(n_rows=4, n_channels=1, n_points=41, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_channels, n_points))
    return torch.from_numpy(X)


# -- right answers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_points", "length", "n_tokens", "after"),
    [(128, 32, 25, 14), (150, 32, 30, 16), (24, 8, 5, 4), (24, 4, 11, 7)],
)
def test_numbers_of_tokens(n_points, length, n_tokens, after):
    assert windows_of(length, 4, n_points)[:2] == (length, n_tokens)
    h, score = torch.rand(2, n_tokens, 3), torch.rand(2, n_tokens)
    k = parts.n_kept(0.5, n_tokens)
    assert parts.merge_weak(h, score, k)[0].shape == (2, after, 3)


def test_windows_are_never_further_apart_than_they_are_long():
    assert windows_of(4, 4, 24)[2] == windows_of(3, 4, 24)[2] == 2
    assert windows_of(1, 4, 24)[2] == 1
    assert windows_of(5, 4, 24)[2] == 4
    assert windows_of(2, 1, 24)[2] == 1


def test_shares_of_the_series_become_whole_lengths():
    assert windows_of(0.29, 4, 100)[0] == 29
    assert windows_of(0.8, 4, 24)[0] == 19
    assert windows_of(0.01, 1, 24)[0] == 2


def test_number_of_parameters():
    module = make_module(
        shape_length=32, stride=4, n_tokens=25, embed_dim=128, n_experts=3
    )
    sizes = {
        name: sum(p.numel() for p in part.parameters())
        for name, part in module.named_children()
    }
    assert sizes["embed"] == 4224
    assert module.positions.numel() == 3200
    assert sizes["score"] == 1041
    inception = module.layers[0].inception
    assert sum(p.numel() for p in inception.parameters()) == 76_800
    assert sizes["layers"] == 2 * 76_800 + 512
    assert sizes["experts"] == 384 + 99_072 + 128
    assert sizes["head"] == 387
    assert sum(p.numel() for p in module.parameters()) == 262_548


def test_rms_norm():
    norm = parts.RMSNorm(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = torch.tensor([[0.6325, 1.2649], [0.8485, 1.1314]])
    torch.testing.assert_close(norm(x), expected, atol=5e-5, rtol=0)
    torch.testing.assert_close(norm(7 * x), norm(x))


@pytest.mark.parametrize(
    ("values", "expected"),
    [([10, 0], 2.0), ([5, 5], 0.0), ([12, 0, 0], 3.0), ([6, 3, 3], 0.1875), ([4], 0.0)],
)
def test_dispersion(values, expected):
    got = parts.dispersion(torch.tensor(values, dtype=torch.float64))
    assert float(got) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("depth", "rate", "expected"),
    [(2, 0.5, (1, 0.5)), (3, 0.5, (1, 0.75, 0.5)), (4, 0.9, (1, 0.7, 0.4, 0.1))],
)
def test_keep_ratios(depth, rate, expected):
    model = SoftShapeClassifier(depth=depth, sparse_rate=rate, shape_length=8)
    model.n_channels_, model.shape_length_, model.n_tokens_ = 1, 8, 5
    model.token_starts_ = 4 * np.arange(5)

    class Data:
        n_classes = 2

    got = model._module_config(Data)["keep_ratios"]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert parts.n_kept(1 - 0.7, 10) == 3  # not 4, by rounding


def test_weak_tokens_are_summed_and_the_others_keep_their_order():
    h = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    a = torch.tensor([[0.9, 0.1, 0.8, 0.2]])
    out, merge = parts.merge_weak(h, a, 2)
    torch.testing.assert_close(out[0, :, 0], torch.tensor([0.9, 2.4, 1.0]))
    torch.testing.assert_close(merge.share, torch.tensor([[0, 1 / 3, 0, 2 / 3]]))
    # in time order, whichever scores more
    turned, _ = parts.merge_weak(h, torch.tensor([[0.8, 0.1, 0.9, 0.2]]), 2)
    torch.testing.assert_close(turned[0, :, 0], torch.tensor([0.8, 2.7, 1.0]))


def test_where_scores_tie_the_earlier_token_is_kept():
    h = torch.arange(6.0)[None, :, None]
    out, _ = parts.merge_weak(h, torch.full((1, 6), 0.5), 2)
    torch.testing.assert_close(out[0, :, 0], torch.tensor([0.0, 0.5, 7.0]))


def test_without_scores_at_all_the_sum_is_shared_evenly():
    _, merge = parts.merge_weak(torch.ones(1, 4, 1), torch.zeros(1, 4), 2)
    torch.testing.assert_close(merge.share, torch.tensor([[0.0, 0.0, 0.5, 0.5]]))


def test_without_a_sparse_rate_both_modes_are_the_same_bits():
    module = make_module(keep_ratios=(1.0, 1.0))
    sparse = module(series())
    module.sparse.fill_(False)
    assert torch.equal(module(series()), sparse)


@pytest.mark.parametrize("n_experts", [2, 3])
def test_a_router_of_zeros_gives_all_tokens_to_the_first_expert(n_experts):
    experts = parts.Experts(8, n_experts, 0.0, normalize_gate=True)
    torch.nn.init.zeros_(experts.router)
    tokens = torch.randn(3, 5, 8)
    expert, gate = experts.route(tokens)
    assert not expert.any()
    loads = torch.bincount(expert.ravel(), minlength=n_experts).double()
    assert float(parts.dispersion(loads)) == pytest.approx(n_experts, abs=1e-5)
    balance = float(experts.balance(expert, gate).detach())
    assert balance == pytest.approx(2 * n_experts, abs=1e-5)


def test_the_router_learns_only_by_a_gate_that_is_a_probability():
    size = {}
    for normalised in (False, True):
        torch.manual_seed(0)
        experts = parts.Experts(8, 3, 0.0, normalised)
        out, _ = experts(torch.randn(2, 5, 8))
        out[..., 0].sum().backward()
        size[normalised] = float(experts.router.grad.norm())
    assert 0 < size[True] < 1e-4 * size[False]


def test_a_single_expert_needs_no_balance():
    module = make_module(n_experts=1)
    out, balance = module.forward_with_balance(series())
    assert torch.isfinite(out).all()
    assert balance == 0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ratios", [(1.0, 0.5), (1.0, 0.75, 0.5), (1.0, 0.7, 0.4, 0.1)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_windows_add_up_to_the_logits(sparse, ratios, n_classes):
    module = make_module(sparse, keep_ratios=ratios, n_classes=n_classes)
    told = module.trace(series())
    torch.testing.assert_close(
        told.parts.sum(dim=1), module(series()), atol=1e-12, rtol=1e-12
    )
    if not sparse:
        assert told.kept.all()


def test_a_weak_token_is_not_thrown_away():
    """What stands in a window that is summed changes the output."""
    module = make_module()
    x = series(1)
    told = module.trace(x)
    weak = int(told.scores[0].argmin())
    assert not told.kept[0, weak]
    start = 3 * weak
    other = x.clone()
    other[0, 0, start + 3 : start + 5] *= 1.05
    again = module.trace(other)
    assert torch.equal(again.kept, told.kept)
    assert (module(other) - module(x)).abs().max() > 1e-6


def test_the_mode_is_stored_with_the_weights():
    for sparse in (False, True):
        module = make_module(sparse)
        state = module.state_dict()
        assert bool(state["sparse"]) is sparse
        other = make_module(not sparse, seed=1)
        other.load_state_dict(state)
        assert torch.equal(other(series()), module(series()))


# -- a twin ----------------------------------------------------------------------------


def gelu(v):
    return 0.5 * v * (1 + erf(v / math.sqrt(2)))


def same_convolution(tokens, weight):
    """Each output as the sum that its definition says; tokens (M, d)."""
    out = np.zeros((len(tokens), len(weight)))
    half = weight.shape[2] // 2
    for i in range(len(tokens)):
        for j in range(len(tokens)):
            if abs(j - i) <= half:
                out[i] += weight[:, :, j - i + half] @ tokens[j]
    return out


class Twin:
    """The network, one series and one token at a time, from the weights alone."""

    def __init__(self, module, ratios, sparse, stride):
        self.w = {k: v.numpy() for k, v in module.state_dict().items()}
        self.ratios, self.sparse, self.stride = ratios, sparse, stride

    def norm(self, name, v):
        return self.w[name] * math.sqrt(len(v)) * v / np.linalg.norm(v)

    def score(self, v):
        w = self.w
        hidden = np.tanh(w["score.0.weight"] @ v + w["score.0.bias"])
        return expit(w["score.2.weight"] @ hidden + w["score.2.bias"])[0]

    def expert(self, z):
        w = self.w
        p = softmax(z @ w["experts.router"])
        e = int(p.argmax())
        hidden = gelu(w["experts.inner"][e] @ z + w["experts.inner_bias"][e])
        out = w["experts.outer"][e] @ hidden + w["experts.outer_bias"][e]
        return gelu(self.norm("experts.norm.gamma", z + p[e] * out))

    def inception(self, name, z):
        narrow = z @ self.w[f"{name}.bottleneck.weight"][:, :, 0].T
        pooled = [z[max(0, i - 1) : i + 2].max(axis=0) for i in range(len(z))]
        columns = [
            same_convolution(narrow, self.w[f"{name}.convolutions.{i}.weight"])
            for i in range(3)
        ]
        columns.append(
            np.array(pooled) @ self.w[f"{name}.after_pool.weight"][:, :, 0].T
        )
        out = np.hstack(columns)
        return gelu((out - out.mean(axis=0)) / np.sqrt(out.var(axis=0) + 1e-5))

    def logits(self, x):
        """Give the logits; what each window adds; which are kept."""
        w = self.w
        kernel = w["embed.weight"]
        m = kernel.shape[2]
        starts = range(0, x.shape[1] - m + 1, self.stride)
        tokens = np.array([(kernel * x[:, s : s + m]).sum(axis=(1, 2)) for s in starts])
        tokens = tokens + w["embed.bias"] + w["positions"][0]
        owners = [{i: 1.0} for i in range(len(tokens))]
        for layer, ratio in enumerate(self.ratios):
            name = f"layers.{layer}"
            h = np.array([self.norm(f"{name}.norm1.gamma", v) for v in tokens])
            a = np.array([self.score(v) for v in h])
            y, cut = h * a[:, None], self.sparse and ratio < 1
            if cut:
                k = math.ceil(round(ratio * len(h), 9))
                kept = sorted(np.argsort(-a, kind="stable")[:k])
                rest = [i for i in range(len(h)) if i not in kept]
                y = np.vstack([y[kept], y[rest].sum(axis=0)])
                merged = {}
                for i in rest:
                    for owner, share in owners[i].items():
                        part = share * a[i] / a[rest].sum()
                        merged[owner] = merged.get(owner, 0) + part
                owners = [owners[i] for i in kept] + [merged]
            z = np.array([self.norm(f"{name}.norm2.gamma", v) for v in y])
            out = y + self.inception(f"{name}.inception", z)
            if cut:
                out = out + np.array([self.expert(v) for v in z])
            tokens = gelu(out)
        parts = np.zeros((len(list(starts)), len(w["head.bias"])))
        for v, raw, owner in zip(tokens, out, owners, strict=True):
            own = self.score(raw) * (w["head.weight"] @ v + w["head.bias"])
            for i, share in owner.items():
                parts[i] += share * own / len(tokens)
        alone = {i for o in owners if len(o) == 1 for i in o}
        return parts.sum(axis=0), parts, alone


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("ratios", "n_channels", "n_tokens"),
    [((1.0, 0.5), 1, 12), ((1.0, 0.75, 0.5), 2, 12), ((1.0, 0.7, 0.4, 0.1), 1, 25)],
)
def test_against_the_twin(sparse, ratios, n_channels, n_tokens):
    module = make_module(
        sparse, n_channels=n_channels, keep_ratios=ratios, n_tokens=n_tokens
    )
    X = series(2, n_channels, 3 * n_tokens + 5)
    twin = Twin(module, ratios, sparse, stride=3)
    got, told = module(X).numpy(), module.trace(X)
    for i, x in enumerate(X.numpy()):
        expected, added, alone = twin.logits(x)
        np.testing.assert_allclose(got[i], expected, atol=1e-9)
        np.testing.assert_allclose(told.parts[i].numpy(), added, atol=1e-9)
        if len(alone) < n_tokens:  # else all tokens were kept
            assert set(np.flatnonzero(told.kept[i].numpy())) == alone


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 9),
    k=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    ties=st.booleans(),
)
def test_what_a_layer_merges_keeps_its_sum(n, k, seed, ties):
    k = min(k, n)
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, 3, (2, n)) / 4 if ties else rng.uniform(size=(2, n))
    h, a = torch.from_numpy(rng.normal(size=(2, n, 3))), torch.from_numpy(scores)
    out, merge = parts.merge_weak(h, a, k)
    assert out.shape[1] == k + (k < n)
    torch.testing.assert_close(out.sum(dim=1), (h * a[..., None]).sum(dim=1))
    told = torch.from_numpy(rng.normal(size=(2, out.shape[1], 4)))
    before = parts._divide(told, merge, n)
    torch.testing.assert_close(before[..., 2:].sum(dim=1), told[..., 2:].sum(dim=1))
    lowest = torch.gather(a, 1, merge.kept).min(dim=1).values
    left = torch.where(merge.share > 0, a, torch.zeros_like(a)).max(dim=1).values
    assert (lowest >= left).all()


# -- inputs ----------------------------------------------------------------------------


def test_normalisation_ignores_scale_and_place():
    X = series(5, 2).numpy()
    z = znormalised(X)
    np.testing.assert_allclose(z.mean(axis=2), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=2), 1)
    np.testing.assert_allclose(znormalised(3e200 * X), z, atol=1e-12)
    np.testing.assert_allclose(znormalised(2 * X + 1e5), z, atol=1e-9)
    assert not znormalised(np.full((1, 1, 9), 0.1)).any()


def test_normalisation_leaves_missing_values_out():
    X = np.array([[[1.0, np.nan, 3.0, np.nan]], [[np.nan] * 4]])
    expected = [[[-1.0, np.nan, 1.0, np.nan]], [[np.nan] * 4]]
    np.testing.assert_allclose(znormalised(X), expected)
