# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exit-status.py N COMMAND...: whether the command ends with exit status N."""
import subprocess
import sys

done = subprocess.run(sys.argv[2:], capture_output=True, check=False)
if done.returncode != int(sys.argv[1]):
    sys.exit(f"exit status {done.returncode} where {sys.argv[1]} is wanted\n{done.stderr.decode()}")
