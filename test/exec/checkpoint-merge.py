#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a GPT-2 whose gradients are accumulated over four steps can stop in the middle of an accumulation and go on: on the same mesh with the same
bits, on another one with the serial program's values up to rounding.
"""
# RUN: %python %s %t %S %fixtures
import pathlib
import random
import shutil
import subprocess
import sys
import time

import plain_safetensors

folder, fixtures = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
sys.path.insert(0, sys.argv[2])
import case  # noqa: E402 (needs the path)

shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
reference = fixtures / "reference" / "gpt2-tiny-f64"
PACKAGES = ["dp4+merge4", "dp2xtp2+merge4", "dp4+zero3+merge4", "dp4+zero3whole+merge4every", "dp4+merge4+slices2"]
MESHES = [*PACKAGES, "serial"]
STEPS = 8
random.seed(3)
for step in range(STEPS):
    shutil.copy(reference / f"batch{step % 5}.safetensors", folder / f"batch{step}.safetensors")


def emit(mesh):
    (folder / "strategy").write_text(case.make_strategy(case.NETWORKS["gpt2"], mesh, "adamw", ""))
    case.run("dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={folder}/strategy", f"--emit={folder}/{mesh}", "--quiet")


def command(mesh, steps, *more):
    serial = mesh == "serial"
    return ["dist-run", folder / (PACKAGES[0] if serial else mesh), f"--init={reference}/init.safetensors", f"--steps={steps}",
            f"--feed={folder}/batch{{step}}.safetensors", "--quiet", *more, *(["--serial"] if serial else [])]


def same(left, right):
    if (folder / left).read_bytes() != (folder / right).read_bytes():
        sys.exit(f"{left} and {right} have other bits")


def kill_after(steps, *run):
    """Kills a run as soon as its checkpoint of that step is there."""
    process = subprocess.Popen([str(word) for word in run])
    while not (folder / "killed" / f"step-{steps:012}" / "index.json").exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()


for mesh in [*PACKAGES, "dp4+merge2"]:
    emit(mesh)
for mesh in MESHES:
    case.run(*command(mesh, STEPS, f"--save={folder}/{mesh}.whole", f"--outputs={folder}/{mesh}.outputs"))
    # Two of four steps, the whole accumulation, three of the next four.
    for steps in (2, 4, 7, STEPS):
        case.run(*command(mesh, steps, f"--checkpoint={folder}/{mesh}.checkpoints", "--keep=9", "--resume",
                          f"--save={folder}/{mesh}.resumed", f"--outputs={folder}/{mesh}.resumed-outputs"))
    same(f"{mesh}.whole", f"{mesh}.resumed")
    same(f"{mesh}.outputs", f"{mesh}.resumed-outputs")

mesh = "dp4+zero3+merge4"
run = command(mesh, STEPS, f"--checkpoint={folder}/killed", "--save-every=1", "--keep=1", "--resume", f"--save={folder}/killed.save")
kill_after(2, *run)
kill_after(6, *run)
case.run("dist-ckpt", "verify", folder / "killed")
case.run(*run)
same("killed.save", f"{mesh}.whole")

# Each mesh takes over from the one before.
expected = plain_safetensors.read(folder / "serial.whole")
rounds = [["dp4+merge4", "dp2xtp2+merge4", "serial", "dp4+zero3whole+merge4every"], ["serial", "dp4+zero3+merge4", "dp4+merge4+slices2", "dp2xtp2+merge4"],
          *(random.sample(MESHES, 4) for _ in range(2))]
for order in rounds:
    chain = folder / ("-".join(order) + ".checkpoints")
    for steps, mesh in zip((1, 2, 6, STEPS), order, strict=True):
        check = ["--check-serial"] if mesh != "serial" else []
        case.run(*command(mesh, steps, f"--checkpoint={chain}", "--resume", f"--save={folder}/found", *check))
    case.compare(" -> ".join(order), plain_safetensors.read(folder / "found"), expected, case.RATES["adamw"], case.TOLERANCE)

# Another number of accumulated steps begins where no accumulation is under way.
saved = folder / "dp4+merge4.checkpoints"
done = subprocess.run([str(word) for word in command("dp4+merge2", 5, f"--resume={saved}/step-000000000002")], capture_output=True, text=True, check=False)
assert done.returncode == 1 and "is after 2 of 4 steps of an accumulation, but the package accumulates 2" in done.stderr, done
case.run(*command("dp4+merge2", 6, f"--resume={saved}/step-000000000004", "--check-serial"))
