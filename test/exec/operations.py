# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that every operation of net computes in a package, on every type, what the plain interpreter computes; on GPUs where a third argument
names what their kernels are compiled for."""
# RUN: %python %s elementwise %t
# RUN: %python %s integers %t
# RUN: %python %s layout %t
# RUN: %python %s reductions %t
# RUN: %python %s products %t
# RUN: %python %s indexing %t
# RUN: %python %s dynamic %t
# RUN: %python %s order %t
# RUN: %python %s matrices %t
import sys

import operations_cases
import package_runs

family, prefix, *gpu = sys.argv[1:]
cases = operations_cases.Cases(seed=1)
operations_cases.FAMILIES[family](cases)
found, expected = package_runs.run_both(f"{prefix}.{family}", cases.text(), cases.feed, gpu="".join(gpu))
sys.exit(package_runs.compare(found, expected, lambda name: cases.tolerance[name]) != 0)
