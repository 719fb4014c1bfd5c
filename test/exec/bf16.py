# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that a graph whose parameters are in bf16 has gradients as good as JAX's: on every mesh all together are hardly farther from
those of the same network in f64 than what JAX computes in bf16."""
import pathlib
import sys

from commands import run
from gradients import measure_gradients
import plain_safetensors

REFERENCES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "reference"
DATA = 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } zero { axes: "dp" stage: 3 }'
TENSOR = """mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } tensor { axis: "tp" sequence: true
  split { match: "*.attention.?.kernel" dim: 1 } split { match: "*.attention.o.kernel" dim: 0 } split { match: "*.mlp.gate.kernel" dim: 1 }
  split { match: "*.mlp.up.kernel" dim: 1 } split { match: "*.mlp.down.kernel" dim: 0 } split { match: "*.embed.embedding" dim: 0 } }"""
MESHES = {"serial": "", "dp4-zero3": DATA, "dp2xtp2-sequence": TENSOR}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    reference = REFERENCES / "llama-tiny-bf16"
    exact = plain_safetensors.read(REFERENCES / "llama-tiny-f64" / "gradients.safetensors")
    theirs = plain_safetensors.read(reference / "gradients.safetensors")
    allowed = 1.25 * measure_gradients(theirs, exact)
    for name, mesh in MESHES.items():
        (folder / "strategy.textproto").write_text(
            mesh + ' model { parameters: "p.*" batch { inputs: "ids" } } train { sgd { lr { constant: 0.1 } } } fetch: "grad/*"\n')
        run("dist-opt", REFERENCES.parent / "llama-tiny-bf16.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{name}", "--quiet")
        run("dist-run", folder / name, f"--init={reference}/init.safetensors", f"--feed={reference}/batch0.safetensors", "--steps=1",
            "--check-serial", "--quiet", f"--outputs={folder}/{name}.safetensors")
        ours = measure_gradients(plain_safetensors.read(folder / f"{name}.safetensors"), exact)
        print(f"{name}: {ours:.4f} from the gradients in f64, {allowed:.4f} are allowed")
        if not ours <= allowed:
            sys.exit(1)


if __name__ == "__main__":
    main()
