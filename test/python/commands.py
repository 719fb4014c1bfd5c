# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that a test runs."""
import os
import subprocess
import sys

# The factor on the time that tests wait for programs, which are slow with sanitizers and under memcheck.
PATIENCE = float(os.environ.get("MESHWRIGHT_TEST_PATIENCE", "1"))


def run(*command):
    """Runs a command and returns its output; ends the test if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout
