# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Trains in 16 bit with a scaled loss: an infinite gradient of one sample skips the same step on every mesh, and the scale recovers."""
import json
import pathlib
import subprocess
import sys

import numpy

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
STEPS, BAD = 8, (2, 3)
WINDOW = 2
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
# What else train says on some of them.
TRAIN = {"slices": "gradient_merge { slices: 4 }"}
PRECISION = f"precision {{ compute: F16 loss_scale {{ dynamic {{ initial: 1024 window: {WINDOW} hysteresis: 2 minimum: 64 }} }} }}"


def write_safetensors(path, tensors):
    types = {"float32": "F32", "int32": "I32"}
    header, data = {}, b""
    for name, value in tensors.items():
        begin = len(data)
        data += value.tobytes()
        header[name] = {"dtype": types[str(value.dtype)], "shape": list(value.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def expected_scales():
    """What the scale is in every step, and how many were skipped after it."""
    scale, good, left, skipped, result = 1024.0, 0, 2, 0, []
    for step in range(STEPS):
        used = scale
        if step in BAD:
            good, left, skipped = 0, max(left - 1, 0), skipped + 1
            if left == 0:
                scale = max(scale / 2, 64)
        else:
            good += 1
            if good == WINDOW:
                good, left, scale = 0, 2, scale * 2
        result.append((used, float(step in BAD), skipped))
    return result


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = numpy.random.default_rng(3)
    for step in range(STEPS):
        x = rng.standard_normal((8, 12)).astype("float32")
        if step in BAD:
            x[5, 3] = 1e6  # infinite in 16 bit
        write_safetensors(folder / f"batch{step}.safetensors", {"x": x, "y": rng.integers(0, 10, 8).astype("int32")})
    for name, mesh in MESHES.items():
        (folder / "strategy.textproto").write_text(
            f'{mesh} model {{ parameters: "p.*" batch {{ inputs: "x" }} batch {{ inputs: "y" }} }} init {{ match: "*" normal {{ stddev: 0.1 }} }}\n'
            f"train {{ momentum {{ lr {{ constant: 0.1 }} }} clip {{ global_norm: 0.5 }} {PRECISION} {TRAIN.get(name, '')} }}\n")
        run("dist-opt", FIXTURES / "mlp-tiny.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{name}", "--quiet")
        run("dist-run", folder / name, f"--feed={folder}/batch{{step}}.safetensors", f"--steps={STEPS}", "--check-serial", "--quiet",
            f"--metrics={folder}/{name}.jsonl")
        steps = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        found = [(step["loss_scale"], step["found_inf"], step["skipped_steps"]) for step in steps]
        if found != expected_scales():
            sys.exit(f"{name}: {found}, expected {expected_scales()}")
        losses = [step["loss"] for step in steps if step["step"] not in BAD]
        if not numpy.isfinite(losses).all():
            sys.exit(f"{name}: losses {losses}")
        plan = json.loads(run("dist-opt", FIXTURES / "mlp-tiny.mlir", f"--strategy={folder}/strategy.textproto", "--plan=-", "--quiet"))
        # The loss, the norm and the indicator: each at most once.
        scalars = sum(conversion["elements"] == 1 for program in plan["programs"] for conversion in program["conversions"])
        if scalars > 3 * len(plan["programs"]):
            sys.exit(f"{name}: {scalars} conversions of scalars")
        print(name, "scales", [scale for scale, _, _ in found], "conversions of scalars", scalars)


if __name__ == "__main__":
    main()
