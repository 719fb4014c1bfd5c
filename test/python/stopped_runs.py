# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of packages made by hand that stop and go on: their input, their command and what is expected of their files."""
import pathlib
import subprocess
import sys

import numpy as np

import plain_safetensors


def call(*command, expect=0):
    """Runs a command, which has to end with that code; what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}, not {expect}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Runs:
    """Runs of the packages in a folder, all on the same data from the same variables."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "x.npy"
        np.save(self.data, (np.arange(2048) % 13 - 5).astype("f4"))
        plain_safetensors.write(self.folder / "w", {"w": (np.arange(32) % 5 / 4).astype("f4").reshape(4, 8)})

    def command(self, package, steps, *more):
        return ["dist-run", self.folder / package, f"--init={self.folder}/w", f"--data=x={self.data}", f"--steps={steps}",
                "--quiet", *more]

    def same(self, left, right):
        """Ends with an error unless two files have the same bits."""
        if (self.folder / left).read_bytes() != (self.folder / right).read_bytes():
            sys.exit(f"{left} and {right} have other bits")
