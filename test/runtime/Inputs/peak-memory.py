# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: peak-memory.py LEAST MOST COMMAND...: runs it; whether its peak of memory is between the two, in MiB."""
import resource
import subprocess
import sys

subprocess.run(sys.argv[3:], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if not float(sys.argv[1]) <= peak <= float(sys.argv[2]):
    sys.exit(f"the peak is {peak:.1f} MiB, not between {sys.argv[1]} and {sys.argv[2]}")
