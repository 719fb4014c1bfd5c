#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that every file that a program reads is a regular one: what is none is refused at once, by its name, and never waited for.

Every reader is given each kind of thing in the place of its file. A file that loses bytes while it is read ends the run with 4 and its name.
"""
# RUN: rm -rf %t && mkdir %t && make-test-package %t/p
# RUN: %python %s %t
import array
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])
BATCH = array.array("f", [1.0] * 32)  # of 8 x 4
(folder / "x.raw").write_bytes(BATCH.tobytes() * 10)
GRAPH = "module { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> } }\n"
MESH = 'mesh { axes { name: "pp" size: 2 } }'
(folder / "g.mlir").write_text(GRAPH, encoding="utf-8")
(folder / "s.textproto").write_text(MESH, encoding="utf-8")
(folder / "order.textproto").write_text(MESH + ' model { batch { inputs: "*" } } pipeline { axis: "pp" micro_batches: 2 order: "bad" }', encoding="utf-8")


def run(*command):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=20, check=False)


def dist_run(package, *more):
    return ["dist-run", package, "--steps=2", "--quiet", *more]


INPUT = "x"
SAVED, CHECKPOINTS = folder / "saved.safetensors", folder / "c"
DATA = f"--data={INPUT}={folder / 'x.raw'}:f32"
made = run(*dist_run(folder / "p", DATA, f"--save={SAVED}", f"--checkpoint={CHECKPOINTS}"))
assert made.returncode == 0, made.stdout
STEP = next(path.name for path in CHECKPOINTS.iterdir() if path.name.startswith("step-"))
SHARD = next(path.name for path in (CHECKPOINTS / STEP).iterdir() if path.suffix == ".safetensors")


def make(kind, path):
    """Puts a thing of that kind in the place of `path`; gives back what has to stay open."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a directory":
        path.mkdir()
    elif kind == "a socket":
        server = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(path.parent)  # paths of sockets are short
        server.bind(path.name)
        os.chdir(here)
        return server
    elif kind == "a link to nothing":
        path.symlink_to(path.parent / "nothing")
    elif kind == "unreadable":
        path.write_bytes(b"x")
        path.chmod(0)
    return None


def package_with(file):
    def prepare(copy):
        shutil.copytree(folder / "p", copy)
        return copy / file, dist_run(copy, DATA)
    return prepare


def checkpoint_with(file, command):
    def prepare(copy):
        shutil.copytree(CHECKPOINTS, copy)
        return copy / STEP / file, command(copy)
    return prepare


def single(make_command, name="bad"):
    def prepare(copy):
        copy.mkdir()
        return copy / name, make_command(copy / name)
    return prepare


def order(copy):
    copy.mkdir()
    shutil.copy(folder / "order.textproto", copy / "s.textproto")
    return copy / "bad", ["dist-opt", folder / "g.mlir", f"--strategy={copy / 's.textproto'}", "-o", "/dev/null"]


READERS = {
    "package": package_with("package.pb"),
    "constants": package_with("constants.bin"),
    "kernels": package_with("kernels-test.so"),
    "data": single(lambda bad: dist_run(folder / "p", f"--data={INPUT}={bad}:f32")),
    "data of NumPy": single(lambda bad: dist_run(folder / "p", f"--data={INPUT}={bad}"), "bad.npy"),
    "data as safetensors": single(lambda bad: dist_run(folder / "p", f"--data={INPUT}={bad}"), "bad.safetensors"),
    "feed": single(lambda bad: dist_run(folder / "p", f"--feed={bad}")),
    "init": single(lambda bad: dist_run(folder / "p", DATA, f"--init={bad}")),
    "index of a checkpoint": checkpoint_with("index.json", lambda copy: dist_run(folder / "p", DATA, f"--checkpoint={copy}", "--resume")),
    "file of a checkpoint": checkpoint_with(SHARD, lambda copy: dist_run(folder / "p", DATA, f"--checkpoint={copy}", "--resume")),
    "list of a checkpoint": checkpoint_with("index.json", lambda copy: ["dist-ckpt", "list", copy / STEP]),
    "import of a checkpoint": single(lambda bad: ["dist-ckpt", "import", bad, f"{bad}.made"]),
    "graph": single(lambda bad: ["dist-opt", bad, f"--strategy={folder / 's.textproto'}", "-o", "/dev/null"]),
    "strategy": single(lambda bad: ["dist-opt", folder / "g.mlir", f"--strategy={bad}", "-o", "/dev/null"]),
    "order of a strategy": order,
    "order": single(lambda bad: ["dist-schedule", bad]),
    "machine": single(lambda bad: dist_run(folder / "p", DATA, f"--machine={bad}")),
}
KINDS = ["a pipe", "a device", "a directory", "a socket", "a link to nothing", "unreadable"]

number = 0
for reader, prepare in READERS.items():
    for kind in KINDS:
        if kind == "unreadable" and os.geteuid() == 0:
            continue  # to whom everything is readable
        if (reader, kind) == ("index of a checkpoint", "a link to nothing"):
            continue  # a checkpoint that was never complete: there is nothing to go on from
        if (reader, kind) == ("import of a checkpoint", "a directory"):
            continue  # which is imported
        number += 1
        path, command = prepare(folder / f"copy-{number}")
        kept = make(kind, path)
        begin = time.monotonic()
        result = run(*command)
        what = f"{reader} that is {kind}: {result.returncode} {result.stdout[:500]}"
        assert result.returncode == 1, what
        assert "error: " in result.stdout, what
        assert time.monotonic() - begin < 15, what
        if kind not in ("a link to nothing", "unreadable"):
            assert f"{kind}; a regular file is wanted" in result.stdout, what
        if kept:
            kept.close()
        shutil.rmtree(folder / f"copy-{number}")


def shrinks(name, path, *command):
    """A run of many steps ends with 4 and says why when `path` loses all its bytes."""
    metrics = folder / f"metrics-{name}"
    process = subprocess.Popen([str(word) for word in ("dist-run", *command, "--steps=100000000", "--quiet", f"--metrics={metrics}")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    begin = time.monotonic()
    # Metrics become a file when the run ends: that it computes is seen by the time that it has had.
    while time.monotonic() - begin < 30 and sum(map(int, pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[13:15])) < 20:
        time.sleep(0.02)
    os.truncate(path, 0)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 4, f"{name}: {process.returncode} {said[:1000]}"
    assert f"dist-run: error: {path} became shorter while it was read" in said, said[:1000]


shutil.copytree(folder / "p", folder / "shrinking")
shrinks("kernels", folder / "shrinking" / "kernels-test.so", folder / "shrinking", DATA)
(folder / "shrinking.raw").write_bytes(BATCH.tobytes() * 10000)
shrinks("data", folder / "shrinking.raw", folder / "p", f"--data={INPUT}={folder / 'shrinking.raw'}:f32")
