# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: namespaces
# RUN: %python %s %tmp
"""Tests --nnodes on two hosts, networks of their own on this machine with a cable between them: the bytes of threads, a process that is killed on one
host named on the other, and what is said where the hosts do not agree.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

from commands import PATIENCE, run
from hosts import connected, name_hosts

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
HOSTS = name_hosts("mt", 78)
FIRST = next(iter(HOSTS))
RENDEZVOUS = f"--rendezvous={HOSTS[FIRST]}:29511"
# Four ranks: two on each host.
run("make-test-package", folder / "package", "none")
np.save(folder / "x.npy", (np.arange(96) % 13 - 5).astype("f4") / 3)


def start(number, *options):
    """The launcher of a host."""
    command = ["ip", "netns", "exec", list(HOSTS)[number], "dist-run", folder / "package", f"--data=x={folder}/x.npy", *options, "--nproc=2",
               "--nnodes=2", f"--node-rank={number}", RENDEZVOUS, f"--flight-recorder={folder}/flight"]
    return subprocess.Popen(command, env={**os.environ, "MESHWRIGHT_TOKEN": "a token for two hosts"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(launchers, status, pattern, which):
    errors = [launcher.communicate(timeout=60 * PATIENCE)[1] for launcher in launchers]
    if any(launcher.returncode != status for launcher in launchers) or not re.search(pattern, errors[which]):
        sys.exit(f"exits {[launcher.returncode for launcher in launchers]} where {status} is wanted, with {pattern}:\n{errors}")
    return errors


def find_process(host):
    """One that has a rank there."""
    for process in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=True).stdout.split():
        try:
            if b"--comm=tcp" in pathlib.Path(f"/proc/{process}/cmdline").read_bytes():
                return int(process)
        except OSError:
            continue
    return None


def test():
    # The second host begins before anybody listens.
    options = ["--steps=4", f"--save={folder}/hosts.save", "--quiet"]
    later = start(1, *options)
    time.sleep(0.3)
    finish([start(0, *options), later], 0, "^$", 0)
    run("dist-run", folder / "package", f"--data=x={folder}/x.npy", "--steps=4", f"--save={folder}/threads.save", "--quiet")
    if (folder / "hosts.save").read_bytes() != (folder / "threads.save").read_bytes():
        sys.exit("hosts do not do what threads do")

    launchers = [start(number, "--steps=10000000", "--quiet") for number in (0, 1)]
    while not find_process(list(HOSTS)[1]) or not find_process(FIRST):
        time.sleep(0.05)
    time.sleep(1)
    os.kill(find_process(list(HOSTS)[1]), signal.SIGKILL)
    # The others wait for a collective or, between two steps, for the report of the last one.
    errors = finish(launchers, 4, r"(?m)rank [23] stopped( (before|while others were in) c_|$)", 0)
    # Its launcher knows how it ended, the other one that it was on another host.
    dead = re.search(r"error: process ([23]) was ended by signal 9 \(Killed\); process [23] ended because of it", errors[1])
    if not dead or f"error: process {dead[1]} failed, on another host; processes 0 and 1 ended because of it" not in errors[0]:
        sys.exit(f"the process that was killed is not named by both launchers:\n{errors}")

    finish([start(0, "--steps=1"), start(1, "--steps=2")], 2, "all processes of a run have one command line, but process 2 has .*--steps=2", 0)


with connected(HOSTS):
    test()
