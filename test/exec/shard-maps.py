# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp | FileCheck %s
"""Compiles whole Adam steps with a shard_map inside, as JAX prints them, without a strategy, runs them, and compares them with the serial
program, and losses and parameters with JAX's own run on 4 devices. What a rank sends is at most what XLA's program of the same text does,
but for 16 bytes: the number of a device along an axis is computed from its number among all, and so counts as one that differs along both.

The steps are a mixture of experts with an all-to-all there and back, a perceptron with gathered weights, sums, a permutation and the number
of the device, and one of which the shard_map has one axis of two.
"""
import json
import pathlib
import sys

import numpy

import case
import plain_safetensors

# Bytes that a device sends in a step, as `tools/dev/export/shard_map_steps.py` counts them in XLA's program.
XLA = {"experts-step": 2220, "projection-step": 2024 + 16, "partial-step": 1000}
STEPS = 5

# CHECK: experts-step: {{[0-9]+}} bytes
# CHECK: projection-step: {{[0-9]+}} bytes
# CHECK: partial-step: {{[0-9]+}} bytes
root = pathlib.Path(sys.argv[1])
for step, bound in XLA.items():
    folder = root / step
    folder.mkdir(parents=True, exist_ok=True)
    numbers = plain_safetensors.read(case.FIXTURES / "reference" / f"{step}.safetensors")
    parts = {"init": {}} | {f"batch{index}": {} for index in range(STEPS)}
    for name, value in numbers.items():
        part, _, tail = name.partition("/")
        if part in parts:
            parts[part][tail] = value
    for part, tensors in parts.items():
        plain_safetensors.write(folder / f"{part}.safetensors", tensors)
    case.run("dist-opt", case.FIXTURES / f"{step}.mlir", f"--emit={folder}/package", f"--plan={folder}/plan.json", "--quiet")
    case.run("dist-run", folder / "package", f"--init={folder}/init.safetensors", f"--feed={folder}/batch{{step}}.safetensors", f"--steps={STEPS}",
             "--check-serial", f"--metrics={folder}/metrics.jsonl", f"--save={folder}/final.safetensors", "--quiet")
    sent = json.loads((folder / "plan.json").read_text())["totals"]["bytes"]
    print(f"{step}: {sent} bytes")
    if sent > bound:
        sys.exit(f"{step}: {sent} bytes are more than the {bound} of XLA")
    losses = numpy.array([json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()])
    case.compare(f"{step}: losses", {"loss": losses}, {"loss": numbers["losses"]}, 0, case.TOLERANCE)
    final = plain_safetensors.read(folder / "final.safetensors")
    expected = {name.removeprefix("final/"): value for name, value in numbers.items() if name.startswith("final/")}
    case.compare(f"{step}: parameters", {name: final[name] for name in expected}, expected, 0, case.TOLERANCE)
