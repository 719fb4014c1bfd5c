# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# REQUIRES: python
# RUN: %jax_python -W ignore %source/test/interfaces/python-docs.py %source jax
# RUN: %jax_python -W ignore %s %source
"""The example of the README, and the code of docs/python.md with JAX: a GPT-2 of Flax is trained with AdamW on 4 devices
of JAX and on 4 ranks, with the losses of one device to 1e-6, in a script of at most 25 lines that prints the plan."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
script = root / "examples" / "jax" / "gpt2.py"
lines = script.read_text(encoding="utf-8").splitlines(keepends=True)
assert len(lines) <= 25
assert "```python\n" + "".join(lines[1:]) + "```" in (root / "README.md").read_text(encoding="utf-8"), "the README has another script"
done = subprocess.run([sys.executable, "-W", "ignore", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
assert done.returncode == 0, done.stderr
losses = [tuple(map(float, found)) for found in re.findall(r"^loss (\S+) in JAX on 4 devices, (\S+) on 4 ranks, (\S+) in JAX on one$", done.stdout, re.M)]
assert len(losses) == 5 and all(abs(ours - alone) <= 1e-6 * alone for *both, alone in losses for ours in both), losses
assert losses[0] != losses[4] and "c_reducescatter over dp" in done.stdout and "c_allgather over dp" in done.stdout
