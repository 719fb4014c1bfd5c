# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests products that a recurrent layer shares between its times: on every mesh their gradients are those that JAX computes in f64, programs in
exact arithmetic are the serial one, in bf16 they are as accurate as those of the unrolled network, and the products of the loops are as many as
read carried values. With `reproducible` all products stay in the loops, and the two that a cell adds
forward are one."""
import pathlib
import re
import sys

from commands import run
from gradients import measure_gradients
import plain_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
GRAPH = FIXTURES / "lstm-tiny-f64.mlir"
REFERENCE = FIXTURES / "reference" / "lstm-tiny-f64"
TENSOR = """mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } tensor { axis: "tp"
  split { match: "*.input.kernel" dim: 1 groups: 4 } split { match: "*.hidden.kernel" dim: 1 groups: 4 } split { match: "p.bias" dim: 0 groups: 4 } }"""
PLACES = {
    "serial": "",
    "dp4": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }',
    "dp2-zero3": 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" } zero { axes: "dp" stage: 3 }',
    "dp2xtp2": TENSOR,
}
TRAIN = {
    "plain": "sgd { lr { constant: 0.1 } }",
    "recompute": 'sgd { lr { constant: 0.1 } } recompute { blocks: "while.*" policy: KEEP_NOTHING }',
    "bf16": "sgd { lr { constant: 0.1 } } precision { compute: BF16 }",
}


def make(folder, name, place, train, fields="", unroll=False):
    """A package with all gradients as outputs, and the module that it is made of."""
    (folder / "strategy.textproto").write_text(
        f'{PLACES[place]} model {{ parameters: "p.*" batch {{ inputs: "ids" }} unroll_loops: {str(unroll).lower()} }} '
        f'train {{ {TRAIN[train]} }} fetch: "grad/*" {fields}\n')
    strategy = f"--strategy={folder}/strategy.textproto"
    exact = [] if unroll else ["--target=exact"]
    run("dist-opt", GRAPH, strategy, f"--emit={folder}/{name}", "--target=x86-64-v3", *exact, "--quiet")
    run("dist-opt", GRAPH, strategy, "-o", f"{folder}/{name}.mlir", "--quiet")
    return (folder / f"{name}.mlir").read_text()


def count_in_loops(module):
    """The products of the bodies of all loops, of the first rank's program."""
    program = re.split(r"^  func\.func ", module, flags=re.M)[1]
    bodies = re.findall(r"net\.loop count.*?net\.end_loop", program, re.S)
    return len(bodies), sum(body.count("dist.matmul") for body in bodies)


def compute_gradients(folder, name):
    run("dist-run", folder / name, f"--init={REFERENCE}/init.safetensors", f"--feed={REFERENCE}/batch0.safetensors", "--steps=1", "--quiet",
        "--kernels=x86-64-v3", "--check-serial", f"--outputs={folder}/{name}.safetensors")
    return plain_safetensors.read(folder / f"{name}.safetensors")


def expect(condition, what):
    if not condition:
        sys.exit(what)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    exact = plain_safetensors.read(REFERENCE / "gradients.safetensors")
    for place in PLACES:
        for train in ("plain", "recompute") if place == "dp2xtp2" else ("plain",):
            name = f"{place}-{train}"
            found = count_in_loops(make(folder, name, place, train))
            # The hidden state times its weights forward, and its cotangent's product backward. Where loops keep little for backward,
            # there is no memory for more.
            expect(found == (2, 2) or train == "recompute", f"{name} has {found[1]} products in {found[0]} loops")
            difference = measure_gradients(compute_gradients(folder, name), exact)
            expect(difference < 1e-13, f"{name}: gradients differ from JAX's by {difference}")
            run("dist-run", folder / name, "--check-exact", "--quiet")
    make(folder, "rolled", "dp4", "bf16")
    make(folder, "unrolled", "dp4", "bf16", unroll=True)
    rolled, unrolled = (measure_gradients(compute_gradients(folder, name), exact) for name in ("rolled", "unrolled"))
    expect(1e-3 < unrolled < 0.05 and rolled < 1.2 * unrolled, f"in bf16 {rolled} from the gradients in f64, unrolled {unrolled}")
    found = count_in_loops(make(folder, "fixed", "dp4", "plain", "reproducible { parts: 4 }"))
    expect(found == (2, 5), f"reproducible: {found[1]} products in {found[0]} loops")


main()
