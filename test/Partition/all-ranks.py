# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: python3 %s %fixtures %tmp | FileCheck %s
"""Exported networks on many meshes: the program of all ranks, interpreted, equals the serial one.

Every case is compiled to the end of Optimize, some also to the end of Partition; the programs are run for two training
steps on all ranks by their definition, where what lies beyond a part is NaN, and compared with the serial training step.
"""
import os
import subprocess
import sys

fixtures, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)

BATCHES = {"gpt2": ["ids"], "bert": ["ids", "mask", "labels"], "mlp": ["x", "y"]}
SPLITS = {
    "gpt2": [("*.attn.c_attn.*", "dim: 0 groups: 3"), ("*.attn.c_proj.kernel", "dim: 1"), ("*.mlp.c_fc.*", "dim: 0"),
             ("*.mlp.c_proj.kernel", "dim: 1")],
    "bert": [("*.self.*.kernel", "dim: 1"), ("*.self.*.bias", "dim: 0"), ("*.attention.output.dense.kernel", "dim: 0"),
             ("*.intermediate.dense.kernel", "dim: 1"), ("*.intermediate.dense.bias", "dim: 0"),
             ("*.layer.?.output.dense.kernel", "dim: 0")],
    "mlp": [("*.layer0.kernel", "dim: 1"), ("*.layer0.bias", "dim: 0"), ("*.layer1.kernel", "dim: 0")],
}
VOCABULARY = {"gpt2": ("*.wte.embedding", "dim: 0"), "bert": ("*.word_embeddings.embedding", "dim: 0")}


def strategy(network, mesh, data=(), tensor=None, sequence=False, vocabulary=True):
    lines = ["mesh {"] + [f'  axes {{ name: "{name}" size: {size} }}' for name, size in mesh] + ["}"]
    batches = " ".join(f'batch {{ inputs: "{name}" dim: 0 }}' for name in BATCHES[network])
    lines.append(f'model {{ parameters: "p.*" {batches} }}')
    lines.append("train { adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 eps: 1e-8 weight_decay: 0.1 "
                 'decay: "*.kernel" } }')
    if data:
        lines.append("data { " + " ".join(f'axes: "{axis}"' for axis in data) + " }")
    if tensor:
        splits = SPLITS[network] + ([VOCABULARY[network]] if vocabulary and network in VOCABULARY else [])
        lines.append(f'tensor {{ axis: "{tensor}" sequence: {str(sequence).lower()}')
        lines += [f'  split {{ match: "{match}" {how} }}' for match, how in splits] + ["}"]
    return "\n".join(lines) + "\n"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(network, name, stages=("optimize",), **how):
    model = f"{fixtures}/{network}-tiny-f64.mlir"
    reference = f"{fixtures}/reference/{network}-tiny-f64"
    base = os.path.join(folder, f"{network}-{name}")
    with open(base + ".textproto", "w") as file:
        file.write(strategy(network, **how))
    for stage in ("train", *stages):
        run("dist-opt", model, f"--strategy={base}.textproto", f"--to={stage}", "-o", f"{base}.{stage}.mlir")
    for stage in stages:
        lines = run("dist-simulate", f"{base}.train.mlir", f"{base}.{stage}.mlir",
                    f"--init={reference}/init.safetensors", f"--feed={reference}/batch{{step}}.safetensors",
                    "--steps=2", "--tolerance=1e-11").splitlines()
        print(network, name, stage, lines[-1])


DP2, TP2 = ("dp", 2), ("tp", 2)
BOTH = ("partition", "optimize")
# CHECK: gpt2 dp2 partition step 1: 87 values compared
# CHECK: gpt2 dp2 optimize step 1: 87 values compared
check("gpt2", "dp2", BOTH, mesh=[DP2], data=["dp"])
# Eight sequences over three ranks: 3, 3 and 2.
# CHECK: gpt2 dp3 optimize step 1: 87 values compared
check("gpt2", "dp3", mesh=[("dp", 3)], data=["dp"])
# CHECK: gpt2 tp4 optimize step 1: 87 values compared
check("gpt2", "tp4", mesh=[("tp", 4)], tensor="tp")
# Four heads over three ranks: nothing divides.
# CHECK: gpt2 tp3-sequence partition step 1: 87 values compared
# CHECK: gpt2 tp3-sequence optimize step 1: 87 values compared
check("gpt2", "tp3-sequence", BOTH, mesh=[("tp", 3)], tensor="tp", sequence=True)
# CHECK: gpt2 dp2-tp2 optimize step 1: 87 values compared
check("gpt2", "dp2-tp2", mesh=[DP2, TP2], data=["dp"], tensor="tp")
# CHECK: gpt2 dp2-tp2-whole-vocabulary optimize step 1: 87 values compared
check("gpt2", "dp2-tp2-whole-vocabulary", mesh=[DP2, TP2], data=["dp"], tensor="tp", vocabulary=False)
# CHECK: gpt2 dp2-tp2-sequence optimize step 1: 87 values compared
check("gpt2", "dp2-tp2-sequence", mesh=[DP2, TP2], data=["dp"], tensor="tp", sequence=True)
# CHECK: gpt2 three-axes optimize step 1: 87 values compared
check("gpt2", "three-axes", mesh=[("outer", 2), DP2, TP2], data=["outer", "dp"], tensor="tp")
# Axes of size 1 turn their parallelism off.
# CHECK: gpt2 ones optimize step 1: 87 values compared, largest difference 0.0e+00
check("gpt2", "ones", mesh=[("dp", 1), ("tp", 1)], data=["dp"], tensor="tp", sequence=True)
# CHECK: bert dp3 optimize step 1: 129 values compared
check("bert", "dp3", mesh=[("dp", 3)], data=["dp"])
# CHECK: bert tp3 optimize step 1: 129 values compared
check("bert", "tp3", mesh=[("tp", 3)], tensor="tp")
# CHECK: bert dp2-tp2-sequence optimize step 1: 129 values compared
check("bert", "dp2-tp2-sequence", mesh=[DP2, TP2], data=["dp"], tensor="tp", sequence=True)
# CHECK: mlp dp3 optimize step 1: 21 values compared
check("mlp", "dp3", mesh=[("dp", 3)], data=["dp"])
# CHECK: mlp dp2-tp5 optimize step 1: 21 values compared
check("mlp", "dp2-tp5", mesh=[DP2, ("tp", 5)], data=["dp"], tensor="tp")
