# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %source/examples/gpt2/pp4.textproto %tmp
"""Cuts real networks into stages and counts what crosses between them.

usage: stages.py FIXTURES EXAMPLE FOLDER

Between two blocks of a transformer one value goes forward and one comes back, of the size of the activations and in the type that is used;
a tied embedding goes forward once, narrowed, and its gradient comes back once, in the type of the variable.
"""
import pathlib
import re
import subprocess
import sys

FIXTURES, EXAMPLE, FOLDER = map(pathlib.Path, sys.argv[1:4])
FOLDER.mkdir(parents=True, exist_ok=True)
TRAIN = "adamw { lr { constant: 1e-3 } } clip { global_norm: 1 } "
BF16 = TRAIN + "precision { compute: BF16 }"
F16 = TRAIN + "precision { compute: F16 loss_scale { dynamic {} } }"


def make_strategy(inputs, stages, train, pipeline=""):
    """A strategy with a pipeline, in a file."""
    strategy = FOLDER / "stages.textproto"
    strategy.write_text(f'mesh {{ axes {{ name: "pp" size: {stages} }} }} model {{ parameters: "p.*" ' +
                        " ".join(f'batch {{ inputs: "{name}" }}' for name in inputs) +
                        f' }} train {{ {train} }} pipeline {{ axis: "pp" micro_batches: 4 {pipeline} }}')
    return strategy


def annotate(graph, strategy):
    """The operations of the annotated step: result, type, stage, whether backward, operands."""
    text = subprocess.run(["dist-opt", FIXTURES / graph, f"--strategy={strategy}", "--to=annotate"],
                          check=True, capture_output=True, text=True).stdout
    for line in text[text.index("func.func"):].splitlines()[1:]:
        head = re.sub(r"\{.*", "", line)
        values = re.findall(r"%\w+", head)
        stage = re.search(r"dist\.stage = (\d+)", line)
        if " = " in head:
            yield (values[0], re.findall(r"tensor<(\S+)>", line)[-1], stage and int(stage[1]),
                   "role<backward>" in line, values[1:])


def find_crossings(ops):
    """For every value that another stage reads: whether of backward, from where to where, its type."""
    made, crossings = {}, set()
    for result, kind, stage, backward, operands in ops:
        for operand in operands:
            origin = made.get(operand)
            if stage is not None and origin and origin[0] not in (None, stage):
                crossings.add((operand, origin[1], origin[0], stage, origin[2]))
        made[result] = stage, backward, kind
    return sorted(crossing[1:] for crossing in crossings)


def check(expected, graph, strategy):
    found = find_crossings(annotate(graph, strategy))
    assert found == sorted(expected), f"{graph}: {found} cross, not {sorted(expected)}"


def make_expected(stages, activation, embedding, gradient):
    """One value over each border and way, and those of the embedding that the first and the last stage have."""
    return ([(False, stage, stage + 1, activation) for stage in range(stages - 1)] +
            [(True, stage + 1, stage, activation) for stage in range(stages - 1)] +
            [(False, 0, stages - 1, embedding), (True, stages - 1, 0, gradient)])


check(make_expected(4, "8x128x768xbf16", "50257x768xbf16", "50257x768xf32"), "gpt2-12.mlir", EXAMPLE)
check(make_expected(4, "8x128x768xf32", "50257x768xf32", "50257x768xf32"), "gpt2-12.mlir",
      make_strategy(["ids"], 2, TRAIN, "chunks: 2 schedule: ZB_V"))
check(make_expected(2, "8x16x32xf16", "97x32xf16", "97x32xf32"), "gpt2-tiny.mlir", make_strategy(["ids"], 2, F16))
check(make_expected(2, "8x16x32xf16", "97x32xf16", "97x32xf32"), "gpt2-dropout-tiny-f64.mlir",
      make_strategy(["ids"], 2, F16))
check(make_expected(2, "8x16x32xf64", "97x32xf64", "97x32xf64"), "gpt2-rbg-tiny-f64.mlir",
      make_strategy(["ids"], 2, TRAIN + "gradient_accumulation { steps: 2 }", "stages { balanced: COST }"))
check(make_expected(2, "8x16x32xf32", "89x32xbf16", "89x32xf32"), "bert-tiny.mlir",
      make_strategy(["ids", "mask", "labels"], 2, BF16))
# The gradients of the embeddings are made in their stage, though they are smaller than what they are made of.
check(make_expected(3, "8x16x32xf32", "97x32xf32", "97x32xf32"), "gpt2-tiny.mlir",
      make_strategy(["ids"], 3, TRAIN,
                    'stages { match: "transformer.w?e*" match: "transformer.h.0" match: "transformer.h.1" }'))
# Nothing is between the layers but an activation; what it is applied to goes forward.
check([(False, 0, 1, "8x24xf32"), (False, 1, 2, "8x16xf32"), (True, 1, 0, "8x24xf32"), (True, 2, 1, "8x16xf32")],
      "mlp-tiny.mlir", make_strategy(["x", "y"], 3, "sgd {}"))
