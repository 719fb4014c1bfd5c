# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %source/examples/gpt2 %tmp
"""Tests how often an accumulation of four steps sends what, of the exported GPT-2.

Gradients are reduced over the axes of the batch once, in the type that the strategy names, so that an accumulation sends what one step without it does; the loss
and what forward exchanges travel in every step; updated parameters are gathered once, fetched ones in every step. Programs of steps that do
not update issue none of the update's launches.
"""
import json
import pathlib
import subprocess
import sys

STEPS = 4
fixtures, examples, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, not {expected}")


def compile_plan(name, train="", more=""):
    """The plan of example `name` with more in its `train` and behind it all."""
    strategy = folder / f"{name}.textproto"
    text = (examples / f"{name}.textproto").read_text().replace("50257", "97")
    strategy.write_text(text.replace("train {", f"train {{ {train}") + more)
    plan = folder / f"{name}.json"
    subprocess.run(["dist-opt", fixtures / "gpt2-tiny.mlir", f"--strategy={strategy}", f"--plan={plan}",
                    f"--explain={folder}/explain.txt"], check=True)
    return json.loads(plan.read_text())


def merge(more=""):
    return f"gradient_accumulation {{ steps: {STEPS} {more} }}"


def is_gradient(conversion):
    """True if the conversion reduces a gradient over the batch."""
    return "dp" in conversion["axes"] and conversion["role"] == "backward" and "partial" in conversion["reason"]


def sum_bytes(plan, wanted):
    """The bytes that an accumulation sends, or a step without one."""
    program, = plan["programs"]
    return sum(conversion["bytes"] * conversion.get("times", 1) for conversion in program["conversions"] if wanted(conversion))


for name, more in [("dp2", ""), ("dp2-tp2", ""), ("dp2-tp2-sequence", ""), ("dp2", 'zero { axes: "dp" stage: 2 }'),
                   ("dp2-tp2", 'zero { axes: "dp" stage: 3 }'), ("dp2", "reduce { scale: BEFORE communicate: BF16 }")]:
    plain, merged = compile_plan(name, more=more), compile_plan(name, merge(), more)
    program, = merged["programs"]
    what = f"{name} with \"{more}\""
    check(f"{what}: gradients travel so often", {c["times"] for c in program["conversions"] if is_gradient(c)}, {1})
    check(f"{what}: so many gradients travel", sum(map(is_gradient, program["conversions"])),
          sum(map(is_gradient, plain["programs"][0]["conversions"])))
    check(f"{what}: bytes of gradients", sum_bytes(merged, is_gradient), sum_bytes(plain, is_gradient))
    check(f"{what}: forward travels so often", {c["times"] for c in program["conversions"] if c["role"] == "forward"}, {STEPS})
    total = merged["totals"]
    check(f"{what}: totals", round(total["accumulation"]["bytes"]), round(sum_bytes(merged, lambda _: True)))
    check(f"{what}: mean", round(total["bytes"] * STEPS), round(total["accumulation"]["bytes"]))
    check(f"{what}: conversions", total["accumulation"]["conversions"], sum(c["times"] for c in program["conversions"]))
    variants = program["variants"]
    check(f"{what}: programs", [(v["first_step"], v["last_step"]) for v in variants], [(0, 0), (1, 2), (3, 3)])
    check(f"{what}: launches before the update", variants[0]["launches"], variants[1]["launches"])
    if not variants[2]["launches"] > variants[0]["launches"]:
        sys.exit(f"{what}: the update launches nothing")

# Parameters that all ranks have are gathered when they were updated; those that are kept by slices, for every step.
for stage, times in ((1, {1}), (2, {1}), (3, {STEPS})):
    program, = compile_plan("dp2", merge(), f'zero {{ axes: "dp" stage: {stage} }}')["programs"]
    check(f"stage {stage}: parameters are gathered so often",
          {c["times"] for c in program["conversions"] if c["kind"] == "c_allgather"}, times)

# A partial sum of gradients in 16 bit is added up in 32, whole, and so it travels; a part of the reduced one is half as large.
for more, dtype, times, parts in [("", "f32", 1, 1), ("reduce: EVERY_STEP", "bf16", STEPS, 2)]:
    program, = compile_plan("dp2", "precision { compute: BF16 } " + merge(more), 'zero { axes: "dp" stage: 2 }')["programs"]
    found = {(c["dtype"], c["times"]) for c in program["conversions"] if is_gradient(c)}
    check(f"gradients in bf16, {more or 'AT_UPDATE'}", found, {(dtype, times)})
    check(f"accumulators, {more or 'AT_UPDATE'}", program["memory"]["accumulators"] * parts, program["memory"]["parameters"])
