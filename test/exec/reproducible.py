# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: mpi
# RUN: %python %s gpt2 serial dp2 dp8+tcp tp2+sequence dp2xtp2+zero3 dp4+zero2whole+mpi dp2+slices4 pp2xdp2+micro4
# RUN: %python %s gpt2 serial+merge2 dp2+merge2 dp4+zero2+merge2every dp2+merge2+slices2 pp2+merge2+micro4 --steps=4
# RUN: %python %s llama --precision=bf16 serial dp4 dp2xtp2
# RUN: %python %s mixture serial tp4 dp2+zero3
# RUN: %python %s unet serial tp2 tp4 dp2+slices2+zero3 pp2+micro4-zb_h1
# RUN: %python %s unet --precision=bf16 serial dp2xtp2 serial+slices4
# RUN: %python %s resnet serial dp2 tp2
# RUN: %python %s bert serial dp2xtp2
"""Trains networks with `reproducible` on many meshes and wants one hash of all variables and losses.

usage: reproducible.py NETWORK [--steps=N] [--precision=bf16] MESH...
       reproducible.py NETWORK [--steps=N] [--precision=bf16] all

NETWORK is gpt2, llama, mixture and so on, as in case.py, in f32, and so is MESH. A mesh with `+tcp` or `+mpi` runs on processes;
`all` stands for those in MESHES, or in WHOLE for networks that mix the samples of a batch and have no slices. A campaign is
`reproducible.py gpt2 --steps=100 all`.
"""
import argparse
import hashlib
import json
import pathlib
import struct
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from case import FIXTURES, NETWORKS, make_strategy, narrow_graph, read_safetensors, run

INIT = 'init { match: "*" normal { mean: 0.02 stddev: 0.1 } }\n'


WHOLE = ["serial", "dp2", "dp4", "dp8", "tp2", "tp4", "dp2xtp2", "dp4+zero1", "dp4+zero2", "dp4+zero3", "dp4+zero1whole", "dp4+zero2whole",
         "dp4+zero3whole", "dp2xtp2+zero3", "dp4+tcp", "dp4+mpi"]
MESHES = WHOLE + ["tp2+sequence", "serial+slices2", "serial+slices4", "dp2+slices4", "dp2+slices2+zero2", "pp2+micro4-fill_drain", "pp2+micro4",
                  "pp2xdp2+micro2", "pp2xdp2+micro4-zb_h1"]
MIXING = {"mixture", "resnet", "lstm"}


def write_feed(network, path):
    """Writes the first batch of the reference of a network, with floats in f32."""
    tensors = read_safetensors(FIXTURES / "reference" / f"{network}-tiny-f64" / "batch0.safetensors")
    header, data = {}, b""
    for key, array in tensors.items():
        if array.dtype == numpy.float64:
            array = array.astype("<f4")
        kind = {"<f4": "F32", "<i4": "I32", "<i8": "I64"}[array.dtype.str]
        header[key] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def count_ranks(mesh):
    ranks = 1
    for axis in mesh.split("+")[0].split("x"):
        if axis != "serial":
            ranks *= int(axis.lstrip("abcdefghijklmnopqrstuvwxyz"))
    return ranks


def make_hash(folder, network, spec, steps, precision):
    """Compiles and trains; the hash of all variables, and that of the losses."""
    words = spec.split("+")
    write_feed(network, folder / "batch.safetensors")
    (folder / "graph.mlir").write_text(narrow_graph(network))
    backend = [word for word in words if word in ("tcp", "mpi")]
    mesh = "+".join(word for word in words if word not in ("tcp", "mpi"))
    text = make_strategy(NETWORKS[network], mesh, "adamw") + "reproducible { parts: 8 }\n" + INIT
    text = text.replace('fetch: "grad/*"\n', "")
    if precision:
        text = text.replace("train { ", f"train {{ precision {{ compute: {precision.upper()} }} ")
    (folder / "strategy.textproto").write_text(text)
    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    start = ["dist-run"]
    if backend == ["tcp"]:
        start = ["dist-run", f"--nproc={count_ranks(mesh)}"]
    if backend == ["mpi"]:
        start = ["mpirun", "--oversubscribe", "-n", count_ranks(mesh), "dist-run", "--comm=mpi"]
    run(*start, folder / "package", "--quiet", f"--steps={steps}", "--seed=1", "--threads=1", f"--feed={folder}/batch.safetensors",
        f"--save={folder}/save.safetensors", f"--metrics={folder}/metrics.jsonl")
    losses = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return hashlib.sha256((folder / "save.safetensors").read_bytes()).hexdigest()[:16], losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--precision", default="")
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    results = {}
    if arguments.meshes == ["all"]:
        arguments.meshes = WHOLE if arguments.network in MIXING else MESHES
    for spec in arguments.meshes:
        with tempfile.TemporaryDirectory() as name:
            results[spec] = make_hash(pathlib.Path(name), arguments.network, spec, arguments.steps, arguments.precision)
        print(f"{arguments.network} {spec}: {results[spec][0]}, last loss {results[spec][1][-1]!r}", flush=True)
    first = arguments.meshes[0]
    different = [spec for spec, result in results.items() if result != results[first]]
    if different:
        sys.exit(f"{arguments.network}: {', '.join(different)} differ from {first}")


main()
