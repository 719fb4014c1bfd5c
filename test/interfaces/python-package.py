# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# RUN: rm -rf %tmp && mkdir %tmp
# RUN: %python %s %tmp
"""A network is compiled and trained from Python: losses and variables are those of JAX, in both sessions of a process; everything that can be asked
of a package and a session is what the compiler and numpy say of it; and all that can be wrong is an exception with its text and place, after which
packages and sessions go on."""
import os
import pathlib
import pickle
import sys
import threading
import warnings

import numpy

import meshwright
from meshwright import CompileError, InputError, Package, Session, StrategyError, UsageError, safetensors
from packages import NETWORK, REFERENCE, STRATEGY, batch, raises

folder = pathlib.Path(sys.argv[1])

# The whole way, against JAX's numbers.
stages = []
package = meshwright.compile(NETWORK, STRATEGY, progress=stages.append)
assert stages == ["import", "train", "annotate", "complete", "partition", "optimize", "schedule", "emit"], stages
assert package.mesh == {"dp": 2, "tp": 2} and package.num_ranks == 4 and package.has_serial and package.accumulation_steps == 1
assert [(value.name, value.dtype, value.shape) for value in package.inputs] == [("x", "f64", (8, 12)), ("y", "i32", (8,))]
assert package.inputs[0].batch_dim == 0 and package.inputs[0].placement == '[["dp"], []]'
kernel = next(value for value in package.variables if value.name == "p.layer0.kernel")
assert (kernel.shape, kernel.kind, kernel.placement) == ((12, 24), "parameter", '[[], ["tp"]]') and not kernel.has_initializer
assert package.plan["mesh"] and "c_allreduce" in package.explain()
assert package.loss == package.outputs[0].name and package.outputs[0].is_result

expected = safetensors.load(REFERENCE / "sgd.safetensors")
initial = safetensors.load(REFERENCE / "init.safetensors")
session, serial = Session(package, init=REFERENCE / "init.safetensors"), Session(package, init=initial, serial=True, threads=1)
for step in range(5):
    for running in (session, serial):
        loss = running.step(batch(step))[package.loss]
        assert loss.shape == () and abs(loss - expected["losses"][step]) < 1e-11 * abs(loss), (step, loss)
        # The reference has the variables after three steps.
        for name in expected.keys() & running.variables.keys() if step == 2 else ():
            numpy.testing.assert_allclose(running.variables[name], expected[name], rtol=1e-11, atol=1e-13)
assert session.steps == 5 and len(expected.keys() & session.variables.keys()) == 6

# Variables: copies that keep their values, views that do not copy, and values that are set.
before, view = session.variables["p.layer0.bias"], session.variables.view("p.layer0.bias")
assert view is not None and not view.flags.writeable and numpy.array_equal(before, view)
assert session.variables.view("p.layer0.kernel") is None, "it is in parts"
next(session.run([batch(0)]))
assert not numpy.array_equal(before, view), "a view changes with the next step"
assert numpy.array_equal(view, session.variables["p.layer0.bias"])
session.variables["p.layer0.bias"] = numpy.arange(24.0)
assert numpy.array_equal(session.variables["p.layer0.bias"], numpy.arange(24.0)) and numpy.array_equal(view, numpy.arange(24.0))
transposed = numpy.asarray(initial["p.layer0.kernel"]).copy(order="F")
session.variables["p.layer0.kernel"] = transposed
assert numpy.array_equal(session.variables["p.layer0.kernel"], initial["p.layer0.kernel"])
session.close()
assert numpy.array_equal(view, numpy.arange(24.0)), "a view outlives its session"
raises(UsageError, "the session is closed", session.step, batch(0))
del view

# Files and checkpoints.
with Session(package, init=initial) as first:
    first.step(batch(0))
    first.save(folder / "after.safetensors")
    first.save_checkpoint(folder / "checkpoints")
    second = Session(package, init=folder / "after.safetensors")
    third = Session(package, init=initial)
    third.restore(folder / "checkpoints")
    assert (second.steps, third.steps) == (0, 1)
    for other in (second, third):
        for name in first.variables:
            assert numpy.array_equal(first.variables[name], other.variables[name]), name
    # A key of the file is a variable; those of no variable are named in a warning.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        second.initialize({**initial, "p.other": numpy.zeros(3)})
    assert len(caught) == 1 and '"p.other", which no variable of the package is called' in str(caught[0].message), caught

# Packages are folders.
saved = package.save(folder / "saved")
assert saved.hash == package.hash and saved.plan == package.plan and Package.open(folder / "saved").explain() == package.explain()
raises(InputError, "is not empty", package.save, folder / "saved")
assert Session(folder / "saved", init=initial).step(batch(0), outputs=[package.loss]).keys() == {package.loss}
os.remove(folder / "saved" / "plan.json")
raises(InputError, "has no plan.json", lambda: Package.open(folder / "saved").plan)

# Feeds: whatever is an array; integers of other types whose values fit; numbers of Python in the type of the input.
session = Session(package, init=initial)
fed = batch(0)
wanted = session.step(fed)[package.loss]


class Exchanged:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


for x, y in ((numpy.asarray(fed["x"]).tolist(), numpy.asarray(fed["y"]).tolist()), (numpy.asarray(fed["x"]).copy(order="F"), fed["y"].astype(numpy.uint8)),
             (Exchanged(fed["x"].copy()), fed["y"].astype(">i8"))):
    session.initialize(initial)
    assert session.step({"x": x, "y": y})[package.loss] == wanted

# Wrong calls; after each of them the session goes on.
bad = {
    (UsageError, 'the input "y" of 8xi32 is not fed'): {"x": fed["x"]},
    (UsageError, 'no input of the package is called "z"'): {**fed, "z": 1},
    (InputError, 'input "x" is 8x12xf64 but the tensor is 12x8xf64'): {**fed, "x": fed["x"].T},
    (InputError, 'input "x": f64 is wanted, but the data is f32'): {**fed, "x": fed["x"].astype(numpy.float32)},
    (InputError, 'input "y": element [7] is 10, outside [0, 10)'): {**fed, "y": numpy.array([0] * 7 + [10])},
    (InputError, 'input "y": element 2 is 3000000000'): {**fed, "y": numpy.array([0, 0, 3_000_000_000] + [0] * 5)},
    (InputError, 'input "x" is an array of complex128, which is no element type'): {**fed, "x": fed["x"] * 1j},
    (InputError, 'input "x" cannot be taken as f64'): {**fed, "x": [[1, 2], [3]]},
}
for (error, text), feeds in bad.items():
    raises(error, text, session.step, feeds)
raises(UsageError, 'no output of the package is called "nothing"', session.step, fed, outputs=["nothing"])
raises(KeyError, 'no variable of the package is called "w"', lambda: session.variables["w"])
raises(InputError, 'variable "p.layer0.bias" is 24xf64 but the array is 3xf64', session.variables.__setitem__, "p.layer0.bias", numpy.zeros(3))
raises(TypeError, "cannot be deleted", session.variables.__delitem__, "p.layer0.bias")
raises(InputError, "no initial value", session.initialize)
raises(UsageError, "the variables have no values", session.step, fed)
session.initialize(initial)
assert session.step(fed)[package.loss] == wanted
raises(UsageError, 'there is no device "abacus"', Session, package, device="abacus")
raises(InputError, 'tensor "p.layer0.bias" is 23xf64 but the variable is 24xf64', Session, package, init={**initial, "p.layer0.bias": numpy.zeros(23)})
raises(InputError, "6 variables, ", Session, package)
found = raises(InputError, "cannot open", Session, package, init=folder / "nothing.safetensors")
assert found.file == str(folder / "nothing.safetensors") and found.line == 0

# Damaged packages, and those of another version.
found = raises(InputError, "cannot open", Package.open, folder / "nothing")
data = bytearray((package.folder / "package.pb").read_bytes())
assert data[:2] == b"\x08" + data[1:2], "the first field is the version"
data[1] += 1
(folder / "newer").mkdir()
(folder / "newer" / "package.pb").write_bytes(data)
raises(InputError, "the file is damaged or of another package", Package.open, folder / "newer")
# Without the hash, which stands last.
(folder / "newer" / "package.pb").write_bytes(data[:-10])
raises(InputError, f"has schema version {data[1]} but this runtime reads version {data[1] - 1}", Package.open, folder / "newer")

# What the compiler finds is located.
found = raises(StrategyError, 'strategy.mesh has no field called "sides"; it has axes', meshwright.compile, NETWORK, {"mesh": {"sides": 2}})
found = raises(StrategyError, 'has no field named "sides"', meshwright.compile, NETWORK, "mesh {\n  sides: 2 }")
assert (found.file, found.line, found.column) == ("strategy", 2, 8), found
assert str(pickle.loads(pickle.dumps(found))) == str(found)
raises(StrategyError, "cannot read", meshwright.compile, NETWORK, pathlib.Path("/nowhere.textproto"))
found = raises(CompileError, "", meshwright.compile, "module {\n  func.func @main( {\n}")
assert found.file == "graph" and found.line >= 2 and found.column > 0, found
raises(CompileError, "is the name of a file; pathlib.Path", meshwright.compile, str(NETWORK))
raises(TypeError, "but not a int", meshwright.compile, 3)
raises(TypeError, "but not a int", meshwright.compile, NETWORK, 3)
raises(ZeroDivisionError, "", meshwright.compile, NETWORK, STRATEGY, progress=lambda stage: 1 / 0)

# Two threads that compile and run at once, one of which makes mistakes.
results = {}


def work(name, strategy):
    try:
        made = meshwright.compile(NETWORK, strategy)
        with Session(made, init=initial, threads=1) as running:
            results[name] = running.step(fed)[made.loss]
    except StrategyError as error:
        results[name] = str(error)


threads = [threading.Thread(target=work, args=entry) for entry in {"right": STRATEGY, "wrong": "mesh { sides: 2 }", "again": STRATEGY}.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results["right"] == results["again"] == wanted and "sides" in results["wrong"], results

# Files of safetensors that Python writes are those that the runtime reads.
safetensors.save(folder / "own.safetensors", {"a": numpy.float32(1.5), "b": numpy.arange(6).reshape(2, 3).T, "c": numpy.array([True])}, {"k": "v"})
back = safetensors.load(folder / "own.safetensors")
assert back["a"] == 1.5 and back["a"].dtype == numpy.float32 and back["b"].shape == (3, 2) and back["b"][2, 1] == 5 and back["c"][0]
(folder / "bad.safetensors").write_bytes(b"\xff" * 20)
raises(InputError, "is no file of safetensors", safetensors.load, folder / "bad.safetensors")
raises(InputError, "cannot read", safetensors.load, folder / "none.safetensors")
