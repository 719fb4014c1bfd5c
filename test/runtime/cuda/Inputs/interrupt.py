# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interrupts `dist-run ARGUMENTS... --metrics=FILE` when it has said what some steps did: it ends with 4, and the file has every step before the one that it names."""
import json
import re
import signal
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for line in process.stdout:
    if line.startswith("step 5:"):
        process.send_signal(signal.SIGINT)
        break
_, errors = process.communicate()
last = re.search(r"interrupted before step (\d+)", errors)
if process.returncode != 4 or not last:
    sys.exit(f"ended with {process.returncode}: {errors}")
metrics = next(argument.split("=", 1)[1] for argument in sys.argv if argument.startswith("--metrics="))
steps = [json.loads(line)["step"] for line in open(metrics)]
if steps != list(range(int(last[1]))) or len(steps) < 6:
    sys.exit(f"interrupted before step {last[1]}, with the numbers of {len(steps)} steps, the last of them {steps[-1:]}")
