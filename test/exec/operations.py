# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that every operation of net computes in a package, on every type, what the plain interpreter computes."""
# RUN: %python %s elementwise %t
# RUN: %python %s integers %t
# RUN: %python %s layout %t
# RUN: %python %s reductions %t
# RUN: %python %s products %t
# RUN: %python %s indexing %t
import os
import subprocess
import sys

import numpy as np

import operations_cases
import plain_safetensors

PASSES = ["--dist-schedule-lower-conversions", "--dist-schedule-form-kernels", "--dist-schedule-assign-buffers",
          "--dist-schedule-verify"]


def differ(found, expected, tolerance):
    """How far two arrays are apart beyond the tolerance, which is relative to the larger of 1 and the value; None where they are not."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if found.dtype.kind != "f":
        return None if np.array_equal(found, expected) else f"{np.sum(found != expected)} elements differ"
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0, np.abs(found - expected) / np.maximum(1, np.abs(expected)))
    worst = np.max(error, initial=0)
    return None if worst <= tolerance else f"off by {worst:.3g}, allowed are {tolerance:.3g}"


def main(family, prefix):
    cases = operations_cases.Cases(seed=1)
    operations_cases.FAMILIES[family](cases)
    module, feed, package = f"{prefix}.{family}.mlir", f"{prefix}.{family}.feed", f"{prefix}.{family}.package"
    with open(module, "w") as file:
        file.write(cases.text())
    plain_safetensors.write(feed, cases.feed)
    run = lambda *command: subprocess.run(command, check=True)
    run("dist-opt", module, *PASSES, f"--dist-emit=path={package}", "-o", os.devnull)
    run("dist-run", package, f"--feed={feed}", "--steps=1", f"--outputs={prefix}.{family}.found", "--quiet")
    run("net-eval", module, f"--feed={feed}", f"--outputs={prefix}.{family}.expected")
    found = plain_safetensors.read(f"{prefix}.{family}.found")
    expected = plain_safetensors.read(f"{prefix}.{family}.expected")
    wrong = 0
    for label, tolerance in cases.tolerance.items():
        if problem := differ(found[label], expected[label], tolerance):
            wrong += 1
            print(f"{label}: {problem}")
    print(f"{len(cases.tolerance) - wrong} of {len(cases.tolerance)} cases agree")
    return wrong != 0


sys.exit(main(sys.argv[1], sys.argv[2]))
