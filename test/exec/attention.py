# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s --cases=14
# RUN: %cuda_stub %python %s --gpu=emulated --cases=6
"""Attention by tiles equals attention as a whole, in random shapes, masks, layouts and placements.

usage: attention.py [--cases=N] [--first=N] [--gpu=TARGET]

Every case is a network of one attention: with or without a causal mask, a window, keys that a batch hides, a learned bias, a soft cap and grouped
queries, written in one of several ways. The loss of the first step is compared with numpy; losses, gradients and variables of all steps with those
of the same network without tiles; and the ranks with the serial program in exact arithmetic, which sees a hidden score that counts. In f64, several
threads must give the bits of one, whether each computes tiles of its own or all compute each.

With --gpu networks compute in bf16, and the GPU on which all ranks run (sm_90, say, or emulated by the stub) has a kernel for each attention. The loss is compared with numpy,
and all values with those of the network in f32, from which they may be three times as far as those of a CPU in bf16 (root mean square).
MESHWRIGHT_TEST_CASES=500 makes it a campaign.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent.parent / "tools" / "dev" / "bench")]
import plain_safetensors
from commands import run
from stablehlo_text import Graph, dense

# Masks, and the numbers by which networks hide a score.
MASKS = ["none", "causal", "window", "keys", "causal-keys", "causal-added", "upper"]
LOWEST = {"f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308}


class Case:
    """One attention; everything that is drawn is drawn here."""

    def __init__(self, number):
        draw = random.Random(number)
        self.number = number
        self.batch, self.heads, self.size = draw.choice([1, 2, 4]), draw.choice([1, 2, 4]), draw.choice([1, 2, 3])
        self.groups = draw.choice([g for g in (1, 2, 4) if self.heads % g == 0])
        self.rows = draw.choice([24, 33, 48, 64, 96, 130])
        self.columns = self.rows if draw.random() < 0.7 else draw.choice([32, 40, 96])
        self.mask = draw.choice(MASKS)
        # Every row has a score that is not hidden; the last rows of a window would have none.
        self.columns = max(self.rows, self.columns) if self.mask == "window" else self.columns
        self.hides = draw.choice(["infinity", "lowest", "billion"])
        self.bias, self.cap = draw.random() < 0.3, draw.random() < 0.3
        self.layout, self.keys_first, self.normalize_late = draw.choice(["bhnd", "bnhd"]), draw.random() < 0.3, draw.random() < 0.3
        self.type = draw.choice(["f32", "f64"])
        self.precision = draw.choice(["", "", "bf16"]) if self.type == "f32" else ""
        self.bytes = draw.choice([1, 3000, 20000, 100000])
        meshes = ["serial"] + (["dp2"] if self.batch > 1 else []) + (["tp2"] if self.groups > 1 else [])
        meshes += ["dp2xtp2"] if self.batch > 1 and self.groups > 1 else []
        self.mesh = draw.choice(meshes)
        self.window = draw.choice([4, 9, 17])
        self.distance = self.rows if self.mask == "upper" else 0

    def move_to_gpu(self):
        """Larger, with heads of more than one step of a tensor core."""
        draw = random.Random(self.number)
        self.type, self.precision = "f32", "bf16"
        self.hides = "infinity" if self.hides == "billion" else self.hides
        self.batch, self.rows, self.size = min(self.batch, 2), draw.choice([64, 96, 130, 144, 200]), draw.choice([1, 3, 8, 16])
        self.size = min(self.size, self.rows // 16)
        self.columns = self.rows if self.columns <= self.rows else self.rows + 24
        self.distance = self.rows if self.mask == "upper" else 0
        self.mesh = self.mesh if self.batch > 1 else "tp2" if "tp2" in self.mesh else "serial"
        return self

    def describe(self):
        return " ".join(f"{key}={value}" for key, value in vars(self).items())

    def hidden_number(self):
        return {"infinity": -float("inf"), "lowest": LOWEST[self.type], "billion": -1e9}[self.hides]


def number_constant(graph, number, dtype):
    """A scalar of all digits; infinity as bits."""
    bits = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}
    text = bits[dtype] if number == -float("inf") else repr(number) if "e" in repr(number) else f"{number!r}"
    text = text if "e" not in text or "." in text else text.replace("e", ".0e")
    return graph.op("constant", [], (), dtype, f"value = dense<{text}> : tensor<{dtype}>")


def build(case):
    """The text of the network."""
    g, t = Graph(), case.type
    graph_fill = lambda number, shape: g._broadcast(number_constant(g, number, t), (), shape)
    B, H, G, N, M, D = case.batch, case.heads, case.groups, case.rows, case.columns, case.size
    R = H // G
    width = 5
    x = g.argument("x", (B, N, width), t)
    y = g.argument("y", (B, M, width), t)
    keep = g.argument("keep", (B, M), "i32")
    weights = {name: g.argument(f"p['{name}']", (width, count * D), t) for name, count in (("q", H), ("k", G), ("v", G))}
    bias = g.argument("p['bias']", (H, N, M), t) if case.bias else None
    out = g.argument("p['out']", (H * D, width), t)
    project = lambda value, name: g.dot(value, weights[name], contract=([2], [0]))
    # Queries of a group share keys and values: heads are numbered group by group.
    q, k, v = project(x, "q"), project(y, "k"), project(y, "v")
    q = g.reshape(q, (B, N, G, R, D))
    k, v = (g.reshape(value, (B, M, G, D)) for value in (k, v))
    q = g.multiply(q, graph_fill(0.7, q.shape))
    if case.layout == "bhnd":
        q, k, v = g.transpose(q, [0, 2, 3, 1, 4]), g.transpose(k, [0, 2, 1, 3]), g.transpose(v, [0, 2, 1, 3])
        order, places, kv = [0, 1, 2, 3, 4], ([0, 1], [4]), ([0, 1], [3])
    else:
        order, places, kv = [0, 1, 3, 2, 4], ([0, 2], [4]), ([0, 2], [3])
    scores = g.dot(k, q, (kv[0], places[0]), (kv[1], places[1])) if case.keys_first else g.dot(q, k, (places[0], kv[0]), (places[1], kv[1]))
    # Dimensions: groups' batch, then those of the first operand, then of the second; brought to B, G, R, N, M.
    if case.keys_first:
        scores = g.transpose(scores, [0, 1, 3, 4, 2] if case.layout == "bhnd" else [0, 1, 4, 3, 2])
    elif case.layout == "bnhd":
        scores = g.transpose(scores, [0, 1, 3, 2, 4])
    shape = (B, G, R, N, M)
    if case.cap:
        scores = g.multiply(g.tanh(g.multiply(scores, graph_fill(0.5, shape))), graph_fill(2.0, shape))
    if bias:
        scores = g.add(scores, g.broadcast(g.reshape(bias, (G, R, N, M)), [1, 2, 3, 4], shape))
    row, column = g.iota(0, (N, M)), g.iota(1, (N, M))
    shown = None
    if case.mask.startswith("causal"):
        shown = g.compare("GE", row, column)
    elif case.mask == "window":
        near = g.compare("LT", g._raw("subtract", row, column), g.fill(case.window, (N, M), "i32"))
        shown = g.op("and", [g.compare("GE", row, column), near], (N, M), "i1")
    elif case.mask == "upper":
        shown = g.compare("LE", row, g._raw("add", column, g.fill(case.distance, (N, M), "i32")))
    if shown:
        shown = g._broadcast(shown, [3, 4], shape)
    if "keys" in case.mask:
        seen = g.compare("NE", keep, g.fill(0, (B, M), "i32"))
        seen = g._broadcast(seen, [0, 4], shape)
        shown = g.op("and", [shown, seen], shape, "i1") if shown else seen
    if shown and case.mask == "causal-added":
        added = g.op("select", [shown, graph_fill(0.0, shape), graph_fill(case.hidden_number(), shape)], shape, t)
        scores = g.add(scores, added)
    elif shown:
        scores = g.record(g.op("select", [shown, scores, graph_fill(case.hidden_number(), shape)], shape, t), [scores], None)
    largest = g._reduce("maximum", scores, [4], -float("inf")) if t == "f32" else reduce_f64(g, scores)
    weights_of = g.exp(g.subtract(scores, g._broadcast(largest, [0, 1, 2, 3], shape)))
    total = g.sum(weights_of, [4])
    if not case.normalize_late:
        weights_of = g._raw("divide", weights_of, g._broadcast(total, [0, 1, 2, 3], shape))
    mixed = g.dot(weights_of, v, ([0, 1], kv[0]), ([4], [2 if case.layout == "bhnd" else 1]))  # B, G, R, N, D
    if case.normalize_late:
        mixed = g._raw("divide", mixed, g._broadcast(total, [0, 1, 2, 3], mixed.shape))
    mixed = g.reshape(g.transpose(mixed, [0, 3, 1, 2, 4]), (B, N, H * D))
    result = g.add(g.dot(mixed, out, contract=([2], [0])), x)
    # A batch's mean of squares.
    squares = g.multiply(result, result)
    loss = g.multiply(g.sum(squares, [0, 1, 2]), number_constant(g, 1.0 / (B * N * width), t))
    return g.text([loss])


def reduce_f64(g, x):
    start = number_constant(g, -float("inf"), "f64")
    region = (' ({ ^bb0(%l: tensor<f64>, %r: tensor<f64>): %o = "stablehlo.maximum"(%l, %r) : (tensor<f64>, tensor<f64>) -> tensor<f64> '
              '"stablehlo.return"(%o) : (tensor<f64>) -> () })')
    return g.op("reduce", [x, start], x.shape[:-1], "f64", f"dimensions = {dense([len(x.shape) - 1])}", region)


def make_arrays(case):
    draw = numpy.random.default_rng(case.number)
    kind = {"f32": "<f4", "f64": "<f8"}[case.type]
    B, H, G, N, M, D, width = case.batch, case.heads, case.groups, case.rows, case.columns, case.size, 5
    keep = (draw.random((B, M)) < 0.6).astype("<i4")
    keep[:, 0] = 1
    feed = {"x": draw.normal(size=(B, N, width)).astype(kind), "y": draw.normal(size=(B, M, width)).astype(kind), "keep": keep}
    state = {f"p.{name}": draw.normal(size=(width, count * D)).astype(kind) for name, count in (("q", H), ("k", G), ("v", G))}
    if case.bias:
        state["p.bias"] = draw.normal(size=(H, N, M)).astype(kind)
    state["p.out"] = draw.normal(size=(H * D, width)).astype(kind)
    return feed, state


def compute_loss(case, feed, state):
    """The loss in f64, from the definition of attention."""
    B, H, G, N, M, D = case.batch, case.heads, case.groups, case.rows, case.columns, case.size
    x, y = feed["x"].astype(float), feed["y"].astype(float)
    p = {name: array.astype(float) for name, array in state.items()}
    q = (x @ p["p.q"]).reshape(B, N, H, D) * 0.7
    k, v = ((y @ p[name]).reshape(B, M, G, D).repeat(H // G, axis=2) for name in ("p.k", "p.v"))
    scores = numpy.einsum("bnhd,bmhd->bhnm", q, k)
    if case.cap:
        scores = 2 * numpy.tanh(scores / 2)
    if case.bias:
        scores = scores + p["p.bias"]
    i, j = numpy.arange(N)[:, None], numpy.arange(M)[None]
    shown = numpy.ones((B, 1, N, M), bool)
    if case.mask.startswith("causal"):
        shown = shown & (i >= j)
    elif case.mask == "window":
        shown = shown & (i >= j) & (i - j < case.window)
    elif case.mask == "upper":
        shown = shown & (i <= j + case.distance)
    if "keys" in case.mask:
        shown = shown & (feed["keep"] != 0)[:, None, None]
    scores = numpy.where(shown, scores, max(case.hidden_number(), -1e300))
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    mixed = numpy.einsum("bhnm,bmhd->bnhd", weights, v).reshape(B, N, H * D)
    return float(((mixed @ p["p.out"] + x) ** 2).mean())


def make_strategy(case, tiles):
    axes = {} if case.mesh == "serial" else {axis[:2]: int(axis[2:]) for axis in case.mesh.split("x")}
    lines = ["mesh { " + " ".join(f'axes {{ name: "{name}" size: {size} }}' for name, size in axes.items()) + " }"] if axes else []
    lines.append('model { parameters: "p.*" batch { inputs: "x" inputs: "y" inputs: "keep" } }')
    precision = f" precision {{ compute: {case.precision.upper()} }}" if case.precision else ""
    lines.append(f"train {{ sgd {{ lr {{ constant: 0.05 }} }}{precision} }}\nfetch: \"grad/*\"")
    if "dp" in axes:
        lines.append('data { axes: "dp" }')
    if "tp" in axes:
        lines.append('tensor { axis: "tp"\n' + "".join(f'  split {{ match: "p.{name}" dim: 1 }}\n' for name in "qkv") + '  split { match: "p.out" dim: 0 }\n}')
    lines.append(f"tiles {{ {tiles} }}")
    return "\n".join(lines) + "\n"


def prepare(folder, case):
    """Writes the network, its data and its variables; the loss of the first step."""
    (folder / "graph.mlir").write_text(build(case))
    feed, state = make_arrays(case)
    plain_safetensors.write(folder / "feed.safetensors", feed)
    plain_safetensors.write(folder / "init.safetensors", state)
    return compute_loss(case, feed, state)


def train(folder, name, case, tiles, targets, options=()):
    strategy = folder / f"{name}.textproto"
    strategy.write_text(make_strategy(case, tiles))
    run("dist-opt", folder / "graph.mlir", f"--strategy={strategy}", f"--emit={folder / name}", *targets)
    return step(folder, name, 1, *options)


def step(folder, name, threads, *options):
    found = {"losses": []}
    run("dist-run", folder / name, f"--init={folder / 'init.safetensors'}", f"--feed={folder / 'feed.safetensors'}", "--steps=2",
        f"--metrics={folder / name}.jsonl", f"--save={folder / name}.variables", f"--outputs={folder / name}.outputs", "--quiet",
        f"--threads={threads}", *options)
    found["losses"] = [json.loads(line)["loss"] for line in open(f"{folder / name}.jsonl", encoding="utf-8")]
    found["arrays"] = {**plain_safetensors.read(f"{folder / name}.variables"), **plain_safetensors.read(f"{folder / name}.outputs")}
    return found


def share(folder, case, expected):
    """Repeats the tiled steps on several threads; true if they shared a loop."""
    threads = 2 + case.number % 3
    found = step(folder, "tiled", threads, f"--trace={folder / 'trace.json'}")
    if case.type == "f64" and (found["losses"] != expected["losses"] or
                               any(found["arrays"][name].tobytes() != array.tobytes() for name, array in expected["arrays"].items())):
        sys.exit(f"{threads} threads give other bits than one\n{case.describe()}")
    return "computation, thread 1" in (folder / "trace.json").read_text()


def compare_losses(case, name, found, expected, epsilon):
    if not abs(found["losses"][0] - expected) <= epsilon * (1 + abs(expected)):
        sys.exit(f"{name}: the first loss is {found['losses'][0]}, numpy's {expected}\n{case.describe()}")


def compare_arrays(case, whole, other, epsilon):
    for name, array in whole["arrays"].items():
        scale = numpy.abs(array.astype(float)).max(initial=1e-3)
        difference = numpy.abs(other["arrays"][name].astype(float) - array.astype(float)).max(initial=0)
        if not difference <= epsilon * scale:
            sys.exit(f"{name} differs by {difference} of {scale}\n{case.describe()}")


def check(case):
    """Whether the case has tiles, and whether threads shared them."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        expected = prepare(folder, case)
        whole = train(folder, "whole", case, "enabled: false", [])
        tiled = train(folder, "tiled", case, f"min_bytes: 0 bytes: {case.bytes}", ["--target=native", "--target=exact"])
        epsilon = {"bf16": 2e-2, "": 2e-5 if case.type == "f32" else 1e-12}[case.precision]
        for name, found in (("whole", whole), ("by tiles", tiled)):
            compare_losses(case, name, found, expected, epsilon)
        compare_arrays(case, whole, tiled, epsilon)
        run("dist-run", folder / "tiled", f"--feed={folder / 'feed.safetensors'}", "--steps=1", "--check-exact", "--quiet")
        scheduled = run("dist-opt", folder / "graph.mlir", f"--strategy={folder / 'tiled.textproto'}", "--to=schedule", "-o", "-")
        return "net.loop" in scheduled, share(folder, case, tiled)


def check_gpu(case, target):
    """Forward and backward have kernels of scores; a backward with the gradient of a bias, which is as large as scores, has none."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        expected = prepare(folder, case)
        whole = train(folder, "whole", case, "enabled: false", [])
        case.precision = ""
        precise = train(folder, "precise", case, "enabled: false", [])
        case.precision = "bf16"
        found = train(folder, "kernel", case, "min_bytes: 0", [f"--target={target}"],
                      ["--device=cuda", f"--kernels={target}", "--comm=onegpu"])
        for name, run_of in (("whole", whole), ("by a kernel", found)):
            compare_losses(case, name, run_of, expected, 2e-2)
        for name, array in precise["arrays"].items():
            measure = lambda values: float(numpy.sqrt(numpy.mean(numpy.square(values, dtype=float))))
            scale = measure(array)
            far, near = (measure(run_of["arrays"][name] - array) for run_of in (found, whole))
            if not far <= 5e-3 * scale + 3 * near:
                sys.exit(f"{name} differs by {far} of {scale}, on a CPU by {near}\n{case.describe()}")
        scheduled = run("dist-opt", folder / "graph.mlir", f"--strategy={folder / 'kernel.textproto'}", f"--target={target}", "--to=schedule", "-o", "-")
        if scheduled.count("scores <") != (1 if case.bias else 2):
            sys.exit(f"{scheduled.count('scores <')} kernels of scores\n{case.describe()}")


def check_targets(case):
    """Packages have such kernels if all their targets have tensor cores."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        (folder / "graph.mlir").write_text(build(case))
        strategy = folder / "strategy.textproto"
        strategy.write_text(make_strategy(case, "min_bytes: 0"))
        common = ["dist-opt", folder / "graph.mlir", f"--strategy={strategy}"]
        run(*common, "--target=sm_90", f"--emit={folder / 'package'}", "--quiet")
        if "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" not in (folder / "package" / "kernels-sm_90.ptx").read_text():
            sys.exit("the kernel for sm_90 has no products of tensor cores")
        for targets in (["sm_75"], ["sm_90", "native"]):
            if "scores <" in run(*common, *(f"--target={target}" for target in targets), "--to=schedule", "-o", "-"):
                sys.exit(f"there is a kernel of scores for {targets}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=14)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--gpu", metavar="TARGET")
    args = parser.parse_args()
    count = int(os.environ.get("MESHWRIGHT_TEST_CASES", args.cases))
    numbers = range(args.first, args.first + count)
    if args.gpu:
        for number in numbers:
            check_gpu(Case(number).move_to_gpu(), args.gpu)
        check_targets(Case(args.first).move_to_gpu())
        print(f"{count} cases by kernels")
        return
    found = [check(Case(number)) for number in numbers]
    tiled, shared = (sum(which) for which in zip(*found))
    if tiled < count // 2 or shared < count // 7:
        sys.exit(f"only {tiled} of {count} cases have tiles, and threads share those of {shared}")
    print(f"{count} cases, {tiled} by tiles, of {shared} of which threads share loops")


if __name__ == "__main__":
    main()
