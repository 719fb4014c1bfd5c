# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: mpi
# RUN: %python %s --again gpt2 dp2xtp2 dp2xtp2+sequence dp4+zero3 dp4+zero3whole dp2xtp2+zero2
# RUN: %python %s gpt2 pp2xdp2+micro4 pp2xdp2+micro4-zb_h1+merge4 dp4+merge4 dp2xtp2+zero3+merge4every pp2xdp2+micro4+zero3
# RUN: %python %s mlp dp3xtp3+zero3 dp2xep2xtp2
# RUN: %python %s bert dp2xtp2
"""Trains networks on processes, which mpirun starts, and on threads, and wants the same bytes of all results.

usage: processes.py [--again] NETWORK MESH...

MESH is as in case.py, which compares what threads make with other programs. With --again the first of them is also checked against the serial
program, and resumed from a checkpoint, on processes.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from case import FIXTURES, LIKE, NETWORKS, find_times, make_strategy, run

MPIRUN = ["mpirun", "--oversubscribe", "-n"]


def compile_package(folder, network, spec):
    (folder / "strategy.textproto").write_text(make_strategy(NETWORKS[LIKE.get(network, network)], spec, "adamw"))
    run("dist-opt", FIXTURES / f"{network}-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto",
        f"--emit={folder}/package", "--quiet")


def train(folder, name, start, steps, batches, *options):
    """Runs a package; its results."""
    outputs = {"--save": folder / f"{name}.save", "--outputs": folder / f"{name}.outputs", "--metrics": folder / f"{name}.metrics"}
    run(*start, folder / "package", "--quiet", f"--steps={steps}", f"--feed={batches}/batch0.safetensors", f"--init={batches}/init.safetensors",
        *(f"{option}={path}" for option, path in outputs.items()), *options)
    metrics = [json.loads(line) for line in outputs["--metrics"].read_text().splitlines()]
    return {"variables": outputs["--save"].read_bytes(), "outputs": outputs["--outputs"].read_bytes(),
            "losses": [line.get("loss") for line in metrics], "norms": [line.get("grad_norm") for line in metrics],
            "updates": [line.get("update") for line in metrics]}, metrics


def compare(what, ours, theirs):
    for name, expected in theirs.items():
        if ours[name] != expected:
            sys.exit(f"{what}: {name} on processes and on threads differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("network", choices=[*NETWORKS, *LIKE])
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    batches = FIXTURES / "reference" / f"{LIKE.get(arguments.network, arguments.network)}-tiny-f64"
    for number, spec in enumerate(arguments.meshes):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            compile_package(folder, arguments.network, spec)
            merge = find_times(spec, "merge")
            steps = int(merge[1]) + 2 if merge else 3
            mesh = spec.split("+")[0]
            ranks = 1
            for axis in mesh.split("x"):
                ranks *= int(axis.lstrip("abcdefghijklmnopqrstuvwxyz"))
            processes = [*MPIRUN, str(ranks), "dist-run", "--comm=mpi"]
            expected, _ = train(folder, "threads", ["dist-run"], steps, batches)
            found, metrics = train(folder, "processes", processes, steps, batches)
            compare(spec, found, expected)
            # The first execution of each variant of a step may have to prepare.
            if any(line["allocations"] != 0 for line in metrics):
                sys.exit(f"{spec}: a step allocates memory: {[line['allocations'] for line in metrics]}")
            print(f"{spec}: {steps} steps on {ranks} processes have the bytes of threads")
            if arguments.again and number == 0:
                check_again(folder, spec, processes, batches, expected)


def check_again(folder, spec, processes, batches, expected):
    """Holds a run of processes against the serial program; stops one and goes on, on processes and on threads."""
    train(folder, "checked", processes, 2, batches, "--check-serial")
    checkpoints = folder / "checkpoints"
    train(folder, "first", processes, 2, batches, f"--checkpoint={checkpoints}")
    shutil.copytree(checkpoints, folder / "copied")
    for name, start, place in (("again", processes, checkpoints), ("threads again", ["dist-run"], folder / "copied")):
        resumed, _ = train(folder, name, start, 3, batches, f"--checkpoint={place}", "--resume")
        compare(f"{spec}, {name}", {key: resumed[key] for key in ("variables", "outputs")},
                {key: expected[key] for key in ("variables", "outputs")})


if __name__ == "__main__":
    main()
