#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: rm -rf %t && mkdir %t && make-test-package %t/p
# RUN: %python %s %t
"""Tests the messages and exit statuses with which the tools refuse command lines, arrays and checkpoints.

Wrong usage ends with 2 before a file is opened, and a fault of a file with 1. A row quotes the part of a message that says what is wrong.
"""
import array
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
os.chdir(folder)
failures = []


def refuse(status, words, *command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60,
                          check=False)
    if done.returncode != status or words not in done.stdout or ": error: " not in done.stdout:
        failures.append(f"{' '.join(command)}\nended with {done.returncode}, not {status}, or without \"{words}\":\n{done.stdout}")


# ---------------------------------------------------------------------------------------------------------------------
# Command lines
# ---------------------------------------------------------------------------------------------------------------------

LINK = "--link=20us,2GB/s"
for words, *options in (
        ("--save: a file or name is wanted", "--save="),
        ('"0" is no number of seconds above 0', "--timeout=0"),
        ('"nan" is no number of seconds above 0', "--timeout=nan"),
        ('"1e9" is no number of seconds above 0', "--timeout=1e9"),
        ("--node-rank and --rendezvous want --nproc=N", "--nnodes=2"),
        ("1024 processes on each of 1024 hosts are above 65536", "--nproc=1024", "--nnodes=1024"),
        ("--node-rank=2 is not below --nnodes=2", "--nproc=2", "--nnodes=2", "--node-rank=2"),
        ("--nnodes=2 wants --rendezvous=HOST:PORT", "--nproc=2", "--nnodes=2"),
        ("--no-graph wants --device=cuda", "--no-graph"),
        ("--calibrate measures steps, but --steps=0 runs none", "--calibrate=x", "--steps=0"),
        ("--link is between ranks, but --serial runs one", "--serial", LINK),
        ("--check-messages is of what ranks send each other, but --serial", "--serial", "--check-messages"),
        ("--fault is of what ranks send each other, but --serial", "--serial", "--fault=rank=0,op=1,kind=kill"),
        ("2 files are standard input where", "--init=-", "--feed=-"),
        ("3 files are standard input where", "--init=-", "--feed=-", "--eval-data=x=-:f32"),
        ("--trace shows steps of the run, but --steps=0 runs none", "--trace=x", "--steps=0"),
        ("--profile shows steps of the run, but --steps=0 runs none", "--profile=x", "--steps=0"),
        ("for a link or a machine; --link=20us,2GB/s would give one", "--timeline=x"),
        ("for a link or a machine; --steps=0 runs none", "--timeline=x", "--steps=0", LINK),
        ("two results are to be written to x", "--save=x", "--outputs=x"),
        ("--save-dtype=bf16 wants --save=FILE", "--save-dtype=bf16"),
        ("--save-every=1 wants --checkpoint=FOLDER", "--save-every=1"),
        ("--resume wants --checkpoint=FOLDER, or a folder of its own", "--resume"),
        ("two packages are given, p and q", "q"),
        ("--serial takes no value", "--serial=yes")):
    refuse(2, words, "dist-run", "p", *options)
refuse(2, "(dist-run --help says more)", "dist-run")
refuse(2, "--parameters takes no value", "dist-ckpt", "list", "c", "--parameters=1")
refuse(2, "--csv wants =FILE", "dist-schedule", "zb_h1", "--csv=")
refuse(2, "option --csv wants a value, as in --csv=4", "dist-schedule", "zb_h1", "--csv")
refuse(2, '"remove" is none of list, verify, export and import', "dist-ckpt", "remove", "c")

for flag in ("--help", "--version"):
    refuse(1, "cannot write standard output", "sh", "-c", f"dist-run {flag} > /dev/full")

# ---------------------------------------------------------------------------------------------------------------------
# Arrays
# ---------------------------------------------------------------------------------------------------------------------

GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 4), }"


def write_npy(header, version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    pathlib.Path("x.npy").write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + bytes(128))


for words, *file in (
        ("lacks one of descr, fortran_order and shape", "{'descr': '<f4', 'fortran_order': False, }"),
        ("""the header has "'shape': (8, 4)," where , or } is wanted""", GOOD.replace("False,", "False")),
        (".npy file has version 9 and", GOOD, 9),
        ("column-major; row-major is wanted", GOOD.replace("False", "True"))):
    write_npy(*file)
    refuse(1, words, "dist-run", "p", "--data=x=x.npy")
pathlib.Path("x.raw").write_bytes(array.array("f", [1.0] * 32).tobytes())
pathlib.Path("empty.mlir").write_text("module {\n}\n", encoding="utf-8")
refuse(1, "module has no function to make a package of", "dist-opt", "empty.mlir", "--from=emit", "--emit=out")
pathlib.Path("step.mlir").write_text("func.func @step() {\n  return\n}\n", encoding="utf-8")
refuse(1, "cannot make folder x.raw/out.", "dist-opt", "step.mlir", "--from=schedule", "--emit=x.raw/out")
refuse(1, "cannot write standard output", "sh", "-c", "dist-run p --data=x=x.raw:f32 > /dev/full")
refuse(2, "raw data needs its type, as in x=x.raw:u8", "dist-run", "p", "--data=x=x.raw")

# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints
# ---------------------------------------------------------------------------------------------------------------------

pathlib.Path("empty").mkdir()
refuse(1, "empty has no checkpoint", "dist-run", "p", "--data=x=x.raw:f32", "--resume=empty")
for command in ("list", "verify"):
    refuse(1, "empty is no checkpoint and has none", "dist-ckpt", command, "empty")
subprocess.run(["dist-run", "p", "--data=x=x.raw:f32", "--checkpoint=c", "--quiet"], check=True)
subprocess.run(["dist-ckpt", "export", "c", "exported"], check=True)
refuse(1, "cannot create x.raw/out: Not a directory", "dist-ckpt", "export", "c", "x.raw/out")
refuse(1, "cannot create x.raw/c: Not a directory", "dist-run", "p", "--data=x=x.raw:f32", "--checkpoint=x.raw/c")
pathlib.Path("exported/model.safetensors.index.json").write_text('{"weight_map": ["w"]}', encoding="utf-8")
refuse(1, 'has no object "weight_map"', "dist-ckpt", "import", "exported", "d")


def crc32c(data):
    """The checksum of Castagnoli's polynomial, bit by bit, as RFC 3720 (iSCSI) defines it."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


INDEX = next(pathlib.Path("c").glob("step-*/index.json"))
WHOLE = json.loads(INDEX.read_text(encoding="utf-8"))


def checksum_of(content):
    return f"crc32c:{crc32c(json.dumps(content, sort_keys=True, separators=(',', ':')).encode()):08x}"


assert WHOLE["checksum"] == checksum_of(WHOLE["content"])


def change(words, edit, *command):
    """`edit` changes the content of the index, whose checksum is right again when `command` reads it."""
    root = json.loads(json.dumps(WHOLE))
    edit(root["content"])
    root["checksum"] = checksum_of(root["content"])
    INDEX.write_text(json.dumps(root), encoding="utf-8")
    refuse(1, words, *(command or ("dist-ckpt", "list", str(INDEX.parent))))


def change_variable(words, *command, **values):
    change(words, lambda content: content["variables"][0].update(values), *command)


change('has "color", which version 1 of the index does not know', lambda content: content.update(color="red"))
change("the variables are JSON of type string and not a list", lambda content: content.update(variables="w"))
change('two variables are called "w"', lambda content: content["variables"].append(content["variables"][0]))
change('"crc32c:0" is no checksum, as crc32c:e3069283 is', lambda content: content["variables"][0]["parts"][0].update(checksum="crc32c:0"))
change_variable("its digits are given for 1 dimensions but it has 2", digits=[[]])
change_variable('its type "f33" is no element type', dtype="f33")
change_variable("its parts are JSON of type object and not a list", parts={})
change('variable "z": it has 2 parts but no elements',
       lambda content: content["variables"].append(content["variables"][0] | {"name": "z", "shape": [0, 8]}))
change_variable("does not say which of its 1 variables are parameters", "dist-ckpt", "export", "c", "out", "--parameters", kind="")
INDEX.write_text('{"step": 1}', encoding="utf-8")
refuse(1, 'no index of a checkpoint: it has no "meshwright_checkpoint"', "dist-ckpt", "list", str(INDEX.parent))

shutil.rmtree("c")
sys.exit("\n".join(failures) or 0)
