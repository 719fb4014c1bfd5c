# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: rm -rf %tmp && mkdir -p %tmp
# RUN: %python %s %source %tmp %llvm_tools
"""Tests that tools/dev/run-tests names what it skipped and why, and fails where a needed feature is missing, on a build that has three lit tests, one
GoogleTest and neither the plugin of MPI nor the stub of CUDA."""
import sys

from small_build import REQUIRES, RUN, SmallBuild

build = SmallBuild(*sys.argv[1:4])
build.write_lit_tests({"passes": f"{RUN} true", "mpi": f"{REQUIRES} mpi\n{RUN} false", "fuzz": f"{REQUIRES} fuzz\n{RUN} false"})
build.write_unit_test("""#!/bin/sh
echo 'Some.cpp:7: Skipped'
echo 'no oracle here'
echo '{"testsuites": [{"testsuite": [{"result": "SKIPPED", "status": "RUN"}, {"result": "COMPLETED", "status": "RUN"}]}]}' >"${1#--gtest_output=json:}"
""")
build.expect(["--allow-missing=namespaces"], 1, [
    "FAIL: fake :: mpi.test was skipped: requires mpi: the build has no lib/libmeshwright_mpi.so, which takes libopenmpi-dev",
    "skipped 1: no oracle here", "skipped 1: requires fuzz: the build is not linked with libFuzzer; the preset asan is",
    "FAIL: cuda-stub is missing: the build has no test/bin/libmw_cuda_stub.so", "--allow-missing=cuda-stub does without",
    "FAIL: mpi is missing: the build has no lib/libmeshwright_mpi.so", "2 passed, 3 failed"])
# A missing feature fails the tests that require it among those that are run, not every run of a few tests.
build.expect(["--filter=passes"], 0, ["1 passed, 0 failed"])
build.expect(["--filter=mpi"], 1, ["FAIL: fake :: mpi.test was skipped", "0 passed, 1 failed"])
allowed = build.expect(["--allow-missing=mpi,cuda-stub,namespaces"], 0, ["skipped 1: requires mpi: ", "2 passed, 0 failed"])
assert "FAIL" not in allowed, allowed
build.expect(["--allow-missing=mpl"], 2, ["error: argument --allow-missing: mpl: the needed features are cuda-stub, mpi, namespaces, numpy, python"])
# A feature that nothing has, because its name is wrong, never skips a test silently.
build.write_lit_tests({"wrong": f"{REQUIRES} mip\n{RUN} true"})
build.expect(["--filter=wrong"], 1, ["FAIL: fake :: wrong.test was skipped: requires mip, which no machine and build has", "0 passed, 1 failed"])
