# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: valgrind
# RUN: rm -rf %tmp && mkdir -p %tmp
# RUN: %python %s %source %tmp %llvm_tools
"""Tests that tools/dev/run-tests --memcheck fails for a program that reads what is free, and that succeeds all the same; and only for that."""
import sys

from small_build import RUN, SmallBuild

# A GoogleTest in Python, which reads a block of memory as a program in C does.
READS = """#!{python}
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
block = ctypes.c_void_p(libc.malloc(8))
{before}
ctypes.string_at(block, 8)
open(sys.argv[1].removeprefix("--gtest_output=json:"), "w").write('{{"testsuites": [{{"testsuite": [{{"result": "COMPLETED", "status": "RUN"}}]}}]}}')
"""
FREES, WRITES = "libc.free(block)", "libc.memset(block, 0, 8)"

build = SmallBuild(*sys.argv[1:4])
# One that no filter below picks: lit fails where a folder has none.
build.write_lit_tests({"passes": f"{RUN} true"})
for before, options, status, lines in ((FREES, [], 0, ["1 passed, 0 failed"]),
                                       (FREES, ["--memcheck"], 1, ["Invalid read of size", "1 passed, 1 failed"]),
                                       (WRITES, ["--memcheck"], 0, ["1 passed, 0 failed"])):
    build.write_unit_test(READS.format(python=sys.executable, before=before))
    build.expect(["--filter=SomeTests", *options], status, lines)
