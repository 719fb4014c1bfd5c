# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# RUN: %python -W ignore %s
"""Packages that evaluate, from Python: the loss of an evaluation is JAX's at the variables of that moment, whether the network is the one that is
trained or another one; variables of training have the same bits with evaluations in between and without; wrong calls are exceptions, after which both
go on."""
import numpy

import meshwright
from meshwright import Session, UsageError, safetensors
from packages import FIXTURES, NETWORK, REFERENCE, STRATEGY, batch, raises

package = meshwright.compile(NETWORK, {**STRATEGY, "eval": {}})
evaluation = package.evaluation
assert [value.name for value in evaluation.inputs] == ["x", "y"] and evaluation.inputs[0].placement == '[["dp"], []]'
assert evaluation.loss == evaluation.outputs[0].name and {value.kind for value in evaluation.variables} == {"parameter"}
assert {value.name for value in evaluation.variables} <= {value.name for value in package.variables}

# The loss of a step is that before its update.
expected, initial = safetensors.load(REFERENCE / "sgd.safetensors"), safetensors.load(REFERENCE / "init.safetensors")
for serial in (False, True):
    session, plain = Session(package, init=initial, serial=serial), Session(package, init=initial, serial=serial)
    for step in range(4):
        for _ in range(2):
            loss = session.evaluate(batch(step))[evaluation.loss]
            assert loss.shape == () and abs(loss - expected["losses"][step]) < 1e-11 * abs(loss), (serial, step, loss)
        assert session.steps == step
        trained = session.step(batch(step))[package.loss]
        assert trained == plain.step(batch(step))[package.loss]
        for name in session.variables:
            assert numpy.array_equal(session.variables[name], plain.variables[name]), name

# Values that variables are given in between.
session.initialize(initial)
assert abs(session.evaluate(batch(0))[evaluation.loss] - expected["losses"][0]) < 1e-11
before = session.evaluate(batch(1))[evaluation.loss]
session.variables["p.layer0.bias"] = numpy.ones(24)
assert session.evaluate(batch(1))[evaluation.loss] != before
session.variables["p.layer0.bias"] = initial["p.layer0.bias"]
assert session.evaluate(batch(1), outputs=[evaluation.loss]) == {evaluation.loss: before}

# Wrong calls.
raises(UsageError, 'the input "y" of 8xi32 is not fed', session.evaluate, {"x": batch(0)["x"]})
raises(UsageError, 'no output of the package is called "nothing"', session.evaluate, batch(0), outputs=["nothing"])
assert session.evaluate(batch(1))[evaluation.loss] == before
assert Session(meshwright.compile(NETWORK, STRATEGY), init=initial).package.evaluation is None
raises(UsageError, "the package has nothing to evaluate", Session(meshwright.compile(NETWORK, STRATEGY), init=initial).evaluate, batch(0))
session.close()
raises(UsageError, "the session is closed", session.evaluate, batch(0))

# Another network over the same variables: without dropout.
strategy = {
    "mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 2}]},
    "model": {"parameters": "p.*", "batch": {"inputs": ["ids"]}},
    "train": {"adamw": {"lr": {"constant": 0.001}}},
    "data": {"axes": "dp"},
    "zero": {"axes": "dp", "stage": 3},
    "tensor": {"axis": "tp", "split": [{"match": "*.mlp.c_fc.*", "dim": 0}, {"match": "*.attn.c_attn.*", "dim": 0, "groups": 3}]},
}
folder = FIXTURES / "reference" / "gpt2-tiny-f64"
ids, key = safetensors.load(folder / "batch0.safetensors"), numpy.array([0, 42], numpy.uint32)
package = meshwright.compile(FIXTURES / "gpt2-dropout-tiny-f64.mlir", strategy, evaluation=FIXTURES / "gpt2-tiny-f64.mlir")
assert [value.name for value in package.inputs] == ["ids", "key"] and [value.name for value in package.evaluation.inputs] == ["ids"]
session = Session(package, init=folder / "init.safetensors")
loss = safetensors.load(folder / "adamw.safetensors")["losses"][0]
assert abs(session.evaluate(ids)[package.evaluation.loss] - loss) < 1e-11 * loss
assert abs(session.step({**ids, "key": key})[package.loss] - loss) > 1e-6 * loss, "some elements are dropped"
assert session.evaluate(ids)[package.evaluation.loss] < loss
