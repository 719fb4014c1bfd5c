# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports graphs of the operations of PyTorch, and PyTorch's gradients of them: `torch_derivatives.py FOLDER`.

For each family of operations:
derivatives-torch-FAMILY.mlir                    the sum over all cases of the weighted sum of a case's results, in f64
derivatives-torch-FAMILY.init.safetensors        the operands of the cases, `p.CASE.0`, `p.CASE.1`, …
derivatives-torch-FAMILY.gradients.safetensors   `loss` and the gradients `grad/p.CASE.0`, …

Operands have ties, kinks and bounds, where PyTorch's conventions count. Needs the packages of requirements-torch.txt.
"""

import pathlib
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
import meshwright.torch  # noqa: E402
from meshwright.torch import _tensors  # noqa: E402

RNG = np.random.default_rng(3)
CASES = {}


def draw(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape)


def tied(*shape):
    """Small integers, among which many are equal."""
    return RNG.integers(-2, 3, shape).astype(float)


def add(name, function, *operands):
    assert name not in CASES, name
    CASES[name] = function, [torch.tensor(np.asarray(operand, float), dtype=torch.float64) for operand in operands]


def elementwise():
    kinks = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0]
    for name in ("abs", "relu", "relu6", "leaky_relu", "elu", "hardtanh", "silu", "gelu", "hardswish", "softplus", "sigmoid", "tanh", "sign", "floor",
                 "round", "trunc", "exp", "expm1", "sin", "cos", "tan", "atan", "asinh", "sinh", "cosh", "erf", "neg", "exp2", "selu", "celu", "mish",
                 "logsigmoid", "softsign"):
        add(name + "_", getattr(torch, name, None) or getattr(F, name), kinks)
    add("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), kinks)
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma"):
        add(name + "_", getattr(torch, name), draw(5, low=0.2, high=3.0))
    for name in ("asin", "acos", "atanh"):
        add(name + "_", getattr(torch, name), draw(5, low=-0.9, high=0.9))
    add("acosh_", torch.acosh, draw(5, low=1.1, high=3.0))
    for name in ("maximum", "minimum"):
        function = getattr(torch, name)
        add(name + "_", function, [1, 2, 3, 3], [2, 2, 2, 3])
        add(name + "_constant", lambda x, function=function: function(x, torch.tensor([2.0, 2, 2, 2], dtype=torch.float64)), [1, 2, 3, 0])
        add(name + "_broadcast", lambda x, y, function=function: function(x[:, None], y), tied(4), tied(3))
    add("clamp_", lambda x: torch.clamp(x, -1, 1), kinks)
    add("clamp_min_", lambda x: torch.clamp(x, min=0), kinks)
    add("clamp_max_", lambda x: x.clamp_max(1), kinks)
    add("clamp_tensor", lambda x, low, high: torch.clamp(x, low, high), [0, 1, 2, 3, 5], [1, 1, 1, 1, 6], [2, 2, 2, 2, 4])
    for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, 2.5):
        add(f"pow_{str(exponent).replace('.', '_').replace('-', 'm')}", lambda x, exponent=exponent: x**exponent, draw(4, low=0.5, high=2.0))
    add("pow_zero", lambda x: x**2 + x**3 + x**1, [0, -1, 2])
    add("pow_of_number", lambda x: 2.0**x, draw(4))
    add("pow_both", torch.pow, draw(4, low=0.5, high=2.0), draw(4))
    add("div_", lambda x, y: x / y, draw(3, 2), draw(2, low=1))
    add("rounded", lambda x, y: torch.div(x, y, rounding_mode="floor") + torch.div(x, y, rounding_mode="trunc") + x, draw(4), draw(4, low=1))
    add("remainder_", torch.remainder, [5, -5, 6, -7], [3, 3, 3.5, -2])
    add("fmod_", torch.fmod, [5, -5, 6, -7], [3, 3, 3.5, -2])
    add("atan2_", torch.atan2, draw(4), draw(4))
    add("where_", lambda x, y: torch.where(x > y, x, 2 * y), tied(5), tied(5))
    add("masked_fill_", lambda x: x.masked_fill(x > 0, 3.0), tied(5))
    add("alpha", lambda x, y: torch.add(x, y, alpha=3) - torch.rsub(x, y, alpha=2), draw(3), draw(3))
    add("stopped", lambda x: x * x.detach() + x, draw(4))
    add("without_gradient", without_gradient, draw(4))
    add("copysigns", lambda x: x * (x > 0).to(x.dtype) - x * (x <= 0).double(), tied(5))


def edges():
    """Where a formula has no derivative or an infinite one, and PyTorch's rules choose."""
    inf, bounds = np.inf, [-4.0, -3.0, -0.5, 0.0, 0.5, 3.0, 4.0]
    for name in ("hardswish", "softshrink", "hardshrink", "softplus", "tanhshrink"):
        add(name + "_", getattr(F, name), bounds)
    add("threshold_", lambda x: F.threshold(x, 0.5, 7.0), bounds)
    add("prelu_", F.prelu, bounds, [0.25])
    add("glu_", lambda x: F.glu(x, 0), draw(4, 3))
    add("std_", lambda x: x.std(1) + x.std(1, correction=0), [[1, 2, 3], [2, 2, 2]])
    add("std_mean_", lambda x: sum(torch.std_mean(x, 0)), [[1, 2], [3, 2]])
    add("atan2_", torch.atan2, [0, 0, 1], [0, -1, 0])
    add("pow_zeros", torch.pow, [0, 0, 2, 3, 0], [0, 2, 0, 1, 1])
    add("pow_of_zero", lambda x: 0.0**x, [0, 1, 2])
    add("pow_half", lambda x: x**0.5, [0, 4])
    add("hypot_", torch.hypot, [3, 1], [4, 0])
    add("logsumexp_inf", lambda x: x.logsumexp(1), [[1, 2, -inf], [0, -inf, -inf]])
    add("logaddexp_", torch.logaddexp, [1, 0], [2, 0])
    add("xlogy_", torch.xlogy, [0, 0, 2], [1, 2, 3])
    add("cosine", lambda x, y: F.cosine_similarity(x, y), draw(2, 3), draw(2, 3))
    add("distance", lambda x, y: F.pairwise_distance(x, y), draw(2, 3), draw(2, 3))
    add("matrix_norm", lambda x: torch.linalg.matrix_norm(x), [[0, 0], [0, 0]])
    add("softmax_masked", lambda x: torch.softmax(x.masked_fill(torch.tensor([[False, True, False]]), -inf), 1), draw(2, 3))
    add("nan_to_num_", lambda x: torch.nan_to_num(x, 1.0, 5.0, -5.0), [1, inf, -inf, -2])
    add("aminmax_", lambda x: x.aminmax(dim=1).max - x.aminmax(dim=1).min * 2, tied(3, 4))


def without_gradient(x):
    with torch.no_grad():
        factor = torch.exp(x) * 2
        with torch.no_grad():
            factor = factor + x
    return x * factor


def reductions():
    for name in ("amax", "amin"):
        function = getattr(torch, name)
        add(name + "_", lambda x, function=function: function(x, 1), tied(4, 5))
        add(name + "_all", lambda x, function=function: function(x, (0, 1), keepdim=True), tied(2, 3))
    for name in ("max", "min"):
        function = getattr(torch, name)
        add(name + "_all", lambda x, function=function: function(x), tied(3, 4))
        add(name + "_dim", lambda x, function=function: function(x, 0).values, tied(4, 3))
        add(name + "_index", lambda x, function=function: function(x, 1, keepdim=True).values * function(x, 1, keepdim=True).indices, tied(3, 4))
    add("sum_", lambda x: x.sum((0, 2)), draw(2, 3, 2))
    add("mean_", lambda x: x.mean(-1, keepdim=True), draw(2, 3))
    add("var_", lambda x: x.var(1) + x.std(0, keepdim=True).sum() + x.var(0, correction=0).sum(), draw(3, 4))
    add("prod_", lambda x: x.prod(1), [[1, 2, 3], [2, 0, 3], [0, 0, 5]])
    add("norm_", lambda x: x.norm(dim=1), [[3, 4], [0, 0]])
    add("norm_one", lambda x: torch.linalg.vector_norm(x, 1, 1), [[3, -4], [0, 0]])
    add("norm_inf", lambda x: torch.linalg.vector_norm(x, torch.inf, 1), [[3, -3, 1], [0, 2, 0]])
    add("normalize", lambda x: F.normalize(x), [[3, 4], [0, 1]])
    add("softmax_", lambda x: x.softmax(1), draw(2, 4))
    add("log_softmax_", lambda x: x.log_softmax(0), draw(2, 4))
    add("logsumexp_", lambda x: x.logsumexp(1), draw(2, 4))
    add("cumsum_", lambda x: x.cumsum(1), draw(2, 4))
    add("cumprod_", lambda x: x.cumprod(0), draw(3, 2, low=0.5))
    add("any_", lambda x: x * (x > 0).any(1, keepdim=True) * (x > -5).all(), tied(3, 3))
    add("sorted_", lambda x: x.sort(1).values, RNG.permutation(12).reshape(3, 4))
    add("sorted_ties", lambda x: torch.sort(x, dim=0, descending=True, stable=True).values, tied(4, 2))
    add("topk_", lambda x: x.topk(2, 1).values, RNG.permutation(12).reshape(3, 4))
    add("topk_smallest", lambda x: x.topk(2, 0, largest=False).values, RNG.permutation(8).reshape(4, 2))
    add("argmax_", lambda x: x * x.argmax(1, keepdim=True) + x * x.argmin(), tied(3, 4))


def layouts():
    add("view_", lambda x: x.view(6).reshape(3, 2), draw(2, 3))
    add("permute_", lambda x: x.permute(2, 0, 1).transpose(0, 1), draw(2, 3, 2))
    add("slices", lambda x: x[1:, ::2] * x[-1, 0] + x[0, -3:-1], draw(3, 4))
    add("expand_", lambda x: x.expand(3, 2, 4), draw(2, 1))
    add("repeat_", lambda x: x.repeat(2, 3), draw(2))
    add("cat_", lambda x, y: torch.cat([x, y, x], 1), draw(2, 1), draw(2, 3))
    add("stack_", lambda x, y: torch.stack([x, y], -1), draw(3), draw(3))
    add("chunks", lambda x: sum(index * part for index, part in enumerate(x.chunk(2, 1))) + sum(x.split([1, 3], 1)[0]), draw(2, 4))
    add("unbind_", lambda x: x.unbind(1)[1] * x.unbind(1)[0], draw(2, 3))
    add("flip_", lambda x: x.flip(0, 1), draw(2, 3))
    add("roll_", lambda x: x.roll(1, 0), draw(4))
    add("pad_", lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), draw(2, 2))
    add("crop", lambda x: F.pad(x, (-1, 1)), draw(2, 3))
    add("diagonal_", lambda x: x.diagonal(1), draw(3, 4))
    add("triangle", lambda x: x.tril() + x.triu(1) * 2, draw(3, 3))
    add("assigned", assigned, draw(3, 4), draw(2))


def assigned(x, y):
    x = x.clone()
    x[0, 1:3] = y
    x[2] = 0
    x[1, ::2] = y * 2
    return x


def indexing():
    positions = torch.tensor([[0, 2], [2, 1]])
    add("embedding_", lambda w: F.embedding(positions, w), draw(3, 2))
    add("embedding_padded", lambda w: F.embedding(positions, w, padding_idx=2), draw(3, 2))
    add("gather_", lambda x: x.gather(1, positions), draw(3, 3))
    add("index_", lambda x: x[positions, :, torch.tensor([1, -1])], draw(3, 2, 2))
    add("index_adjacent", lambda x: x[:, positions, torch.tensor([0, 1])], draw(2, 3, 2))
    add("index_select_", lambda x: x.index_select(0, torch.tensor([1, 1, 0])), draw(2, 2))
    add("index_put_", lambda x, v: x.index_put((torch.tensor([0, 2]),), v), draw(3, 2), draw(2, 2))
    add("index_put_add", lambda x, v: x.index_put((torch.tensor([1, 1]), torch.tensor([0, 0])), v, accumulate=True), draw(3, 2), draw(2))
    add("index_add_", lambda x, v: x.index_add(0, torch.tensor([1, 1]), v), draw(3, 2), draw(2, 2))
    add("scatter_", lambda x, v: x.scatter(0, torch.tensor([[1, 0]]), v), draw(3, 2), draw(1, 2))
    add("scatter_add_", lambda x, v: x.scatter_add(1, positions, v), draw(2, 3), draw(2, 2))
    add("scatter_part", lambda x, v: x.scatter_add(1, positions, v), draw(3, 3), draw(2, 2))
    add("mask_put", mask_put, tied(4))
    add("cross_entropy_", lambda x: F.cross_entropy(x, torch.tensor([1, -100, 0]), label_smoothing=0.1, reduction="none"), draw(3, 4))


def mask_put(x):
    y = x.clone()
    y[x > 0] = 7.0
    return y


def networks():
    add("linear_", F.linear, draw(2, 3, 4), draw(5, 4), draw(5))
    add("matmul_", lambda x, y: x @ y, draw(2, 1, 3, 4), draw(3, 4, 2))
    add("einsum_", lambda x, y: torch.einsum("bij,kj->bki", x, y), draw(2, 3, 4), draw(5, 4))
    add("baddbmm_", lambda b, x, y: torch.baddbmm(b, x, y, beta=2, alpha=3), draw(2, 3, 2), draw(2, 3, 4), draw(2, 4, 2))
    add("conv1d_", lambda x, w: F.conv1d(x, w, padding=1, stride=2), draw(2, 3, 5), draw(4, 3, 3))
    add("conv2d_", lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2)), draw(2, 2, 5, 5), draw(3, 2, 2, 2), draw(3))
    add("conv_groups", lambda x, w: F.conv2d(x, w, groups=2), draw(2, 4, 4, 3), draw(6, 2, 2, 2))
    add("conv_transposed", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2), draw(1, 4, 3, 3), draw(4, 2, 3, 3))
    add("layer_norm_", lambda x, w, b: F.layer_norm(x, (4,), w, b), draw(3, 4), draw(4), draw(4))
    add("rms_norm_", lambda x, w: F.rms_norm(x, (4,), w, 1e-6), draw(3, 4), draw(4))
    add("group_norm_", lambda x, w, b: F.group_norm(x, 2, w, b), draw(2, 4, 3), draw(4), draw(4))
    add("batch_norm_", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), draw(4, 3, 2), draw(3), draw(3))
    add("batch_norm_eval", lambda x, w: F.batch_norm(x, torch.ones(3).double(), torch.full((3,), 2.0).double(), w), draw(4, 3), draw(3))
    add("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), tied(1, 2, 6, 6))
    add("max_pool_ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), tied(1, 1, 5, 5))
    add("avg_pool", lambda x: F.avg_pool2d(x, 2, 2, 1) + F.avg_pool2d(x, 2, 2, 1, count_include_pad=False), draw(1, 2, 4, 4))
    add("avg_pool_ceil", lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True), draw(1, 1, 5, 5))
    add("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, (2, 1)), draw(1, 2, 4, 3))
    add("upsample", lambda x: F.interpolate(x, scale_factor=2), draw(1, 1, 2, 2))
    add("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), draw(1, 2, 4, 3), draw(1, 2, 4, 3), draw(1, 2, 4, 3))
    add("l1", lambda x, y: F.l1_loss(x, y, reduction="none") + F.smooth_l1_loss(x, y) + F.huber_loss(x, y), [1, 2, 3, 4], [1, 1, 3, 9])
    add("binary", lambda x: F.binary_cross_entropy_with_logits(x, (x > 0).double(), reduction="none"), tied(5))
    add("divergence", lambda x: F.kl_div(x, torch.softmax(torch.arange(4.0).double(), 0), reduction="sum"), draw(4))
    add("margin", lambda x: F.hinge_embedding_loss(x, torch.tensor([1, -1, 1, -1]), reduction="none"), [0, 1, 2, 0.5])


class Module(torch.nn.Module):
    """The sum of the weighted results of all cases."""

    def __init__(self):
        super().__init__()
        self.p = torch.nn.ModuleDict({name: torch.nn.ParameterList(operands) for name, (_, operands) in CASES.items()})
        rng = np.random.default_rng(4)
        self.weights = {}
        for name, (function, operands) in CASES.items():
            shape = tuple(function(*operands).shape)
            self.weights[name] = torch.tensor(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape), dtype=torch.float64)

    def forward(self):
        total = torch.zeros((), dtype=torch.float64)
        for name, (function, _) in CASES.items():
            total = total + (function(*self.p[name]) * self.weights[name]).sum()
        return total


def write(start):
    """Writes the files of the cases that were added."""
    module = Module()
    exported = meshwright.torch.export(module, ())
    pathlib.Path(f"{start}.mlir").write_text(exported.text)
    _tensors.save(f"{start}.init.safetensors", exported.state)
    loss = module()
    loss.backward()
    gradients = {f"grad/{name}": torch.zeros_like(value) if value.grad is None else value.grad for name, value in module.named_parameters()}
    _tensors.save(f"{start}.gradients.safetensors", {"loss": loss} | gradients)
    print(f"{start.name}: {len(CASES)} cases, loss {loss.item()}")


def main():
    warnings.simplefilter("ignore", UserWarning)  # Operations without a derivative leave parameters without a gradient.
    for family in (elementwise, edges, reductions, layouts, indexing, networks):
        CASES.clear()
        family()
        write(pathlib.Path(sys.argv[1]) / f"derivatives-torch-{family.__name__}")


if __name__ == "__main__":
    main()
