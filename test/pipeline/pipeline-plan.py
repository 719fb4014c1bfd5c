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
import re
import subprocess
import sys

import numpy

GRAPH = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "gpt2-24-f64.mlir"
BATCH, SEQUENCE, WIDTH, VOCABULARY, ELEMENT = 112, 8, 32, 97, 8


def compile_plan(folder, order, ranks, micro, *options, keep=None):
    data = ('axes { name: "dp" size: 2 } ', 'data { axes: "dp" } zero { axes: "dp" stage: 3 }') if keep else ("", "")
    (folder / "strategy.textproto").write_text(
        f'mesh {{ axes {{ name: "pp" size: {ranks} }} {data[0]}}} {data[1]} model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}\n'
        f'init {{ match: "*" normal {{ stddev: 0.02 }} }} train {{ sgd {{ lr {{ constant: 0.1 }} }} }}\n'
        f'pipeline {{ axis: "pp" micro_batches: {micro} schedule: {order.upper()} {f"keep: {keep}" if keep else ""} }}\n')
    command = ["dist-opt", str(GRAPH), f"--strategy={folder}/strategy.textproto", f"--plan={folder}/plan.json", "--quiet", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return json.loads((folder / "plan.json").read_text())


def count_kept(plan, rank):
    """The most micro-batches for which something is kept that a block makes in forward: its attention's weights are read by backward alone."""
    values = plan["pipeline"]["between_actions"][rank]["values"]
    return max(value["slots"] for value in values if re.search(r"\.(attn|mlp)\.", value["value"]))


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


def check_bytes(folder):
    """Compares the bytes sent with a closed form: each micro-batch crosses every boundary in both directions, sent by one of `ranks` ranks."""
    micro = 4
    for ranks in (3, 4):
        plan = compile_plan(folder, "one_f_one_b", ranks, micro, "--to=optimize", "-o", "/dev/null")
        boundary, table = BATCH // micro * SEQUENCE * WIDTH * ELEMENT, VOCABULARY * WIDTH * ELEMENT
        expected = (2 * (ranks - 1) * micro * boundary + 2 * table) / ranks
        found = plan["totals"]["by_kind"]["c_send"]["bytes"]
        if abs(found - expected) > 1e-6 * expected:
            sys.exit(f"{ranks} stages: a rank sends {found} bytes in the mean, not {expected}")
        for send in (conversion for program in plan["programs"] for conversion in program["conversions"] if conversion["kind"] == "c_send"):
            if send["bytes"] != send["elements"] * ELEMENT / ranks:
                sys.exit(f"{ranks} stages: a send of {send['elements']} elements has {send['bytes']} bytes")
    print("what is sent has the bytes of the closed form on 3 and 4 stages")


def check_trace(folder, package, ranks):
    """The bytes of all collectives that a run notes, against those of the plan. A send is noted at both of its ends."""
    numpy.save(folder / "ids.npy", numpy.arange(BATCH * SEQUENCE, dtype=numpy.int32).reshape(BATCH, SEQUENCE) % VOCABULARY)
    subprocess.run(["dist-run", package, "--data", f"ids={folder}/ids.npy", "--steps=1", f"--trace={folder}/trace.json", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    noted = {}
    for event in json.loads((folder / "trace.json").read_text())["traceEvents"]:
        kind = event["name"].split()[0]
        if kind.startswith("c_") and "bytes" in event.get("args", {}):
            noted[kind] = noted.get(kind, 0) + event["args"]["bytes"] / (2 if kind == "c_send" else 1)
    planned = {kind: total["bytes"] * ranks for kind, total in json.loads((folder / "plan.json").read_text())["totals"]["by_kind"].items()}
    if noted.keys() != planned.keys() or any(abs(noted[kind] - planned[kind]) > 1e-6 * planned[kind] for kind in noted):
        sys.exit(f"a run sends {noted}, the plan has {planned}")
    print(f"a run on {ranks} ranks sends as many bytes as the plan says")


def compile_bounded(folder, train, megabytes):
    """The largest arena of a GPT-2 of 8 blocks in two stages, or what the error says of it."""
    bound = f"max_megabytes: {megabytes:.6f}" if megabytes else ""
    strategy = folder / "bounded.textproto"
    strategy.write_text(
        'mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } } data { axes: "dp" } zero { axes: "dp" stage: 2 }\n'
        f'model {{ parameters: "p.*" batch {{ inputs: "ids" }} }} train {{ adamw {{ lr {{ constant: 1e-3 }} }} {train} }}\n'
        f'pipeline {{ axis: "pp" micro_batches: 4 stages {{ balanced: COST {bound} }} }}\n')
    done = subprocess.run(["dist-opt", GRAPH.parent / "gpt2-8.mlir", f"--strategy={strategy}", f"--plan={folder}/plan.json", "--quiet",
                           "--to=schedule", "-o", "/dev/null"], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return max(program["peak_bytes"] for program in json.loads((folder / "plan.json").read_text())["programs"]), None
    found = re.search(r"bounded.textproto:3:\d+: error: the arena of a rank is to have at most (\d+) bytes, but the largest has at least (\d+) "
                      r"in \d+ cuts? of the network into stages", done.stderr)
    if not found:
        sys.exit(done.stderr)
    return int(found[2]), int(found[1])


def check_bound(folder):
    """The bound on a stage is one on the arena that Schedule finds, to the byte, with and without recompute."""
    peaks = {}
    for train, share in (("", 0.9), ("recompute {}", 0.3)):
        peak, _ = compile_bounded(folder, train, None)
        peaks[train] = peak
        if compile_bounded(folder, train, peak / 1e6) != (peak, None):
            sys.exit(f"'{train}': a bound of {peak} bytes does not take the cut that has as many")
        bound = int(peak * share)
        found, refused = compile_bounded(folder, train, bound / 1e6)
        if (refused is None) != (found <= bound) or refused not in (None, bound):
            sys.exit(f"'{train}': a bound of {bound} bytes of {peak} leads to {found}, refused is {refused}")
    if not refused:
        sys.exit("nothing was refused")
    if not peaks["recompute {}"] < 0.8 * peaks[""]:
        sys.exit(f"recompute leaves {peaks}")
    print("a bound on stages is one on their arenas, to the byte")


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
        if micro == 4:
            check_trace(folder, package, 4)
        sizes[micro] = sum(path.stat().st_size for path in package.iterdir())
    if sizes[56] > 1.1 * sizes[4]:
        sys.exit(f"the package of 56 micro-batches has {sizes[56]} bytes, that of 4 has {sizes[4]}")
    print(f"the package of 56 micro-batches is {sizes[56] / sizes[4]:.3f} times that of 4")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    check_kept(folder)
    check_sends(folder)
    check_bytes(folder)
    check_bound(folder)
    check_fetches(folder)
    check_size(folder)


if __name__ == "__main__":
    main()
