# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Slices take memory, and nothing else: what is sent stays the same, and the activations of one slice are alive at a time."""
import json
import pathlib
import subprocess
import sys

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
STRATEGY = """mesh {{ axes {{ name: "dp" size: 2 }} }}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} range {{ input: "ids" min: 0 max: 97 }} }}
train {{ adamw {{ lr {{ constant: 1e-3 }} }} gradient_accumulation {{ slices: {slices} reduce: {reduce} }} }}
data {{ axes: "dp" }}
{more}"""


def make_plan(folder, slices, more="", reduce="AT_UPDATE"):
    (folder / "s.textproto").write_text(STRATEGY.format(slices=slices, more=more, reduce=reduce))
    subprocess.run(["dist-opt", FIXTURES / "gpt2-tiny-f64.mlir", f"--strategy={folder}/s.textproto", f"--plan={folder}/plan.json",
                    "--quiet"], check=True)
    return json.loads((folder / "plan.json").read_text())


def get_sums(plan):
    """Bytes of the accumulators that a rank has."""
    return sum(variable["bytes_per_rank"] for variable in plan["variables"] if variable["kind"] == "accumulator")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    whole, halves, quarters = (make_plan(folder, slices) for slices in (1, 2, 4))
    programs = [plan["programs"][0] for plan in (whole, halves, quarters)]
    peak, half, quarter = (program["peak_bytes"] - program["persistent_bytes"] for program in programs)
    sums = get_sums(quarters)
    print(f"temporary bytes: {peak}, {half} with 2 slices and {quarter} with 4; the sums have {sums}")
    if not quarter < half < peak:
        sys.exit("the memory does not fall with the number of slices")
    parameters = sum(variable["bytes_per_rank"] for variable in whole["variables"] if variable["kind"] == "parameter")
    loss = 8
    if sums != parameters + loss:
        sys.exit(f"the sums take {sums} bytes, those of {parameters} of parameters and a loss should")
    for plan in (halves, quarters):
        if plan["totals"] != whole["totals"]:
            sys.exit(f"slices send {plan['totals']}, without them it is {whole['totals']}")
        # One program for the first slice, one for the last, one for all between.
        variants = [(variant["first_slice"], variant["last_slice"]) for variant in plan["programs"][0]["variants"]]
        print(f"variants: {variants}")
    if variants != [(0, 0), (1, 2), (3, 3)]:
        sys.exit(f"four slices have the variants {variants}")
    # Ranks that keep parts of gradients keep parts of their sums where every slice is reduced, which sends each of them.
    sharded, scattered = (make_plan(folder, 4, 'zero { axes: "dp" stage: 2 }', reduce) for reduce in ("AT_UPDATE", "EVERY_STEP"))
    sent, often = (plan["totals"]["by_kind"]["c_reducescatter"]["bytes"] for plan in (sharded, scattered))
    print(f"sums: {get_sums(sharded)} bytes, {get_sums(scattered)} scattered; reduced: {sent} bytes, {often} scattered")
    if often != 4 * sent or not get_sums(scattered) < 0.6 * get_sums(sharded):
        sys.exit("sums are not kept in parts, or reduced at other times than for every slice")


if __name__ == "__main__":
    main()
