# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests what merging gradients means: several steps on a batch each are one step on all of them, where the loss is a mean, for embedding tables too.

An accumulation with a gradient that is not finite, whichever of its steps makes it, is skipped as a whole, counted once, and leaves nothing behind
in the sums; the next update is that of its own steps. `average: false` updates with the sum. On one rank, and distributed with gradients
reduced in the update or in every step, by slices and by owners.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

import plain_safetensors

STEPS, BATCH, UPDATES = 4, 8, 2
DATA4 = 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }'
BOTH = """mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" }
    tensor { axis: "tp" split { match: "kernel" dim: 1 } split { match: "bias" dim: 0 } split { match: "table" dim: 0 } }"""
# Per case its mesh, and whether every step reduces.
CASES = {
    "serial": ("", False),
    "dp4": (DATA4, False),
    "dp2xtp2": (BOTH, False),
    "zero1": (DATA4 + ' zero { axes: "dp" stage: 1 }', False),
    "zero2": (BOTH + ' zero { axes: "dp" stage: 2 }', True),
    "zero3": (BOTH + ' zero { axes: "dp" stage: 3 }', False),
    "owners": (DATA4 + ' zero { axes: "dp" stage: 3 ownership: WHOLE }', True),
}


def make_graph(batch):
    """The mean square of what a product makes of looked up rows, less a target."""
    return f"""
net.variable parameter @table : tensor<6x8xf64> = <normal, 0.0, 1.0>
net.variable parameter @kernel : tensor<8x4xf64> = <normal, 0.0, 1.0>
net.variable parameter @bias : tensor<4xf64> = <constant, 0.0, 0.0>
func.func @loss(%ids: tensor<{batch}x1xi32> {{net.name = "ids"}}, %y: tensor<{batch}x4xf64> {{net.name = "y"}}) -> (tensor<f64> {{net.name = "loss"}}) {{
  %table = net.read @table : tensor<6x8xf64>
  %kernel = net.read @kernel : tensor<8x4xf64>
  %bias = net.read @bias : tensor<4xf64>
  %rows = net.gather %table, %ids <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 8] : tensor<6x8xf64>, tensor<{batch}x1xi32> -> tensor<{batch}x8xf64>
  %product = net.dot %rows, %kernel batch = [] x [] contract = [1] x [0] : tensor<{batch}x8xf64>, tensor<8x4xf64> -> tensor<{batch}x4xf64>
  %wide = net.broadcast %bias dims = [1] : tensor<4xf64> -> tensor<{batch}x4xf64>
  %shifted = net.add %product, %wide : tensor<{batch}x4xf64>
  %error = net.subtract %shifted, %y : tensor<{batch}x4xf64>
  %square = net.multiply %error, %error : tensor<{batch}x4xf64>
  %sum = net.reduce sum %square dims = [0, 1] : tensor<{batch}x4xf64> -> tensor<f64>
  %part = net.constant dense<{1 / (4 * batch)}> : tensor<f64>
  %loss = net.multiply %part, %sum : tensor<f64>
  return %loss : tensor<f64>
}}
"""


# The gradient is the mean of the inputs, whatever the parameter.
LINEAR = """
net.variable parameter @w : tensor<8xf32> = <constant, 1.0, 0.0>
func.func @loss(%x: tensor<8x8xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "loss"}) {
  %w = net.read @w : tensor<8xf32>
  %all = net.broadcast %w dims = [1] : tensor<8xf32> -> tensor<8x8xf32>
  %product = net.multiply %all, %x : tensor<8x8xf32>
  %sum = net.reduce sum %product dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %part = net.constant dense<0.125> : tensor<f32>
  %loss = net.multiply %part, %sum : tensor<f32>
  return %loss : tensor<f32>
}
"""

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def train(graph, strategy, batches):
    """Runs a step for each batch, compared with the serial program; the variables and metrics then."""
    (folder / "graph.mlir").write_text(graph)
    (folder / "s.textproto").write_text(strategy)
    subprocess.run(["dist-opt", folder / "graph.mlir", f"--strategy={folder}/s.textproto", "--from=train", f"--emit={folder}/package",
                    "--quiet"], check=True)
    for number, batch in enumerate(batches):
        plain_safetensors.write(folder / f"batch{number}.safetensors", batch)
    subprocess.run(["dist-run", folder / "package", f"--feed={folder}/batch{{step}}.safetensors", f"--steps={len(batches)}", "--quiet",
                    "--check-serial", f"--save={folder}/final.safetensors", f"--metrics={folder}/metrics.jsonl"], check=True)
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return plain_safetensors.read(folder / "final.safetensors"), metrics


def check_equal(what, found, expected, tolerance):
    if not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
        sys.exit(f"{what} is\n{found}, not\n{expected}")


def check_one_batch():
    rng = np.random.default_rng(1)
    rows = UPDATES * STEPS * BATCH
    data = {"ids": rng.integers(0, 6, (rows, 1)).astype("i4"), "y": rng.standard_normal((rows, 4))}
    cut = lambda size: [{name: array[at:at + size] for name, array in data.items()} for at in range(0, rows, size)]
    inputs = 'model { parameters: "*" batch { inputs: "ids" } batch { inputs: "y" } }'
    adam = "adam { lr { warmup { peak: 0.1 steps: 4 } } }"
    whole, metrics = train(make_graph(STEPS * BATCH), f"{inputs} train {{ {adam} }}", cut(STEPS * BATCH))
    # Two steps have no step between the first and the last.
    for name, steps in [(name, STEPS) for name in CASES] + [("dp4", 2), ("owners", 2)]:
        mesh, every = CASES[name]
        merge = f"gradient_accumulation {{ steps: {steps} {'reduce: EVERY_STEP' if every else ''} }}"
        batch = STEPS * BATCH // steps
        found, merged = train(make_graph(batch), f"{mesh} {inputs} train {{ {adam} {merge} }}", cut(batch))
        for variable, value in whole.items():
            check_equal(f"{name}: {variable} after {UPDATES} updates", found[variable], value, 1e-12)
        losses = np.array([step["loss"] for step in merged]).reshape(UPDATES, steps)
        check_equal(f"{name}: the mean of the losses", losses.mean(axis=1), [step["loss"] for step in metrics], 1e-12)


def check_skipped():
    rng = np.random.default_rng(2)
    batches = [{"x": rng.standard_normal((8, 8)).astype("f4")} for _ in range(3 * STEPS)]
    means = np.array([batch["x"].astype("f8").mean(axis=0) for batch in batches]).reshape(3, STEPS, 8)
    # The second step of the first accumulation, and the last one of the second.
    for step in (1, 2 * STEPS - 1):
        batches[step]["x"][3, 5] = np.inf
    scale = "precision { loss_scale { dynamic { initial: 1024 window: 1000 } } }"
    for average, expected in ((True, 1 - means[2].mean(axis=0)), (False, 1 - means[2].sum(axis=0))):
        for name in ("serial", "dp4", "owners"):
            mesh, every = CASES[name]
            merge = f"gradient_accumulation {{ steps: {STEPS} average: {str(average).lower()} {'reduce: EVERY_STEP' if every else ''} }}"
            strategy = f'{mesh} model {{ parameters: "*" batch {{ inputs: "x" }} }} train {{ sgd {{ lr {{ constant: 1 }} }} {scale} {merge} }}'
            found, metrics = train(LINEAR, strategy, batches)
            check_equal(f"{name}: w", found["w"], expected, 1e-5)
            updates = [step for step in metrics if "found_inf" in step]
            check_equal(f"{name}: the steps that update", [step["step"] for step in updates], [3, 7, 11], 0)
            check_equal(f"{name}: found_inf", [step["found_inf"] for step in updates], [1, 1, 0], 0)
            check_equal(f"{name}: skipped_steps", [step["skipped_steps"] for step in updates], [1, 2, 2], 0)
            check_equal(f"{name}: loss_scale", [step["loss_scale"] for step in metrics], [1024] * 4 + [512] * 4 + [256] * 4, 0)


check_one_batch()
check_skipped()
