#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Differentiates convolutions, windows and running sums, computes them by kernels and by the library, and compares with JAX.

On one rank, and on two and three that split what can be split; with --gpu=TARGET by the kernels of a GPU, on one.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import numpy
from commands import run
from plain_safetensors import read as read_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
TOLERANCE = 1e-11

# The dimensions of parameters that are split: batches, input features, output features and channels of windows.
SPLITS = [("p.plain.x", 0), ("p.strided.w", 2), ("p.channels_first.w", 0), ("p.mixed_layouts.x", 3), ("p.dilated.w", 3),
          ("p.spread.x", 3), ("p.everything.x", 0), ("p.grouped.w", 3), ("p.depthwise.x", 3), ("p.depthwise_twice.w", 0),
          ("p.batch_groups.w", 3), ("p.cut.w", 2), ("p.line.x", 0), ("p.volume.w", 3), ("p.pointwise.x", 2), ("p.patches.x", 0),
          ("p.no_window.w", 0), ("p.max_pool.x", 3), ("p.max_pool_ties.x", 0), ("p.sum_pool.x", 3), ("p.cumsum.x", 0)]


def make_strategy(ranks):
    lines = ['model { parameters: "p.*" }', "train { sgd { lr { constant: 0.1 } } }", 'fetch: "grad/*"']
    if ranks > 1:
        lines.append(f'mesh {{ axes {{ name: "tp" size: {ranks} }} }}')
        lines.append('tensor { axis: "tp" ' + " ".join(f'split {{ match: "{name}" dim: {dim} }}' for name, dim in SPLITS) + " }")
    return "\n".join(lines) + "\n"


def check(folder, ranks, target):
    (folder / "strategy.textproto").write_text(make_strategy(ranks))
    package = folder / "package"
    run("dist-opt", FIXTURES / "windows.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={package}", "--quiet",
        *([f"--target={target}"] if target else []))
    run("dist-run", package, "--steps=1", f"--init={FIXTURES}/windows.init.safetensors", "--check-serial",
        f"--outputs={folder}/outputs.safetensors", "--quiet",
        *(["--device=cuda", f"--kernels={target}"] if target else []))
    shown = run("dist-run", package, "--show")
    convolutions = re.findall(r"(\d+) convolutions", shown)
    if bool(convolutions) == bool(target):
        sys.exit(f"{ranks} ranks, {target or 'CPU'}: the package shows {convolutions} convolutions")
    ours, theirs = read_safetensors(folder / "outputs.safetensors"), read_safetensors(FIXTURES / "windows.gradients.safetensors")
    theirs.pop("loss")
    scale = 1e-3 * numpy.sqrt(sum(float(numpy.sum(value**2)) for value in theirs.values()))
    for name, expected in theirs.items():
        error = numpy.linalg.norm(ours[name] - expected)
        if not error <= TOLERANCE * max(numpy.linalg.norm(expected), scale):
            sys.exit(f"{ranks} ranks, {target or 'CPU'}: {name} differs by {error:.3e}")
    print(f"{ranks} ranks, {target or 'CPU'}: {len(theirs)} gradients are JAX's")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", metavar="TARGET")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for ranks in [1] if arguments.gpu else [1, 2, 3]:
            check(pathlib.Path(folder), ranks, arguments.gpu)


if __name__ == "__main__":
    main()
