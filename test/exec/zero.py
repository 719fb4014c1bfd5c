#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains an 8-layer GPT-2 on 32 ranks of one process with sharded data parallelism, in every stage, ownership and prefetch.

usage: zero.py EXAMPLE [--all | --only STAGE/OWNERSHIP/PREFETCH]

EXAMPLE is a strategy of examples/zero. Three distances of prefetching are tried with sharding32, one with the others, all where
--all is given. Each variant is compared with the serial program (`dist-run --check-serial`), and its plan with
formulas of the network, whose parameters are read from the exported graph. With P bytes of parameters on a rank after tensor
parallelism, n ranks in the group and m outer replicas, a step sends

  gradients    P (n-1)/n in the group, and 2 P/n (m-1)/m of what a rank has left, between replicas
  parameters   P (n-1)/n after the update (stages 1 and 2); what forward reads and what backward reads, each (n-1)/n (stage 3)

and keeps 2 P/n of Adam's state, and P, or P/n of it (stage 3), of parameters. Backward reads the kernels, the scales and the head, not the
biases and positions. The norm of all gradients takes one scalar exchange, the loss another.
"""
import argparse
import collections
import fnmatch
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GRAPH = ROOT / "test" / "fixtures" / "gpt2-8.mlir"
# Megabytes of fetched parameters that may be alive, in the variants that ask for it.
LIVE = 0.2
TEXT = "/usr/share/common-licenses/GPL-3"


def fail(message):
    sys.exit(f"{NAME}: {message}")


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        fail(f"{' '.join(str(word) for word in command)}\nended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def read_parameters(strategy):
    """Bytes of every parameter on a rank after tensor parallelism, by name, in the order of the graph."""
    header = next(line for line in GRAPH.read_text().splitlines() if "func.func public @main" in line)
    axes = dict(re.findall(r'axes \{ name: "(\w+)" size: (\d+) \}', strategy))
    split = re.findall(r'split \{ match: "([^"]*)"', strategy)
    parameters = collections.OrderedDict()
    for shape, path in re.findall(r'tensor<([\dx]*)xf32> loc\("p(\[[^"]*\])"\)', header):
        name = "p." + ".".join(re.findall(r"\['([^']*)'\]", path))
        size = 4 * math.prod(int(extent) for extent in shape.split("x"))
        if any(fnmatch.fnmatch(name, glob) for glob in split):
            size //= int(axes["tp"])
        parameters[name] = size
    return parameters, {name: int(size) for name, size in axes.items()}


def read_in_backward(name):
    return name.endswith(("kernel", "scale", "wte.embedding"))


def expect(what, actual, expected):
    if abs(actual - expected) > 0.5:
        fail(f"{what} are {actual}, not {expected}")


def count_bytes(plan, kinds, axes):
    """Bytes that a rank sends on average in conversions of `kinds` over exactly `axes`."""
    ranks = sum(program["ranks"] for program in plan["programs"])
    return sum(program["ranks"] / ranks * conversion["bytes"] for program in plan["programs"]
               for conversion in program["conversions"] if conversion["kind"] in kinds and conversion["axes"] == axes and
               conversion["elements"] > 1)


def check_plan(plan, parameters, axes, stage, whole):
    n, m, total = axes["sharding"], axes.get("dp", 1), sum(parameters.values())
    share = (n - 1) / n
    reduced = count_bytes(plan, ["c_reduce" if whole else "c_reducescatter"], ["sharding"])
    expect("bytes of gradients in the group", reduced, total * share)
    fetched = count_bytes(plan, ["c_broadcast" if whole else "c_allgather"], ["sharding"])
    again = sum(size for name, size in parameters.items() if read_in_backward(name))
    expect("bytes of parameters in the group", fetched, (total + again if stage == 3 else total) * share)
    if m > 1:
        expect("bytes of gradients between replicas", count_bytes(plan, ["c_allreduce"], ["dp"]), 2 * total / n * (m - 1) / m)
    scalars = {conversion["location"] for program in plan["programs"] for conversion in program["conversions"]
               if conversion["elements"] == 1}
    if len(scalars) > 2:
        fail(f"{len(scalars)} scalars are exchanged, not the loss and the norm alone")
    if not whole:
        kept = collections.Counter()
        for variable in plan["variables"]:
            kept[variable["kind"]] += variable["bytes_per_rank"]
        expect("bytes of parameters on a rank", kept["parameter"], total / n if stage == 3 else total)
        expect("bytes of state on a rank", kept["optimizer_state"], 2 * total / n)


def check(example, folder, stage, ownership, prefetch):
    text = (ROOT / "examples" / "zero" / f"{example}.textproto").read_text()
    # The model is small, and so are the buckets and segments.
    zero = f'zero {{ axes: "sharding" stage: {stage} ownership: {ownership} bucket_megabytes: 0.05'
    if prefetch is not None:
        zero += f" prefetch: {prefetch} segment {{ megabytes: 0.1 }}"
        zero += f" max_live_megabytes: {LIVE}" if prefetch == 3 else ""
    zero += " }"
    strategy = re.sub(r"zero \{.*?\n\}", zero, text, flags=re.S)
    (folder / "strategy.textproto").write_text(strategy)
    run("dist-opt", GRAPH, f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", f"--plan={folder}/plan.json",
        "--quiet")
    plan = json.loads((folder / "plan.json").read_text())
    # Segments fetch what several of them read several times; the volumes are those of one segment each.
    if prefetch is None:
        check_plan(plan, *read_parameters(strategy), stage, ownership == "WHOLE")
    fetched = max(program["memory"]["fetched"] for program in plan["programs"])
    if prefetch == 3 and not 0 < fetched <= LIVE * 10**6:
        fail(f"{fetched} bytes of fetched parameters are alive at once, more than {LIVE} MB")
    run("dist-run", folder / "package", f"--data=ids={TEXT}:u8", "--steps=2", "--check-serial", "--quiet")
    print(f"{NAME}: agrees with the serial program, peak {max(p['peak_bytes'] for p in plan['programs'])} bytes")
    return max(program["peak_bytes"] for program in plan["programs"])


def main():
    global NAME
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("example")
    parser.add_argument("--only")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    distances = (None, 0, 1, 2, 3) if arguments.all or arguments.only else (None, 0, 3) if arguments.example == "sharding32" else (None,)
    variants = [(stage, ownership, prefetch) for ownership in ("SLICES", "WHOLE") for stage in (1, 2, 3)
                for prefetch in (distances if stage == 3 else (None,))]
    for ownership in ("SLICES", "WHOLE"):
        peaks = {}
        for stage, owned, prefetch in variants:
            NAME = f"{stage}/{owned}/{prefetch}"
            if owned != ownership or (arguments.only and arguments.only != NAME):
                continue
            with tempfile.TemporaryDirectory() as folder:
                peak = check(arguments.example, pathlib.Path(folder), stage, owned, prefetch)
            # Segments, fetched when they are needed, are what stage 3 needs least memory with.
            peaks[stage] = min(peak, peaks.get(stage, peak))
        if arguments.example == "sharding32" and len(peaks) == 3 and not peaks[1] > peaks[2] > peaks[3]:
            fail(f"the peaks of the stages do not fall: {peaks}")


if __name__ == "__main__":
    main()
