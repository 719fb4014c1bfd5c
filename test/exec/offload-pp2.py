# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that a pipeline whose variables are all in the memory of the host, the tied weight that is sent among them, has the bits of one whose are not, and keeps
less on the device.
"""
import pathlib
import sys

from commands import run

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
REFERENCE = FIXTURES / "reference" / "gpt2-tiny-f64"
STRATEGY = """mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } } model { parameters: "p.*" batch { inputs: "ids" } }
train { adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 } clip { global_norm: 0.5 } }
data { axes: "dp" } zero { axes: "dp" stage: 1 } pipeline { axis: "pp" micro_batches: 2 }
"""


def train(folder, text):
    """The bytes of the variables after three steps, and what persists on the device of the first rank."""
    (folder / "strategy.textproto").write_text(text)
    run("dist-opt", FIXTURES / "gpt2-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    printed = run("dist-run", folder / "package", f"--init={REFERENCE}/init.safetensors", f"--feed={REFERENCE}/batch{{step}}.safetensors",
                  "--steps=3", "--check-serial", f"--save={folder}/final.safetensors")
    persistent = next(line for line in printed.splitlines() if "persistent" in line)
    return (folder / "final.safetensors").read_bytes(), float(persistent.split("each: ")[1].split()[0]), persistent


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    plain, kept, line = train(folder, STRATEGY)
    for match in ("adamw.*", "*"):
        offloaded, less, found = train(folder, STRATEGY + f'offload {{ match: "{match}" }}')
        if offloaded != plain:
            sys.exit(f"offload of {match} ends with other bits")
        if less >= kept:
            sys.exit(f"offload of {match} keeps as much on the device: {found}, without it {line}")


if __name__ == "__main__":
    main()
