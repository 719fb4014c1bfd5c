# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Trains networks on 1, 2, 3 and 4 threads for each rank: variables and losses have the same bits."""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from case import FIXTURES, NETWORKS, make_strategy, run


def train(folder, name, *options):
    """Runs the package in `folder` for 3 steps; the bytes of its variables, and its losses."""
    saved, metrics = folder / f"{name}.safetensors", folder / f"{name}.jsonl"
    run("dist-run", folder / "package", "--quiet", "--steps=3", f"--save={saved}", f"--metrics={metrics}", *options)
    return saved.read_bytes(), [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]


def check(folder, what, graph, strategy, *feeds):
    (folder / "strategy.textproto").write_text(strategy)
    run("dist-opt", FIXTURES / f"{graph}.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    expected = train(folder, "one", "--threads=1", *feeds)
    for threads in (2, 3, 4):
        if train(folder, "several", f"--threads={threads}", *feeds) != expected:
            sys.exit(f"{graph} {what}: {threads} threads give other bits than one")
    os.environ["OMP_NUM_THREADS"] = "2"
    if train(folder, "environment", *feeds) != expected:
        sys.exit(f"{graph} {what}: OMP_NUM_THREADS=2 gives other bits than one thread")
    del os.environ["OMP_NUM_THREADS"]


with tempfile.TemporaryDirectory() as name:
    reference = FIXTURES / "reference" / "resnet-tiny-f64"
    for mesh in ("serial", "dp2"):
        check(pathlib.Path(name), mesh, "resnet-tiny-f64", make_strategy(NETWORKS["resnet"], mesh, "adamw"),
              f"--feed={reference}/batch0.safetensors", f"--init={reference}/init.safetensors")
    # Large enough for products in f32 and bf16 to be divided; attention by tiles has products of few columns and long sums.
    serial = make_strategy(NETWORKS["gpt2"], "serial", "adamw") + 'init { match: "*" normal { stddev: 0.02 } }\n'
    for what, strategy in (("f32", serial), ("tiles", serial + "tiles { bytes: 65536 min_bytes: 1 }\n"),
                           ("bf16", serial.replace("train {", "train { precision { compute: BF16 }"))):
        check(pathlib.Path(name), what, "gpt2-small", strategy, f"--data=ids={pathlib.Path(__file__)}:u8", "--seed=1")
