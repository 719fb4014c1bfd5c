# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: cuda-stub
# RUN: %cuda_stub %python %s %tmp
"""Tests that GPT-2 computes its biases and GELUs with the products in front of them where the library can, with what stands in for GPUs: two layers
have two such products each, of which the second keeps what its GELU is taken of for backward. In f32 and in bf16 the gradients are as good, against JAX's in
f64, as those of CPUs, which compute product and kernel."""
import os
import pathlib
import re
import sys

import numpy

from commands import run
from gradients import measure_gradients
import plain_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
REFERENCE = FIXTURES / "reference" / "gpt2-tiny-f64"
TRAIN = {"f32": "", "bf16": "precision { compute: BF16 }"}
# How far gradients may be from the exact ones, all together.
ALLOWED = {"f32": 1e-5, "bf16": 5e-2}


def measure(folder, kind, *flags):
    """How far the gradients of the package's first step are from JAX's."""
    outputs = folder / f"{kind}.safetensors"
    run("dist-run", folder / kind, f"--init={folder}/init.safetensors", f"--feed={REFERENCE}/batch0.safetensors", "--steps=1", "--quiet",
        f"--outputs={outputs}", *flags)
    return measure_gradients(plain_safetensors.read(outputs), plain_safetensors.read(REFERENCE / "gradients.safetensors"))


def find_epilogues(trace):
    """What products with a bias have beside it, each product once however often it was asked for."""
    found = set()
    for line in trace.read_text().splitlines():
        if " cublasLtMatmul " in line and " bias=" in line:
            found.add((re.search(r" bias=(\d+)", line)[1], " aux=" in line))
    return sorted(has_aux for _, has_aux in found)


def check(folder, kind):
    graph = FIXTURES / "gpt2-tiny.mlir"
    (folder / "strategy.textproto").write_text(
        f'model {{ parameters: "p.*" batch {{ inputs: "ids" }} }} train {{ sgd {{ lr {{ constant: 0.1 }} }} {TRAIN[kind]} }} fetch: "grad/*"\n')
    run("dist-opt", graph, f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{kind}", "--quiet", "--target=emulated", "--target=x86-64-v3")
    cpu = measure(folder, kind)
    trace = folder / f"{kind}.trace"
    trace.unlink(missing_ok=True)
    os.environ["MESHWRIGHT_STUB_TRACE"] = str(trace)
    gpu = measure(folder, kind, "--device=cuda", "--kernels=emulated")
    del os.environ["MESHWRIGHT_STUB_TRACE"]
    epilogues = find_epilogues(trace)
    print(f"{kind}: {gpu:.3g} from the gradients in f64, on CPUs {cpu:.3g}; {len(epilogues)} products with a bias, {sum(epilogues)} of them keep it")
    if epilogues != [False, False, True, True]:
        sys.exit("these are not those of two layers")
    if not gpu <= min(1.5 * cpu, ALLOWED[kind]):
        sys.exit(f"{ALLOWED[kind]} is allowed, and half as much again as on CPUs")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    init = plain_safetensors.read(REFERENCE / "init.safetensors")
    plain_safetensors.write(folder / "init.safetensors", {name: value.astype(numpy.float32) for name, value in init.items()})
    for kind in TRAIN:
        check(folder, kind)


if __name__ == "__main__":
    main()
