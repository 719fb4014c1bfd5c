# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer, memcheck
# RUN: %python %s
"""KeyboardInterrupt reaches a program within a step that takes long: the step ends, its session wants values again and then goes on with the same
numbers, and another session is not touched. A compilation ends before its next stage."""
import os
import signal
import threading
import warnings

import numpy

import meshwright
from packages import raises

warnings.simplefilter("ignore")
# A shell may have told programs in the background to ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The runtime's own loops take long for products of f64: a chain of them is a step of seconds.
SIZE, LENGTH = 384, 48
MATRIX = f"tensor<{SIZE}x{SIZE}xf64>"
body = "\n".join(f"    %{i + 1} = stablehlo.dot_general %{i}, %w, contracting_dims = [1] x [0] : ({MATRIX}, {MATRIX}) -> {MATRIX}" for i in range(LENGTH))
GRAPH = f"""module {{
  func.func @main(%w: {MATRIX} loc("w"), %0: {MATRIX} loc("x")) -> tensor<f64> {{
{body}
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %sum = stablehlo.reduce(%{LENGTH} init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({MATRIX}, tensor<f64>) -> tensor<f64>
    return %sum : tensor<f64>
  }}
}}
"""
package = meshwright.compile(GRAPH, {"mesh": {"axes": {"name": "dp", "size": 2}}, "model": {"parameters": "w", "batch": {"inputs": "x"}}, "data": {"axes": "dp"}})
identity = numpy.eye(SIZE)
session, other = (meshwright.Session(package, init={"w": identity}, threads=1) for _ in range(2))
assert len(package.outputs) == 1
x = numpy.ones((SIZE, SIZE))


def interrupted(call, has_begun):
    """True if a signal after the beginning of a call ends it."""
    answered = threading.Event()

    def send():
        while not has_begun():
            answered.wait(0.01)
        while not answered.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            answered.wait(60)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        answered.set()
        thread.join()
    return False


def is_in_step():
    return session._state.worker is not None and session._state.worker.is_busy


assert interrupted(lambda: session.step({"x": x}), is_in_step), "a step of seconds cannot have ended"
for call in (lambda: session.step({"x": x}), lambda: session.variables["w"], lambda: session.steps):
    raises(meshwright.UsageError, "a step of the session has failed; `initialize` or `restore`", call)
raises(meshwright.UsageError, "a step of the session has failed; another session can go on", session._reports.check,
       session._library.mwSessionStep(session._state.handle, None, 0))


# From another thread.
session.initialize({"w": identity})
ended = threading.Event()


def stop():
    while not ended.wait(0.02):
        session.interrupt()


thread = threading.Thread(target=stop)
thread.start()
raises(meshwright.FaultError, "the step was interrupted", session.step, {"x": x})
ended.set()
thread.join()

# The session that was interrupted, and the other one.
session.initialize({"w": identity})
assert session.steps == 0
for running in (session, other):
    assert list(running.step({"x": x}).values())[0] == SIZE * SIZE

# Before its next stage.
stages = []
assert interrupted(lambda: meshwright.compile(GRAPH, progress=lambda stage: stages.append(stage) or threading.Event().wait(0.2)), lambda: stages)
assert stages[-1] != "emit", stages
raises(meshwright.CompileError, "compilation was stopped before the stage train", meshwright.compile, GRAPH, progress=lambda stage: stage != "train")
