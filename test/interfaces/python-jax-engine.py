# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: python
# UNSUPPORTED: sanitizer
# RUN: %jax_python -W ignore %s
"""JAX runs a step that was distributed over four of its devices: losses and state are those of the serial step, also where parameters are
split, and where uneven dimensions are padded. So are those of a loss in slices of a batch, and in a pipeline."""
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import jax
import numpy as np
import optax

import meshwright.jax

OPTIMIZER = optax.adamw(1e-2)
STRATEGIES = ['zero { axes: "dp" stage: 3 }', 'tensor { axis: "tp" split { match: "params.w" dim: 1 } split { match: "params.v" dim: 0 } }']
MESHES = [{"dp": 4}, {"dp": 2, "tp": 2}]


def train(params, state, x, y):
    def loss(params):
        return jax.numpy.mean((jax.nn.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(params)
    updates, state = OPTIMIZER.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, value


def check(strategy, mesh):
    numbers = np.random.default_rng(0)
    make = lambda *shape: jax.numpy.asarray(numbers.standard_normal(shape), "float32")
    # 10 columns over 4 ranks are padded.
    params = {"w": make(6, 10), "b": make(10), "v": make(10, 3)}
    serial, x, y = [params, OPTIMIZER.init(params)], make(8, 6), make(8, 3)
    text = f'data {{ axes: "dp" }} model {{ batch {{ inputs: "x" inputs: "y" }} }} {strategy}'
    step = meshwright.jax.distribute(train, text, mesh=mesh, engine="jax")(*serial, x, y)
    alone = jax.jit(train)
    for _ in range(3):
        value = step(x, y)
        *serial, expected = alone(*serial, x, y)
        assert abs(float(value) - float(expected)) <= 1e-6 * abs(float(expected)), (mesh, value, expected)
    for found, wanted in zip(jax.tree_util.tree_leaves(step.state), jax.tree_util.tree_leaves(serial)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def check_loss(strategy, mesh):
    """The strategy adds the optimizer."""
    numbers = np.random.default_rng(1)
    make = lambda *shape: jax.numpy.asarray(numbers.standard_normal(shape), "float32")
    params, x, y = {"layers": [{"w": make(6, 6), "b": make(6)} for _ in range(2)]}, make(8, 6), make(8, 6)

    def loss(params, x, y):
        for layer in params["layers"]:
            x = jax.nn.tanh(x @ layer["w"] + layer["b"])
        return jax.numpy.mean((x - y) ** 2)

    text = f'data {{ axes: "dp" }} model {{ batch {{ inputs: "x" inputs: "y" }} }} {strategy}'
    step = meshwright.jax.distribute(loss, text, mesh=mesh, engine="jax")(params, x, y)
    for _ in range(3):
        value = np.asarray(jax.tree_util.tree_leaves(step(x, y))[0])
        expected, gradients = jax.value_and_grad(loss)(params, x, y)
        params = jax.tree_util.tree_map(lambda value, gradient: value - 0.1 * gradient, params, gradients)
        assert abs(float(value) - float(expected)) <= 1e-6 * abs(float(expected)), (mesh, value, expected)
    for found, wanted in zip(jax.tree_util.tree_leaves(step.state), jax.tree_util.tree_leaves(params)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


for strategy, mesh in zip(STRATEGIES, MESHES):
    check(strategy, mesh)
SGD = "sgd { lr { constant: 0.1 } }"
check_loss(f"train {{ {SGD} gradient_accumulation {{ slices: 2 }} }}", {"dp": 4})
check_loss(f'train {{ {SGD} }} pipeline {{ axis: "pp" micro_batches: 2 }}', {"pp": 2, "dp": 2})
