# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two hosts on this machine: networks of their own, with a cable between them."""
import contextlib
import os
import subprocess

from commands import run


def name_hosts(prefix, subnet):
    """Their names, with their addresses. Tests that run at once have different prefixes and subnets."""
    return {f"{prefix}{os.getpid()}{side}": f"10.{subnet}.{os.getpid() % 250}.{number}" for number, side in enumerate("ab", 1)}


@contextlib.contextmanager
def connected(hosts):
    """They are there as long as the context lasts."""
    try:
        lay_cable(hosts)
        yield
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "delete", host], check=False)


def lay_cable(hosts):
    for host in hosts:
        run("ip", "netns", "add", host)
    ends = [f"{host}v"[-15:] for host in hosts]
    run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for end, (host, address) in zip(ends, hosts.items()):
        run("ip", "link", "set", end, "netns", host)
        run("ip", "-n", host, "address", "add", f"{address}/24", "dev", end)
        for device in ("lo", end):
            run("ip", "-n", host, "link", "set", device, "up")
