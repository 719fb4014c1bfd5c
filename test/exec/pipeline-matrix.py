# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Trains GPT-2 in pipelines beside every other parallelism with all that a step can have at once: clipping by the global norm, 16-bit products, a dynamic
loss scale, and two steps accumulated into an update. (Adam's first updates are signs of gradients, which 16 bits do not settle where these are small, with and without a pipeline.) Every step of four is compared with the serial program by `dist-run --check-serial`. --all adds the other ownership of every stage of ZeRO.
"""
import pathlib
import sys

import numpy

from commands import run

GRAPH = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "gpt2-8.mlir"
SPLITS = " ".join(f'split {{ match: "{glob}" dim: {dim}{groups} }}' for glob, dim, groups in (
    ("*.attn.c_attn.kernel", 0, " groups: 3"), ("*.attn.c_attn.bias", 0, " groups: 3"), ("*.attn.c_proj.kernel", 1, ""),
    ("*.mlp.c_fc.kernel", 0, ""), ("*.mlp.c_fc.bias", 0, ""), ("*.mlp.c_proj.kernel", 1, ""), ("*.wte.embedding", 0, "")))
DATA, TENSOR, SEQUENCE = 'data { axes: "dp" }', f'tensor {{ axis: "tp" {SPLITS} }}', f'tensor {{ axis: "tp" sequence: true {SPLITS} }}'
CASES = {
    "pp2xdp2": (("pp", "dp"), DATA),
    "pp2xtp2": (("pp", "tp"), TENSOR),
    "pp2xdp2xtp2": (("pp", "dp", "tp"), DATA + TENSOR),
    "pp2xdp2xtp2+sequence": (("pp", "dp", "tp"), DATA + SEQUENCE),
}
for stage in (1, 2, 3):
    for ownership in ("SLICES", "WHOLE") if "--all" in sys.argv else (("WHOLE", "SLICES")[stage % 2],):
        CASES[f"pp2xdp2+zero{stage}-{ownership}"] = (("pp", "dp"), DATA + f'zero {{ axes: "dp" stage: {stage} ownership: {ownership} }}')
PRECISIONS = {"bf16": "precision { compute: BF16 }",
              "f16": "precision { compute: F16 loss_scale { dynamic { initial: 65536 window: 2 } } }"}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "ids.npy", numpy.random.default_rng(7).integers(0, 128, (8 * 32, 16), dtype="i4"))
    for number, (name, (axes, text)) in enumerate(CASES.items()):
        # Half of the cases in each of the two types.
        precision = list(PRECISIONS)[number % 2]
        order = ("ONE_F_ONE_B", "ZB_H1")[number // 2 % 2]
        mesh = " ".join(f'axes {{ name: "{axis}" size: 2 }}' for axis in axes)
        (folder / "strategy.textproto").write_text(
            f'mesh {{ {mesh} }} model {{ parameters: "p.*" batch {{ inputs: "ids" }} range {{ input: "ids" max: 128 }} }}\n'
            'init { match: "*.scale" constant: 1 } init { match: "*.bias" constant: 0 } init { match: "*" normal { stddev: 0.02 } }\n'
            "train { momentum { lr { constant: 0.1 } momentum: 0.9 } clip { global_norm: 0.5 } "
            f"{PRECISIONS[precision]} gradient_accumulation {{ steps: 2 }} }}\n"
            f'pipeline {{ axis: "pp" micro_batches: 4 schedule: {order} }}\n{text}\n')
        run("dist-opt", GRAPH, f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
        run("dist-run", folder / "package", f"--data=ids={folder}/ids.npy", "--steps=4", "--check-serial", "--quiet")
        print(f"{name} in {precision}, {order}: agrees with the serial program")


if __name__ == "__main__":
    main()
