# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Trains GPT-2 in pipelines of uneven stages: the embeddings alone, a stage without a gradient because all its parameters are frozen, a last stage that only forwards the cotangent.
Both steps are compared with the serial program by `dist-run --check-serial`.
"""
import itertools
import pathlib
import sys

from commands import run

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
REFERENCE = FIXTURES / "reference" / "gpt2-tiny-f64"
STAGES = ("", 'stages { match: "transformer.w*" match: "*" }')
FROZEN = ("", 'frozen: "p.transformer.w*"', 'frozen: "p.transformer.h.0.*" frozen: "p.transformer.w*"', 'frozen: "p.transformer.h.1.*" frozen: "p.transformer.ln_f.*"')
ORDERS = ("ONE_F_ONE_B", "ZB_H1")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, (stages, frozen) in enumerate(itertools.product(STAGES, FROZEN)):
        order = ORDERS[number % 2]
        (folder / "strategy.textproto").write_text(
            f'mesh {{ axes {{ name: "pp" size: 2 }} }} model {{ parameters: "p.*" batch {{ inputs: "ids" }} {frozen} }}\n'
            "train { sgd { lr { constant: 0.1 } } clip { global_norm: 0.5 } }\n"
            f'pipeline {{ axis: "pp" micro_batches: 4 schedule: {order} {stages} }}\n')
        run("dist-opt", FIXTURES / "gpt2-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
        run("dist-run", folder / "package", f"--init={REFERENCE}/init.safetensors", f"--feed={REFERENCE}/batch{{step}}.safetensors", "--steps=2",
            "--check-serial", "--quiet")
        print(f"{order} {stages} {frozen}: agrees with the serial program")


if __name__ == "__main__":
    main()
