# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that --trace has everything that every rank does in a step, when it did it, and in which order: held against the plan, which counts the same
things, and against what time allows: a rank computes one thing at a time, moves one thing at a time, and nothing is received before it is sent.
"""
import collections
import json
import pathlib
import sys

from commands import run

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
RANKS, STEPS, TRACED = 4, 5, 2

strategy = folder / "strategy.textproto"
strategy.write_text("""
mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } }
model { parameters: "p.*" batch { inputs: "ids" } }
init { match: "*.scale" constant: 1 }
init { match: "*" normal { stddev: 0.02 } }
train { adamw { lr { constant: 1e-3 } } clip { global_norm: 1.0 } }
data { axes: "dp" }
pipeline { axis: "pp" micro_batches: 2 }
""")
run("dist-opt", fixtures / "gpt2-8.mlir", f"--strategy={strategy}", f"--emit={folder}/package", f"--plan={folder}/plan.json")


def check_track(events, what):
    """One thing at a time, in the order in which they are listed."""
    end = 0
    for event in sorted(events, key=lambda event: event["ts"]):
        if event["ts"] < end - 0.002:
            sys.exit(f"{what}: {event['name']} begins at {event['ts']} us, before {end} us")
        end = event["ts"] + event["dur"]


def check(*options):
    data = f"--data=ids={__file__}:u8"
    metrics = folder / "metrics.jsonl"
    run("dist-run", folder / "package", data, f"--steps={STEPS}", f"--trace={folder}/trace.json", f"--trace-steps={TRACED}",
        f"--metrics={metrics}", "--quiet", *options)
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    names = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    suffix = ", measured" if options else ""
    steps = [json.loads(line)["seconds"] for line in metrics.read_text().splitlines()]
    for rank in range(RANKS):
        mine = [event for event in events if event["pid"] == names[f"rank {rank}{suffix}"] and event["ph"] == "X"]
        shown = [event for event in mine if event["cat"] == "step"]
        if [event["name"] for event in shown] != [f"step {step}" for step in range(STEPS - TRACED, STEPS)]:
            sys.exit(f"rank {rank} shows {shown}")
        for event, seconds in zip(shown, steps[-TRACED:]):
            if not 0 < event["dur"] <= seconds * 1e6:
                sys.exit(f"rank {rank}: {event['name']} takes {event['dur']} us of a step of {seconds} s")
        tracks = collections.defaultdict(list)
        for event in mine:
            if event["cat"] not in ("step", "task"):
                tracks[event["tid"]].append(event)
        for track, listed in tracks.items():
            check_track(listed, f"rank {rank}, track {track}")
        check_track([event for event in mine if event["cat"] == "task"], f"rank {rank}, tasks")
        yield rank, mine
    starts = {event["id"]: event["ts"] for event in events if event["ph"] == "s"}
    finishes = {event["id"]: event["ts"] for event in events if event["ph"] == "f"}
    if not starts or starts.keys() != finishes.keys():
        sys.exit(f"{len(starts)} sends, {len(finishes)} receives")


def count(mine):
    return collections.Counter((event["cat"], event["name"]) for event in mine if event["cat"] in ("kernel", "product", "collective"))


# A planned step has what the simulator walks through; a traced one what the ranks did.
planned = {}
run("dist-run", folder / "package", f"--data=ids={__file__}:u8", "--steps=1", "--link=0us,100GB/s", f"--timeline={folder}/timeline.json",
    "--quiet")
for event in json.loads((folder / "timeline.json").read_text())["traceEvents"]:
    if event["ph"] == "X" and event["cat"] in ("kernel", "product", "collective"):
        planned.setdefault(event["pid"], collections.Counter())[event["cat"], event["name"]] += 1
for rank, found in check():
    if count(found) != collections.Counter({key: TRACED * n for key, n in planned[rank].items()}):
        sys.exit(f"rank {rank} did {count(found) - planned[rank]} more, {planned[rank] - count(found)} less than planned")
if len(planned) != RANKS or not all(any(cat == "collective" for cat, _ in counter) for counter in planned.values()):
    sys.exit(f"planned: {planned}")
for rank, found in check("--link=10us,1GB/s"):
    pass
