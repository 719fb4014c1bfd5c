# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the calls that the stub has recorded: on every thread ranges are closed in the order in which they were opened, and each kernel, product
and collective is issued in those of its task and of its scopes. Prints every path of ranges with what is issued in it, once.
"""
import sys

ISSUED = ("cuLaunchKernel", "cublasLtMatmul", "ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv")

open_ranges, seen = {}, set()
for line in open(sys.argv[1]):
    _, thread, function, *values = line.split()
    values = dict(value.split("=", 1) for value in values if not value.startswith("argument="))
    ranges = open_ranges.setdefault(thread, [])
    if function == "nvtxRangePush":
        if int(values["depth"]) != len(ranges):
            sys.exit(f"thread {thread} opens {values['name']} at depth {values['depth']} in {ranges}")
        ranges.append(values["name"])
    elif function == "nvtxRangePop":
        if not ranges:
            sys.exit(f"thread {thread} closes what is not open")
        ranges.pop()
    elif function in ISSUED:
        if len(ranges) < 2:
            sys.exit(f"thread {thread} issues {function} in {ranges}")
        seen.add((function, tuple(ranges)))
if any(open_ranges.values()):
    sys.exit(f"left open: {open_ranges}")
for function, path in sorted(seen):
    print(function, "/".join(path))
