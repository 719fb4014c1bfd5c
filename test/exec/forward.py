#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Sends networks that are not trained through pipelines: every rank goes forward alone.

The results are compared with those of the serial program, the first loss with JAX's, and ranks have no tasks but forwards.
"""
import json
import pathlib
import re
import sys
import tempfile

from commands import run
from plain_safetensors import read as read_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
TOLERANCE = 1e-11
TENSOR = """tensor { axis: "tp" split { match: "*.c_attn.kernel" dim: 0 groups: 3 } split { match: "*.c_attn.bias" dim: 0 groups: 3 }
  split { match: "*.attn.c_proj.kernel" dim: 1 } split { match: "*.c_fc.kernel" dim: 0 } split { match: "*.c_fc.bias" dim: 0 }
  split { match: "*.mlp.c_proj.kernel" dim: 1 } split { match: "*.wte.embedding" dim: 0 } }"""

# Network, inputs, axes, pipeline, what else the strategy has.
CASES = [
    ("mlp", ["x", "y"], {"pp": 3}, "micro_batches: 4", ""),
    ("mlp", ["x", "y"], {"pp": 3}, "micro_batches: 1", ""),
    ("mlp", ["x", "y"], {"pp": 2, "dp": 2}, "micro_batches: 2 schedule: FILL_DRAIN", 'data { axes: "dp" }'),
    ("gpt2", ["ids"], {"pp": 2}, "micro_batches: 4 schedule: ZB_H1", ""),
    ("gpt2", ["ids"], {"pp": 2, "dp": 2, "tp": 2}, "micro_batches: 2", 'data { axes: "dp" } ' + TENSOR),
    ("gpt2", ["ids"], {"pp": 2, "dp": 2}, "micro_batches: 2 keep: STEP", 'data { axes: "dp" } zero { axes: "dp" stage: 3 }'),
    ("bert", ["ids", "mask", "labels"], {"pp": 2, "tp": 2}, "micro_batches: 2",
     'tensor { axis: "tp" split { match: "*.intermediate.dense.kernel" dim: 1 } split { match: "*.intermediate.dense.bias" dim: 0 } }'),
]


def make_strategy(inputs, axes, pipeline, more):
    mesh = " ".join(f'axes {{ name: "{name}" size: {size} }}' for name, size in axes.items())
    batch = " ".join(f'batch {{ inputs: "{name}" }}' for name in inputs)
    return f'mesh {{ {mesh} }}\nmodel {{ parameters: "p.*" {batch} }}\npipeline {{ axis: "pp" {pipeline} }}\n{more}\n'


def check(folder, network, inputs, axes, pipeline, more):
    name = f"{network} {axes} {pipeline}"
    reference = FIXTURES / "reference" / f"{network}-tiny-f64"
    (folder / "strategy.textproto").write_text(make_strategy(inputs, axes, pipeline, more))
    package = folder / "package"
    run("dist-opt", FIXTURES / f"{network}-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={package}", "--quiet")
    run("dist-run", package, "--steps=2", f"--init={reference}/init.safetensors", f"--feed={reference}/batch{{step}}.safetensors",
        "--check-serial", f"--metrics={folder}/metrics.jsonl", "--quiet")
    loss = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])["loss"]
    expected = float(read_safetensors(reference / "gradients.safetensors")["loss"])
    if not abs(loss - expected) <= TOLERANCE * abs(expected):
        sys.exit(f"{name}: the loss is {loss}, not {expected}")
    tasks = re.findall(r'task "(\d+)([A-Z]+)', run("dist-run", package, "--show"))
    if {int(stage) for stage, _ in tasks} != set(range(axes["pp"])) or {kind for _, kind in tasks} != {"F"}:
        sys.exit(f"{name}: the tasks are {tasks}, not one forward of each stage")
    print(f"{name}: the loss is JAX's within {abs(loss - expected) / abs(expected):.1e}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            check(pathlib.Path(folder), *case)


if __name__ == "__main__":
    main()
