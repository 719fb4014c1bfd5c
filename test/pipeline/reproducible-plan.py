# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Compares the bytes of plans with and without `reproducible`.

usage: reproducible-plan.py [--all]

GPT-2 with 12 layers and 50,257 tokens, on the meshes of examples/gpt2, in f32 and bf16. Tensor parallelism sends the same, but for sums of single
elements, and with sequence parallelism at most 2 % more, by as many scattered reductions. Data parallelism sends half an all-reduce of the tied
embedding more: two trees, reduced to shards, and one gather. `--all` prints all meshes, and small networks of other families.
"""
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "exec"))
from case import NETWORKS, make_strategy, narrow_graph, run

GRAPH = ROOT / "test" / "fixtures" / "gpt2-12.mlir"
EXAMPLES = ROOT / "examples" / "gpt2"
SMALL_MESHES = {
    "llama": ["dp4", "tp4", "tp2+sequence", "dp2xtp2", "dp4+zero3", "dp2+slices4", "pp2xdp2+micro4"],
    "mixture": ["dp4", "tp4", "dp2xtp2", "dp4+zero3"],
    "unet": ["dp4", "tp4", "dp2xtp2", "dp4+zero3", "dp2+slices4"],
}


def make_plans(graph, strategy, precision):
    """The plans without and with `reproducible`."""
    if precision == "bf16" and "BF16" not in strategy:
        strategy = re.sub(r"^train {", "train { precision { compute: BF16 }", strategy, count=1, flags=re.M)
        assert "BF16" in strategy
    plans = []
    for more in ("", "\nreproducible { parts: 8 }\n"):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "strategy.textproto"
            path.write_text(strategy + more)
            run("dist-opt", graph, f"--strategy={path}", f"--plan={name}/plan.json", "--to=schedule", "-o", "/dev/null", "--quiet")
            plans.append(json.loads((path.parent / "plan.json").read_text()))
    return plans


def make_example_plans(mesh, precision):
    """Those of GPT-2 on the mesh of an example."""
    return make_plans(GRAPH, (EXAMPLES / f"{mesh}.textproto").read_text(), precision)


def get_bytes(plans):
    """The bytes that a rank sends in a step, of each plan."""
    return [plan["totals"]["bytes"] for plan in plans]


def count_scattered(plan):
    return sum(conversion["kind"] == "c_reducescatter" for conversion in plan["programs"][0]["conversions"])


def show(network, mesh, precision, plans):
    sent = get_bytes(plans)
    print(f"{network:8} {precision:4} {mesh:16} {sent[0]:>12,} {sent[1]:>12,} {sent[1] / sent[0]:.3f}", flush=True)


def show_all():
    for example in sorted(EXAMPLES.glob("*.textproto")):
        for precision in ("f32", "bf16"):
            if precision == "f32" and "BF16" in example.read_text():
                continue
            show("gpt2-12", example.stem, precision, make_example_plans(example.stem, precision))
    for network, meshes in SMALL_MESHES.items():
        with tempfile.TemporaryDirectory() as name:
            graph = pathlib.Path(name) / "graph.mlir"
            graph.write_text(narrow_graph(network))
            for mesh in meshes:
                for precision in ("f32", "bf16"):
                    strategy = make_strategy(NETWORKS[network], mesh, "adamw").replace('fetch: "grad/*"\n', "")
                    show(network, mesh, precision, make_plans(graph, strategy, precision))


def check():
    for precision, size in (("f32", 4), ("bf16", 2)):
        without, fixed = get_bytes(make_example_plans("tp2", precision))
        if not without <= fixed <= without + 100_000:
            sys.exit(f"tp2, {precision}: {fixed} bytes instead of {without}")
        without, fixed = get_bytes(make_example_plans("dp2", precision))
        # The gradient's shards of the other rank; an all-reduce sends as many again to gather them.
        table = 50257 * 768 * size // 2
        if not 0 <= fixed - without - table <= 1000:
            sys.exit(f"dp2, {precision}: {fixed} bytes instead of {without} and {table} of the tied embedding")
    plans = make_example_plans("tp2-sequence", "f32")
    (without, fixed), scattered = get_bytes(plans), [count_scattered(plan) for plan in plans]
    if fixed > 1.02 * without or scattered[0] != scattered[1]:
        sys.exit(f"tp2-sequence: {fixed} bytes instead of {without}, {scattered[1]} scattered reductions instead of {scattered[0]}")


if sys.argv[1:] == ["--all"]:
    show_all()
else:
    check()
