#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a whole training step that was exported from JAX for several meshes, and compares 5 steps of it with JAX.

usage: steps.py STEP MESH...

STEP is a graph with gradients and optimizer of its own (tools/dev/export/steps.py makes them); a mesh is spelt as case.py spells it. Every step is checked by `dist-run
--check-serial`; all losses, the norms of the gradients where the step returns them, the gradients of the first step and, after the last one,
the small variables with the optimizer's state are compared with JAX's.
"""
import json
import pathlib
import sys
import tempfile

import numpy

import case
import plain_safetensors

STEPS = 5
# Per step its network, the tree that has the parameters, what the strategy's model says of the arguments, and the learning rate.
GRAPHS = {
    "gpt2-adamw-step": ("gpt2", "p", 'parameters: "p.*"', 1e-3),
    "gpt2-adafactor-step": ("gpt2", "p", 'parameters: "p.*"', 1e-2),
    "mlp-clip-step": ("mlp", "state.params", 'parameters: "state.params.*" carry { argument: "state.*" result: "0.*" }', 0.1),
}


def check(name, mesh, folder):
    network, root, model, rate = GRAPHS[name]
    reference = case.FIXTURES / "reference" / f"{network}-tiny-f64"
    initial = plain_safetensors.read(reference / "init.safetensors")
    plain_safetensors.write(folder / "init.safetensors", {key.replace("p.", root + ".", 1): value for key, value in initial.items()})
    (folder / "strategy.textproto").write_text(case.make_strategy(case.NETWORKS[network], mesh, "", model=model))
    case.run("dist-opt", case.FIXTURES / f"{name}.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    common = ["dist-run", f"{folder}/package", f"--init={folder}/init.safetensors", f"--feed={reference}/batch{{step}}.safetensors", "--quiet"]
    case.run(*common, f"--outputs={folder}/first.safetensors")
    case.run(*common, f"--steps={STEPS}", "--check-serial", f"--metrics={folder}/metrics.jsonl", f"--save={folder}/final.safetensors")
    compare(name, mesh, folder, plain_safetensors.read(reference / "gradients.safetensors"), root, rate)


def compare(name, mesh, folder, gradients, root, rate):
    gradients.pop("loss")
    norm = numpy.sqrt(sum(float(numpy.sum(gradient**2)) for gradient in gradients.values()))
    gradients = {key.replace("grad/p.", f"grad/{root}.", 1): value for key, value in gradients.items()}
    title = f"{name} {mesh}"
    case.compare(f"{title}: gradients", plain_safetensors.read(folder / "first.safetensors"), gradients, 1e-3 * norm, case.TOLERANCE)
    expected = plain_safetensors.read(case.FIXTURES / "reference" / f"{name}.safetensors")
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for key, metric in (("losses", "loss"), ("norms", "grad_norm")):
        if key in expected:
            case.compare(f"{title}: {key}", {key: numpy.array([step[metric] for step in metrics])}, {key: expected.pop(key)}, 0, case.TOLERANCE)
    case.compare(f"{title}: variables", plain_safetensors.read(folder / "final.safetensors"), expected, rate, case.TOLERANCE)


def main():
    name, *meshes = sys.argv[1:]
    for mesh in meshes:
        with tempfile.TemporaryDirectory() as folder:
            check(name, mesh, pathlib.Path(folder))


if __name__ == "__main__":
    main()
