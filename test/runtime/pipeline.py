# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests what dist-run tells of a pipeline: the picture of its schedule, the arrows of its timeline, and runs that go on.

Two stages, two replicas of each, four micro-batches, one forward after one backward: every rank has four boxes of each kind and an update,
side by side. The bubble is what the boxes leave of the picture, and stage s has begun 2 - s micro-batches at once.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
BATCH = fixtures / "reference" / "mlp-tiny-f64" / "batch0.safetensors"
INIT = fixtures / "reference" / "mlp-tiny-f64" / "init.safetensors"
STAGES, REPLICAS, MICRO_BATCHES = 2, 2, 4
RANKS = STAGES * REPLICAS
STRATEGY = f"""mesh {{ axes {{ name: "pp" size: {STAGES} }} axes {{ name: "dp" size: {REPLICAS} }} }}
model {{ parameters: "p.*" batch {{ inputs: "x" }} batch {{ inputs: "y" }} }}
train {{ adamw {{ lr {{ constant: 1e-2 }} }} }}
data {{ axes: "dp" }} pipeline {{ axis: "pp" micro_batches: {MICRO_BATCHES} schedule: ONE_F_ONE_B }}
"""
WIDTH = 1100 - 60  # of the picture, without its labels


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(word) for word in what))


def check_schedule(page):
    section = page[page.index('<section id="schedule">'):]
    section = section[:section.index("</section>")]
    boxes = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="18"><title>(.*?) of micro-batch (\d)</title>', section)
    busy = 0
    for rank in range(RANKS):
        row = sorted((float(left), float(width), color, int(number)) for color, left, top, width, _, number in boxes if int(top) == 20 * rank)
        check(len(row) == 2 * MICRO_BATCHES + 1, "rank", rank, "has", len(row), "boxes")
        for this, following in zip(row, row[1:]):
            check(this[0] + this[1] <= following[0] + 0.02, "rank", rank, "is in two boxes at once:", this, following)
        for color in ("c0", "c6"):
            numbers = [number for _, _, of, number in row if of == color]
            check(numbers == list(range(MICRO_BATCHES)), "rank", rank, "has micro-batches", numbers, "of", color)
        check(row[-1][2] == "c4", "rank", rank, "ends with", row[-1])
        busy += sum(width for _, width, _, _ in row)
    bubble = float(re.search(r"Ranks wait ([\d.]+) of the time", section)[1])
    drawn = (RANKS * WIDTH - busy) / busy
    check(abs(bubble - drawn) < 0.02, "the bubble is", bubble, "but the boxes leave", drawn)
    begun = re.findall(r'<tr><td class="number">\d+</td><td class="number">[\d.]+ %</td><td class="number">(\d+)</td></tr>', section)
    check(begun == ["2", "2", "1", "1"], "micro-batches begun at once:", begun)


def check_memory(page, metrics):
    """Ranks of one stage are alike; the bytes of each kind add up to what the rank has."""
    section = page[page.index('<section id="memory">'):]
    section = section[:section.index("</section>")]
    columns = list(zip(*[[int(cell) for cell in re.findall(r'<td class="number">(\d+)</td>', row)] for row in re.findall("<tr>.*?</tr>", section, re.S)[1:]]))
    check(len(columns) == STAGES, "the memory has", len(columns), "columns")
    check(max(map(sum, columns)) == metrics["peak_bytes"], "the memory adds up to", [sum(column) for column in columns], "not", metrics["peak_bytes"])


def check_timeline(timeline):
    """An arrow for every send, from one stage to the other."""
    events = timeline["traceEvents"]
    begins = {event["id"]: event["pid"] for event in events if event["ph"] == "s"}
    ends = {event["id"]: event["pid"] for event in events if event["ph"] == "f"}
    check(begins.keys() == ends.keys() and len(begins) == 2 * MICRO_BATCHES * REPLICAS, "arrows from", begins, "to", ends)
    for arrow, rank in begins.items():
        check(abs(rank - ends[arrow]) == REPLICAS, "an arrow goes from rank", rank, "to rank", ends[arrow])
    tasks = [event for event in events if event.get("cat") == "task" and event["pid"] == 0]
    check(len(tasks) == 2 * MICRO_BATCHES + 1, "rank 0 has the tasks", [event["name"] for event in tasks])
    check(all(piece["args"]["micro_batch"] < MICRO_BATCHES for piece in events if piece["ph"] == "X" and "args" in piece), "there is no micro-batch in a piece")


(folder / "s.textproto").write_text(STRATEGY)
package = folder / "package"
run("dist-opt", fixtures / "mlp-tiny-f64.mlir", f"--strategy={folder}/s.textproto", f"--emit={package}", "--quiet")
common = ["dist-run", package, f"--feed={BATCH}", "--quiet"]

# Transfers are reported with their micro-batches.
shown = run("dist-run", package, "--show")
for micro_batch in range(MICRO_BATCHES):
    starts = re.findall(rf"^    start c_send #\d+ over \[\"pp\"\]: .* from \d to \d, of micro-batch {micro_batch}$", shown, re.M)
    waits = re.findall(rf"^    wait #\d+, of micro-batch {micro_batch}$", shown, re.M)
    check(len(starts) == 2 * STAGES and len(waits) >= 2 * STAGES, "micro-batch", micro_batch, "has", starts, waits)

# By the operations of the tasks, and checked against the serial program, whose loss is that of the last stage.
run(*common, f"--init={INIT}", "--steps=2", "--check-serial", f"--report={folder}/run.html", f"--metrics={folder}/m.jsonl")
metrics = [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]
check(len(metrics) == 2 and metrics[1]["loss"] != metrics[0]["loss"] and metrics[0]["allocations"] == 0, "the metrics are", metrics)
page = (folder / "run.html").read_text()
check_schedule(page)
check_memory(page, metrics[0])

# By a planned step.
run(*common, f"--init={INIT}", "--steps=1", "--link=20us,2GB/s", f"--timeline={folder}/t.json", f"--report={folder}/planned.html")
check("as long as they are in the planned step" in (folder / "planned.html").read_text(), "the schedule is not that of the plan")
check_timeline(json.loads((folder / "t.json").read_text()))

# A run that goes on has the bits of one that was not stopped; variables of one stage are saved by its ranks.
run(*common, f"--init={INIT}", "--steps=4", f"--save={folder}/whole.safetensors")
run(*common, f"--init={INIT}", "--steps=2", f"--checkpoint={folder}/checkpoints", "--save-every=2")
run(*common, "--steps=4", f"--checkpoint={folder}/checkpoints", "--resume", f"--save={folder}/resumed.safetensors")
check((folder / "whole.safetensors").read_bytes() == (folder / "resumed.safetensors").read_bytes(), "the run that went on has other bits")
print("pipelines are told as they are")
