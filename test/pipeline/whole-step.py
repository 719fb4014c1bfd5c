# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that a whole training step that JAX made exchanges what the step does that is made here of its loss, and that the strategy says nothing twice.

The same network with the same optimizer has the same conversions, in number and in bytes: every gradient is reduced once, into slices
where state is kept in slices, and the norm of all of them once.
"""
import json
import pathlib
import shutil
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)

MESH = 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }'
ADAMW = 'train { adamw { lr { constant: 1e-3 } weight_decay: 0.1 decay: "*.kernel" } }'
CLIPPED = "train { momentum { lr { constant: 0.1 } } clip { global_norm: 0.3 } }"
TOGETHER = 'parameters: "state.params.*" carry { argument: "state.*" result: "0.*" }'


def compile_(graph, model, inputs, *more):
    strategy = folder / "strategy.textproto"
    batches = " ".join(f'batch {{ inputs: "{name}" }}' for name in inputs)
    strategy.write_text("\n".join([f"model {{ {model} {batches} }}", *more]) + "\n")
    return subprocess.run(["dist-opt", str(fixtures / f"{graph}.mlir"), f"--strategy={strategy}", "--plan=-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


def count(graph, model, inputs, *more):
    """Conversions by kind, their bytes, and the launches of a step."""
    done = compile_(graph, model, inputs, *more)
    if done.returncode != 0:
        sys.exit(f"{graph}: {done.stderr}")
    plan = json.loads(done.stdout)
    return plan["totals"]["by_kind"], plan["totals"]["bytes"], plan["programs"][0]["launches"]


def fail(message, *more):
    done = compile_("mlp-clip-step", TOGETHER, ["x", "y"], *more)
    if done.returncode != 1 or message not in done.stderr:
        sys.exit(f"{more} ended with {done.returncode} and\n{done.stderr}\nnot with {message}")


for zero in ("", 'zero { axes: "dp" stage: 1 }', 'zero { axes: "dp" stage: 3 }'):
    ours = count("gpt2-tiny-f64", 'parameters: "p.*"', ["ids"], MESH, zero, ADAMW)
    theirs = count("gpt2-adamw-step", 'parameters: "p.*"', ["ids"], MESH, zero)
    if ours != theirs:
        sys.exit(f"AdamW, {zero}: a loss is trained with {ours}, the step has {theirs}")
    ours = count("mlp-tiny-f64", 'parameters: "p.*"', ["x", "y"], MESH, zero, CLIPPED)
    theirs = count("mlp-clip-step", TOGETHER, ["x", "y"], MESH, zero)
    if ours != theirs:
        sys.exit(f"clipped momentum, {zero}: a loss is trained with {ours}, the step has {theirs}")

for text, path in (("train { sgd { lr { constant: 1 } } }", "train.sgd"), ("train { clip { value: 1 } }", "train.clip"), ("train { ema { } }", "train.ema"),
                   ("train { gradient_accumulation { steps: 2 } }", "train.gradient_accumulation.steps"), (f"{MESH} train {{ }} reduce {{ scale: BEFORE }}", "reduce.scale"),
                   (f"{MESH} train {{ }} reduce {{ communicate: F32 }}", "reduce.communicate")):
    fail(f"error: {path} is of a step that train makes of a loss, but the graph is a whole training step", text)
    fail("note: it assigns state.", text)
