# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Lets ranks of small runs fail in every way, on every backend: each fault is noticed in time and named, and nothing is left.

usage: faults.py FIXTURES FOLDER [--all] [--seed=N]

The packages are a GPT-2 in the ways that communicate differently: data and tensor parallelism, ZeRO, a pipeline. Ranks and collectives are drawn at random. What a run
says is held against what the fault says of itself, `dist-run: fault: rank 2 hangs at c_allreduce #17 (…)`. With --all twenty faults of each kind and backend, else a few.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from commands import PATIENCE

TIMEOUT = 3  # seconds of --timeout
LONGEST = 60 * PATIENCE  # what a run may take in all, on a busy machine
INIT = """init { match: "*.scale" constant: 1 } init { match: "*" normal { stddev: 0.02 } } train { adamw { lr { constant: 1e-3 } } }
model { parameters: "p.*" batch { inputs: "ids" } }"""
STRATEGIES = {
    "dp2xtp2": 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } '
               'tensor { axis: "tp" split { match: "*.mlp.c_fc.kernel" dim: 0 } split { match: "*.mlp.c_fc.bias" dim: 0 } split { match: "*.mlp.c_proj.kernel" dim: 1 } }',
    "zero3": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } zero { axes: "dp" stage: 3 }',
    "pp2xdp2": 'mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } } data { axes: "dp" } pipeline { axis: "pp" micro_batches: 4 }',
}
RANKS = 4
KINDS = ["kill", "hang", "slow:4s", "drop", "corrupt"]
WORDS = {"kill": "is killed at", "hang": "hangs at", "slow:4s": "is slow from", "drop": "leaves out", "corrupt": "changes a byte of what it contributes to"}


def fail(text):
    sys.exit(f"faults.py: {text}")


def compile_package(fixtures, folder, name):
    strategy = folder / f"{name}.textproto"
    strategy.write_text(f"{STRATEGIES[name]} {INIT}", encoding="utf-8")
    package = folder / name
    subprocess.run(["dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={strategy}", f"--emit={package}"], check=True, stderr=subprocess.DEVNULL)
    return package


def get_command(backend, arguments, folder):
    command = ["dist-run", *arguments]
    if backend == "tcp":
        return [*command, f"--nproc={RANKS}"]
    if backend == "mpi":
        # MPI's shared files go into a folder of this run alone.
        places = [f"OMPI_MCA_{name}={folder}/mpi" for name in ("orte_tmpdir_base", "btl_vader_backing_directory")]
        return ["env", *places, "mpirun", "--oversubscribe", "-n", str(RANKS), *command, "--comm=mpi"]
    return command


def list_runs(mark):
    """The processes that run dist-run and whose command line has `mark`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                if b"dist-run" in command and mark.encode() in command:
                    found.append(entry.name)
            except OSError:
                pass
    return found


def run(command):
    """The exit status, what was said, and the seconds it took; a run that does not end is an error."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        text = process.communicate(timeout=LONGEST)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        fail(f"{command} does not end: {process.communicate()[0]}")
    return process.returncode, text, time.monotonic() - begin


def check_flight(flights, rank, reported, last):
    """The file of a rank is there, and says where it is."""
    flight = json.loads((flights / f"flight-{rank}.json").read_text(encoding="utf-8"))
    if flight["rank"] != rank or not flight["events"] or not flight["reason"]:
        fail(f"the flight of rank {rank} says {flight}")
    if any(a["seconds"] > b["seconds"] for a, b in zip(flight["events"], flight["events"][1:])):
        fail(f"the events of rank {rank} are in no order")
    if last not in flight["last"]:
        fail(f"the flight of rank {rank} ends with {flight['last']} and not with {last}")
    if reported is not None and not any(event.get("tag") == reported for event in flight["events"]):
        fail(f"the flight of rank {rank} does not have collective #{reported}")


def check_fault(backend, package, kind, rank, operation, arguments, folder):
    """Checks by the output, status, time and files of the run that the fault was noticed."""
    flights = folder / "flights"
    shutil.rmtree(flights, ignore_errors=True)
    fault = f"rank={rank},op={operation},kind={kind}"
    command = get_command(backend, [package, *arguments, f"--fault={fault}", f"--timeout={TIMEOUT}", f"--flight-recorder={flights}",
                                    *(["--check-messages"] if kind == "corrupt" else [])], folder)
    (folder / "mpi").mkdir(exist_ok=True)
    status, text, seconds = run(command)
    what = f"{backend} {package.name} {fault} ended with {status} after {seconds:.1f} s: {text}"
    said = re.search(rf"dist-run: fault: rank {rank} {WORDS[kind]} (c_\w+) #(\d+)", text)
    if not said:
        fail(f"there was no fault: {what}")
    collective, tag = said.group(1), int(said.group(2))
    if status == 0:
        fail(f"nobody noticed: {what}")
    for _ in range(50):
        left = [*list_runs(str(folder)), *(str(path) for path in (folder / "mpi").rglob("*") if not path.is_dir())]
        if not left:
            break
        time.sleep(0.1)
    else:
        fail(f"{left} is left: {what}")
    if kind == "kill" and backend == "inproc":
        if status != -signal.SIGKILL:
            fail(what)
        return
    errors = re.findall(r"error: (.*)", text)
    # The missing rank is named, in a collective in which others wait, which may be later than that of the fault.
    if not any(re.search(rf"\brank {rank}\b|\bprocess {rank}\b", error) for error in errors):
        fail(f"rank {rank} is not named: {what}")
    if kind == "corrupt" and not any(f"#{tag} " in error for error in errors):
        fail(f"{collective} #{tag} is not named: {what}")
    if kind != "kill":
        check_flight(flights, rank, None if kind in ("hang", "drop") else tag, collective if kind == "hang" else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fixtures", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--backend", action="append")
    options = parser.parse_args()
    folder = options.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    draw = random.Random(options.seed)
    names = list(STRATEGIES) if options.all else ["dp2xtp2", "pp2xdp2"]
    packages = {name: compile_package(options.fixtures, folder, name) for name in names}
    data = options.fixtures / "reference" / "gpt2-tiny-f64"
    arguments = [f"--feed={data}/batch{{step}}.safetensors", "--steps=3", "--quiet"]
    versions = subprocess.run(["dist-run", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    backends = options.backend or ["inproc", "tcp"] + (["mpi"] if "mpi" in versions and shutil.which("mpirun") else [])
    done = 0
    for backend in backends:
        for kind in KINDS:
            for i in range(20 if options.all else 1):
                name = draw.choice(names)
                check_fault(backend, packages[name], kind, draw.randrange(RANKS), draw.randrange(12), arguments, folder)
                done += 1
    print(f"{done} faults on {', '.join(backends)}: all noticed and named")


main()
