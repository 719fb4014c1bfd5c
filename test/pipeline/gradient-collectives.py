# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %source/examples/gpt2 %tmp
"""Tests what gradients cost beside the bytes of each: one scalar collective for the norm of all, and nothing for a place of the factor.

Of the exported GPT-2 on a mesh with axes for the batch and for the weights: some gradients are split over `tp`, others are not, and the
norm is reduced over `tp` alone, once, and nowhere else; where gradients are kept by slices, over both axes at once. Without clipping a
step has no scalar collective behind the loss. Each of the 28 gradients is reduced once over `dp`, in the type that the strategy names,
wherever it is scaled; where the step computes in bf16 and no type is named, in that.
"""
import json
import pathlib
import subprocess
import sys

fixtures, examples, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def compile_plan(name, train="", more=""):
    """The conversions of the plan of example `name` with more in its `train` and behind it all."""
    strategy = folder / f"{name}.textproto"
    text = (examples / f"{name}.textproto").read_text().replace("50257", "97")
    strategy.write_text(text.replace("train {", f"train {{ {train}") + more)
    plan = folder / f"{name}.json"
    subprocess.run(["dist-opt", fixtures / "gpt2-tiny.mlir", f"--strategy={strategy}", f"--plan={plan}", "-o",
                    folder / "module.mlir"], check=True)
    program, = json.loads(plan.read_text())["programs"]
    return program["conversions"]


CLIP = "clip { global_norm: 1.0 }"
cases = [("dp2", CLIP, "", []), ("tp2", CLIP, "", [["tp"]]), ("dp2-tp2", CLIP, "", [["tp"]]), ("dp2-tp2", "", "", []),
         ("dp2-tp2-sequence", CLIP, "", [["tp"]]), ("dp2", CLIP, 'zero { axes: "dp" }', [["dp"]])]
cases += [(name, CLIP, f'zero {{ axes: "dp" stage: {stage} }}', [["dp", "tp"]])
          for name in ("dp2-tp2", "dp2-tp2-sequence") for stage in (1, 2, 3)]
for name, train, more, expected in cases:
    found = [conversion["axes"] for conversion in compile_plan(name, train, more)
             if conversion["elements"] == 1 and conversion["role"] == "optimize"]
    if found != expected:
        sys.exit(f"{name} with \"{train} {more}\": the optimizer's scalar collectives are over {found}, not {expected}")

for name in ("dp2", "dp2-tp2", "dp2-tp2-sequence"):
    for scale in ("LOSS", "BEFORE", "AFTER"):
        for kind, dtype in (("GRADIENT", "f32"), ("BF16", "bf16"), ("F16", "f16")):
            found = [conversion["dtype"] for conversion in compile_plan(name, more=f"reduce {{ scale: {scale} communicate: {kind} }}")
                     if "dp" in conversion["axes"] and conversion["role"] != "forward"]
            if found != [dtype] * 28:
                sys.exit(f"{name} with {scale} and {kind}: the gradients are reduced over dp in {found}")

PRECISION = "precision { compute: BF16 }"
for name in ("dp2", "dp2-tp2"):
    for kind, dtype in (("GRADIENT", "bf16"), ("F32", "f32"), ("F16", "f16")):
        found = [conversion["dtype"] for conversion in compile_plan(name, PRECISION, f"reduce {{ communicate: {kind} }}")
                 if "dp" in conversion["axes"] and conversion["role"] != "forward"]
        if found != [dtype] * 28:
            sys.exit(f"{name} in bf16 with {kind}: the gradients are reduced over dp in {found}")
