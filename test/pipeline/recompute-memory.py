# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests the bytes that a block of GPT-2 keeps for backward in 16 bit, the cost of recomputation, and that `fit` meets its bound.

With s tokens, batch b, width h and a heads: bytes are compared with the closed formulas of the literature, floating-point operations with a count by hand.
"""
import json
import pathlib
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
s, b, h, a = 128, 8, 256, 8
BLOCKS = [f"transformer.h.{index}" for index in range(4)]
folder.mkdir(parents=True, exist_ok=True)


def compile_with(recompute, graph="gpt2-small.mlir", mesh=""):
    strategy = folder / "strategy.textproto"
    strategy.write_text(f'{mesh} model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}\n'
                        f"train {{ adamw {{ lr {{ constant: 1e-3 }} }} precision {{ compute: BF16 }} {recompute} }}\n")
    return subprocess.run(["dist-opt", fixtures / graph, f"--strategy={strategy}", "--plan=-", "--to=schedule", "--quiet"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def plan(recompute, **options):
    done = compile_with(recompute, **options)
    assert done.returncode == 0, done.stderr
    program = json.loads(done.stdout)["programs"][0]
    return program, {block["name"]: block for block in program["blocks"]}


def print_kept(what, blocks, scores):
    """The largest block, in units of s·b·h beside so much for the scores of attention."""
    kept = max(blocks[name]["kept_bytes"] for name in BLOCKS)
    print(f"{what}: {(kept - scores) / (s * b * h):.2f} s·b·h" + (f" + {scores / (a * s * s * b):.0f}·a·s²·b" if scores else ""))
    return kept


scores = a * s * s * b
# Heads are short, so the scores are not worth their bytes.
default, blocks = plan("")
assert print_kept("default", blocks, 0) <= 21 * s * b * h, blocks
assert all(blocks[name]["recompute_flops"] <= 2 * s * s * b * h + 2 * scores + 4 * s * b * h for name in BLOCKS), blocks
cheap, blocks = plan("recompute { policy: KEEP_CHEAP }")
assert print_kept("keep cheap", blocks, 0) <= 20 * s * b * h, blocks
# Both products of attention, the maximum and sum of softmax, two sums in each of two norms.
attention, sums = 4 * s * s * b * h, 2 * scores + 4 * s * b * h
assert all(blocks[name]["recompute_flops"] == attention + sums for name in BLOCKS), blocks
products, blocks = plan("recompute { policy: KEEP_PRODUCTS }")
assert print_kept("keep products", blocks, 2 * scores) <= 20 * s * b * h + 2 * scores, blocks
assert all(blocks[name]["recompute_flops"] == sums for name in BLOCKS), blocks
nothing, blocks = plan("recompute { }")
assert print_kept("keep nothing", blocks, 0) == 2 * s * b * h, blocks
# The last of the four products with a matrix is not needed: 3 + 1 + 4 times 2·s·b·h².
assert all(blocks[name]["recompute_flops"] == 16 * s * b * h * h + attention + sums for name in BLOCKS), blocks
assert nothing["recompute_flops"] >= 4 * (16 * s * b * h * h + attention + sums)
peaks = [program["peak_bytes"] for program in (default, cheap, nothing)]
print("peaks", peaks)
assert sorted(peaks, reverse=True) == peaks and peaks[0] < products["peak_bytes"], peaks
# Values that are not kept take no memory: the peak falls by the bytes of at least three of the four blocks.
assert peaks[0] - peaks[2] > 0.5 * (default["memory"]["kept_for_backward"] - nothing["memory"]["kept_for_backward"]), peaks

# Bounds: as much as the default takes, one byte less, what policies take, between two of them, and too little. In the memory of a policy no
# more is computed than by that policy, and more memory never costs operations, to 1 % of forward.
tolerance = 0.01 * sum(block["forward_flops"] for block in blocks.values())
spent = []
for bound, most in ((peaks[0], default), (peaks[0] - 1, None), (peaks[1], cheap), ((peaks[1] + peaks[2]) // 2, nothing), (peaks[2], nothing)):
    program, blocks = plan(f"recompute {{ fit: {bound} }}")
    spent.append(program["recompute_flops"])
    print("fit", bound, "takes", program["peak_bytes"], "computes again", spent[-1])
    assert program["peak_bytes"] <= bound
    assert (spent[-1] == default["recompute_flops"]) == (bound == peaks[0])
    assert most is None or spent[-1] <= most["recompute_flops"] + tolerance
assert all(less <= more + tolerance for less, more in zip(spent, spent[1:])), spent
# A byte less than the default takes costs little.
assert spent[1] - spent[0] < 0.05 * nothing["recompute_flops"], spent
done = compile_with(f"recompute {{ fit: {peaks[2] // 2} }}")
least = int(done.stderr.split("takes at least ")[1].split(",")[0])
assert done.returncode == 1 and f"the arena is to fit {peaks[2] // 2} bytes" in done.stderr, done.stderr
assert peaks[2] // 2 < least <= peaks[2], (least, peaks)
