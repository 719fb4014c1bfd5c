# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that a package is the same with and without a cache of kernels, full, empty, damaged or out of reach, and that another strategy finds
most of its kernels there."""
import os
import pathlib
import shutil
import sys

from commands import run

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
MODEL = 'model { parameters: "p.*" batch { inputs: "ids" } } train { sgd { lr { constant: 0.1 } } }\n'
MESHES = {"dp": 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" } ',
          "zero": 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" } zero { axes: "dp" stage: 1 } '}
folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
os.environ.pop("MESHWRIGHT_KERNEL_CACHE", None)


def compile_package(name, mesh, *options, **environment):
    """The bytes of the files of the package, by their names."""
    strategy = folder / f"{mesh}.textproto"
    strategy.write_text(MESHES[mesh] + MODEL)
    os.environ.update(environment)
    run("dist-opt", FIXTURES / "gpt2-tiny-f64.mlir", f"--strategy={strategy}", f"--emit={folder}/{name}", "--quiet", *options)
    for variable in environment:
        del os.environ[variable]
    return {path.name: path.read_bytes() for path in (folder / name).iterdir()}


def entries(cache):
    return {path.name: path for path in cache.iterdir() if path.name.startswith("llvmcache-")}


cache = folder / "a" / "cache"
option = f"--kernel-cache={cache}"
for targets in ((), ("--target=emulated", "--target=sm_80", "--target=x86-64-v3")):
    plain = compile_package("plain", "dp", *targets)
    before = len(entries(cache)) if cache.exists() else 0
    assert compile_package("filled", "dp", option, *targets) == plain
    filled = entries(cache)
    assert len(filled) > before + 20, (before, len(filled))
    times = {name: path.stat().st_mtime_ns for name, path in filled.items()}
    assert compile_package("again", "dp", *targets, MESHWRIGHT_KERNEL_CACHE=str(cache)) == plain
    assert times == {name: path.stat().st_mtime_ns for name, path in entries(cache).items()}, "a kernel was compiled again"

# Most kernels of another strategy are there.
count = len(filled)
assert compile_package("zero", "zero", option) == compile_package("zero", "zero")
assert count < len(entries(cache)) < count + len(times) / 4, (count, len(entries(cache)))

# A damaged entry is compiled again and replaced.
plain = compile_package("plain", "dp")
for damage in (lambda content: content[:-1], lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:], lambda content: b""):
    contents = {path: path.read_bytes() for path in entries(cache).values()}
    for path, content in contents.items():
        path.write_bytes(damage(content))
    assert compile_package("damaged", "dp", option) == plain
    restored = sum(path.read_bytes() == content for path, content in contents.items())
    assert restored >= 20, restored
    for path, content in contents.items():
        path.write_bytes(content)

# A cache that is no folder, or that cannot be made, keeps nothing from compiling.
(folder / "file").write_text("mine")
assert compile_package("file-package", "dp", f"--kernel-cache={folder}/file") == plain
assert compile_package("file-package", "dp", f"--kernel-cache={folder}/file/below") == plain
assert compile_package("none-package", "dp", "--kernel-cache=") == plain
assert (folder / "file").read_text() == "mine"
