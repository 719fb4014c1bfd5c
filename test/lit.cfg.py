# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration of the lit tests.

Tools on PATH: dist-opt, dist-run and the test tools from the build; FileCheck, not, split-file, mlir-opt from LLVM.
Substitutions: %python, the interpreter that has numpy, %jax_python, the one that has JAX; %fixtures, the folder of exported graphs; %tmp, a folder of the test's own (it
may not exist yet); %source, the repository; %bin, the folder of the tools; %llvm_tools, that of LLVM's; %mpirun, what starts processes; %cuda_stub, what runs the
command behind it with a GPU that is none.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(config.source_dir, "test", "python"))
import memcheck
import requirements
from case_table import TableTests

config.name = "Meshwright"
config.test_format = TableTests(execute_external=False)
# tools/dev/run-tests --memcheck says so.
config.memcheck = lit_config.params.get("memcheck") == "1"
if config.sanitize or config.memcheck:
    from sanitized_test import SanitizedTest

    config.test_format = SanitizedTest(execute_external=False)
    config.available_features.add("sanitizer" if config.sanitize else "memcheck")
    config.environment["MESHWRIGHT_TEST_PATIENCE"] = "8" if config.sanitize else "60"
if memcheck.is_available():
    config.available_features.add("valgrind")
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = ["lit.cfg.py", "case.py", "packages.py", "steps.py", "offload.py", "zero.py", "exit-status.py", "fixtures", "unit", "lib", "python", "Inputs"]
config.test_source_root = os.path.join(config.source_dir, "test")
config.test_exec_root = os.path.join(config.build_dir, "test")

config.substitutions += [
    ("%python", requirements.PYTHON),
    ("%jax_python", requirements.find_jax_python()),
    ("%fixtures", os.path.join(config.test_source_root, "fixtures")),
    ("%tmp", "%t.dir"),
    ("%source", config.source_dir),
    ("%bin", os.path.join(config.build_dir, "bin")),
    ("%llvm_tools", config.llvm_tools),
]

path = [os.path.join(config.build_dir, "bin"), os.path.join(config.build_dir, "test", "bin"), config.llvm_tools]
if config.memcheck:
    wrappers = os.path.join(config.build_dir, "test", "memcheck")
    memcheck.write_wrappers(wrappers, memcheck.list_programs(*path[:2]) + [os.path.join(config.llvm_tools, "mlir-opt")])
    path.insert(0, wrappers)
config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
# A test's threads are its ranks; libraries that start their own would only get in each other's way.
config.environment["OMP_NUM_THREADS"] = "1"
# The modules of tests, and the Python package with the libraries of this build.
config.environment["PYTHONPATH"] = os.pathsep.join([os.path.join(config.test_source_root, "python"), os.path.join(config.source_dir, "python")])
config.environment["MESHWRIGHT_LIBRARIES"] = os.path.join(config.build_dir, "lib")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
for variable in ("CUDA_HOME", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "MESHWRIGHT_TEST_SEED", "MESHWRIGHT_TEST_ROUNDS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# Tests run beside each other, each on one core; a test of threads says how many it wants.
config.environment["OMP_NUM_THREADS"] = "1"

# Tests compile the same small kernels over and over.
config.environment["MESHWRIGHT_KERNEL_CACHE"] = os.path.join(config.test_exec_root, "kernel-cache")

# mpirun needs flags to run more processes than cores, and to run as root.
config.substitutions.append(("%mpirun", "mpirun --oversubscribe"))
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
# tools/dev/run-tests fails without one of these.
missing, _ = requirements.find_missing(config.build_dir)
config.available_features |= requirements.NEEDED.keys() - missing.keys()

cuda_stub = os.path.join(config.build_dir, "test", "bin", "libmw_cuda_stub.so")
libraries = ("MESHWRIGHT_CUDA_LIBRARY", "MESHWRIGHT_CUBLASLT_LIBRARY", "MESHWRIGHT_NCCL_LIBRARY")
config.substitutions.append(("%plugin", os.path.join(config.build_dir, "lib", "libMeshwrightPlugin.so")))
config.substitutions.append(("%failing_system", os.path.join(config.build_dir, "test", "bin", "libmw_failing_system.so")))
config.substitutions.append(("%stub_library", cuda_stub))
config.substitutions.append(("%cuda_stub", " ".join(["env"] + [f"{name}={cuda_stub}" for name in libraries])))

# NVIDIA's assembler, where dist-opt looks for it.
folders = [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME",) if name in os.environ] + ["/usr/local/cuda/bin"]
if shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"]] + folders)):
    config.available_features.add("ptxas")

if requirements.TORCH_PYTHON:
    config.available_features.add("torch")
    config.substitutions.append(("%torch_python", requirements.TORCH_PYTHON))

if config.fuzz == "ON":
    config.available_features.add("fuzz")
