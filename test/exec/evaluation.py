#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %cuda_stub %python %s %tmp
"""Trains GPT-2 with dropout and evaluates it without, in one package, and compares both with JAX.

The evaluation is a graph of its own, on the same variables: distributed in all ways, after every second step and after the last one, over two
batches each. `dist-run --check-serial` checks its programs as it does those of the steps. Training has the same bits as without evaluation, takes
the larger of the two programs' arenas, and is said where the package has nothing to evaluate, or nobody says of what. Without a graph the evaluation is
the forward part of training.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy

import case
import plain_safetensors

STEPS, EVERY = 5, 2
TRAINED = case.FIXTURES / "reference" / "gpt2-dropout-tiny-f64"
EVALUATED = case.FIXTURES / "reference" / "gpt2-tiny-f64"
MESHES = ["dp2xtp2+sequence", "dp4+merge4", "pp2xdp2+micro2+zero3"]


def build(folder, mesh, *options, more="eval { every: 2 }", graph=case.FIXTURES / "gpt2-dropout-tiny-f64.mlir"):
    strategy = folder / "strategy.textproto"
    strategy.write_text(case.make_strategy(case.NETWORKS["gpt2"], mesh, "adamw") + more + "\n")
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={folder}/package", "--quiet", *options)


def train(folder, *options):
    case.run("dist-run", f"{folder}/package", f"--init={EVALUATED}/init.safetensors", f"--feed={TRAINED}/batch{{step}}.safetensors", f"--steps={STEPS}",
             f"--metrics={folder}/metrics.jsonl", f"--save={folder}/final.safetensors", f"--outputs={folder}/outputs.safetensors", "--quiet", *options)
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def check(mesh, folder, expected):
    build(folder, mesh, f"--eval={case.FIXTURES}/gpt2-tiny-f64.mlir", "--target=x86-64-v3", "--target=exact")
    checked = case.run("dist-run", f"{folder}/package", "--check-exact", f"--eval-feed={EVALUATED}/batch{{step}}.safetensors")
    if not all(f"{name} 1: " in checked for name in ("step", "evaluation")) or "differ" in checked:
        sys.exit(f"{mesh}: {checked}")
    lines = train(folder, f"--eval-feed={EVALUATED}/batch{{step}}.safetensors", "--eval-steps=2", "--check-serial")
    steps, evaluations = ([line for line in lines if ("eval/loss" in line) == is_evaluation] for is_evaluation in (False, True))
    if len(steps) != STEPS or [line["step"] for line in evaluations] != [2, 4, 5] or any(line["eval/batches"] != 2 for line in evaluations):
        sys.exit(f"{mesh}: steps and evaluations are {lines}")
    found = numpy.array([line["eval/loss"] for line in evaluations])
    # The first update of an accumulation of four steps comes after the first evaluation.
    known = [0] if "merge" in mesh else [2, 4, 5]
    case.compare(f"{mesh}: evaluations", {"losses": found[:len(known)]}, {"losses": expected[known]}, 0, case.TOLERANCE)
    if mesh != MESHES[0]:
        return
    results = {name: (folder / f"{name}.safetensors").read_bytes() for name in ("final", "outputs")}
    train(folder, "--eval-every=0")
    for name, data in results.items():
        if (folder / f"{name}.safetensors").read_bytes() != data:
            sys.exit(f"{mesh}: {name} has other bits without evaluation")


def check_memory(folder):
    """An arena is as large as the larger of its programs needs it, and the plan says what either does."""
    peaks = []
    for more in ("", "eval { }"):
        build(folder, "dp2xtp2", f"--plan={folder}/plan.json", more=more)
        peaks.append(train(folder, *([f"--eval-feed={TRAINED}/batch0.safetensors"] if more else []))[0]["peak_bytes"])
    plan = json.loads((folder / "plan.json").read_text())
    step, evaluation = plan["programs"][0]["peak_bytes"], plan["evaluation"]["peak_bytes"]
    if peaks[1] - peaks[0] != max(0, evaluation - step) or evaluation <= plan["programs"][0]["persistent_bytes"]:
        sys.exit(f"steps take {step} bytes, evaluations {evaluation}, and ranks {peaks}")


def fail(code, message, *command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != code or message not in done.stdout:
        sys.exit(f"{command} ended with {done.returncode} and\n{done.stdout}\nnot with {code} and {message}")


def check_elsewhere(folder, expected):
    """Variables in the memory of the host, ranks that are processes, and GPUs."""
    found = []
    build(folder, "dp2xtp2", f"--eval={case.FIXTURES}/gpt2-tiny-f64.mlir", more='eval { every: 2 } offload { match: "*" }')
    for options in ([], ["--nproc=4"]):
        found.append((options or "offload", train(folder, f"--eval-feed={EVALUATED}/batch{{step}}.safetensors", "--eval-steps=2", *options)))
    build(folder, "dp2xtp2", f"--eval={case.FIXTURES}/gpt2-tiny-f64.mlir", "--target=emulated", more='eval { every: 2 } offload { match: "adamw.*" }')
    found.append(("gpu", train(folder, f"--eval-feed={EVALUATED}/batch{{step}}.safetensors", "--eval-steps=2", "--device=cuda", "--kernels=emulated")))
    for name, lines in found:
        losses = numpy.array([line["eval/loss"] for line in lines if "eval/loss" in line])
        case.compare(f"{name}: evaluations", {"losses": losses}, {"losses": expected[[2, 4, 5]]}, 0, case.TOLERANCE)


def check_forward(folder):
    """The forward part of the graph that is trained, a whole step too, on the batch and key of a step."""
    build(folder, "dp2xtp2")
    batch = TRAINED / "batch0.safetensors"
    lines = train(folder, f"--eval-feed={batch}")
    first = next(line["loss"] for line in lines if line["step"] == 0)
    after = [line["eval/loss"] for line in lines if "eval/loss" in line]
    if not 0 < abs(after[0] - first) < 0.5 or len(set(after)) != 3:
        sys.exit(f"forward is evaluated to {after} after {first}")


def check_errors(folder):
    strategy = folder / "strategy.textproto"
    compile_ = ["dist-opt", case.FIXTURES / "mlp-tiny-f64.mlir", f"--strategy={strategy}", f"--emit={folder}/other", "--quiet"]
    batches = case.FIXTURES / "reference" / "mlp-tiny-f64"
    run = ["dist-run", folder / "other", f"--feed={batches}/batch0.safetensors", f"--init={batches}/init.safetensors"]
    strategy.write_text(case.make_strategy(case.NETWORKS["mlp"], "serial", "sgd"))
    case.run(*compile_)
    fail(2, "the package has nothing to evaluate", *run, "--eval-every=1")
    strategy.write_text(strategy.read_text() + "eval { every: 2 }\n")
    case.run(*compile_)
    fail(2, "neither --eval-feed nor --eval-data says of what; --eval-every=0 would not evaluate", *run)
    fail(1, "argument p.transformer.h.0.attn.c_attn.bias of the graph that is evaluated is a parameter, but no variable of the graph that is trained", *compile_,
         f"--eval={case.FIXTURES}/gpt2-tiny-f64.mlir")
    fail(2, "--eval goes through import, but --from=train leaves it out", *compile_, "--from=train", "--eval=-")
    strategy.write_text(strategy.read_text().replace("every: 2", 'outputs: "accuracy"'))
    fail(1, 'error: glob "accuracy" matches none of the 1 results of the graph that is evaluated', *compile_)


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    expected = plain_safetensors.read(case.FIXTURES / "reference" / "gpt2-evaluation.safetensors")["losses"]
    for mesh in MESHES:
        check(mesh, folder, expected)
    check_elsewhere(folder, expected)
    check_forward(folder)
    check_memory(folder)
    check_errors(folder)


if __name__ == "__main__":
    main()
