#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a whole training step that was exported from JAX or PyTorch for several meshes, and compares 5 steps of it with the framework.

usage: steps.py STEP MESH...

STEP is a graph with gradients and optimizer of its own (tools/dev/export/steps.py and torch_steps.py make them); a mesh is spelt as case.py spells it, and `+unscoped` at its end takes the
scopes of operations out of the graph. Every step is checked by `dist-run
--check-serial`; all losses, the norms of the gradients where the step returns them, the gradients of the first step where they are known and, after the last one, the small
variables with the optimizer's state are compared with the framework's. Where there is a graph that evaluates the same state it does so after every step.
"""
import json
import pathlib
import sys
import tempfile

import numpy

import case
import debug_locations
import plain_safetensors

STEPS = 5
STATE = {"inputs": ["x", "y"], "splits": [("*.Dense_0.kernel", 1, 1, False), ("*.Dense_1.kernel", 0, 1, False)]}
TORCH = {"inputs": ["x", "ids", "target"], "splits": [("head.*", 0, 1, True), ("words.*", 1, 1, False)]}
# Per step the network that batches are of, its inputs and splits, the tree that has the parameters, what the strategy's model says of the arguments, and the learning rate.
GRAPHS = {
    "gpt2-adamw-step": ("gpt2", case.NETWORKS["gpt2"], "p", 'parameters: "p.*"', 1e-3),
    "gpt2-adafactor-step": ("gpt2", case.NETWORKS["gpt2"], "p", 'parameters: "p.*"', 1e-2),
    "mlp-finite-step": ("mlp", case.NETWORKS["mlp"], "p", 'parameters: "p.*"', 1e-2),
    "mlp-multi-step": ("mlp", case.NETWORKS["mlp"], "p", 'parameters: "p.*"', 1e-2),
    "mlp-average-step": ("mlp", case.NETWORKS["mlp"], "p", 'parameters: "p.*"', 0.1),
    "mlp-clip-step": ("mlp", case.NETWORKS["mlp"], "state.params", 'parameters: "state.params.*" carry { argument: "state.*" result: "0.*" }', 0.1),
    "mlp-state-step": ("mlp", STATE, "state.params", 'parameters: "state.params.*"', 1e-2),
    **{f"torch-{optimizer}-step": ("torch-step", TORCH, "", 'parameters: "*.weight" parameters: "*.bias"', 1e-3) for optimizer in ("adamw", "adam", "momentum")},
}


def get_initial(name, reference, root):
    """All state, where the step has a file of its own, else the parameters of the network."""
    own = case.FIXTURES / "reference" / f"{name}.init.safetensors"
    if own.exists():
        return plain_safetensors.read(own), None
    rename = lambda tensors, prefix: {key.replace(f"{prefix}p.", f"{prefix}{root}.", 1): value for key, value in tensors.items()}
    gradients = plain_safetensors.read(reference / "gradients.safetensors")
    gradients.pop("loss")
    initial = rename(plain_safetensors.read(reference / "init.safetensors"), "")
    if name == "mlp-average-step":
        initial |= {key.replace("p.", "ema.", 1): value for key, value in initial.items()}
    return initial, rename(gradients, "grad/")


def check(name, mesh, folder):
    batches, network, root, model, rate = GRAPHS[name]
    reference = case.FIXTURES / "reference" / f"{batches}-tiny-f64"
    initial, gradients = get_initial(name, reference, root)
    plain_safetensors.write(folder / "init.safetensors", initial)
    (folder / "strategy.textproto").write_text(case.make_strategy(network, mesh, "", model=model))
    evaluated = case.FIXTURES / f"{name.removesuffix('-step')}.evaluation.mlir"
    graph = case.FIXTURES / f"{name}.mlir"
    if mesh.endswith("+unscoped"):
        stripped = folder / "graph.mlir"
        stripped.write_text(debug_locations.strip(graph.read_text()))
        graph = stripped
    case.run("dist-opt", graph, f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet",
             *([f"--eval={evaluated}"] if evaluated.exists() else []))
    feed = f"{reference}/batch{{step}}.safetensors"
    common = ["dist-run", f"{folder}/package", f"--init={folder}/init.safetensors", "--quiet"]
    case.run(*common, f"--feed={feed}", f"--outputs={folder}/first.safetensors")
    # An evaluation takes the same batch every time.
    case.run(*common, f"--feed={feed}", f"--steps={STEPS}", "--check-serial", f"--metrics={folder}/metrics.jsonl", f"--save={folder}/final.safetensors",
             *([f"--eval-feed={reference}/batch0.safetensors", "--eval-every=1"] if evaluated.exists() else []))
    compare(f"{name} {mesh}", name, folder, gradients, rate)


def compare(title, name, folder, gradients, rate):
    if gradients:
        norm = numpy.sqrt(sum(float(numpy.sum(gradient**2)) for gradient in gradients.values()))
        case.compare(f"{title}: gradients", plain_safetensors.read(folder / "first.safetensors"), gradients, 1e-3 * norm, case.TOLERANCE)
    expected = plain_safetensors.read(case.FIXTURES / "reference" / f"{name}.safetensors")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for key, metric in (("losses", "loss"), ("norms", "grad_norm"), ("evaluations", "eval/loss")):
        if key in expected:
            found = numpy.array([line[metric] for line in lines if metric in line])
            case.compare(f"{title}: {key}", {key: found}, {key: expected.pop(key)}, 0, case.TOLERANCE)
    # Truth values have no difference.
    numbers = lambda tensors: {key: value.astype(numpy.uint8) if value.dtype == bool else value for key, value in tensors.items()}
    case.compare(f"{title}: variables", numbers(plain_safetensors.read(folder / "final.safetensors")), numbers(expected), rate, case.TOLERANCE)


def main():
    name, *meshes = sys.argv[1:]
    for mesh in meshes:
        with tempfile.TemporaryDirectory() as folder:
            check(name, mesh, pathlib.Path(folder))


if __name__ == "__main__":
    main()
