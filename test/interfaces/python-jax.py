# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# REQUIRES: python
# RUN: rm -rf %tmp && mkdir %tmp
# RUN: cd %tmp && %jax_python -W ignore %s
# RUN: cd %tmp && dist-opt exported/graph.mlir --strategy=exported/strategy.textproto --emit=out --quiet
# RUN: cd %tmp && dist-run out --init=exported/initial.safetensors --feed=batch.safetensors --steps=2 --save=own.safetensors --quiet
# RUN: cd %tmp && %jax_python -W ignore %s compare
"""Functions of JAX are distributed: losses and states are those of JAX alone, for steps whose state is in arguments of their own or in one, with and
without donation, for a loss with the optimizer of the strategy, and for keys of random numbers. What `export` writes trains the same by the command
line. What does not fit is an error."""
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import meshwright
import meshwright.jax
from meshwright import InputError, UsageError, safetensors
from packages import raises

jax.config.update("jax_enable_x64", True)
optimizer = optax.adamw(1e-2)
BATCH = {"model": {"batch": {"inputs": ["x", "y"]}}, "data": {"axes": "dp"}}
ZERO = {**BATCH, "zero": {"axes": "dp", "stage": 2}}
keys = jax.random.split(jax.random.PRNGKey(0), 4)
params = {"first.layer": {"kernel": jax.random.normal(keys[0], (12, 16)) / 4, "bias": jnp.zeros(16)}, "last": [jax.random.normal(keys[1], (16, 10)) / 4]}
x, y = jax.random.normal(keys[2], (8, 12)), jnp.arange(8) % 10


def loss(params, x, y):
    hidden = jax.nn.relu(x @ params["first.layer"]["kernel"] + params["first.layer"]["bias"])
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ params["last"][0], y).mean()


def train(params, opt_state, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    updates, opt_state = optimizer.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, value


class State(NamedTuple):
    count: Any
    params: Any
    inner: Any


def whole(x, state, y):
    """State in the middle and in one argument; the first result is a scalar like its counter."""
    updated, inner, value = train(state.params, state.inner, x, y)
    return {"loss": value, "count": state.count}, State(state.count + 1, updated, inner)


def noisy(params, key, x):
    """The state is one array; a key is an input."""
    return params - 0.1 * (x * jax.random.bernoulli(key, 0.5, x.shape)).sum(0)


def close(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13), found, jax.tree.map(np.asarray, expected))


state = (params, optimizer.init(params))
if sys.argv[1:] == ["compare"]:
    for _ in range(2):
        *state, _ = jax.jit(train)(*state, x, y)
    found = safetensors.load("own.safetensors")
    close(found["params.first\\.layer.kernel"], state[0]["first.layer"]["kernel"])
    close(found["opt_state.0.mu.last.0"], state[1][0].mu["last"][0])
    assert found["opt_state.0.count"] == 2 and len(found) == 10
    sys.exit()

# A step, with the names and the types of its results.
step = meshwright.jax.distribute(train, ZERO, mesh={"dp": 4}, threads=1)(*state, x, y)
assert step.package.mesh == {"dp": 4} and "c_" in step.package.explain()
alone = state
for _ in range(3):
    *alone, expected = jax.jit(train)(*alone, x, y)
    close(step(x, y), expected)
close(step.state, tuple(alone))
assert step.state[1][0].count == 3 and step.session.steps == 3

# One argument of state; a text for a strategy, which keeps its lines; a mesh of JAX's kind.
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("dp",))
text = 'model { batch { inputs: "x" inputs: "y" } }\ndata { axes: "dp" }'
alone = State(jnp.zeros((), jnp.int64), *state)
one = meshwright.jax.distribute(whole, text, mesh=mesh, threads=1)(x, alone, y)
for _ in range(2):
    expected, alone = jax.jit(whole)(x, alone, y)
    close(one(x, y), expected)
close(one.state, alone)

# A loss: the optimizer is the strategy's, here plain gradient descent.
alone = params
descend = meshwright.jax.distribute(loss, {**BATCH, "train": {"sgd": {"lr": {"constant": 0.1}}}}, mesh={"dp": 2}, threads=1)(params, x, y)
for _ in range(2):
    expected, gradients = jax.value_and_grad(loss)(alone, x, y)
    alone = jax.tree.map(lambda p, g: p - 0.1 * g, alone, gradients)
    close(descend(x, y), expected)
close(descend.state, alone)

# An array as state, and keys.
bias = jnp.zeros(12)
random = meshwright.jax.distribute(noisy, {"model": {"batch": {"inputs": "x"}}, "data": {"axes": "dp"}}, mesh={"dp": 2}, threads=1)(bias, keys[3], x)
assert random(keys[3], x) == ()
close(random.state, noisy(bias, keys[3], x))

# Errors.
raises(UsageError, "a step takes 2 inputs (x, y) but got 3; the state is kept", step, params, x, y)
raises(InputError, 'input "x" is 8x12xf64 but the tensor is 4x12xf64', step, x[:4], y)
raises(InputError, 'argument "x" has the tree', step, {"x": x}, y)
raises(UsageError, 'there is no engine "abacus"; there are meshwright', meshwright.jax.distribute, train, engine="abacus")
raises(UsageError, "the strategy has a mesh, and another one", meshwright.jax.distribute(loss, {**BATCH, "mesh": {"axes": {"name": "dp", "size": 2}}},
                                                                                         mesh={"dp": 2}), params, x, y)
raises(UsageError, "state 7 names an argument that is none of the 3", meshwright.jax.distribute(loss, BATCH, state=7), params, x, y)
raises(UsageError, "takes 3 arguments but got 4", meshwright.jax.distribute(loss, BATCH), params, x, y, y)
raises(TypeError, "a mesh is a dictionary", meshwright.jax.distribute(loss, BATCH, mesh=4), params, x, y)
raises(meshwright.StrategyError, 'no field named "sides"', meshwright.jax.distribute(loss, "mesh { sides: 2 }"), params, x, y)
expected = jax.jit(train)(*step.state, x, y)[2]
close(step(x, y), expected)

meshwright.jax.export(train, (*state, x, y), "exported", ZERO, {"dp": 4})
safetensors.save("batch.safetensors", {"x": x, "y": y})
