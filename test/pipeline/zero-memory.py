# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %source %tmp
"""Sharded data parallelism takes less memory the more it shards, and overlap costs little.

A transformer of 8 layers on 4 ranks, with so few tokens that gradients and not activations fill the arena: its peak falls from plain data parallelism to
stage 1, 2 and 3, and what falls is what the stage no longer keeps whole.
"""
import json
import math
import pathlib
import subprocess
import sys

source, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
sys.path.insert(0, str(source / "tools/dev/bench"))
import transformer  # noqa: E402

transformer.BATCH, transformer.SEQUENCE = 4, 16
LAYERS = 8
folder.mkdir(parents=True, exist_ok=True)
graph = folder / "graph.mlir"
with graph.open("w") as file:
    network, results = transformer.make(LAYERS, forward_only=True)
    file.write(network.text(results))
strategy = """mesh { axes { name: "dp" size: 4 } }
model { parameters: "p.*" batch { inputs: "ids" inputs: "labels" } }
train { adamw { lr { constant: 1e-3 } } RECOMPUTE }
data { axes: "dp" }
"""


def compile_stage(stage, *flags, recompute=""):
    path = folder / f"{stage}.textproto"
    segment = "segment { megabytes: 4 }" if stage == 3 else ""
    zero = f'zero {{ axes: "dp" stage: {stage} bucket_megabytes: 2 {segment} }}\n' if stage else ""
    path.write_text(strategy.replace("RECOMPUTE", recompute) + zero)
    plan = folder / f"{stage}.json"
    subprocess.run(["dist-opt", graph, f"--strategy={path}", f"--plan={plan}", "--to=schedule", "--quiet", *flags], check=True)
    return json.loads(plan.read_text())


plans = [compile_stage(stage) for stage in range(4)]
peaks = [plan["programs"][0]["peak_bytes"] for plan in plans]
print("peaks", peaks)
assert peaks[0] > peaks[1] > peaks[2] > peaks[3], peaks
size = {variable["name"]: 4 * math.prod(variable["shape"])
        for variable in plans[0]["variables"] if variable["kind"] == "parameter"}
parameters = sum(size.values())
# Stage 1 has a quarter of the two moments, stage 2 gives up most of the whole gradients, stage 3 most of the parameters.
assert peaks[0] - peaks[1] > 0.9 * 2 * parameters * 3 / 4 - 0.5 * parameters, peaks
assert peaks[1] - peaks[2] > 0.25 * parameters, peaks
assert peaks[2] - peaks[3] > 0.25 * parameters, peaks
# Starting early keeps two buckets of gradients and the one that leaves, and fetches two segments of parameters; without overlap each is sent or
# fetched right when it is needed.
BUCKETS, SEGMENTS = 3 * 2 * 10**6, 2 * 4 * 10**6
assert peaks[2] <= compile_stage(2, "--no-optimize")["programs"][0]["peak_bytes"] + BUCKETS, peaks
assert peaks[3] <= compile_stage(3, "--no-optimize")["programs"][0]["peak_bytes"] + BUCKETS + SEGMENTS, peaks

# Recomputation starts no fetch early, and leaves less to keep.
again = compile_stage(3, recompute="recompute { }")["programs"][0]
assert again["memory"]["fetched"] == plans[3]["programs"][0]["memory"]["fetched"], again["memory"]
assert again["peak_bytes"] < peaks[3], (again["peak_bytes"], peaks)

# The plan's own account, against the network: state and parameters are quarters, whole gradients are held only until they leave, and every start has one wait
# behind it.
memory = [plan["programs"][0]["memory"] for plan in plans]
for stage in range(4):
    assert memory[stage]["optimizer_state"] == 2 * parameters // (4 if stage >= 1 else 1), memory
    assert memory[stage]["parameters"] == parameters // (4 if stage == 3 else 1), memory
    assert (memory[stage]["fetched"] > 0) == (stage == 3), memory
    program = plans[stage]["programs"][0]
    started, waited = {}, set()
    for event in program["timeline"]:
        if event["event"] == "start":
            started[event["launch"]] = event["position"]
        elif event["event"] == "wait":
            assert event["launch"] not in waited and started[event["launch"]] < event["position"], event
            waited.add(event["launch"])
    assert waited == set(started) and waited, (stage, started, waited)
    assert program["launches"] < len(program["conversions"]) / 2, program["launches"]
assert memory[1]["gradients"] >= parameters, memory
assert memory[2]["gradients"] < parameters / 2, memory
assert memory[3]["fetched"] < parameters / 2, memory
