#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a GPT-2 trained on one mesh goes on on others, each from the checkpoint before, and that checkpoints keep their bits on the way."""
# RUN: %python %s %t %S %fixtures
import pathlib
import random
import shutil
import subprocess
import sys

import plain_safetensors

folder, fixtures = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
sys.path.insert(0, sys.argv[2])
import case  # noqa: E402 (needs the path)

shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
reference = fixtures / "reference" / "gpt2-tiny-f64"
# Each keeps its variables in another way: split by tensor parallelism, in slices, with an owner for each, replicated, in stages and slices, on one rank.
MESHES = ["dp2xtp2", "dp4+zero3", "dp4+zero3whole", "dp2", "pp2xdp2+micro2+zero2", "serial"]
PACKAGES = [mesh for mesh in MESHES if mesh != "serial"]
random.seed(7)


def call(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def emit(mesh):
    (folder / "strategy").write_text(case.make_strategy(case.NETWORKS["gpt2"], mesh, "adamw", ""))
    case.run("dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={folder}/strategy", f"--emit={folder}/{mesh}", "--quiet")


def train(mesh, steps, *more):
    serial = mesh == "serial"
    case.run("dist-run", folder / (PACKAGES[0] if serial else mesh), f"--init={reference}/init.safetensors", f"--steps={steps}",
             f"--feed={reference}/batch{{step}}.safetensors", "--quiet", *more, *(["--serial"] if serial else []))


def export(checkpoint, name):
    call("dist-ckpt", "verify", checkpoint)
    call("dist-ckpt", "export", checkpoint, folder / name)
    return (folder / name).read_bytes()


for mesh in PACKAGES:
    emit(mesh)
for mesh in MESHES:
    train(mesh, 3, f"--save={folder}/{mesh}.whole")
    # Stopped after every step and resumed on the same mesh: the same bits.
    for steps in (1, 2, 3):
        train(mesh, steps, f"--checkpoint={folder}/{mesh}.checkpoints", "--resume", f"--save={folder}/{mesh}.resumed")
    if (folder / f"{mesh}.whole").read_bytes() != (folder / f"{mesh}.resumed").read_bytes():
        sys.exit(f"{mesh}: the run that was stopped ends with other bits")

# The checkpoint of one mesh is resumed and saved by another one; exported, it has the same bytes.
pairs = [(left, right) for left in MESHES for right in MESHES if left != right]
for left, right in [("dp4+zero3whole", "dp4+zero3"), ("dp4+zero3whole", "dp2"), *random.sample(pairs, 5)]:
    again = folder / f"{left}-{right}.checkpoints"
    shutil.rmtree(again, ignore_errors=True)
    train(right, 3, f"--resume={folder}/{left}.checkpoints", f"--checkpoint={again}")
    if export(folder / f"{left}.checkpoints", "left.safetensors") != export(again, "right.safetensors"):
        sys.exit(f"{right} saves other bits than it got from {left}")

# And goes on from it.
expected = plain_safetensors.read(folder / "serial.whole")
for order in (["dp2xtp2", "dp4+zero3", "serial"], ["dp4+zero3", "dp4+zero3whole", "dp2xtp2"], ["pp2xdp2+micro2+zero2", "dp2", "pp2xdp2+micro2+zero2"], *(random.sample(MESHES, 3) for _ in range(2))):
    chain = folder / ("-".join(order) + ".checkpoints")
    for steps, mesh in enumerate(order, 1):
        train(mesh, steps, f"--checkpoint={chain}", "--resume", f"--save={folder}/found")
        export(chain, "one.safetensors")
        exported, saved = (plain_safetensors.read(folder / name) for name in ("one.safetensors", "found"))
        for name, value in saved.items():
            if value.tobytes() != exported[name].tobytes():
                sys.exit(f"{mesh}: {name} is exported with other bits than it has")
    case.compare(" -> ".join(order), plain_safetensors.read(folder / "found"), expected, case.RATES["adamw"], case.TOLERANCE)
