# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: mpi, namespaces
# RUN: %python %s
"""Tests processes on two hosts: networks of their own on this machine, with a cable between them.

Collectives have the bytes of threads over TCP, and a process that is killed or stopped on one host is named on the other.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from commands import PATIENCE
from hosts import connected, name_hosts

HOSTS = name_hosts("mw", 77)
FIRST = next(iter(HOSTS))
NETWORK = HOSTS[FIRST].rsplit(".", 1)[0] + ".0/24"


def write_agent(folder):
    """Writes the replacement of ssh for mpirun: it runs a command in the other network namespace, under another host name."""
    path = os.path.join(folder, "agent")
    cases = "".join(f"{address}) host={host};; " for host, address in HOSTS.items())
    with open(path, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\ncase $1 in {cases}esac\nshift\nexec ip netns exec $host unshare -u sh -c "hostname $host; $*"\n')
    os.chmod(path, 0o755)
    return path


def start(agent, *command):
    places = ",".join(f"{address}:2" for address in HOSTS.values())
    mpirun = ["mpirun", "--oversubscribe", "--mca", "plm_rsh_agent", agent, "--mca", "btl_tcp_if_include", NETWORK,
              "--mca", "oob_tcp_if_include", NETWORK, "--host", places, "-x", "PATH", "-n", "4", *command]
    return subprocess.Popen(["ip", "netns", "exec", FIRST, "unshare", "-u", "sh", "-c", f'hostname {FIRST}; exec "$@"', "sh", *mpirun],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def find_process(rank):
    """The process of that rank on one of the hosts."""
    for host in HOSTS:
        for process in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=True).stdout.split():
            try:
                with open(f"/proc/{process}/environ", encoding="utf-8", errors="replace") as environment, \
                        open(f"/proc/{process}/comm", encoding="utf-8") as name:
                    if f"OMPI_COMM_WORLD_RANK={rank}" in environment.read().split("\0") and name.read().strip() == "mpi-faults":
                        return int(process)
            except OSError:
                continue
    sys.exit(f"there is no process of rank {rank}")


def disturb(agent, case, which, victim, expected):
    going = start(agent, "mpi-faults", case, "2")
    if [going.stdout.readline() for _ in range(2)] != ["begins\n", "runs\n"]:
        sys.exit(f"the run does not begin:\n{going.communicate()[1]}")
    time.sleep(0.3)
    os.kill(find_process(victim), which)
    _, errors = going.communicate(timeout=60 * PATIENCE)
    said = dict(re.findall(r"mpi-faults \(process (\d+)\): error: (.*)", errors))
    # A process that hears of it between two steps is in no collective.
    others = set(range(4)) - {victim}
    if not any(re.match(expected, said.get(str(rank), "")) for rank in others):
        sys.exit(f"{case}: {which.name} of rank {victim}: nobody says {expected}\n{errors}")
    for rank in others:
        # mpirun ends the other processes when one is killed, maybe before they could say anything.
        if which == signal.SIGKILL and str(rank) not in said:
            continue
        if not re.match(rf"{expected}|rank {victim} stopped$", said.get(str(rank), "")):
            sys.exit(f"{case}: {which.name} of rank {victim}: rank {rank} says {said.get(str(rank))!r}\n{errors}")
    if going.returncode == 0:
        sys.exit("mpirun ends with success")


def test(folder):
    agent = write_agent(folder)
    output, errors = start(agent, "mpi-collectives", "60", "5").communicate(timeout=120 * PATIENCE)
    if "5 rounds on 4 processes agree" not in output:
        sys.exit(f"collectives fail between hosts:\n{output}{errors}")
    for case, collective, victims in (("go-on", "c_allreduce", (0, 3)), ("broadcast", "c_broadcast", (2,))):
        for victim in victims:
            disturb(agent, case, signal.SIGKILL, victim, rf"rank {victim} stopped before {collective}")
            disturb(agent, case, signal.SIGSTOP, victim, rf"rank {victim} stopped before {collective} .* does not answer")


with connected(HOSTS), tempfile.TemporaryDirectory() as name:
    test(name)
