# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: ptxas
# RUN: %python %s %bin/../runtime/kernels/Reductions.ptx %t
"""Tests that NVIDIA's assembler takes the runtime's own kernels for every kind of GPU, and that they need no memory for registers."""
import os
import re
import shutil
import subprocess
import sys

ptx, output = sys.argv[1:]
path = os.pathsep.join([os.environ["PATH"], os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), "/usr/local/cuda/bin"])
ptxas = shutil.which("ptxas", path=path)
REDUCTIONS = {"sum", "product", "max", "min", "and", "or"}
FLOATS = {"f32", "f64", "bf16", "f16"}
INTEGERS = {f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}
wanted = {f"mw_{reduction}_{kind}" for reduction in REDUCTIONS for kind in FLOATS | INTEGERS
          if kind in INTEGERS or reduction not in ("and", "or")}

for architecture in ("sm_80", "sm_90", "sm_100"):
    done = subprocess.run([ptxas, f"--gpu-name={architecture}", "-v", ptx, "-o", output], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{architecture}: {done.stderr}")
    kernels = set(re.findall(r"Compiling entry function '(\w+)'", done.stderr))
    memory = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    if kernels != wanted or len(memory) != len(wanted) or any(int(count) for counts in memory for count in counts):
        sys.exit(f"{architecture}: not {sorted(kernels ^ wanted)}, or memory is used: {done.stderr}")
    registers = [int(count) for count in re.findall(r"Used (\d+) registers", done.stderr)]
    print(f"{architecture}: {len(kernels)} kernels, at most {max(registers)} registers, no spills")
