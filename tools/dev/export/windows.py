# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports convolutions, sliding windows and running sums of many forms, and what JAX computes of them: `windows.py FOLDER`.

windows.mlir                  the sum of all results, each weighted, of parameters `p.NAME.…`
windows.init.safetensors      the parameters
windows.gradient.mlir         the same with all gradients, which JAX writes as other convolutions and windows
windows.gradients.safetensors `loss` and every `grad/p.NAME.…`
windows.results.mlir          every result by name
windows.results.safetensors   their values
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")

# By name: the shapes of both operands, the dimension numbers, and what differs from a plain convolution.
CONVOLUTIONS = {
    "plain": ((2, 5, 6, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"), dict(padding="SAME")),
    "strided": ((2, 7, 8, 2), (3, 2, 2, 5), ("NHWC", "HWIO", "NHWC"), dict(window_strides=(2, 3), padding=((1, 2), (0, 1)))),
    "channels_first": ((2, 3, 6, 5), (4, 3, 2, 3), ("NCHW", "OIHW", "NCHW"), dict(padding=((0, 1), (2, 1)))),
    "mixed_layouts": ((4, 3, 5, 2), (2, 4, 3, 3), ("CHWN", "OIHW", "HNWC"), dict(padding="VALID"), (2, 5, 4, 3)),
    "dilated": ((2, 8, 7, 2), (3, 2, 2, 3), ("NHWC", "HWIO", "NHWC"), dict(rhs_dilation=(2, 3), padding=((2, 1), (1, 3)))),
    "spread": ((2, 4, 3, 2), (3, 3, 2, 3), ("NHWC", "HWIO", "NHWC"), dict(lhs_dilation=(2, 3), padding=((1, 2), (3, 0)))),
    "everything": ((3, 5, 4, 4), (2, 3, 2, 6), ("NHWC", "HWIO", "NHWC"),
                   dict(window_strides=(2, 1), lhs_dilation=(2, 1), rhs_dilation=(1, 2), padding=((1, -2), (3, 2)), feature_group_count=2)),
    "grouped": ((2, 5, 5, 6), (3, 3, 2, 9), ("NHWC", "HWIO", "NHWC"), dict(feature_group_count=3, padding="SAME")),
    "depthwise": ((2, 6, 5, 9), (3, 3, 1, 9), ("NHWC", "HWIO", "NHWC"), dict(feature_group_count=9, padding="SAME")),
    "depthwise_twice": ((2, 8, 12), (16, 1, 3), ("NCH", "OIH", "NCH"), dict(feature_group_count=8, padding=((1, 1),))),
    "batch_groups": ((6, 5, 4, 2), (2, 3, 2, 9), ("NHWC", "HWIO", "NHWC"), dict(batch_group_count=3, padding="SAME")),
    "cut": ((2, 8, 3), (3, 3, 4), ("NHC", "HIO", "NHC"), dict(padding=((-1, -2),))),
    "line": ((3, 9, 2), (4, 2, 3), ("NHC", "HIO", "NHC"), dict(window_strides=(2,), padding=((3, 2),))),
    "volume": ((2, 4, 3, 5, 2), (2, 2, 3, 2, 3), ("NDHWC", "DHWIO", "NDHWC"), dict(window_strides=(1, 2, 2), padding="SAME")),
    "pointwise": ((2, 4, 3, 5), (1, 1, 5, 4), ("NHWC", "HWIO", "NHWC"), dict(padding="VALID")),
    "patches": ((2, 6, 4, 3), (2, 2, 3, 5), ("NHWC", "HWIO", "NHWC"), dict(window_strides=(2, 2), padding="VALID")),
    "no_window": ((4, 3), (5, 3), lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1)), dict(window_strides=(), padding=())),
}

# By name: shape, operation, window, strides, padding, and dilations of base and window.
WINDOWS = {
    "max_pool": ((2, 6, 6, 3), "max", (1, 3, 3, 1), (1, 2, 2, 1), "SAME", None, None),
    "max_pool_apart": ((2, 6, 4, 2), "max", (1, 2, 2, 1), (1, 2, 2, 1), "VALID", None, None),
    "max_pool_ties": ((2, 7, 7, 2), "max", (1, 3, 2, 1), (1, 2, 1, 1), "SAME", None, None),
    "min_pool_ties": ((3, 9), "min", (2, 3), (1, 2), ((1, 0), (2, 1)), None, None),
    "sum_pool": ((2, 7, 6, 3), "add", (1, 3, 2, 1), (1, 2, 2, 1), "SAME", None, None),
    "sum_pool_dilated": ((5, 6), "add", (2, 2), (1, 2), ((1, 1), (0, 2)), (2, 1), (1, 2)),
}

CUMULATIVE = {"cumsum": ((3, 7), jnp.cumsum, 1), "cumsum_of_one": ((1, 4), jnp.cumsum, 0),
              "cumprod": ((6, 2), jnp.cumprod, 0), "cummax": ((2, 8), lax.cummax, 1), "cummin": ((5, 3), lax.cummin, 0),
              "cumlogsumexp": ((2, 9), lax.cumlogsumexp, 1)}


def convolve(x, w, dimension_numbers, options):
    return lax.conv_general_dilated(x, w, **{"window_strides": (1,) * (x.ndim - 2), **options},
                                    dimension_numbers=dimension_numbers)


def reduce_window(x, operation, window, strides, padding, base_dilation, window_dilation):
    function, start = {"max": (lax.max, -np.inf), "min": (lax.min, np.inf), "add": (lax.add, 0.0)}[operation]
    return lax.reduce_window(x, start, function, window, strides, padding, base_dilation, window_dilation)


def results(p):
    """All results by name."""
    found = {}
    for name, (_, _, numbers, options, *_) in CONVOLUTIONS.items():
        found[name] = convolve(p[name]["x"], p[name]["w"], numbers, options)
    for name, (_, *window) in WINDOWS.items():
        found[name] = reduce_window(p[name]["x"], *window)
    for name, (_, function, axis) in CUMULATIVE.items():
        found[name] = function(p[name]["x"], axis=axis)
        if function is not jnp.cumprod and function is not jnp.cumsum:
            found[name + "_reversed"] = function(p[name]["x"], axis=axis, reverse=True)
    found["cumsum_reversed"] = lax.cumsum(p["cumsum"]["x"], axis=1, reverse=True)
    return found


def loss(p):
    weight = lambda value: jnp.sin(1.3 * jnp.arange(value.size) + 0.2).reshape(value.shape)
    return sum(jnp.sum(value * weight(value)) for value in results(p).values())


def draw_parameters(rng):
    parameters = {}
    for name, (left, right, *_) in CONVOLUTIONS.items():
        parameters[name] = {"x": rng.standard_normal(left), "w": rng.standard_normal(right)}
    for name, (shape, *_) in WINDOWS.items():
        ties = name.endswith("ties")
        parameters[name] = {"x": rng.integers(0, 3, shape).astype("float64") if ties else rng.standard_normal(shape)}
    for name, (shape, *_) in CUMULATIVE.items():
        parameters[name] = {"x": rng.standard_normal(shape)}
    return parameters


def named(prefix, tree):
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + ".".join(key.key for key in path): np.array(leaf, order="C") for path, leaf in leaves}


def main():
    folder = pathlib.Path(sys.argv[1])
    parameters = draw_parameters(np.random.default_rng(11))
    gradient = jax.jit(jax.value_and_grad(loss))
    (folder / "windows.mlir").write_text(jax.jit(loss).lower(parameters).as_text(debug_info=True))
    (folder / "windows.gradient.mlir").write_text(gradient.lower(parameters).as_text(debug_info=True))
    (folder / "windows.results.mlir").write_text(jax.jit(results).lower(parameters).as_text(debug_info=True))
    save_file(named("p.", parameters), folder / "windows.init.safetensors")
    value, gradients = gradient(parameters)
    save_file({"loss": np.array(value)} | named("grad/p.", gradients), folder / "windows.gradients.safetensors")
    save_file(named("", jax.jit(results)(parameters)), folder / "windows.results.safetensors")


if __name__ == "__main__":
    main()
