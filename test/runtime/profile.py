# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that --profile counts what --trace of the same steps shows: the same time per kind of work, the operations that shapes say, a reason for work that
is slow, and a table whose shares add up to a step."""
import collections
import json
import pathlib
import re
import sys

from commands import run

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
RANKS, STEPS, TRACED = 2, 3, 2

strategy = folder / "strategy.textproto"
strategy.write_text("""
mesh { axes { name: "dp" size: 2 } }
model { parameters: "p.*" batch { inputs: "ids" } }
init { match: "*.scale" constant: 1 }
init { match: "*" normal { stddev: 0.02 } }
train { adamw { lr { constant: 1e-3 } } }
data { axes: "dp" }
""")
run("dist-opt", fixtures / "gpt2-tiny.mlir", f"--strategy={strategy}", f"--emit={folder}/package", "--quiet")


def profile(name, *options):
    run("dist-run", f"{folder}/package", f"--data=ids={__file__}:u8", f"--steps={STEPS}", f"--trace-steps={TRACED}", f"--trace={folder}/trace.json",
        f"--profile={folder}/{name}", "--quiet", *options)
    return (folder / name).read_text(), json.loads((folder / "trace.json").read_text())["traceEvents"]


def expect_near(what, found, expected):
    if abs(found - expected) > 1e-6 + 1e-3 * abs(expected):
        sys.exit(f"{what}: {found}, but the trace has {expected}")


text, events = profile("profile.json")
table = json.loads(text)

# The trace has an event for each instruction on each rank and step, in microseconds.
traced = collections.Counter()
for event in events:
    if event.get("cat") in ("kernel", "product", "copy", "collective"):
        traced[event["cat"]] += event["dur"] * 1e-6 / (RANKS * TRACED)
        traced["calls of " + event["cat"]] += 1 / (RANKS * TRACED)
kinds = {"kernel": "kernel", "product": "product", "copy": "copy", "c_allreduce": "collective"}
counted = collections.Counter()
for row in table["rows"]:
    kind = kinds.get(row["work"].split()[0])
    if kind:
        counted[kind] += row.get("moving_seconds", row["seconds"])
        counted["calls of " + kind] += row["calls"]
for kind in ("kernel", "product", "collective"):
    if counted["calls of " + kind] == 0:
        sys.exit(f"the profile has no {kind}")
for name, value in traced.items():
    expect_near(name, counted[name], value)

# A product does 2 · batch · m · n · k operations in each call.
for row in table["rows"]:
    shape = re.match(r"product f32 ([0-9x]+)", row["work"])
    if shape:
        operations = 2
        for size in shape[1].split("x"):
            operations *= int(size)
        expect_near(row["work"], row["flops"], operations * row["calls"])
        if not 0 < row["share_of_best"] < 10:
            sys.exit(f"{row['work']} reaches {row['share_of_best']} of the best rate")
# Rows of a hundredth of a step are measured alone, and have a limit where they are slow.
limits = {"ranks", "memory", "cold", "calls", "shape", "operations", "order"}
for row in table["rows"]:
    is_large = row["seconds"] >= 0.01 * table["step_seconds"]
    is_slow = row["work"].startswith("c_") or row.get("share_of_best", 1) < 0.6
    if (row.get("limit") in limits) != (is_large and is_slow):
        sys.exit(f"{row['work']} takes {row['seconds']} s and has the limit {row.get('limit')}")
    is_alone = is_large and row["work"].split()[0] in ("product", "kernel", "copy")
    if is_alone and not 0 < row["alone_seconds"] < 10 * row["seconds"]:
        sys.exit(f"{row['work']} takes {row['seconds']} s, and {row['alone_seconds']} s alone")

if set(table["best"]["flops_per_second"]) != {"f32"} or table["best"]["bytes_per_second"] <= 0:
    sys.exit(f"best rates are {table['best']}")

# The shares of a step in the text, the last row being the rest.
text, _ = profile("profile.txt")
lines = text.splitlines()
header = next(i for i, line in enumerate(lines) if "% step" in line)
rows = [line for line in lines[header + 1:] if line.split()[0].strip(":") not in limits]
shares = [float(line.split()[1]) for line in rows]
for line in lines[header + 1 + len(rows):]:
    if not any(f"  {line.split(':')[0]} " in row for row in rows):
        sys.exit(f"no row has the limit that the text explains: {line}")
if abs(sum(shares) - 100) > 0.1 * len(shares):
    sys.exit(f"the shares of a step are {sum(shares)} % in all:\n{text}")
print(text)

# The serial program, and processes that profile together.
profile("serial.txt", "--serial")
profile("processes.txt", "--nproc=2")
