#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what a run does when the loss, a gradient or a variable is not finite: what it says, when it ends, and which checkpoints it keeps.

The package made by hand has the loss sum(x w) and takes the sum of the rows of x off w, so that one NaN in the batch of step 3 makes the loss of
that step, a column of the gradient and a row of w NaN, and every later loss.
"""
# RUN: rm -rf %t && mkdir %t && make-test-package %t/plain unbounded && make-test-package %t/initializers initializers
# RUN: %python %s %t
import json
import pathlib
import subprocess
import sys

import numpy as np

import plain_safetensors
from stopped_runs import Runs, call

folder = pathlib.Path(sys.argv[1])
runs = Runs(folder)
x = np.load(runs.data)
x[3 * 32 + 5] = np.nan
np.save(runs.data, x)
FOUND = '"grad/w" (NaN on ranks 0 and 1), "w" (NaN on ranks 0 and 1)'


def run(steps, *more, expect=0, quiet=False):
    """The output of a run of `steps` steps."""
    command = runs.command("plain", steps, *more)
    return call(*(word for word in command if quiet or word != "--quiet"), expect=expect)


def read_metrics(path=folder / "metrics"):
    return [json.loads(line) for line in path.read_text().splitlines()]


def list_checkpoints(path):
    return [int(name.name[5:]) for name in sorted(path.iterdir())]


def has_index(path, step):
    return json.loads((path / f"step-{step:012}" / "index.json").read_text())["content"]


# By default: said in the line of the step and in the metrics, a warning, and an end after ten steps in a row.
chain = folder / "chain"
text = run(20, f"--metrics={folder}/metrics", f"--checkpoint={chain}", "--save-every=2", "--keep=2", expect=3)
assert f"s, not finite: loss, {FOUND}\n" in text, text
assert f"warning: step 3: not finite: loss, {FOUND}; the run ends after 10 such steps in a row\n" in text, text
assert text.count("warning") == 1, text
assert (f"error: step 12: not finite: loss; it is the last of 10 such steps in a row, and --on-nonfinite=warn would go on; the last "
        f"checkpoint whose state is finite is {chain}/step-000000000002\n") in text, text
metrics = read_metrics()
assert len(metrics) == 13 and "non_finite" not in metrics[2], metrics
assert metrics[3]["loss"] is None and metrics[3]["non_finite"] == [
    {"name": "loss", "value": "nan"}, {"name": "grad/w", "value": "nan", "ranks": [0, 1]}, {"name": "w", "value": "nan", "ranks": [0, 1]}]
assert metrics[4]["non_finite"] == [{"name": "loss", "value": "nan"}], metrics[4]
# The last two, and the last one that is finite.
assert list_checkpoints(chain) == [2, 10, 12], list_checkpoints(chain)
assert has_index(chain, 2)["non_finite"] == [] and has_index(chain, 12)["non_finite"] == ["w"]
assert ', not finite: "w"' in call("dist-ckpt", "list", chain)

# A run that goes on from such a checkpoint says so, and stop refuses it.
text = run(13, f"--checkpoint={chain}", "--resume")
assert 'warning: the checkpoint of step 12: variables are not finite: "w" (NaN on ranks 0 and 1)\n' in text, text
text = run(13, f"--checkpoint={chain}", "--resume", "--on-nonfinite=stop", expect=3)
assert f"error: the checkpoint of step 13: variables are not finite" in text and f"is {chain}/step-000000000002\n" in text, text
text = run(3, f"--resume={chain}/step-000000000002", "--on-nonfinite=stop")
# The folder has the word in its name.
assert "finite" not in text.replace(str(folder), ""), text

# stop ends with the first one, and saves no state that is not finite; warn goes on to the end.
for more, processes in ([], 1), (["--nproc=4"], 4):
    stopped = folder / f"stopped-{processes}"
    text = run(20, *more, "--on-nonfinite=stop", f"--metrics={folder}/metrics", f"--checkpoint={stopped}", "--save-every=1", "--keep=1", expect=3)
    assert (f"error: step 3: not finite: loss, {FOUND}; --on-nonfinite=stop ends the run; the last checkpoint whose state is finite "
            f"is {stopped}/step-000000000003\n") in text, text
    assert text.count("error") == 1, text
    assert len(read_metrics()) == 4 and list_checkpoints(stopped) == [3], list_checkpoints(stopped)
    call("dist-ckpt", "verify", stopped)
text = run(20, "--on-nonfinite=warn")
assert text.count("warning") == 1 and "the run goes on\n" in text and "step 19: loss nan" in text, text
text = run(20, "--nproc=4", expect=3)
assert "error: step 12: not finite: loss; it is the last of 10" in text, text

# skip is for packages that leave updates out.
text = run(20, "--on-nonfinite=skip", expect=2)
assert "--on-nonfinite=skip wants a package that leaves out the update of a step whose gradients are not finite; train { precision {" in text, text
text = run(20, "--on-nonfinite=no", expect=2)
assert '--on-nonfinite: "no" is none of stop, warn and skip' in text, text

# The serial program computes the same NaN: that is a finding, and no agreement in silence.
text = run(5, "--check-serial")
assert "step 2: 1 variable and 2 outputs agree with the serial program, bit for bit\n" in text, text
assert 'step 3: 1 variable and 2 outputs agree with the serial program, bit for bit; 3 are not finite, "y" first' in text \
    or "; 3 are not finite, " in text, text

# A row ends with a finite step: data that is infinite in single steps, which w does not keep, is no row of ten.
x = np.load(runs.data)
x[3 * 32 + 5] = 1
x[3 * 32:4 * 32] = 3e38
np.save(runs.data, x)
text = run(4, "--on-nonfinite=stop", expect=3)
assert "error: step 3: not finite: loss, " in text and "infinite" in text, text

# Variables that begin without being finite are meant to be so, also where a run goes on; others are not.
plain_safetensors.write(folder / "begin", {"normal.f32": np.full((7, 12), np.inf, "f4"), "uniform.f16": np.full((7, 12), np.nan, "f2")})
meant = folder / "meant"
call("dist-run", folder / "initializers", f"--init={folder}/begin", "--steps=0", f"--checkpoint={meant}", "--on-nonfinite=stop")
assert has_index(meant, 0)["non_finite"] == []
text = call("dist-run", folder / "initializers", "--steps=0", f"--checkpoint={folder}/again", f"--resume={meant}", "--on-nonfinite=stop")
assert has_index(folder / "again", 0)["non_finite"] == [] and "warning" not in text, text
