# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests what a plan says of pipelines: what is kept for how many micro-batches is that of the closed forms, what crosses is one activation
and one cotangent per boundary and micro-batch, parameters that are kept are fetched once, and the package does not grow with the micro-batches.

With p ranks and m micro-batches rank r keeps what forward leaves to backward for m micro-batches with fill-drain, for min(p - r, m) with
1F1B, and for min(p, m) with ZB-H1, which counts what the gradients of weights still need (Huang et al. 2019, Narayanan et al. 2019, Qi et al. 2024).
"""
import json
import math
import pathlib
import subprocess
import sys

GRAPH = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "gpt2-24-f64.mlir"
BATCH, SEQUENCE, WIDTH, VOCABULARY, ELEMENT = 112, 8, 32, 97, 8


def compile_plan(folder, order, ranks, micro, *options, keep=None):
    data = ('axes { name: "dp" size: 2 } ', 'data { axes: "dp" } zero { axes: "dp" stage: 3 }') if keep else ("", "")
    (folder / "strategy.textproto").write_text(
        f'mesh {{ axes {{ name: "pp" size: {ranks} }} {data[0]}}} {data[1]} model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}\n'
        f'train {{ sgd {{ lr {{ constant: 0.1 }} }} }}\n'
        f'pipeline {{ axis: "pp" micro_batches: {micro} schedule: {order.upper()} {f"keep: {keep}" if keep else ""} }}\n')
    command = ["dist-opt", str(GRAPH), f"--strategy={folder}/strategy.textproto", f"--plan={folder}/plan.json", "--quiet", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return json.loads((folder / "plan.json").read_text())


def count_kept(plan, rank):
    """The most micro-batches for which something is kept that a block makes in forward: its attention's weights are read by backward alone."""
    values = plan["pipeline"]["between_works"][rank]["values"]
    return max(value["slots"] for value in values if ".mlp.c_fc" in value["value"])


def check_kept(folder):
    forms = {"fill_drain": lambda p, r, m: m, "one_f_one_b": lambda p, r, m: min(p - r, m), "zb_h1": lambda p, r, m: min(p, m)}
    for order, form in forms.items():
        for ranks, micro in ((2, 4), (4, 2), (4, 8)):
            plan = compile_plan(folder, order, ranks, micro, "--to=schedule", "-o", "/dev/null")
            for rank in range(ranks):
                kept, expected = count_kept(plan, rank), form(ranks, rank, micro)
                if kept != expected or plan["pipeline"]["in_flight"][rank] != expected:
                    sys.exit(f"{order} of {ranks} x {micro}: rank {rank} keeps {kept}, in flight are {plan['pipeline']['in_flight'][rank]}, not {expected}")
    print("as many micro-batches are kept as the closed forms say")


def check_sends(folder):
    ranks, micro = 4, 8
    plan = compile_plan(folder, "one_f_one_b", ranks, micro, "--to=schedule", "-o", "/dev/null")
    sends = [conversion for program in plan["programs"] for conversion in program["conversions"] if conversion["kind"] == "c_send"]
    crossing = {(send["value"], send["role"], send["reason"]): send for send in sends}
    boundary = BATCH // micro * SEQUENCE * WIDTH
    sizes = sorted((send["elements"], send.get("times", 1)) for send in crossing.values())
    # Two for each boundary; the tied embedding once and what it contributes to its gradient once.
    expected = sorted([(boundary, micro)] * (2 * (ranks - 1)) + [(VOCABULARY * WIDTH, 1)] * 2)
    if sizes != expected:
        sys.exit(f"sent are {sizes}, expected {expected}")
    print("what is sent is one activation and one cotangent per boundary and micro-batch, and the tied weight once each way")


def check_fetches(folder):
    ranks, micro = 2, 4
    fetched = {}
    for keep in ("TASK", "STEP"):
        plan = compile_plan(folder, "one_f_one_b", ranks, micro, "--to=schedule", "-o", "/dev/null", keep=keep)
        fetched[keep] = [(gather["elements"], gather.get("times", 1)) for program in plan["programs"] for gather in program["conversions"]
                         if gather["kind"] == "c_allgather"]
    split = sorted((math.prod(variable["shape"]), 1) for variable in plan["variables"]
                   if variable["kind"] == "parameter" and '["dp"]' in variable["placement"])
    if sorted(fetched["STEP"]) != split or not split:
        sys.exit(f"{len(fetched['STEP'])} are kept, {len(split)} are the parameters")
    if {times for _, times in fetched["TASK"]} != {micro} or len(fetched["TASK"]) <= len(split):
        sys.exit(f"each task fetches {len(fetched['TASK'])}")
    print(f"{len(split)} parameters are fetched once where they are kept, by {len(fetched['TASK'])} gathers for each micro-batch where not")


def check_size(folder):
    sizes = {}
    for micro in (4, 56):
        package = folder / f"package{micro}"
        compile_plan(folder, "one_f_one_b", 4, micro, f"--emit={package}")
        sizes[micro] = sum(path.stat().st_size for path in package.iterdir())
    if sizes[56] > 1.1 * sizes[4]:
        sys.exit(f"the package of 56 micro-batches has {sizes[56]} bytes, that of 4 has {sizes[4]}")
    print(f"the package of 56 micro-batches is {sizes[56] / sizes[4]:.3f} times that of 4")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    check_kept(folder)
    check_sends(folder)
    check_fetches(folder)
    check_size(folder)


if __name__ == "__main__":
    main()
