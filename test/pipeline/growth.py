#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that graphs with many of one thing compile in little time and memory, or are refused at their place.

Each graph is compiled within a processor time and a memory that what is quadratic in the number does not keep.
"""
# UNSUPPORTED: sanitizer
# RUN: %python %s %tmp
import pathlib
import resource
import subprocess
import sys

import graph_shapes

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
SECONDS, MEGABYTES = 6, 400
TRAIN = """mesh { axes { name: "dp" size: 2 } } data { axes: "dp" } model { parameters: "p.*" batch { inputs: "x" } }
train { adamw { lr { constant: 1e-3 } } }"""


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def compile_graph(name, text, *arguments):
    graph, strategy = folder / f"{name}.mlir", folder / "s.textproto"
    graph.write_text(text, encoding="utf-8")
    strategy.write_text(TRAIN if name == "arguments" else 'mesh { axes { name: "dp" size: 2 } }', encoding="utf-8")
    return subprocess.run(["dist-opt", graph, f"--strategy={strategy}", *arguments], preexec_fn=limit, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)


def expect_success(name, count, *arguments):
    result = compile_graph(name, graph_shapes.SHAPES[name](count), *(arguments or ("--to=schedule",)))
    assert result.returncode == 0, f"{count} {name}: {result.returncode} {result.stderr[:2000]}"
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    assert megabytes < MEGABYTES, f"{count} {name}: {megabytes:.0f} MB"


# The number of each is far beyond what n² of anything would leave time or memory for.
expect_success("arguments", 1000)
expect_success("results", 8000)
expect_success("operands", 8000)
expect_success("sorted", 400)
expect_success("concatenate", 4000)
expect_success("concatenate", 600, f"--emit={folder / 'concatenated'}", "--no-serial")
expect_success("power", 100, f"--emit={folder / 'powers'}", "--no-serial")

refused = compile_graph("rank", graph_shapes.SHAPES["rank"](1_000_000), "--to=import")
assert refused.returncode == 1, refused.returncode
message = "rank.mlir:1:44: error: a shape has more than 64 dimensions here, the most of a tensor"
assert message in refused.stderr, refused.stderr[:2000]
# Between blanks the parser takes them one by one; then the types are what is looked at.
refused = compile_graph("rank", graph_shapes.SHAPES["rank"](65).replace("1x", "1x "), "--to=import")
assert refused.returncode == 1 and "is of a tensor of rank 65, which has more than 64 dimensions" in refused.stderr, refused.stderr[:2000]
