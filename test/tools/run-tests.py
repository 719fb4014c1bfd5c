# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: rm -rf %tmp && mkdir -p %tmp
# RUN: %python %s %source %tmp %llvm_tools
"""Tests that tools/dev/run-tests names what it skipped and why, and fails where a needed feature is missing, on a build that has three lit tests, one
GoogleTest and neither the plugin of MPI nor the stub of CUDA."""
import pathlib
import subprocess
import sys

source, folder, llvm_tools = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]

GTEST = """#!/bin/sh
echo 'Some.cpp:7: Skipped'
echo 'no oracle here'
echo '{"testsuites": [{"testsuite": [{"result": "SKIPPED", "status": "RUN"}, {"result": "COMPLETED", "status": "RUN"}]}]}' >"${1#--gtest_output=json:}"
"""
CONFIGURATION = f"""
import lit.formats
import os
config.llvm_tools = r"{llvm_tools}"
config.name = "fake"
config.suffixes = [".test"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_exec_root = config.test_source_root = os.path.dirname(__file__)
"""
# lit looks for its keywords in this file too.
RUN, REQUIRES = "RUN" ":", "REQUIRES" ":"
TESTS = {"passes": f"{RUN} true", "mpi": f"{REQUIRES} mpi\n{RUN} false", "fuzz": f"{REQUIRES} fuzz\n{RUN} false"}


def write_build(tests):
    build = folder / "build"
    (build / "test").mkdir(parents=True, exist_ok=True)
    binary = build / "test" / "SomeTests"
    binary.write_text(GTEST)
    binary.chmod(0o755)
    (build / "test" / "unit-tests.txt").write_text(f"{binary}\n")
    (build / "test" / "lit.site.cfg.py").write_text(CONFIGURATION)
    for name, text in tests.items():
        (build / "test" / f"{name}.test").write_text(f"{text}\n")
    return build


def expect(build, options, status, lines):
    """Checks that the run ends with the status, and that its output contains the lines, of which the last one ends it."""
    done = subprocess.run([sys.executable, source / "tools" / "dev" / "run-tests", build, *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    found = done.stdout.splitlines()
    if done.returncode != status or not all(any(line in other for other in found) for line in lines) or not found[-1].endswith(lines[-1]):
        sys.exit(f"run-tests {options} ended with {done.returncode} and\n{done.stdout}\nnot with {status} and {lines}")
    return done.stdout


build = write_build(TESTS)
expect(build, ["--allow-missing=namespaces"], 1,
       ["FAIL: fake :: mpi.test was skipped: requires mpi: the build has no lib/libmeshwright_mpi.so, which takes libopenmpi-dev",
        "skipped 1: no oracle here", "skipped 1: requires fuzz: the build is not linked with libFuzzer; the preset asan is",
        "FAIL: cuda-stub is missing: the build has no test/bin/libmw_cuda_stub.so", "--allow-missing=cuda-stub does without",
        "FAIL: mpi is missing: the build has no lib/libmeshwright_mpi.so", "2 passed, 3 failed"])
# A missing feature fails the tests that require it among those that are run, not every run of a few tests.
expect(build, ["--filter=passes"], 0, ["1 passed, 0 failed"])
expect(build, ["--filter=mpi"], 1, ["FAIL: fake :: mpi.test was skipped", "0 passed, 1 failed"])
allowed = expect(build, ["--allow-missing=mpi,cuda-stub,namespaces"], 0, ["skipped 1: requires mpi: ", "2 passed, 0 failed"])
assert "FAIL" not in allowed, allowed
expect(build, ["--allow-missing=mpl"], 2, ["error: argument --allow-missing: mpl: the needed features are cuda-stub, mpi, namespaces, numpy, python"])
# A feature that nothing has, because its name is wrong, never skips a test silently.
build = write_build({"wrong": f"{REQUIRES} mip\n{RUN} true"})
expect(build, ["--filter=wrong"], 1, ["FAIL: fake :: wrong.test was skipped: requires mip, which no machine and build has", "0 passed, 1 failed"])
