# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Features of a machine and a build that tests may require, by the names that lit's `REQUIRES` has.

Those of NEEDED are there after tools/setup on every Debian 12: a run of the tests without one of them has failed, unless the caller
allows it or the machine does not permit it. All others are optional: tests that require them are skipped, with the reason.
"""
import os
import shutil
import subprocess

# Debian's interpreter, for which tools/setup installs numpy; another one may stand before it in PATH.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
CAP_SYS_ADMIN = 21


class NotPermitted(Exception):
    """This machine does not permit what a feature takes, whatever is installed."""


def find_mpi(build):
    if not os.path.exists(os.path.join(build, "lib", "libmeshwright_mpi.so")):
        return "the build has no lib/libmeshwright_mpi.so, which takes libopenmpi-dev"
    return None if shutil.which("mpirun") else "there is no mpirun in PATH; openmpi-bin has it"


def find_stub(build):
    path = os.path.join(build, "test", "bin", "libmw_cuda_stub.so")
    return None if os.path.exists(path) else "the build has no test/bin/libmw_cuda_stub.so; ninja check-build makes it"


def find_numpy(_):
    done = subprocess.run([PYTHON, "-c", "import numpy"], stderr=subprocess.PIPE, text=True, check=False)
    return None if done.returncode == 0 else f"{PYTHON} has no numpy ({last_line(done.stderr)}); python3-numpy has it"


def find_python(_):
    python = find_jax_python()
    if not os.path.exists(python):
        return f"there is no {python}; tools/setup --python makes it, with JAX from PyPI"
    done = subprocess.run([python, "-c", "import flax, jax, optax, transformers"], stderr=subprocess.PIPE, text=True, check=False)
    return None if done.returncode == 0 else f"{python} has no JAX ({last_line(done.stderr)}); tools/setup --python installs it"


def find_jax_python():
    """The interpreter that has JAX."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.environ.get("MESHWRIGHT_PYTHON") or os.path.join(root, "build", "python", "bin", "python")


def find_namespaces(_):
    """Makes a network as the tests of two hosts do."""
    if not shutil.which("ip"):
        return "there is no ip in PATH; iproute2 has it"
    if not may_administer():
        raise NotPermitted("networks of their own take CAP_SYS_ADMIN, which root has outside of containers")
    name = f"mw-probe-{os.getpid()}"
    commands = (["ip", "netns", "add", name], ["ip", "netns", "exec", name, "true"])
    try:
        failed = next((done for done in map(run, commands) if done.returncode != 0), None)
    finally:
        run(["ip", "netns", "delete", name])
    return f"`{' '.join(failed.args)}` fails: {last_line(failed.stderr)}" if failed else None


def run(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]


def may_administer():
    with open("/proc/self/status", encoding="utf-8") as status:
        capabilities = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
    return capabilities >> CAP_SYS_ADMIN & 1 == 1


NEEDED = {"cuda-stub": find_stub, "mpi": find_mpi, "namespaces": find_namespaces, "numpy": find_numpy, "python": find_python}

# Why a test without one is skipped.
OPTIONAL = {
    "fuzz": "the build is not linked with libFuzzer; the preset asan is",
    "!fuzz": "libFuzzer goes on from there",
    "memcheck": "only runs with --memcheck have it",
    "!memcheck": "it does not run under memcheck",
    "ptxas": "NVIDIA's assembler is not in PATH, CUDA_HOME and /usr/local/cuda",
    "!ptxas": "NVIDIA's assembler is there",
    "sanitizer": "the build has no sanitizer; the presets asan and tsan have",
    "!sanitizer": "the build has a sanitizer",
    "torch": "MESHWRIGHT_TORCH does not name a Python with PyTorch; tools/dev/export/requirements-torch.txt has the versions",
    "valgrind": "valgrind is not in PATH; the package valgrind has it",
}

# A Python with PyTorch, which takes some gigabytes.
TORCH_PYTHON = os.environ.get("MESHWRIGHT_TORCH", "")


def find_missing(build):
    """The needed features that are not there, with the reason; and those of them that this machine does not permit."""
    missing, refused = {}, set()
    for name, find in NEEDED.items():
        try:
            reason = find(build)
        except NotPermitted as error:
            reason = str(error)
            refused.add(name)
        if reason:
            missing[name] = reason
    return missing, refused
