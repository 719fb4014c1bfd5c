#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with variables in the memory of the host and without, and compares bits, plans and memory.

usage: offload.py MESH MATCH [--fields=FIELDS] [--no-optimize] [--resume]

MESH is as in case.py. Variables, outputs and a resumed run have the bits of the run without `offload`; the arena is smaller by exactly the variables' places; each is fetched and, where it
is assigned, written back once per step, parameters more than once; what is on the device at a time is within the bound. FIELDS are further fields of `offload`.
"""
import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile

import case

REFERENCE = case.FIXTURES / "reference" / "gpt2-tiny-f64"


def check(condition, text):
    if not condition:
        sys.exit(text)


class Run:
    """A compiled strategy and what a run of it left behind."""

    def __init__(self, folder, name, strategy, options, checks):
        self.folder = folder / name
        self.folder.mkdir()
        # With gradients accumulated, an update and half of another.
        self.steps = 6 if "gradient_accumulation" in strategy else 3
        for step in range(self.steps):
            (self.folder / f"batch{step}.safetensors").symlink_to(REFERENCE / f"batch{step % 5}.safetensors")
        (self.folder / "strategy.textproto").write_text(strategy)
        case.run("dist-opt", case.FIXTURES / "gpt2-tiny-f64.mlir", f"--strategy={self.folder}/strategy.textproto",
                 f"--emit={self.folder}/package", f"--plan={self.folder}/plan.json", "--quiet", *options)
        self.execute("final", f"--steps={self.steps}", *checks)
        self.plan = json.loads((self.folder / "plan.json").read_text())
        self.metrics = json.loads((self.folder / "metrics.jsonl").read_text().splitlines()[-1])

    def execute(self, save, *options):
        case.run("dist-run", self.folder / "package", f"--init={REFERENCE}/init.safetensors",
                 f"--feed={self.folder}/batch{{step}}.safetensors", "--quiet", f"--save={self.folder}/{save}.safetensors",
                 f"--outputs={self.folder}/{save}-outputs.safetensors", f"--metrics={self.folder}/metrics.jsonl", *options)

    def read(self, save):
        return [(self.folder / f"{save}{part}.safetensors").read_bytes() for part in ("", "-outputs")]


def check_program(before, after, is_state):
    """The plans of what a rank runs, without and with offload."""
    host = after["host"]
    # A place is a multiple of 64 bytes.
    check(before["persistent_bytes"] - after["persistent_bytes"] == host["arena_bytes"],
          f"the persistent part falls by {before['persistent_bytes'] - after['persistent_bytes']} bytes, "
          f"the host has {host['arena_bytes']}")
    if is_state:
        state = after["memory"]["optimizer_state"]
        check(host["fetched_bytes"] == host["written_back_bytes"] == state,
              f"{host['fetched_bytes']} bytes are fetched and {host['written_back_bytes']} written back of {state}")
    most = before["peak_bytes"] - host["arena_bytes"] + host["live_bytes"]
    check(after["peak_bytes"] <= most, f"the arena has {after['peak_bytes']} bytes, at most {most} were expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mesh")
    parser.add_argument("match")
    parser.add_argument("--fields", default="")
    parser.add_argument("--no-optimize", action="store_true")
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    strategy = case.make_strategy(case.NETWORKS["gpt2"], arguments.mesh, "adamw")
    options = ["--no-optimize"] if arguments.no_optimize else []
    before = Run(folder, "before", strategy, options, [])
    after = Run(folder, "after", strategy + f'offload {{ match: "{arguments.match}" {arguments.fields} }}\n', options,
                ["--check-serial"])
    check(before.read("final") == after.read("final"), "offloaded variables have other bits")
    check(len(before.plan["programs"]) == len(after.plan["programs"]), "there are other programs")
    for left, right in zip(before.plan["programs"], after.plan["programs"]):
        check_program(left, right, arguments.match == "adamw.*")
        if bound := re.search(r"max_live_megabytes: ([\d.e-]+)", arguments.fields):
            check(right["host"]["live_bytes"] <= float(bound[1]) * 10**6, f"{right['host']['live_bytes']} bytes are alive")
    host = max(program["host"]["arena_bytes"] for program in after.plan["programs"])
    check(after.metrics["host_bytes"] == host, f"the metrics say {after.metrics['host_bytes']}, the plan {host}")
    planned = [max(program["peak_bytes"] for program in run.plan["programs"]) for run in (before, after)]
    measured = [run.metrics["peak_bytes"] for run in (before, after)]
    check(measured[0] - measured[1] == planned[0] - planned[1], f"arenas {measured}, planned {planned}")
    if arguments.resume:
        checkpoint = f"--checkpoint={folder}/checkpoint"
        after.execute("first", "--steps=1", checkpoint)
        after.execute("resumed", f"--steps={after.steps}", checkpoint, "--resume")
        check(after.read("resumed") == before.read("final"), "a resumed run has other bits")
    program = after.plan["programs"][0]
    print(f"{arguments.mesh}: {program['host']}, arena {before.plan['programs'][0]['peak_bytes']} -> {program['peak_bytes']}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
