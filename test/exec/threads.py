# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Trains networks on 1, 2 and 3 threads for each rank and compares the results.

Kernels and convolutions, and products of f64, give the same bits whatever the number of threads. Products of f32 are left to oneDNN, whose order
of additions depends on it: with them losses are compared to a tolerance.
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from case import FIXTURES, NETWORKS, make_strategy, run

TOLERANCE = 1e-5


def train(folder, name, *options):
    """Runs the package in `folder` for 3 steps; the bytes of its variables, and its losses."""
    saved, metrics = folder / f"{name}.safetensors", folder / f"{name}.jsonl"
    run("dist-run", folder / "package", "--quiet", "--steps=3", f"--save={saved}", f"--metrics={metrics}", *options)
    return saved.read_bytes(), [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]


def check_bits(folder):
    reference = FIXTURES / "reference" / "resnet-tiny-f64"
    feeds = f"--feed={reference}/batch0.safetensors", f"--init={reference}/init.safetensors"
    for mesh in ("serial", "dp2"):
        (folder / "strategy.textproto").write_text(make_strategy(NETWORKS["resnet"], mesh, "adamw"))
        run("dist-opt", FIXTURES / "resnet-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
        expected = train(folder, "one", "--threads=1", *feeds)
        for threads in (2, 3):
            if train(folder, "several", f"--threads={threads}", *feeds) != expected:
                sys.exit(f"resnet-tiny-f64 {mesh}: {threads} threads give other bits than one")
        os.environ["OMP_NUM_THREADS"] = "2"
        if train(folder, "environment", *feeds) != expected:
            sys.exit(f"resnet-tiny-f64 {mesh}: OMP_NUM_THREADS=2 gives other bits than one thread")


def check_losses(folder):
    (folder / "strategy.textproto").write_text(make_strategy(NETWORKS["gpt2"], "serial", "adamw") + 'init { match: "*" normal { stddev: 0.02 } }\n')
    run("dist-opt", FIXTURES / "gpt2-small.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    data = f"--data=ids={pathlib.Path(__file__)}:u8", "--seed=1"
    _, expected = train(folder, "one", "--threads=1", *data)
    for threads in (2, 3):
        _, losses = train(folder, "several", f"--threads={threads}", *data)
        if any(abs(ours - theirs) > TOLERANCE * abs(theirs) for ours, theirs in zip(losses, expected, strict=True)):
            sys.exit(f"gpt2-small: {threads} threads have the losses {losses}, one thread has {expected}")


with tempfile.TemporaryDirectory() as name:
    check_bits(pathlib.Path(name))
    check_losses(pathlib.Path(name))
