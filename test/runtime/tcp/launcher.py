# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that --nproc trains as threads do, to the byte, that whoever starts processes otherwise is understood, and that whatever ends one of them
ends all, with what went wrong and nothing left behind.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

from commands import PATIENCE, run

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
DATA = f"--data=ids={__file__}:u8"
MARK = ("MESHWRIGHT_TEST_RUN", str(uuid.uuid4()))

STRATEGY = """
mesh {{ {mesh} }}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}
init {{ match: "*.scale" constant: 1 }}
init {{ match: "*" normal {{ stddev: 0.02 }} }}
train {{ adamw {{ lr {{ constant: 1e-3 }} }} clip {{ global_norm: 1.0 }} }}
data {{ axes: "dp" }}
{more}
"""
PACKAGES = {
    "sharded": ('axes { name: "dp" size: 3 }', 'zero { axes: "dp" stage: 3 }'),
    "owned": ('axes { name: "dp" size: 2 }', 'zero { axes: "dp" stage: 2 ownership: WHOLE }'),
    "pipelined": ('axes { name: "pp" size: 2 } axes { name: "dp" size: 2 }', 'pipeline { axis: "pp" micro_batches: 2 }'),
}
RANKS = {"sharded": 3, "owned": 2, "pipelined": 4}

for name, (mesh, more) in PACKAGES.items():
    (folder / f"{name}.textproto").write_text(STRATEGY.format(mesh=mesh, more=more))
    run("dist-opt", fixtures / "gpt2-8.mlir", f"--strategy={folder}/{name}.textproto", f"--emit={folder}/{name}")


def find_left():
    """Processes of this test that run."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if "=".join(MARK) in (process / "environ").read_bytes().decode(errors="replace").split("\0"):
                found.append(int(process.name))
        except OSError:
            pass
    return found


def start(*command, **more):
    return subprocess.Popen(command, env={**os.environ, MARK[0]: MARK[1], **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def expect(process, status, *patterns, seconds=20):
    out, err = process.communicate(timeout=seconds * PATIENCE)
    if process.returncode != status or not all(re.search(pattern, err) for pattern in patterns):
        sys.exit(f"{process.args}: exit {process.returncode} where {status} is wanted, with {patterns}:\n{out}{err}")
    for _ in range(100):
        if not find_left():
            return out
        time.sleep(0.05)
    sys.exit(f"{process.args} left {find_left()} behind")


def read(*names):
    return [(folder / name).read_bytes() for name in names]


# The same bytes as threads, alone and with a checkpoint in between.
for name, ranks in RANKS.items():
    package = str(folder / name)
    expect(start("dist-run", package, DATA, "--steps=3", "--quiet", f"--save={folder}/threads.save", f"--outputs={folder}/threads.out"), 0)
    expect(start("dist-run", package, DATA, "--steps=3", "--quiet", f"--save={folder}/processes.save",
                 f"--outputs={folder}/processes.out", f"--nproc={ranks}", "--check-serial"), 0)
    if read("threads.save", "threads.out") != read("processes.save", "processes.out"):
        sys.exit(f"{name}: processes do not do what threads do")
    checkpoint = f"--checkpoint={folder}/{name}.checkpoints"
    expect(start("dist-run", package, DATA, "--steps=2", "--quiet", checkpoint, "--save-every=1", f"--nproc={ranks}"), 0)
    expect(start("dist-run", package, DATA, "--steps=3", "--quiet", checkpoint, "--resume", f"--save={folder}/resumed.save"), 0)
    if read("threads.save") != read("resumed.save"):
        sys.exit(f"{name}: threads do not go on from what processes saved")

# Others start processes too: here one by one.
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
package = str(folder / "owned")
environments = {
    "torchrun": lambda rank: {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
    "srun": lambda rank: {"SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_JOB_ID": str(port), "SLURM_STEP_ID": "0",
                          "SLURM_STEP_NODELIST": "127.0.0.1"},
}
for who, environment in environments.items():
    command = ["dist-run", package, DATA, "--steps=2", "--comm=tcp", "--metrics=-"]
    processes = [start(*command, **environment(rank)) for rank in (1, 0)]
    lines = [process.communicate(timeout=30 * PATIENCE)[0] for process in processes]
    if [process.returncode for process in processes] != [0, 0] or lines[0] or lines[1].count('"loss"') != 2:
        sys.exit(f"{who}: {processes}, {lines}")

# An error of one process is reported, once if all have it.
# If a public name is the only token, there is a warning; a token given by the user replaces it.
lines = []
for token in ({}, {"MESHWRIGHT_TOKEN": "a token for this test alone"}):
    processes = [start("dist-run", package, DATA, "--comm=tcp", "--quiet", **environments["srun"](rank), **token) for rank in (0, 1)]
    lines.append([process.communicate(timeout=30 * PATIENCE)[1] for process in processes])
    if [process.returncode for process in processes] != [0, 0]:
        sys.exit(f"srun with {token}: {lines}")
warning = rf'^dist-run: warning: the only token is "slurm-{port}-0", which others may know: any program that reaches 127.0.0.1, port \d+, can join the run; ' \
          r"--token-file=FILE or MESHWRIGHT_TOKEN keeps it out\n$"
if not re.search(warning, lines[0][0]) or lines[0][1] or lines[1] != ["", ""]:
    sys.exit(f"warnings of public tokens: {lines}")
error = start("dist-run", str(folder / "nothing"), "--nproc=3")
expect(error, 1, r"^dist-run \(process 0\): error: cannot open .*nothing/package.pb: No such file or directory\n$")
expect(start("dist-run", package, DATA, "--nproc=3"), 2, r"package is for 2 ranks but there are 3 processes; dist-run --nproc=2 starts")
expect(start("dist-run", package, DATA, "--comm=tcp"), 2, "no process group was found; start with --nproc=N, torchrun or srun")
expect(start("dist-run", package, DATA, "--comm=tcp", RANK="2", WORLD_SIZE="2", MASTER_ADDR="::1", MASTER_PORT="1"), 2,
       'RANK="2", which is no number from 0 to 1')
commands = [["--steps=1"], ["--steps=2"]]
processes = [start("dist-run", package, DATA, "--comm=tcp", *commands[rank], **environments["torchrun"](rank)) for rank in (0, 1)]
errors = [process.communicate(timeout=30 * PATIENCE)[1] for process in processes]
if [process.returncode for process in processes] != [2, 2] or "all processes of a run have one command line" not in errors[0]:
    sys.exit(f"two command lines: {errors}")

# One that dies takes the others with it, and so does the launcher.
long = ["dist-run", str(folder / "pipelined"), DATA, "--steps=1000000", "--quiet", "--nproc=4", f"--flight-recorder={folder}/flight"]


def wait_for_children(launcher, count):
    for _ in range(400):
        children = [pid for pid in find_left() if pid != launcher.pid]
        if len(children) == count:
            time.sleep(0.5 * PATIENCE)
            return children
        time.sleep(0.05)
    sys.exit(f"{find_left()} run where {count} are wanted")


def expect_death(launcher, process):
    """One error of one process, what follows from it, and at the end the process with how it ended: all with one name."""
    _, err = launcher.communicate(timeout=30 * PATIENCE)
    others = [str(other) for other in range(4) if other != process]
    errors = re.findall(r"(?m)^dist-run(?: \(process (\d)\))?: error: (.*)$", err)
    followers = re.findall(rf"(?m)^dist-run \(process (\d)\): ends because of process {process}: .*$", err)
    end = f"process {process} was ended by signal 9 (Killed); processes {others[0]}, {others[1]} and {others[2]} ended because of it"
    if launcher.returncode != 4 or len(errors) != 2 or errors[1] != ("", end) or errors[0][0] != others[0] \
            or f"rank {process} stopped" not in errors[0][1] or sorted(followers) != others[1:]:
        sys.exit(f"process {process} was killed, exit {launcher.returncode}:\n{err}")


def get_number(pid):
    words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return int(next(word.split("=")[1] for word in words if word.startswith("MESHWRIGHT_PROCESS=")))


# Also the first process, which all others are connected with.
for victim in (2, 0):
    launcher = start(*long)
    os.kill({get_number(pid): pid for pid in wait_for_children(launcher, 4)}[victim], signal.SIGKILL)
    expect_death(launcher, victim)
launcher = start(*long)
wait_for_children(launcher, 4)
launcher.send_signal(signal.SIGTERM)
expect(launcher, 4, "interrupted before step|released|stopped")
launcher = start(*long)
wait_for_children(launcher, 4)
launcher.kill()
launcher.communicate()
for _ in range(200):
    if not find_left():
        break
    time.sleep(0.05)
else:
    sys.exit(f"the launcher was killed and left {find_left()}")
