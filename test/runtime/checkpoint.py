#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a run can stop at any moment and go on, on the same mesh or another one, and that damage is refused.

The package made by hand computes with multiples of 1/32, so that every mesh gives the same bits.
"""
# RUN: rm -rf %t && mkdir %t && make-test-package %t/plain && make-test-package %t/owned owned
# RUN: %python %s %t
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

import numpy as np

import plain_safetensors
from stopped_runs import Runs, call

folder = pathlib.Path(sys.argv[1])
random.seed(1)
runs = Runs(folder)
command, same = runs.command, runs.same
STEPS = 40


call(*command("plain", STEPS, f"--save={folder}/expected", f"--outputs={folder}/outputs-expected"))

# Each mesh takes over from the one before; the data goes on where it was.
chain = folder / "chain"
for end, package, more in ((10, "plain", []), (17, "owned", []), (26, "plain", ["--serial"]), (33, "owned", ["--check-serial"]),
                           (STEPS, "plain", [f"--outputs={folder}/outputs", f"--metrics={folder}/metrics"])):
    call(*command(package, end, f"--checkpoint={chain}", "--save-every=4", "--keep=2", "--resume", f"--save={folder}/last", *more))
same("last", "expected")
same("outputs", "outputs-expected")
metrics = [json.loads(line) for line in (folder / "metrics").read_text().splitlines()]
assert [line["step"] for line in metrics] == list(range(33, STEPS))
call(*command("plain", STEPS, f"--metrics={folder}/plain-metrics"))
peak = json.loads((folder / "plain-metrics").read_text().splitlines()[-1])["peak_bytes"]
# The copy of a rank's 4 x 4 floats.
assert metrics[-1]["peak_bytes"] == peak + 64, (metrics[-1], peak)
assert sorted(path.name for path in chain.iterdir()) == [f"step-{step:012}" for step in (36, STEPS)]
assert not (chain / "step-000000000036" / "rank-00003.safetensors").exists(), "the others hold what it holds"
assert "begins" in call("dist-run", folder / "plain", f"--data=x={runs.data}", f"--checkpoint={folder}/new", "--resume")

# If no step is left, the checkpoint is rewritten in the layout of the package.
call(*command("owned", STEPS, f"--resume={chain}", f"--checkpoint={folder}/owned-again"))
call("dist-ckpt", "export", chain, folder / "before.safetensors")
call("dist-ckpt", "export", folder / "owned-again", folder / "after.safetensors")
same("before.safetensors", "after.safetensors")
assert sorted(path.name for path in (folder / "owned-again" / f"step-{STEPS:012}").iterdir()) == [
    "index.json", "rank-00002.safetensors", "rank-00003.safetensors"], "the owners write"
before = (chain / f"step-{STEPS:012}" / "index.json").stat().st_ino
call(*command("owned", STEPS, f"--checkpoint={chain}", "--resume"))
assert (chain / f"step-{STEPS:012}" / "index.json").stat().st_ino == before, "what is there is left alone"

# Killed at any moment, a run goes on from a complete checkpoint and ends with the same bits.
kills = folder / "kills"
resumed = 0
whole = command("plain", STEPS, f"--checkpoint={kills}", "--save-every=1", "--keep=1", "--resume", f"--save={folder}/killed")
begin = time.monotonic()
call(*whole)
span = time.monotonic() - begin
for attempt in range(20):
    if attempt % 4 == 0:
        shutil.rmtree(kills)
    process = subprocess.Popen([str(word) for word in whole])
    time.sleep(random.random() * span)
    process.kill()
    process.wait()
    if kills.exists() and any(path.name.startswith("step-") for path in kills.iterdir()):
        call("dist-ckpt", "verify", kills)
        resumed += 1
call(*whole)
same("killed", "expected")
assert resumed > 0
assert [path.name for path in kills.iterdir()] == [f"step-{STEPS:012}"], "leftovers are deleted"

# One file and the files of Hugging Face, and back.
for out in ("one.safetensors", "several"):
    call("dist-ckpt", "export", chain, folder / out, "--shard=1")
    call("dist-ckpt", "import", folder / out, folder / f"from-{out}", f"--step={STEPS}")
    call(*command("owned", STEPS, f"--resume={folder}/from-{out}", f"--save={folder}/back"))
    same("back", "expected")
assert (plain_safetensors.read(folder / "one.safetensors")["w"] == plain_safetensors.read(folder / "expected")["w"]).all()
index = json.loads((folder / "several" / "model.safetensors.index.json").read_text())
assert index == {"metadata": {"total_size": 128}, "weight_map": {"w": "model-00001-of-00001.safetensors"}}
listed = call("dist-ckpt", "list", chain)
assert listed.count("\n") == 2 and f"step {STEPS}, data position {STEPS}, seed 0, 1 variables of 128 bytes in 2 files" in listed
assert "w: 4x8xf32, parameter, 2 parts" in call("dist-ckpt", "list", chain / f"step-{STEPS:012}")

# Damage is refused with what was found, and nothing is overwritten.
newest = chain / f"step-{STEPS:012}"


def damage(name, change, message):
    broken = folder / "broken"
    shutil.rmtree(broken, ignore_errors=True)
    shutil.copytree(newest, broken)
    bytes_before = bytearray((broken / name).read_bytes())
    changed = change(bytes_before)
    if changed is None:
        (broken / name).unlink()
    else:
        (broken / name).write_bytes(changed)
    found = call(*command("plain", STEPS + 1, f"--resume={broken}", f"--save={folder}/never"), expect=1)
    assert message in found, (found, message)
    assert not (folder / "never").exists()
    call("dist-ckpt", "verify", broken, expect=3)


damage("rank-00001.safetensors", lambda text: text[:-4] + b"abcd", 'variable "w" has checksum crc32c:')
damage("rank-00001.safetensors", lambda text: text[:-4], "rank-00001.safetensors")
damage("rank-00001.safetensors", lambda text: None, "cannot open")
damage("index.json", lambda text: text.replace(b'"step":40', b'"step":39'), "the index has checksum crc32c:")
damage("index.json", lambda text: text.replace(b'checkpoint":1', b'checkpoint":2'), "the index has version 2 but this program reads version 1")
damage("index.json", lambda text: text[:100], "index.json")
# The newest intact checkpoint is offered, and taken on request; damaged ones are kept under another name.
rows = folder / "rows"
call(*command("plain", 12, f"--checkpoint={rows}", "--save-every=3", "--keep=4"))
for step, name in ((9, "index.json"), (12, "rank-00001.safetensors")):
    path = rows / f"step-{step:012}" / name
    path.write_bytes(path.read_bytes()[:-2] + b"xx")
found = call(*command("plain", STEPS, f"--checkpoint={rows}", "--resume"), expect=1)
assert f"; the checkpoint before it is {rows}/step-{9:012}, and --resume-intact goes on from the newest that is whole" in found, found
found = call(*command("plain", 12, f"--resume={rows}", "--resume-intact", f"--checkpoint={folder}/rows-elsewhere"))
assert f"warning: {rows}/step-{12:012} is damaged and passed over: " in found and (rows / f"step-{12:012}").exists(), found
# The other name is taken.
(rows / f"damaged-step-{12:012}").mkdir()
(rows / f"damaged-step-{12:012}/kept").touch()
found = call(*command("plain", STEPS, f"--checkpoint={rows}", "--resume", "--resume-intact"), expect=1)
assert f"error: cannot rename {rows}/step-{12:012} to {rows}/damaged-step-{12:012}: Directory not empty" in found, found
(rows / f"damaged-step-{12:012}/kept").unlink()
call(*command("plain", STEPS, f"--checkpoint={rows}", "--keep=4", "--resume", "--resume-intact", f"--save={folder}/rows-end", "--nproc=4"))
same("rows-end", "expected")
assert sorted(path.name for path in rows.iterdir()) == [*(f"damaged-step-{step:012}" for step in (9, 12)),
                                                        *(f"step-{step:012}" for step in (3, 6, STEPS))]
assert "--resume-intact says how --resume finds" in call(*command("plain", 12, "--resume-intact"), expect=2)
for path in rows.glob("step-*/index.json"):
    path.write_text("{}")
found = call(*command("plain", STEPS + 1, f"--checkpoint={rows}", "--resume", "--resume-intact"), expect=1)
assert f"error: none of the 3 checkpoints in {rows} is whole" in found, found
plain_safetensors.write(folder / "other.safetensors", {"w": np.zeros((8, 4), "f4")})
call("dist-ckpt", "import", folder / "other.safetensors", folder / "other")
assert 'variable "w" is 8x4xf32 but the package\'s is 4x8xf32' in call(*command("plain", 1, f"--resume={folder}/other"), expect=1)
plain_safetensors.write(folder / "more.safetensors", {"v": np.zeros((8, 4), "f4")})
call("dist-ckpt", "import", folder / "more.safetensors", folder / "more")
assert 'does not have the package\'s variable "w" of 4x8xf32' in call(*command("plain", 1, f"--resume={folder}/more"), expect=1)
assert "--resume goes on from it" in call(*command("plain", 50, f"--checkpoint={chain}"), expect=1)
assert "is of step 40 but --steps=3 ends before it" in call(*command("plain", 3, f"--resume={chain}"), expect=1)
call(*command("plain", 3, "--resume"), expect=2)
call("dist-ckpt", "export", chain, expect=2)
call("dist-ckpt", "list", folder / "nothing", expect=1)
