# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %cuda_stub %python %s %tmp
"""Tests that transformers compute their biases and GELUs with the products in front of them where the library can, with what stands in for GPUs: a layer of
GPT-2 has two such products, of which the second keeps what its GELU is taken of for backward; so has each iteration of a loop over layers. In f32 and in bf16 the
gradients are as good, against JAX's in f64, as those of CPUs, which compute product and kernel."""
import os
import pathlib
import re
import sys

import numpy

from commands import run
from gradients import measure_gradients
import plain_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
TRAIN = {"f32": "", "bf16": "precision { compute: BF16 }"}
# The tolerated distance of all gradients together from the exact ones.
ALLOWED = {"f32": 1e-5, "bf16": 5e-2}
# For the GEMMs with a bias: whether they keep the preactivation.
EPILOGUES = {"gpt2": [False, False, True, True], "scan-gpt": [True, True, True]}
# Numbers that are written by their bits: the least, and none.
BITS = {"0xFFF0000000000000": "0xFF800000", "0x7FF8000000000000": "0x7FC00000"}


def write_graph(network, folder):
    """The network in f32, its initial values, and its reference in f64."""
    text = (FIXTURES / f"{network}-tiny-f64.mlir").read_text().replace("f64", "f32")
    for wide, narrow in BITS.items():
        text = text.replace(wide, narrow)
    (folder / "graph.mlir").write_text(text)
    reference = FIXTURES / "reference" / f"{network}-tiny-f64"
    init = plain_safetensors.read(reference / "init.safetensors")
    plain_safetensors.write(folder / "init.safetensors", {name: value.astype(numpy.float32) for name, value in init.items()})
    return reference


def measure(folder, kind, reference, *flags):
    """The distance of the gradients of the package's first step from JAX's."""
    outputs = folder / f"{kind}.safetensors"
    run("dist-run", folder / kind, f"--init={folder}/init.safetensors", f"--feed={reference}/batch0.safetensors", "--steps=1", "--quiet",
        f"--outputs={outputs}", *flags)
    return measure_gradients(plain_safetensors.read(outputs), plain_safetensors.read(reference / "gradients.safetensors"))


def find_epilogues(trace):
    """The GEMMs with a bias, each once, with whether they store the preactivation."""
    found = set()
    for line in trace.read_text().splitlines():
        if " cublasLtMatmul " in line and " bias=" in line:
            found.add((re.search(r" bias=(\d+)", line)[1], " aux=" in line))
    return sorted(has_aux for _, has_aux in found)


def check(network, folder, reference, kind):
    (folder / "strategy.textproto").write_text(
        f'model {{ parameters: "p.*" batch {{ inputs: "ids" }} }} train {{ sgd {{ lr {{ constant: 0.1 }} }} {TRAIN[kind]} }} fetch: "grad/*"\n')
    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{kind}", "--quiet", "--target=emulated", "--target=x86-64-v3")
    cpu = measure(folder, kind, reference)
    trace = folder / f"{kind}.trace"
    trace.unlink(missing_ok=True)
    os.environ["MESHWRIGHT_STUB_TRACE"] = str(trace)
    gpu = measure(folder, kind, reference, "--device=cuda", "--kernels=emulated")
    del os.environ["MESHWRIGHT_STUB_TRACE"]
    epilogues = find_epilogues(trace)
    print(f"{network} in {kind}: {gpu:.3g} from the gradients in f64, on CPUs {cpu:.3g}; {len(epilogues)} products with a bias, {sum(epilogues)} of them keep it")
    if epilogues != EPILOGUES[network]:
        sys.exit(f"{len(EPILOGUES[network])} were to be, and {sum(EPILOGUES[network])} of them to keep it")
    if not gpu <= min(1.5 * cpu, ALLOWED[kind]):
        sys.exit(f"{ALLOWED[kind]} is allowed, and half as much again as on CPUs")


def main():
    for network in EPILOGUES:
        folder = pathlib.Path(sys.argv[1]) / network
        folder.mkdir(parents=True, exist_ok=True)
        reference = write_graph(network, folder)
        for kind in TRAIN if network == "gpt2" else ["f32"]:
            check(network, folder, reference, kind)


if __name__ == "__main__":
    main()
