# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Recomputation changes no bit: losses, gradients and variables of two steps, with every policy on one rank and one on
each mesh; --all takes every policy on every mesh, in f64 and with 16-bit floats, and four steps."""
import json
import pathlib
import sys

from commands import run

STEPS = 4 if "--all" in sys.argv else 2
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
SPLITS = """tensor { axis: "tp" SEQUENCE split { match: "*.attn.c_attn.*" dim: 0 groups: 3 }
  split { match: "*.attn.c_proj.kernel" dim: 1 } split { match: "*.mlp.c_fc.*" dim: 0 } split { match: "*.mlp.c_proj.kernel" dim: 1 } }"""
SCAN_SPLITS = """tensor { axis: "tp" split { match: "*.attn.q.kernel" dim: 2 } split { match: "*.attn.k.kernel" dim: 2 }
  split { match: "*.attn.v.kernel" dim: 2 } split { match: "*.attn.o.kernel" dim: 1 } split { match: "*.mlp.up.kernel" dim: 2 }
  split { match: "*.mlp.up.bias" dim: 1 } split { match: "*.mlp.down.kernel" dim: 1 } }"""
DP4 = 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } '
DP2TP2 = 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } ' + SPLITS.replace("SEQUENCE", "")
SEGMENTS = 'segment { anchors: "transformer.h.0.out" }'
MESHES = {
    "serial": "",
    "dp4": DP4,
    "dp2xtp2": DP2TP2,
    "tp2-sequence": 'mesh { axes { name: "tp" size: 2 } } ' + SPLITS.replace("SEQUENCE", "sequence: true"),
    # The embedding, whose features would be split, stays: a kernel that reads it in parts adds up rows in another order.
    "zero3": DP4 + f'zero {{ axes: "dp" stage: 3 persist_below_kilobytes: 25 {SEGMENTS} }}',
    "zero3-whole": DP4 + f'zero {{ axes: "dp" stage: 3 ownership: WHOLE {SEGMENTS} }}',
    "tp2-zero2": DP2TP2 + 'zero { axes: "dp" stage: 2 }',
    "pp2xtp2": 'mesh { axes { name: "pp" size: 2 } axes { name: "tp" size: 2 } } pipeline { axis: "pp" micro_batches: 2 schedule: ZB_H1 } ' +
               SPLITS.replace("SEQUENCE", ""),
    # For blocks that are the iterations of a loop.
    "scan-dp2xtp2": 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } ' + SCAN_SPLITS,
    "scan-zero3": DP4 + 'zero { axes: "dp" stage: 3 }',
}
POLICIES = {
    "nothing": 'blocks: "transformer.h.?"',
    "one-block": 'blocks: "transformer.h.1"',
    "products": "policy: KEEP_PRODUCTS",
    "cheap": "policy: KEEP_CHEAP",
    "anchors": 'anchors: "transformer.h.0.in" anchors: "transformer.h.0.out" anchors: "transformer.h.1.out"',
    "repeat": "repeat_conversions: true",
    "iterations": 'blocks: "while.body"',
    # A bound below the default's peak by a tenth of what it keeps.
    "fit": "fit: BOUND",
}
# Graph, batches, precision.
GRAPHS = {
    "f64": ("gpt2-tiny-f64.mlir", "gpt2-tiny-f64", ""),
    "bf16": ("gpt2-tiny.mlir", "gpt2-tiny-f64", "precision { compute: BF16 }"),
    "dropout": ("gpt2-dropout-tiny-f64.mlir", "gpt2-dropout-tiny-f64", ""),
    "scan": ("scan-gpt-tiny-f64.mlir", "scan-gpt-tiny-f64", ""),
    "scan-bf16": ("scan-gpt-tiny-f64.mlir", "scan-gpt-tiny-f64", "precision { compute: BF16 }"),
    "rbg": ("gpt2-rbg-tiny-f64.mlir", "gpt2-rbg-tiny-f64", ""),
}


def train(folder, graph, mesh, recompute):
    """Runs and returns the bytes of variables and outputs, the losses, and the first program of the plan.

    Without recomputation the run is compared with the serial program; with it, its bits are compared with that run."""
    checks = [] if recompute else ["--check-serial"]
    name, batches, precision = GRAPHS[graph]
    folder.mkdir(parents=True, exist_ok=True)
    recompute = f"recompute {{ {recompute} }}" if recompute else ""
    (folder / "s.textproto").write_text(
        f'{MESHES[mesh]} model {{ parameters: "p.*" batch {{ inputs: "ids" }} }} init {{ match: "*" normal {{ stddev: 0.1 }} }} fetch: "grad/*"\n'
        f"train {{ momentum {{ lr {{ constant: 0.1 }} }} clip {{ global_norm: 1.0 }} {precision} {recompute} }}\n")
    run("dist-opt", FIXTURES / name, f"--strategy={folder}/s.textproto", f"--emit={folder}/package", f"--plan={folder}/plan.json", "--quiet")
    run("dist-run", folder / "package", f"--feed={FIXTURES}/reference/{batches}/batch{{step}}.safetensors", f"--steps={STEPS}", "--quiet", *checks,
        f"--save={folder}/final.safetensors", f"--outputs={folder}/outputs.safetensors", f"--metrics={folder}/metrics.jsonl")
    losses = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    files = [(folder / f"{name}.safetensors").read_bytes() for name in ("final", "outputs")]
    return files, losses, json.loads((folder / "plan.json").read_text())


def main():
    folder = pathlib.Path(sys.argv[1])
    blocks = [policy for policy in POLICIES if policy not in ("iterations", "fit")]
    everything = "--all" in sys.argv
    # Every policy on one rank, and one on each mesh.
    cases = [("f64", mesh, policy) for number, mesh in enumerate(mesh for mesh in MESHES if not mesh.startswith("scan"))
             for policy in (blocks if everything or mesh == "serial" else (("nothing", "repeat")[number % 2],))]
    cases += [("bf16", mesh, policy) for mesh in (("serial", "zero3") if everything else ("zero3",)) for policy in (("nothing", "cheap") if everything else ("cheap",))]
    # Random numbers are the same ones again.
    cases += [("dropout", "dp2xtp2", "nothing"), ("rbg", "dp4", "nothing")]
    cases += [("scan", "scan-dp2xtp2", "cheap"), ("scan", "scan-zero3", "iterations"), ("scan-bf16", "serial", "iterations")]
    fitted = [("f64", "serial"), ("f64", "dp2xtp2"), ("bf16", "serial"), ("scan", "scan-zero3")]
    if everything:
        fitted += [("f64", "tp2-sequence"), ("f64", "zero3"), ("f64", "pp2xtp2"), ("scan", "scan-dp2xtp2")]
        cases += [("dropout", "serial", "nothing"), ("scan", "serial", "products"), ("scan", "serial", "iterations"), ("scan", "serial", "cheap"), ("scan", "scan-dp2xtp2", "iterations"), ("scan", "scan-dp2xtp2", "products")]
    cases += [(graph, mesh, "fit") for graph, mesh in fitted]
    known = {}
    for graph, mesh, policy in cases:
        if (graph, mesh) not in known:
            known[graph, mesh] = train(folder / f"{graph}-{mesh}", graph, mesh, "")
        plain = known[graph, mesh]
        bound = max(program["peak_bytes"] - program["memory"]["kept_for_backward"] // 10 for program in plain[2]["programs"])
        found = train(folder / f"{graph}-{mesh}-{policy}", graph, mesh, POLICIES[policy].replace("BOUND", str(bound)))
        if found[:2] != plain[:2]:
            sys.exit(f"{graph} on {mesh} with {policy}: other bits, losses {found[1]} and {plain[1]}")
        # Of all stages together.
        again = [sum(program["recompute_flops"] for program in side[2]["programs"]) for side in (plain, found)]
        # Moving elements again may be enough to fit.
        if not again[1] > again[0] and policy != "fit":
            sys.exit(f"{graph} on {mesh} with {policy}: computes {again[1]} again, by default {again[0]}")
        kept = [sum(program["memory"]["kept_for_backward"] for program in side[2]["programs"]) for side in (plain, found)]
        if not kept[1] < kept[0]:
            sys.exit(f"{graph} on {mesh} with {policy}: keeps {kept[1]}, by default {kept[0]}")
        if policy != "repeat" and "zero3" not in mesh and plain[2]["totals"] != found[2]["totals"]:
            sys.exit(f"{graph} on {mesh} with {policy}: {found[2]['totals']}, by default {plain[2]['totals']}")
        if policy == "fit" and max(program["peak_bytes"] for program in found[2]["programs"]) > bound:
            sys.exit(f"{graph} on {mesh}: takes more than {bound} bytes")
        print(graph, mesh, policy, *kept)


if __name__ == "__main__":
    main()
