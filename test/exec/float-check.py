# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""dist-run --check-serial accepts right programs whose rounding is amplified, and finds wrong ones whose updates are small or coarse.

Right: Adam where a bias shifts all logits alike, so that its gradient is nothing but rounding; AdamW in bf16; a step in f16 that is skipped, with
NaN on one side and infinity on the other; a ResNet in f32, where a ReLU may fall on the other side of zero. Each from several random starts: 2, or 60
where MESHWRIGHT_TEST_ROUNDS is set. Wrong: SGD with a learning rate of 1e-5 whose weights are never updated, or whose gradients are
reduced otherwise; random mistakes in a pipeline in bf16."""
import os
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import case
import plain_safetensors

ROUNDS = bool(os.environ.get("MESHWRIGHT_TEST_ROUNDS"))
SEEDS = 60 if ROUNDS else 2
TARGETS = ["--target=x86-64-v3", "--target=twin"]

# Mistakes that make another well-formed program.
KINDS = ["collective-deleted-on-all-ranks", "reduction-changed-on-all-ranks", "part-deleted-on-all-ranks", "operand-redirected", "operands-exchanged",
         "kernels-exchanged", "strides-exchanged", "coordinate-changed", "update-deleted", "instruction-deleted"]
# The logits are x w + b + c, with one c for all classes.
SHIFTED = """
net.variable parameter @w : tensor<6x4xf32> = <normal, 0.0, 0.5>
net.variable parameter @b : tensor<4xf32> = <normal, 0.0, 0.5>
net.variable parameter @c : tensor<8xf32> = <normal, 0.0, 0.5>
func.func @loss(%x: tensor<16x6xf32> {net.name = "x"}, %y: tensor<16x4xf32> {net.name = "y"}) -> (tensor<f32> {net.name = "loss"}) {
  %w = net.read @w : tensor<6x4xf32>
  %b = net.read @b : tensor<4xf32>
  %c = net.read @c : tensor<8xf32>
  %product = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<16x6xf32>, tensor<6x4xf32> -> tensor<16x4xf32>
  %rows = net.broadcast %b dims = [1] : tensor<4xf32> -> tensor<16x4xf32>
  %biased = net.add %product, %rows : tensor<16x4xf32>
  %shift = net.reduce sum %c dims = [0] : tensor<8xf32> -> tensor<f32>
  %shifts = net.broadcast %shift dims = [] : tensor<f32> -> tensor<16x4xf32>
  %logits = net.add %biased, %shifts : tensor<16x4xf32>
  %exp = net.exponential %logits : tensor<16x4xf32>
  %sum = net.reduce sum %exp dims = [1] : tensor<16x4xf32> -> tensor<16xf32>
  %log = net.log %sum : tensor<16xf32>
  %chosen = net.multiply %logits, %y : tensor<16x4xf32>
  %score = net.reduce sum %chosen dims = [1] : tensor<16x4xf32> -> tensor<16xf32>
  %losses = net.subtract %log, %score : tensor<16xf32>
  %total = net.reduce sum %losses dims = [0] : tensor<16xf32> -> tensor<f32>
  %size = net.constant dense<16.0> : tensor<f32>
  %loss = net.divide %total, %size : tensor<f32>
  return %loss : tensor<f32>
}
"""
SKIPPED = """
net.variable parameter @w : tensor<4xf16> = <normal, 1.0, 0.1>
func.func @loss(%x: tensor<8x4xf16> {net.name = "x"}) -> (tensor<f16> {net.name = "loss"}) {
  %w = net.read @w : tensor<4xf16>
  %all = net.broadcast %w dims = [1] : tensor<4xf16> -> tensor<8x4xf16>
  %y = net.multiply %all, %x : tensor<8x4xf16>
  %sum = net.reduce sum %y dims = [0, 1] : tensor<8x4xf16> -> tensor<f16>
  return %sum : tensor<f16>
}
"""


def call(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def compile_package(folder, name, graph, strategy, *options):
    """The package of a graph, which is a path or text of the network's own form."""
    if not isinstance(graph, pathlib.Path):
        (folder / f"{name}.mlir").write_text(graph)
        graph, options = folder / f"{name}.mlir", (*options, "--from=train")
    (folder / f"{name}.textproto").write_text(strategy)
    case.run("dist-opt", graph, f"--strategy={folder}/{name}.textproto", f"--emit={folder}/{name}", "--quiet", *options)
    return folder / name


def write_batches(folder, name, steps, make):
    for step in range(steps):
        plain_safetensors.write(folder / f"{name}{step}.safetensors", make(step))
    return f"--feed={folder}/{name}{{step}}.safetensors"


def list_right(folder):
    """Packages, with the function that makes the options of a run of a seed, and the steps of it."""
    package = compile_package(folder, "shifted", SHIFTED, """mesh { axes { name: "dp" size: 2 } } model { parameters: "*" batch { inputs: "x" } batch { inputs: "y" } }
        data { axes: "dp" } train { adam { lr { constant: 0.1 } } }""", *TARGETS)

    def make_shifted(seed):
        random = numpy.random.default_rng(seed)
        return [write_batches(folder, "shifted", 10, lambda step: {"x": random.standard_normal((16, 6)).astype("f4"),
                                                                   "y": numpy.eye(4, dtype="f4")[random.integers(0, 4, 16)]}), f"--seed={seed}"]
    refused = call("dist-opt", folder / "shifted.mlir", "--from=train", f"--strategy={folder}/shifted.textproto", f"--emit={folder}/none", "--target=twin", "--no-serial")
    if refused.returncode == 0 or 'target "twin" is for the serial program, which --no-serial leaves out' not in refused.stdout:
        sys.exit(refused.stdout)
    yield "adam with a shift", package, make_shifted, 10

    init = 'init { match: "*.scale" constant: 1 } init { match: "*" normal { stddev: 0.1 } }\n'
    strategy = case.make_strategy(case.NETWORKS["gpt2"], "dp2xtp2", "adamw").replace("train { ", "train { precision { compute: BF16 } ")
    package = compile_package(folder, "bf16", case.FIXTURES / "gpt2-tiny.mlir", init + strategy, *TARGETS)
    batches = f"--feed={case.FIXTURES}/reference/gpt2-tiny-bf16/batch{{step}}.safetensors"
    yield "adamw in bf16", package, lambda seed: [batches, f"--seed={seed}"], 3

    package = compile_package(folder, "skipped", SKIPPED, """mesh { axes { name: "dp" size: 2 } } model { parameters: "w" batch { inputs: "x" } }
        train { sgd { lr { constant: 0.125 } } clip { global_norm: 1 } precision { loss_scale { constant: 1 } } } fetch: "grad/*" data { axes: "dp" }""", *TARGETS)

    def make_skipped(seed):
        random = numpy.random.default_rng(seed)

        def make(step):
            x = random.standard_normal((8, 4))
            if step == 1:
                x[:4], x[4:] = 50000 + 100 * x[:4], -25000 + 100 * x[4:]
            return {"x": x.astype("f2")}
        return [write_batches(folder, "skipped", 3, make), f"--seed={seed}", "--on-nonfinite=skip"]
    yield "skipped step in f16", package, make_skipped, 3

    graph = folder / "resnet-f32.mlir"
    graph.write_text(case.narrow_graph("resnet"))
    package = compile_package(folder, "resnet", graph, init + case.make_strategy(case.NETWORKS["resnet"], "dp2xtp2", "sgd"), *TARGETS)
    given = plain_safetensors.read(case.FIXTURES / "reference" / "resnet-tiny-f64" / "batch0.safetensors")

    def make_resnet(seed):
        random = numpy.random.default_rng(seed)
        return [write_batches(folder, "resnet", 3, lambda step: {"x": random.standard_normal(given["x"].shape).astype("f4"),
                                                                 "y": given["y"].astype("f4") if given["y"].dtype == "f8" else given["y"]}), f"--seed={seed}"]
    yield "resnet in f32", package, make_resnet, 3


def check_right(folder):
    for name, package, make, steps in list_right(folder):
        alarms = []
        for seed in range(SEEDS):
            done = call("dist-run", package, *make(seed), f"--steps={steps}", "--check-serial")
            if done.returncode != 0 or "no twin" in done.stdout:
                alarms.append(f"seed {seed}: {done.stdout[-2000:]}")
        print(f"{name}: {len(alarms)} of {SEEDS} right runs are refused")
        if alarms:
            sys.exit("\n".join(alarms[:2]))
        if not ROUNDS and name != "adam with a shift":
            continue
        apart = call("dist-run", package, *make(0), f"--steps={steps}", "--check-serial=apart")
        if apart.returncode != 0:
            sys.exit(f"{name}, apart: {apart.stdout[-2000:]}")


def check_wrong(folder):
    """Packages with mistakes, which the exact check finds: so does the float check."""
    tutorial = case.FIXTURES.parent.parent / "docs" / "tutorial"
    strategy = (tutorial / "strategy.textproto").read_text().replace("constant: 0.1", "constant: 1e-5")
    targets = [*TARGETS, "--target=exact"]
    package = compile_package(folder, "tutorial", tutorial / "network.mlir", strategy, *targets)
    random = numpy.random.default_rng(7)
    feed = write_batches(folder, "tutorial", 1, lambda step: {"x": random.standard_normal((8, 4)).astype("f4"), "y": random.standard_normal((8, 2)).astype("f4")})
    case.run("dist-run", package, feed, "--steps=0", f"--save={folder}/tutorial-init.safetensors")
    run_campaign(folder, f"{package},{folder}/tutorial-init.safetensors,{folder}/tutorial0.safetensors", 200 if ROUNDS else 6, 1,
                 "--only=update-deleted", "--only=reduction-changed-on-all-ranks")

    strategy = case.make_strategy(case.NETWORKS["gpt2"], "pp2xdp2+micro2", "bf16")
    package = compile_package(folder, "pipeline", case.FIXTURES / "gpt2-tiny.mlir", strategy, *targets)
    reference = case.FIXTURES / "reference" / "gpt2-tiny-bf16"
    run_campaign(folder, f"{package},{reference}/init.safetensors,{reference}/batch0.safetensors", 300 if ROUNDS else 8, 0.95, *[f"--only={kind}" for kind in KINDS])


def run_campaign(folder, words, count, least, *options):
    done = call("verify-mutants", folder / "mutants", f"--case={words}", f"--count={count}", f"--floats={least}", *options)
    print(done.stdout)
    if done.returncode != 0:
        sys.exit(1)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    check_right(folder)
    check_wrong(folder)


if __name__ == "__main__":
    main()
