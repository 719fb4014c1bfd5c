# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Whole training steps as JAX and PyTorch print them are exactly what dist-opt makes of them for several ranks and exports: their own text is the serial
program of dist-verify. Wrong exports are found: one edit of each kind, or all with MESHWRIGHT_TEST_ROUNDS.

With data, tensor and sequence parallelism, ZeRO 1 and 3, whole owners, slices of a batch, and by the shardings in the text. optax.MultiSteps accumulates
gradients in mlp-multi-step.
"""
import os
import pathlib
import sys

import case
import steps
from graph_comparison import expect_equal, expect_refused, list_edits

# The meshes of every step, of which edits are made where they stand in EDITED.
MESHES = {
    "gpt2-adamw-step": ["dp2xtp2+sequence", "dp4+zero3", "dp2xtp2+slices2"],
    "gpt2-adafactor-step": ["dp2xtp2"],
    "mlp-average-step": ["dp2xtp2+zero1whole"],
    "mlp-clip-step": ["dp2xtp2+zero1"],
    "mlp-finite-step": ["dp2xtp2"],
    "mlp-multi-step": ["dp2xtp2+zero3"],
    "mlp-state-step": ["dp2xtp2"],
    "torch-adamw-step": ["dp2xtp2"],
    "torch-momentum-step": ["dp4+zero1"],
}
EDITED = {("gpt2-adamw-step", "dp2xtp2+sequence"), ("gpt2-adamw-step", "dp2xtp2+slices2"), ("mlp-clip-step", "dp2xtp2+zero1"), ("mlp-multi-step", "dp2xtp2+zero3")}
ANNOTATED = ["gpt2-tiny-f64-sequence.step", "llama-tiny-f64-sequence.step"]
KINDS = {"reduction", "groups", "first", "hidden", "mask"}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    strategy, exported, wrong = (folder / name for name in ("strategy.textproto", "exported.mlir", "wrong.mlir"))
    kinds, found = set(), 0
    for name, meshes in MESHES.items():
        _, network, _, model, _ = steps.GRAPHS[name]
        graph = case.FIXTURES / f"{name}.mlir"
        for mesh in meshes:
            strategy.write_text(case.make_strategy(network, mesh, "", model=model).replace('fetch: "grad/*"\n', ""))
            case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit-stablehlo={exported}", "--quiet")
            expect_equal(graph, exported)
            edits = {}
            for kind, edited in list_edits(exported.read_text()) if (name, mesh) in EDITED else ():
                edits.setdefault(kind, []).append(edited)
            kinds |= edits.keys()
            for texts in edits.values():
                for text in texts if os.environ.get("MESHWRIGHT_TEST_ROUNDS") else texts[len(texts) // 2:][:1]:
                    wrong.write_text(text)
                    expect_refused(("outputs differ", "on rank"), graph, wrong)
                    found += 1
    for name in ANNOTATED:
        graph = case.FIXTURES / f"{name}.mlir"
        case.run("dist-opt", graph, f"--emit-stablehlo={exported}", "--quiet")
        expect_equal(graph, exported)
    if kinds != KINDS:
        sys.exit(f"only {kinds} are edited")
    print(f"{found} of {found} wrong exports are found")


if __name__ == "__main__":
    main()
