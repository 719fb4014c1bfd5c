# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that the blocks of a scan compute in bf16 as well as the same blocks one after the other: on every mesh all gradients together are
hardly farther from what JAX computes in f64 than those of the same network unrolled."""
import pathlib
import sys

from commands import run
from gradients import measure_gradients
import plain_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
REFERENCE = FIXTURES / "reference" / "scan-gpt-tiny-f64"
DATA = 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } zero { axes: "dp" stage: 3 }'
TENSOR = """mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } tensor { axis: "tp" sequence: true
  split { match: "*.attn.q.kernel" dim: 2 } split { match: "*.attn.k.kernel" dim: 2 } split { match: "*.attn.v.kernel" dim: 2 }
  split { match: "*.attn.o.kernel" dim: 1 } split { match: "*.mlp.up.kernel" dim: 2 } split { match: "*.mlp.up.bias" dim: 1 }
  split { match: "*.mlp.down.kernel" dim: 1 } }"""
MESHES = {"serial": "", "dp4-zero3": DATA, "dp2xtp2-sequence": TENSOR}


def compute_gradients(folder, name, unroll):
    """The gradients of the first batch, of blocks that compute in bf16 in a loop, or one after the other."""
    (folder / "strategy.textproto").write_text(
        f'{MESHES[name]} model {{ parameters: "p.*" batch {{ inputs: "ids" }} unroll_loops: {str(unroll).lower()} }} '
        'train { sgd { lr { constant: 0.1 } } precision { compute: BF16 } } fetch: "grad/*"\n')
    run("dist-opt", FIXTURES / "scan-gpt-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{name}", "--quiet")
    run("dist-run", folder / name, f"--init={REFERENCE}/init.safetensors", f"--feed={REFERENCE}/batch0.safetensors", "--steps=1",
        "--check-serial", "--quiet", f"--outputs={folder}/{name}.safetensors")
    return plain_safetensors.read(folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    exact = plain_safetensors.read(REFERENCE / "gradients.safetensors")
    for name in MESHES:
        rolled, unrolled = (measure_gradients(compute_gradients(folder, name, unroll), exact) for unroll in (False, True))
        print(f"{name}: {rolled:.4f} from the gradients in f64, unrolled {unrolled:.4f}")
        # Eight bits of significand: 2^-9 for each of the few dozen values that a gradient goes through, and not none at all.
        if not 1e-3 < unrolled < 0.03:
            sys.exit("the unrolled network does not compute in bf16")
        if not rolled < 1.2 * unrolled:
            sys.exit("the blocks of the loop lose more")


if __name__ == "__main__":
    main()
