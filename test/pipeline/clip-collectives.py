# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %source/examples/gpt2 %tmp
"""Tests that the norm of all gradients costs one scalar collective, whatever the number of variables and however they are split.

Of the exported GPT-2 on a mesh with axes for the batch and for the weights: some gradients are split over `tp`, others are not, and the
norm is reduced over `tp` alone, once, and nowhere else. Without clipping a step has no scalar collective behind the loss.
"""
import json
import pathlib
import subprocess
import sys

fixtures, examples, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def scalars(name, train):
    """The axes of every scalar collective of the optimizer."""
    strategy = folder / f"{name}.textproto"
    text = (examples / f"{name}.textproto").read_text().replace("50257", "97")
    strategy.write_text(text.replace("train {", f"train {{ {train}"))
    plan = folder / f"{name}.json"
    subprocess.run(["dist-opt", fixtures / "gpt2-tiny.mlir", f"--strategy={strategy}", f"--plan={plan}", "-o",
                    folder / "module.mlir"], check=True)
    program, = json.loads(plan.read_text())["programs"]
    return [conversion["axes"] for conversion in program["conversions"]
            if conversion["elements"] == 1 and conversion["role"] == "optimize"]


CLIP = "clip { global_norm: 1.0 }"
for name, train, expected in [("dp2", CLIP, []), ("tp2", CLIP, [["tp"]]), ("dp2-tp2", CLIP, [["tp"]]), ("dp2-tp2", "", []),
                              ("dp2-tp2-sequence", CLIP, [["tp"]])]:
    found = scalars(name, train)
    if found != expected:
        sys.exit(f"{name} with \"{train}\": the optimizer's scalar collectives are over {found}, not {expected}")
