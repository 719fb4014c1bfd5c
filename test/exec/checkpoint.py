#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a GPT-2 trained on one mesh goes on on others: tensor parallel, sharded and serial, each from the checkpoint before."""
# RUN: %python %s %t %S %fixtures
import pathlib
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
MESHES = ["dp2xtp2", "dp4+zero3", "serial"]
for mesh in MESHES[:2]:
    (folder / "strategy").write_text(case.make_strategy(case.NETWORKS["gpt2"], mesh, "adamw", ""))
    case.run("dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={folder}/strategy", f"--emit={folder}/{mesh}", "--quiet")


def train(mesh, steps, *more):
    serial = mesh == "serial"
    case.run("dist-run", folder / (MESHES[0] if serial else mesh), f"--init={reference}/init.safetensors", f"--steps={steps}",
             f"--feed={reference}/batch{{step}}.safetensors", "--quiet", *more, *(["--serial"] if serial else []))


for mesh in MESHES:
    train(mesh, 3, f"--save={folder}/{mesh}.whole")
    # Stopped after every step and resumed on the same mesh: the same bits.
    for steps in (1, 2, 3):
        train(mesh, steps, f"--checkpoint={folder}/{mesh}.checkpoints", "--resume", f"--save={folder}/{mesh}.resumed")
    if (folder / f"{mesh}.whole").read_bytes() != (folder / f"{mesh}.resumed").read_bytes():
        sys.exit(f"{mesh}: the run that was stopped ends with other bits")
expected = plain_safetensors.read(folder / "serial.whole")
for order in (MESHES, MESHES[::-1], MESHES[1:] + MESHES[:1]):
    chain = folder / ("-".join(order) + ".checkpoints")
    for steps, mesh in enumerate(order, 1):
        train(mesh, steps, f"--checkpoint={chain}", "--resume", f"--save={folder}/found")
        subprocess.run(["dist-ckpt", "verify", chain], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["dist-ckpt", "export", chain, folder / "one.safetensors"], check=True)
        exported, saved = (plain_safetensors.read(folder / name) for name in ("one.safetensors", "found"))
        for name, value in saved.items():
            if value.tobytes() != exported[name].tobytes():
                sys.exit(f"{mesh}: {name} is exported with other bits than it has")
    case.compare(" -> ".join(order), plain_safetensors.read(folder / "found"), expected, case.RATES["adamw"], case.TOLERANCE)
