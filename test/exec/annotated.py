# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s gpt2-tiny-f64 %tmp | FileCheck %s --check-prefix=GPT2
# RUN: %python %s llama-tiny-f64 %tmp | FileCheck %s --check-prefix=LLAMA
"""Compiles whole AdamW steps by the shardings that JAX wrote into them, without a strategy, runs them, and compares them with the serial
program and with JAX's losses. No plan sends more than XLA's own partitioning of the same text. GPT-2's fused projection, whose columns
these annotations split contiguously, is exchanged for whole heads.

The styles are tensor parallelism (Megatron-LM), FSDP, both, and both with the sequence between layers split by constraints.
"""
import json
import pathlib
import sys

import numpy

import annotations
import case
import plain_safetensors

# Bytes that a device sends in a step of XLA's partitioning, as `tools/dev/export/annotated.py --xla NETWORK STYLE` counts them.
XLA = {"gpt2-tiny-f64": {"megatron": 403208, "fsdp": 1629128, "both": 1168584, "sequence": 781280},
       "llama-tiny-f64": {"megatron": 126856, "fsdp": 596552, "both": 445000, "sequence": 194208}}
STEPS = 3

network, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
reference = case.FIXTURES / "reference" / network
fixture = (case.FIXTURES / f"{network}-sequence.step.mlir").read_text()

# GPT2: megatron: {{[0-9]+}} bytes
# GPT2: fsdp: {{[0-9]+}} bytes
# GPT2: both: {{[0-9]+}} bytes
# GPT2: sequence: {{[0-9]+}} bytes
# LLAMA: megatron: {{[0-9]+}} bytes
# LLAMA: fsdp: {{[0-9]+}} bytes
# LLAMA: both: {{[0-9]+}} bytes
# LLAMA: sequence: {{[0-9]+}} bytes
losses = {}
for style, bound in XLA[network].items():
    text = folder / f"{style}.mlir"
    text.write_text(fixture if style == "sequence" else annotations.restyle(fixture, style))
    package, plan, metrics = folder / style, folder / f"{style}.json", folder / f"{style}.jsonl"
    case.run("dist-opt", text, f"--emit={package}", f"--plan={plan}", "--quiet")
    case.run("dist-run", package, f"--init={reference}/init.safetensors", f"--feed={reference}/batch{{step}}.safetensors",
             f"--steps={STEPS}", "--check-serial", f"--metrics={metrics}", "--quiet")
    sent = json.loads(plan.read_text())["totals"]["bytes"]
    print(f"{style}: {sent} bytes")
    if sent > bound:
        sys.exit(f"{network} {style}: {sent} bytes are more than the {bound} of XLA")
    losses[style] = numpy.array([json.loads(line)["loss"] for line in metrics.read_text().splitlines()])

expected = plain_safetensors.read(reference / "adamw.safetensors")["losses"][:STEPS]
for style, found in losses.items():
    case.compare(f"{network} {style}: losses", {"loss": found}, {"loss": expected}, 0, case.TOLERANCE)
