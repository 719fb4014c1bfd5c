# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %cuda_stub %python %s %tmp
"""Tests that ranks with a GPU each do as processes what they do as threads, to the byte, and that each process takes the GPU that is meant
for it, whoever has started it.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import numpy
import plain_safetensors
from commands import run

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
RANKS = 4

run("make-test-package", folder / "p", "overlapped")
(numpy.arange(96) % 13 - 5).astype("f4").tofile(folder / "x")
plain_safetensors.write(str(folder / "w"), {"w": (numpy.arange(32) % 5 / 4).astype("f4").reshape(4, 8)})
COMMAND = ["dist-run", str(folder / "p"), f"--init={folder}/w", f"--data=x={folder}/x:f32", "--steps=4", "--quiet", "--device=cuda",
           "--kernels=emulated", f"--flight-recorder={folder}/flight"]


def get_results(name):
    return [(folder / f"{name}.{kind}").read_bytes() for kind in ("save", "outputs")]


def get_options(name):
    return [f"--save={folder}/{name}.save", f"--outputs={folder}/{name}.outputs"]


def compare(name):
    if get_results(name) != get_results("threads"):
        sys.exit(f"results of processes ({name}) and of threads differ")


def get_device(trace):
    """The GPU on which a process has its streams."""
    devices = {word for line in pathlib.Path(trace).read_text().splitlines() if " cuStreamCreate " in line
               for word in line.split() if word.startswith("device=")}
    if len(devices) != 1:
        sys.exit(f"{trace}: a rank has streams on {devices}")
    return devices.pop()


def start_each(name, get_environment, devices, *options):
    """Starts the processes of a run, each with an environment of its own, and wants each on its GPU; what they said."""
    started = []
    for process in range(RANKS):
        environment = {**os.environ, "MESHWRIGHT_STUB_TRACE": f"{folder}/{name}.{process}", **get_environment(process)}
        started.append(subprocess.Popen([*COMMAND, "--comm=tcp", *get_options(name), *options], env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True))
    said = [process.communicate(timeout=120)[0] for process in started]
    if any(process.returncode for process in started):
        return said
    found = [get_device(f"{folder}/{name}.{process}") for process in range(RANKS)]
    if found != [f"device={device}" for device in devices]:
        sys.exit(f"{name}: the ranks are on {found}")
    compare(name)
    return []


def get_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_shared():
    """Shared memory of processes that are no more."""
    return {path for path in pathlib.Path("/dev/shm").glob("mw-nccl-*") if not pathlib.Path("/proc", path.name.split("-")[2]).exists()}


before = find_shared()
run(*COMMAND, *get_options("threads"))

run(*COMMAND, *get_options("launched"), f"--nproc={RANKS}")
compare("launched")

# As torchrun starts them, on one host: all see all GPUs, and take them in their order.
port = get_port()
torchrun = {"WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
if said := start_each("torchrun", lambda process: {**torchrun, "RANK": str(process), "LOCAL_RANK": str(process)}, range(RANKS)):
    sys.exit(f"under torchrun: {said}")

# As Slurm does where each task has a GPU of its own, and sees no other one.
slurm = {"SLURM_NTASKS": str(RANKS), "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "127.0.0.1"}
if said := start_each("srun", lambda process: {**slurm, "SLURM_PROCID": str(process), "SLURM_LOCALID": str(process),
                                               "CUDA_VISIBLE_DEVICES": str(7 - process)}, [0] * RANKS):
    sys.exit(f"under srun: {said}")

# Too few GPUs are an error of all of them.
failed = subprocess.run([*COMMAND, f"--nproc={RANKS}"], env={**os.environ, "MESHWRIGHT_STUB_DEVICES": "3"}, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
if failed.returncode == 0 or "rank 3 wants GPU 3 but this machine has 3" not in failed.stdout:
    sys.exit(f"with too few GPUs: {failed.returncode}, {failed.stdout}")

# A killed process ends the others, and is named.
failed = subprocess.run([*COMMAND, f"--nproc={RANKS}", "--no-graph", "--fault=rank=2,op=1,kind=kill"], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
if failed.returncode == 0 or "rank 2 stopped" not in failed.stdout:
    sys.exit(f"where a rank is killed: {failed.returncode}, {failed.stdout}")

if left := find_shared() - before:
    sys.exit(f"shared memory is left: {left}")
print("the bytes of threads, each on its GPU")
