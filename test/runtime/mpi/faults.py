# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: mpi
# RUN: %python %s
"""Tests that every process of a run says what went wrong on one of them, in time, and that nothing is left behind.

Processes are killed and stopped at random moments; others disagree, fail, end, or stay away. `MESHWRIGHT_TEST_ROUNDS` gives more such moments.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from commands import PATIENCE

ROUNDS = int(os.environ.get("MESHWRIGHT_TEST_ROUNDS", "1"))
SEED = int(os.environ.get("MESHWRIGHT_TEST_SEED", time.time_ns() % 100000))
draw = random.Random(SEED)
MARK = f"MESHWRIGHT_TEST_RUN={uuid.uuid4()}"
# Files shared by the processes of this test alone.
SHARED = tempfile.TemporaryDirectory(dir="/dev/shm")
PLACE = r"c_allreduce #(7|16|17) \(grad/w, model\.mlir:88\)"


def get_processes():
    """The processes of this test that run, by their rank; mpirun has none."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if MARK in environment:
            rank = [entry.split("=")[1] for entry in environment if entry.startswith("OMPI_COMM_WORLD_RANK=")]
            found[int(rank[0]) if rank else None] = int(folder.name)
    return found


def read_line(run, expected):
    if run.stdout.readline() != f"{expected}\n":
        sys.exit(f"the run does not say that it {expected}:\n{run.communicate()[1]}")


def start(ranks, case, timeout):
    """Starts a case. Returns when the processes have met, because the start itself takes a busy machine any time."""
    name, value = MARK.split("=")
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), "mpi-faults", case, str(timeout)]
    environment = {**os.environ, name: value, "OMPI_MCA_btl_vader_backing_directory": SHARED.name}
    run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    read_line(run, "begins")
    return run


def finish(run, what, expected, processes, within, code=None):
    """The run ends in time with an error, of which each of those processes has said what is expected; nothing is left of it."""
    begin = time.monotonic()
    try:
        _, errors = run.communicate(timeout=60 * PATIENCE)
    except subprocess.TimeoutExpired:
        sys.exit(f"{what}: goes on for ever (seed {SEED})")
    seconds = time.monotonic() - begin
    said = dict(re.findall(r"mpi-faults \(process (\d+)\): error: (.*)", errors))
    for process in processes:
        if not re.fullmatch(expected, said.get(str(process), "")):
            sys.exit(f"{what}: process {process} says {said.get(str(process))!r}, not {expected!r} (seed {SEED})\n{errors}")
    if run.returncode == 0 or code not in (None, run.returncode):
        sys.exit(f"{what}: mpirun ends with {run.returncode}")
    if seconds > within * PATIENCE:
        sys.exit(f"{what}: took {seconds:.1f} s and not {within * PATIENCE} s (seed {SEED})")
    # The system takes a moment to end who was killed.
    for _ in range(20):
        left = get_processes()
        if not left:
            break
        time.sleep(0.1)
    if left:
        sys.exit(f"{what}: left behind {left}")


def disturb(ranks, which, timeout, expected, within):
    """Sends a process a signal while it is at work."""
    run = start(ranks, "go-on", timeout)
    read_line(run, "runs")
    victim = draw.randrange(ranks)
    time.sleep(draw.uniform(0, 0.5))
    os.kill(get_processes()[victim], which)
    others = [rank for rank in range(ranks) if rank != victim]
    finish(run, f"{which.name} of rank {victim} of {ranks}", expected.format(victim=victim), others, within)


meets = r"rank 0: c_allreduce #{} \(grad/w, model\.mlir:88\){} meets rank 1: c_allreduce #{} \(grad/w, model\.mlir:88\){}"
waits = r"rank [02]: c_allreduce #7 \(grad/w, model\.mlir:88\) waits for rank [01], which is not coming: {}"
CASES = [
    ("disagree", 3, meets.format(7, " of 2 f32", 8, " of 3 f32"), [0, 1, 2], 4),
    ("disagree-later", 2, meets.format(8, "", 7, ""), [0, 1], 4),
    ("stay-away", 3, waits.format("it does something else"), [0, 1, 2], 4),
    ("leave", 3, waits.format("its process has ended"), [0, 2], 4),
    ("fail-step", 3, "rank 1: a kernel failed", [0, 1, 2], 4),
    ("fail-between", 3, r"step-3\.safetensors: no such file", [0, 1, 2], 1),
    ("compute", 3, "rank 1 stopped( before .*the first meeting.*)?", [0, 2], None),
]
for case, ranks, expected, processes, code in CASES:
    finish(start(ranks, case, 20), case, expected, processes, 15, code)
circle = r"ranks wait for each other for ever: rank \d waits for rank \d in c_allreduce #\d .*, rank \d for rank \d in c_allreduce #\d .*"
finish(start(3, "circle", 2), "circle", circle, [0, 1, 2], 15, 4)
for _ in range(ROUNDS):
    for ranks in (2, 4):
        disturb(ranks, signal.SIGKILL, 600, rf"rank {{victim}} stopped before {PLACE}", 10)
    disturb(3, signal.SIGSTOP, 2, rf"rank {{victim}} stopped before {PLACE}: rank \d waits for it, nothing has moved for 2 s, "
            r"and its process does not answer", 15)
left = os.listdir(SHARED.name)
if left:
    sys.exit(f"shared memory is left: {left}")
