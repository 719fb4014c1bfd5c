# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a module of net in a package and by the plain interpreter, and compares what comes out."""
import os
import subprocess

import numpy as np

import plain_safetensors

def get_passes(gpu):
    """Those that make a package; on GPUs kernels compute convolutions, too."""
    form = "--dist-schedule-form-kernels" + ("=library-convolutions=false" if gpu else "")
    return ["--dist-schedule-lower-conversions", form, "--dist-schedule-assign-buffers", "--dist-schedule-verify"]


def differ(found, expected, tolerance):
    """The difference of two arrays beyond the tolerance, which is relative to the larger of 1 and the value, as text; None if they agree."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if found.dtype.kind != "f":
        return None if np.array_equal(found, expected) else f"{np.sum(found != expected)} elements differ"
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0, np.abs(found - expected) / np.maximum(1, np.abs(expected)))
    worst = np.max(error, initial=0)
    return None if worst <= tolerance else f"off by {worst:.3g}, allowed are {tolerance:.3g}"


def run_both(prefix, text, feed, init=None, steps=1, gpu=""):
    """Outputs of the last step and final variables, in the package, with the kernels of a GPU where that is named, and by the interpreter."""
    module = f"{prefix}.mlir"
    with open(module, "w") as file:
        file.write(text)
    plain_safetensors.write(f"{prefix}.feed", feed)
    common = [f"--feed={prefix}.feed", f"--steps={steps}"]
    if init is not None:
        plain_safetensors.write(f"{prefix}.init", init)
        common.append(f"--init={prefix}.init")
    run = lambda *command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run("dist-opt", module, *get_passes(gpu), f"--dist-emit=path={prefix}.package" + (f" targets={gpu}" if gpu else ""), "-o", os.devnull)
    device = ["--quiet", *(["--device=cuda", f"--kernels={gpu}"] if gpu else [])]
    results = []
    for tool, where in (("dist-run", f"{prefix}.package"), ("net-eval", module)):
        files = [f"{prefix}.{tool}.{what}" for what in ("outputs", "save")]
        run(tool, where, *common, f"--outputs={files[0]}", f"--save={files[1]}", *(device if tool == "dist-run" else []))
        results.append({**plain_safetensors.read(files[0]), **{"variable " + k: v for k, v in plain_safetensors.read(files[1]).items()}})
    return results


def compare(found, expected, tolerance):
    """Prints what differs; `tolerance` gives the allowed error by name. The number of differences."""
    wrong = 0
    for name in expected:
        if problem := differ(found[name], expected[name], tolerance(name)):
            wrong += 1
            print(f"{name}: {problem}")
    print(f"{len(expected) - wrong} of {len(expected)} values agree")
    return wrong
