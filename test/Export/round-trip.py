#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Writes every fixture as StableHLO, and reads what was written.

What is written of that again has the same operations, but for reshapes, which Import joins. Of the fixtures of all kinds of
operations every result is computed from what was read back, and compared with JAX's.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from commands import run

TEST = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = TEST / "fixtures"
# Large, and of the same kinds as others.
LEFT_OUT = {"gpt2-12", "gpt2-24-f64", "gpt2-8", "random", "gpt2-rbg-tiny-f64", "gpt2-dropout-tiny-f64",
            "gpt2-tiny.generic", "gpt2-tiny.no-names", "mlp-tiny.generic-no-names", "bert-tiny", "gpt2-adafactor-step"}
# A Cholesky factor gets a mask by each writing, and a test for failure by each reading; a part of a dimension that is split
# completely gets another dimension of size 1 by each reading.
GROWING = {"orders", "derivatives-orders", "experts-step", "partial-step", "projection-step"}
NUMERICS = ["operations", "orders"]


def get_text(path):
    """The operations without names and locations, and without reshapes."""
    lines = [re.sub(r" loc\(#loc\d+\)", "", line) for line in path.read_text().splitlines()[1:]]
    return {re.sub(r"%\d+(#\d+)?", "%", line) for line in lines
            if " = stablehlo.reshape " not in line and not line.startswith("#loc")}


def check(folder, path):
    first, second, third = (folder / f"{number}.mlir" for number in range(3))
    for source, target in ((path, first), (first, second), (second, third)):
        run("dist-opt", source, f"--emit-stablehlo={target}")
    before, after = get_text(second), get_text(third)
    if path.stem not in GROWING and before != after:
        sys.exit(f"{path.stem}: what was read back is written otherwise, {sorted(before - after)[:3]} as {sorted(after - before)[:3]}")
    if path.stem in NUMERICS:
        run("dist-opt", first, "--dist-import", "-o", folder / "network.mlir")
        run("net-eval", folder / "network.mlir", f"--feed={path.with_suffix('.batch.safetensors')}",
            f"--outputs={folder}/out.safetensors")
        print(path.stem, subprocess.run(
            [sys.executable, TEST / "Import/Inputs/compare_operations.py", folder / "out.safetensors",
             path.with_suffix(".safetensors")], check=True, capture_output=True, text=True).stdout.strip())


def main():
    # Steps with shardings of their own are distributed without a strategy.
    paths = [path for path in sorted(FIXTURES.glob("*.mlir")) if path.stem not in LEFT_OUT and not path.stem.endswith(".step")]
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder), path)
    print(f"{len(paths)} fixtures")


if __name__ == "__main__":
    main()
