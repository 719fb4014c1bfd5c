#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a run can stop in the middle of an accumulation and go on, on the same mesh or another one.

The packages made by hand compute with multiples of 1/32, so that every mesh gives the same bits.
"""
# RUN: rm -rf %t && mkdir %t
# RUN: make-test-package %t/dp2 merge && make-test-package %t/dp2xtp2 merge-2x2 && make-test-package %t/dp4 merge-4
# RUN: make-test-package %t/micro-batches micro-batches && make-test-package %t/of-2 merge-of-2 && make-test-package %t/micro merge-of-micro-batches
# RUN: %python %s %t
import json
import pathlib
import random
import subprocess
import sys
import time

import numpy as np

import plain_safetensors
from stopped_runs import Runs, call

folder = pathlib.Path(sys.argv[1])
random.seed(2)
runs = Runs(folder)
command, same = runs.command, runs.same
STEPS = 15


def read_parts(checkpoint):
    """The addends of the accumulator as the files have them."""
    return [plain_safetensors.read(path)["accumulator/w"] for path in sorted(checkpoint.glob("*.safetensors"))]


call(*command("dp2", STEPS, f"--save={folder}/expected", f"--outputs={folder}/outputs-expected"))
assert list(plain_safetensors.read(folder / "expected")) == ["w"], "accumulators are no part of the network"

# Stopped after every step, each mesh takes over from the one before; --check-serial does so too.
chain = folder / "chain"
meshes = ["dp2", "dp2xtp2", "dp4", "micro"]
for step in range(1, STEPS + 1):
    mesh = meshes[step % 4]
    serial = {5: ["--serial"], 8: ["--check-serial"], 10: ["--check-serial"]}.get(step, [])
    call(*command(mesh, step, f"--checkpoint={chain}", "--resume", f"--save={folder}/last", f"--outputs={folder}/outputs",
                  f"--metrics={folder}/metrics", *serial))
    line, = [json.loads(line) for line in (folder / "metrics").read_text().splitlines()]
    assert line["step"] == step - 1 and line["update"] == (step % 3 == 0) == ("grad_norm" in line), line
    call("dist-ckpt", "verify", chain)
same("last", "expected")
same("outputs", "outputs-expected")

def get_gradient(step, rows):
    """The addend of some rows of a step's input to the accumulator."""
    batch = np.load(runs.data)[32 * step:32 * step + 32].reshape(8, 4)
    return np.repeat(batch[rows].sum(axis=0)[:, None], 8, axis=1)


# The coordinates of dp come back with what they held where there are as many; else the first has the sum.
call(*command("dp2", 1, f"--checkpoint={folder}/third"))
third = folder / "third" / "step-000000000001"
addends = [get_gradient(0, slice(0, 4)), get_gradient(0, slice(4, 8))]
assert (addends[0] != addends[1]).any() and all((a == b).all() for a, b in zip(read_parts(third), addends, strict=True))
restored = {"dp2": addends, "dp2xtp2": addends, "dp4": [addends[0] + addends[1], 0, 0, 0]}
for mesh, before in restored.items():
    call(*command(mesh, 2, f"--resume={third}", f"--checkpoint={folder}/again-{mesh}"))
    rows = 8 // len(before)
    expected = [addend + get_gradient(1, slice(rows * i, rows * i + rows)) for i, addend in enumerate(before)]
    if mesh == "dp2xtp2":
        expected = [half for addend in expected for half in (addend[:, :4], addend[:, 4:])]
    found = read_parts(folder / f"again-{mesh}" / "step-000000000002")
    assert all((a == b).all() for a, b in zip(found, expected, strict=True)), (mesh, found, expected)

call(*command("dp2", 2, f"--checkpoint={folder}/half"))
half = folder / "half" / "step-000000000002"
index = json.loads((half / "index.json").read_text())["content"]
assert index["merge"] == {"position": 2, "steps": 3}
assert [(entry["name"], entry.get("addends")) for entry in index["variables"]] == [("w", None), ("accumulator/w", 2)]
assert [part["addend"] for part in index["variables"][1]["parts"]] == [0, 1]

# Between accumulations accumulators are not saved, and an accumulation of any length goes on.
call(*command("dp2", 3, f"--checkpoint={folder}/whole"))
assert "accumulator" not in (folder / "whole" / "step-000000000003" / "index.json").read_text()
call(*command("of-2", 5, f"--resume={folder}/whole", f"--metrics={folder}/metrics"))
assert [json.loads(line)["update"] for line in (folder / "metrics").read_text().splitlines()] == [False, True]
message = call(*command("of-2", 5, f"--resume={half}"), expect=1)
assert "is after 2 of 3 steps of an accumulation, but the package accumulates 2; where no accumulation is under way any number goes on" in message

# The tools know.
listed = call("dist-ckpt", "list", half)
assert "step 2 after 2 of 3 steps of an accumulation, data position 2" in listed
assert "accumulator/w: 4x8xf32, accumulator, sum of 2 addends, 2 parts" in listed
message = call("dist-ckpt", "export", half, folder / "one.safetensors")
assert "is after 2 of 3 steps of an accumulation; what they accumulated is left out" in message
assert list(plain_safetensors.read(folder / "one.safetensors")) == ["w"]
call("dist-ckpt", "import", folder / "one.safetensors", folder / "imported", "--step=2")
call(*command("dp4", 5, f"--resume={folder}/imported", f"--metrics={folder}/metrics"))
assert [json.loads(line)["update"] for line in (folder / "metrics").read_text().splitlines()] == [False, False, True]

# The results of a run that ends in the middle are those that are known, and it says so.
message = call(*command("dp2", 2, f"--save={folder}/middle", f"--outputs={folder}/middle-outputs"))
assert "the last step is 1 of an accumulation of 3: --outputs leaves out 2 of 3 outputs" in message
assert "the run ends after 2 of 3 steps of an accumulation: --save leaves out what they accumulated" in message
assert list(plain_safetensors.read(folder / "middle-outputs")) == ["loss"]

# Killed at any moment, a run goes on from a complete checkpoint and ends with the same bits.
whole = command("dp2", 300, f"--checkpoint={folder}/kills", "--save-every=1", "--keep=1", "--resume", f"--save={folder}/killed")
call(*command("dp2", 300, f"--save={folder}/expected-300"))
begin = time.monotonic()
call(*whole, f"--resume={half}", f"--checkpoint={folder}/span")
span = time.monotonic() - begin
for _ in range(6):
    process = subprocess.Popen([str(word) for word in whole])
    time.sleep(random.random() * span / 3)
    process.kill()
    process.wait()
call(*whole)
same("killed", "expected-300")

# Sums over the micro-batches of a step end with the step: checkpoints do not contain them.
call(*command("micro-batches", 3, f"--metrics={folder}/metrics"))
call(*command("micro-batches", 3, f"--metrics={folder}/copying-metrics", f"--checkpoint={folder}/micro-batches.checkpoints"))
peaks = [json.loads((folder / name).read_text().splitlines()[-1])["peak_bytes"] for name in ("metrics", "copying-metrics")]
assert peaks[1] == peaks[0] + 128, peaks
assert "1 variables of 128 bytes" in call("dist-ckpt", "list", folder / "micro-batches.checkpoints")

# Nothing is allocated once an accumulation was run.
call(*command("micro", 9, f"--metrics={folder}/metrics"))
lines = [json.loads(line) for line in (folder / "metrics").read_text().splitlines()]
assert all(line["allocations"] == 0 for line in lines[3:]), lines
