# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Trains in 16 bit with a scaled loss: an infinite gradient of one sample skips the same step on every mesh, and a dynamic scale recovers.

A dynamic scale, what is skipped, losses and parameters are those of JAX with optax and the rule of the scale written out
(tools/dev/export/loss_scale.py); a constant scale skips the same steps and stays.
"""
import json
import pathlib
import sys

import numpy

from commands import run
import plain_safetensors

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
REFERENCE = FIXTURES / "reference" / "mlp-tiny-f16"
STEPS, BAD = 10, (2, 3, 4)
SPLITS = """tensor { axis: "tp" split { match: "*.layer0.kernel" dim: 1 } split { match: "*.layer0.bias" dim: 0 }
  split { match: "*.layer1.kernel" dim: 0 } }"""
MESHES = {
    "serial": "",
    "dp4": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }',
    "dp2xtp2": 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } ' + SPLITS,
    "zero1": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } zero { axes: "dp" }',
    "zero3": 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } zero { axes: "dp" stage: 3 } ' + SPLITS,
}
MESHES["slices"] = MESHES["dp2xtp2"]
PIPELINE = 'pipeline { axis: "pp" micro_batches: %d schedule: %s }'
MESHES["pp3"] = 'mesh { axes { name: "pp" size: 3 } } ' + PIPELINE % (4, "ZB_H1")
MESHES["pp2xdp2"] = 'mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } } data { axes: "dp" } ' + PIPELINE % (2, "ONE_F_ONE_B")
MESHES["pp2xdp2xtp2-zero2"] = ('mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } '
                               'zero { axes: "dp" stage: 2 } ' + SPLITS + PIPELINE % (2, "ONE_F_ONE_B"))
MESHES["pp2xdp2-zero3whole"] = ('mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } } data { axes: "dp" } '
                                'zero { axes: "dp" stage: 3 ownership: WHOLE } ' + PIPELINE % (2, "ONE_F_ONE_B"))
# Further settings of `train` for some of them.
TRAIN = {"slices": "gradient_accumulation { slices: 4 }"}
DYNAMIC, CONSTANT = "dynamic { initial: 1024 window: 2 hysteresis: 2 minimum: 64 }", "constant: 512"


def train(folder, name, scale):
    """The metrics of all steps and the variables after them; and checks what the scalars of a step cost."""
    (folder / "strategy.textproto").write_text(
        f'{MESHES[name]} model {{ parameters: "p.*" batch {{ inputs: "x" }} batch {{ inputs: "y" }} }}\n'
        "train { momentum { lr { constant: 0.1 } } clip { global_norm: 0.5 } "
        f"precision {{ compute: F16 loss_scale {{ {scale} }} }} {TRAIN.get(name, '')} }}\n")
    run("dist-opt", FIXTURES / "mlp-tiny.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{name}", "--quiet",
        f"--plan={folder}/plan.json")
    run("dist-run", folder / name, f"--init={REFERENCE}/init.safetensors", f"--feed={REFERENCE}/batch{{step}}.safetensors", f"--steps={STEPS}",
        "--check-serial", "--quiet", f"--metrics={folder}/{name}.jsonl", f"--save={folder}/{name}.safetensors")
    # The loss, the norm and the indicator: each at most once.
    for program in json.loads((folder / "plan.json").read_text())["programs"]:
        scalars = sum(conversion["elements"] == 1 for conversion in program["conversions"])
        if scalars > 3:
            sys.exit(f"{name}: {scalars} conversions of scalars")
    steps = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    return steps, plain_safetensors.read(folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    expected = plain_safetensors.read(REFERENCE / "dynamic.safetensors")
    scalars = {key: expected.pop(key).tolist() for key in ("scales", "found", "skipped", "losses")}
    if [step for step in range(STEPS) if scalars["found"][step]] != list(BAD):
        sys.exit(f"the reference skips {scalars['found']}")
    for name in MESHES:
        steps, variables = train(folder, name, DYNAMIC)
        for key, ours in (("scales", "loss_scale"), ("found", "found_inf"), ("skipped", "skipped_steps")):
            if [step[ours] for step in steps] != scalars[key]:
                sys.exit(f"{name}: {ours} is {[step[ours] for step in steps]}, expected {scalars[key]}")
        for step, loss in zip(steps, scalars["losses"]):
            if step["step"] not in BAD and not abs(step["loss"] - loss) <= 2e-3 * abs(loss):
                sys.exit(f"{name}: the loss of step {step['step']} is {step['loss']}, that of JAX {loss}")
        for parameter, value in expected.items():
            distance = numpy.linalg.norm(variables[parameter] - value) / numpy.linalg.norm(value)
            if not distance <= 3e-2:
                sys.exit(f"{name}: {parameter} differs from that of JAX by {distance}")
        steps, _ = train(folder, name, CONSTANT)
        found = [(step["loss_scale"], step["found_inf"], step["skipped_steps"]) for step in steps]
        if found != [(512, found_inf, skipped) for found_inf, skipped in zip(scalars["found"], scalars["skipped"])]:
            sys.exit(f"{name}: with a constant scale {found}")
        print(name, "agrees with JAX")


if __name__ == "__main__":
    main()
