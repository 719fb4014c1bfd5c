# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that graphs without debug locations compile to what they compile to with them: blocks that are found by structure hold the same operations, and pipelines, recompute
and ZeRO, of networks and of whole training steps, have plans of the same bytes.

Names of arguments stay, so that strategies can say what is a parameter; one graph loses these too.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

import debug_locations

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def compile_(graph, strategy, *options):
    (folder / "strategy.textproto").write_text(strategy)
    done = subprocess.run(["dist-opt", graph, f"--strategy={folder}/strategy.textproto", "--quiet", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{graph} with {strategy}\n{done.stderr}")
    return done


def get_graphs(name):
    """The graph as it is exported, and without locations."""
    stripped = folder / f"{name}.mlir"
    stripped.write_text(debug_locations.strip((fixtures / f"{name}.mlir").read_text()))
    return fixtures / f"{name}.mlir", stripped


def get_blocks(graph):
    """The block of every operation of a network, its constants and reads apart; of those outside of blocks none."""
    blocks = []
    for line in compile_(graph, 'model { parameters: "p.*" }', "--to=import").stdout.split("\n"):
        if re.match(r"\s+%", line) and not re.search(r"net\.(constant|read)\b", line):
            scope = re.search(r'net\.scope = "((?:[^".]*\.)*?[^".]*\d)(?:\.[^"]*)?"', line)
            blocks.append(scope and scope[1])
    return blocks


def check_blocks(name, blocks, outside=0, among=None):
    """That the blocks found are those that scopes say, `blocks` of them, but for `outside` operations beside them; of the scopes `among` alone."""
    said, found = (get_blocks(graph) for graph in get_graphs(name))
    if among:
        said = [block if block in among else None for block in said]
    pairs = collections.Counter(zip(said, found, strict=True))
    same = {said: found for said, found in pairs if said and found}
    wrong = {pair: count for pair, count in pairs.items() if same.get(pair[0]) != pair[1]}
    if len(same) != blocks or len(set(same.values())) != blocks or sum(wrong.values()) != outside:
        sys.exit(f"{name}: of {blocks} blocks, {same} were found, and otherwise {wrong}")


def get_plan(graph, strategy):
    """The communication, computation and memory of the plan, without names."""
    plan = folder / "plan.json"
    compile_(graph, strategy, f"--plan={plan}")
    programs = json.loads(plan.read_text())["programs"]
    keep = ("kind", "axes", "bytes", "elements")
    return [(program["persistent_bytes"], program["live_bytes"], sorted(json.dumps({key: conversion.get(key) for key in keep}) for conversion in program["conversions"])) for program in programs]


def check_plan(name, strategy):
    with_names, without = (get_plan(graph, strategy) for graph in get_graphs(name))
    if with_names != without:
        differences = [(*a[:2], *b[:2], len(a[2]), len(b[2])) for a, b in zip(with_names, without)]
        sys.exit(f"{name} with {strategy}: plans differ (bytes of memory, conversions): {differences}")


check_blocks("gpt2-8", 8)
# The extended mask is made between the embedding and the first block.
check_blocks("bert-tiny-f64", 2, outside=2)
for name, blocks in (("gpt2-tiny", 2), ("vit-tiny-f64", 2), ("t5-tiny-f64", 4), ("llama-tiny-f64", 2), ("opt-tiny-f64", 2)):
    check_blocks(name, blocks)
# The other blocks have a convolution at their side, or other sizes.
check_blocks("resnet-tiny-f64", 2, among={"stage0_block0", "stage0_block1"})
# A loop stays a loop, and one layer repeats nothing.
check_blocks("scan-gpt-tiny-f64", 0)
check_blocks("mixture-tiny-f64", 0, among={"none"})

MODEL, TRAIN = 'model { parameters: "p.*" batch { inputs: "ids" } }', "train { adamw { lr { constant: 1e-3 } } }"
DATA, PIPELINE = 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" }', 'mesh { axes { name: "pp" size: 2 } } pipeline { axis: "pp" micro_batches: 2 }'
check_plan("gpt2-tiny", f"{MODEL} {TRAIN} {PIPELINE}")
check_plan("gpt2-tiny", f"{MODEL} train {{ sgd {{}} recompute {{}} }}")
for zero in ("", 'zero { axes: "dp" stage: 1 }', 'zero { axes: "dp" stage: 3 }'):
    check_plan("gpt2-adamw-step", f"{MODEL} {DATA} {zero}")
check_plan("gpt2-adamw-step", f"{MODEL} {PIPELINE}")

# Without any names the blocks are numbered, and a remark says how to get names.
parameters = " ".join(f'parameters: "arg{number}"' for number in range(28))
nameless = f'model {{ {parameters} batch {{ inputs: "arg28" }} }} train {{ adamw {{ lr {{ constant: 1e-3 }} }} }} {PIPELINE}'
if get_plan(fixtures / "gpt2-tiny.no-names.mlir", nameless) != get_plan(fixtures / "gpt2-tiny.mlir", f"{MODEL} {TRAIN} {PIPELINE}"):
    sys.exit("a graph without any names is cut otherwise")
done = compile_(fixtures / "gpt2-tiny.no-names.mlir", nameless.replace("micro_batches: 2", 'micro_batches: 2 stages { ends_with: "block0" }'))
remark = ("remark: the graph has no names: its arguments are arg0, arg1 and so on, and its blocks are found by structure; JAX prints names with "
          "as_text(debug_info=True)")
if done.stderr.count(remark) != 1:
    sys.exit(f"there is no remark on names but\n{done.stderr}")
