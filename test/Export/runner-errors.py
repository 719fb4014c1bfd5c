# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# REQUIRES: python
# RUN: %jax_python -W ignore %s %tmp
"""What the runners of modules refuse, with the message: other versions, unknown and missing names, values of other types, too few devices, and
replicas inside of a program."""
import os
import pathlib
import subprocess
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import jax
import numpy as np

from meshwright.jax.module_runner import Module, Runner
from meshwright.jax.pipeline_runner import Pipeline, PipelineRunner

STRATEGY = """
mesh {{ axes {{ name: "{axis}" size: 2 }} }}
model {{ parameters: "p.*" batch {{ inputs: "x" }} batch {{ inputs: "y" }} }}
train {{ sgd {{ lr {{ constant: 0.1 }} }} }}
"""


def write(folder, graph, axis, rest, *options):
    (folder / "s.textproto").write_text(STRATEGY.format(axis=axis) + rest)
    subprocess.run(["dist-opt", str(ROOT / "test" / "fixtures" / f"{graph}.mlir"), f"--strategy={folder}/s.textproto", "--emit-stablehlo=-", *options],
                   check=True, stdout=(folder / "step").open("w"))
    return (folder / "step").read_text()


def refuse(call, *parts):
    try:
        call()
    except (ValueError, KeyError, RuntimeError) as error:
        if not all(part in str(error) for part in parts):
            sys.exit(f"{parts} are not in: {error}")
    else:
        sys.exit(f"nothing refuses what ends with {parts}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    data, pipeline = 'data { axes: "dp" }', 'pipeline { axis: "pp" micro_batches: 2 }'
    text = write(folder, "mlp-tiny", "dp", data)
    stages = write(folder, "mlp-tiny", "pp", pipeline)
    refuse(lambda: Module(text.replace('"version":1', '"version":2', 1)), "the module is of version 2, and this reads version 1")
    refuse(lambda: Pipeline(stages.replace('"version":1', '"version":2', 1)), "the pipeline is of version 2, and this reads version 1")
    refuse(lambda: Module("module {}"), "the first line of a module is a comment with its arguments and results")
    replicas = Runner(Module(write(folder, "mlp-tiny", "dp", data, "--stablehlo-form=replicas")))
    refuse(lambda: jax.jit(replicas.call)(), "the module is in the form replicas")
    refuse(replicas.lower, "inside a program of JAX runs the form manual")
    for runner, what in ((Runner(Module(text)), "module"), (PipelineRunner(Pipeline(stages)), "step")):
        refuse(lambda: runner.place({"p.none": np.zeros(3)}), f"the {what} has no argument p.none; the first of 8 is p.layer0.bias")
        refuse(lambda: runner.place({"p.layer0.bias": np.zeros(3, "float32")}), "p.layer0.bias is of float32[24], and float32[3] is given")
        refuse(lambda: runner.step({}, {}), "the step needs p.layer0.bias, which is not given, and 7 more")
    for module, make in ((Module(text), Runner), (Pipeline(stages), PipelineRunner)):
        refuse(lambda: make(module, jax.devices()[:1]), "the module has 2 ranks, and there are 1 devices")
    wide = Pipeline(write(folder, "mlp-tiny-f64", "pp", pipeline))
    refuse(lambda: PipelineRunner(wide), 'p.layer0.bias is of float64; set jax.config.update("jax_enable_x64", True)')
    # A send that the list lacks.
    lacking = Pipeline(stages)
    sends = {name for name, action in lacking.actions.items() if action.is_send and action.sender == 0}
    lacking.order[0] = [item for item in lacking.order[0] if item[0] not in sends]
    runner = PipelineRunner(lacking)
    state = runner.place({name: np.zeros(port.shape, port.dtype) for name, port in lacking.variables.items()})
    inputs = {name: np.zeros(port.shape, port.dtype) for name, port in lacking.inputs.items()}
    refuse(lambda: runner.step(state, inputs), "waits in", "for a value that no other one sends")


if __name__ == "__main__":
    main()
