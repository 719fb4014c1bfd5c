# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the code of docs/pytorch.md, in its order: Python in one process, shell in the same folder. The strategy that it shows is the
one that is written.

REQUIRES: torch
RUN: %torch_python %s %source/docs/pytorch.md %tmp
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

page, folder = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)
names = {"__name__": "page"}
blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)
assert len(blocks) > 5
for language, code in blocks:
    if language == "python":
        exec(compile(code, "docs/pytorch.md", "exec"), names)  # pylint: disable=exec-used
    elif language == "sh":
        subprocess.run(["bash", "-euc", code], check=True)
    elif code != pathlib.Path("network.textproto").read_text(encoding="utf-8"):
        sys.exit(f"the page shows\n{code}\nand the strategy is\n" + pathlib.Path("network.textproto").read_text(encoding="utf-8"))
