# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command, prints what it prints, and fails unless it ends with the expected status: exit-status.py STATUS COMMAND..."""
import subprocess
import sys

done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
sys.stdout.buffer.write(done.stdout)
sys.exit(0 if done.returncode == int(sys.argv[1]) else f"ended with {done.returncode}")
