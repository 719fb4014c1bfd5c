# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %source
"""Tests that no part of a build depends on whether NVIDIA's headers are there: nothing but the test that compares with them includes one, and CMake looks for none."""
import os
import re
import sys

INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"](?:nvtx3/\w+|cuda\w*|cublas\w*|nccl\w*|cupti\w*|nvml|nvToolsExt|driver_types|library_types)\.h(?:pp)?[>\"]", re.M)
SEARCH = re.compile(r"find_(?:path|file|package|library)\s*\([^)]*(?:cuda|cublas|nccl|nvtx|cupti)[^)]*\)", re.I)
COMPARES = "test/unit/Cuda/VendorHeadersTest.cpp"


def find_files(root):
    for folder in ("cmake", "dialects", "include", "lib", "runtime", "test", "tools"):
        for path, _, names in os.walk(os.path.join(root, folder)):
            yield from (os.path.relpath(os.path.join(path, name), root) for name in names)
    yield "CMakeLists.txt"


def main():
    root = sys.argv[1]
    counts = {INCLUDE: 0, SEARCH: 0}
    for path in find_files(root):
        pattern = INCLUDE if path.endswith((".h", ".cpp", ".c", ".inc")) else SEARCH if path.endswith((".cmake", "CMakeLists.txt")) else None
        if not pattern:
            continue
        counts[pattern] += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found = pattern.search(file.read())
        if (found is not None) != (path == COMPARES):
            sys.exit(f"{path}: {found[0].strip()}" if found else f"{path} includes none of NVIDIA's headers to compare with")
    if min(counts.values()) < 20:
        sys.exit(f"only {list(counts.values())} sources and CMake files were found")


main()
