# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s --cases=8
"""Products with one-hot encodings that became gathers and scatters equal the products, in random mixtures of experts.

usage: one-hots.py [--cases=N] [--first=N]

Tokens go to seats of experts by positions that are data: out of range, fractional or no number for some. The loss is compared with numpy's, which
multiplies by the encodings; the update of every parameter with the central difference of numpy's loss along it; and the ranks with the serial
program in exact arithmetic. Every case replaces products, which the size of the program's tensors shows.
"""
import argparse
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python")]
import plain_safetensors
from commands import run

MESHES = {"serial": "", "dp2": 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" }',
          "tp2": 'mesh { axes { name: "tp" size: 2 } } tensor { axis: "tp" split { match: "p.experts" dim: 0 } }',
          "dp2xtp2": 'mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } } data { axes: "dp" } '
                     'tensor { axis: "tp" split { match: "p.experts" dim: 0 } }'}


class Case:
    """One mixture of experts; everything that is drawn is drawn here."""

    def __init__(self, number):
        draw = random.Random(number)
        self.number = number
        self.tokens, self.choices, self.experts = draw.choice([32, 36]), draw.choice([1, 2, 3]), draw.choice([8, 10])
        self.room, self.width = draw.choice([16, 24]), draw.choice([4, 6])
        self.places = draw.choice(["f64", "i32", "i64", "f32"])
        self.selects, self.adds = draw.random() < 0.5, draw.random() < 0.4
        self.mesh = list(MESHES)[number % len(MESHES)]

    def describe(self):
        return " ".join(f"{key}={value}" for key, value in vars(self).items())

    def draw_batch(self):
        rng = numpy.random.default_rng(self.number)
        chosen = rng.integers(-2, self.experts + 2, (self.tokens, self.choices)).astype(numpy.int32)
        place = rng.integers(-3, self.room + 3, (self.tokens, self.choices, self.experts)).astype(numpy.dtype(self.places.replace("f", "float").replace("i", "int")))
        if self.places[0] == "f":
            odd = rng.random(place.shape)
            place = numpy.select([odd < 0.05, odd < 0.1, odd < 0.15, odd < 0.2], [place + 0.5, numpy.nan, numpy.inf, -1e30], place).astype(place.dtype)
        return {"x": rng.standard_normal((self.tokens, self.width)), "chosen": chosen, "place": place}

    def draw_parameters(self):
        rng = numpy.random.default_rng(self.number + 1)
        return {"p.experts": rng.standard_normal((self.experts, self.width, self.width)), "p.weights": rng.standard_normal((self.width, self.choices))}

    def compute_loss(self, parameters, batch):
        """The loss by products with the encodings, in numpy."""
        hot = (batch["chosen"][..., None] == numpy.arange(self.experts)).astype(float)
        seats = (batch["place"][..., None] == numpy.arange(self.room)).astype(float)
        weights = batch["x"] @ parameters["p.weights"]
        kept = hot * (batch["place"] < self.room - 1)
        sent = numpy.einsum("tke,tkec->tec", kept, seats)
        combined = numpy.einsum("tk,tke,tkec->tec", weights, kept, seats)
        inner = numpy.einsum("ecd,edf->ecf", numpy.einsum("tec,td->ecd", sent, batch["x"]), parameters["p.experts"])
        outer = numpy.einsum("tec,ecf->tf", combined, inner)
        return (outer * outer).sum()

    def write_graph(self):
        """The same in StableHLO."""
        t, k, e, c, d = self.tokens, self.choices, self.experts, self.room, self.width
        place = self.places
        lines = []

        def tensor(*shape, dtype="f64"):
            return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"

        def put(name, text):
            lines.append(f"    %{name} = stablehlo.{text}")

        def dot(name, lhs, rhs, batch, contract, types):
            put(name, f"dot_general %{lhs}, %{rhs}, batching_dims = {batch[0]} x {batch[1]}, contracting_dims = {contract[0]} x {contract[1]} : "
                      f"({types[0]}, {types[1]}) -> {types[2]}")

        tk, tke, tkec, tec = (t, k), (t, k, e), (t, k, e, c), (t, e, c)
        put("zero", f"constant dense<0.0> : {tensor(*tke)}")
        put("expert", f"iota dim = 2 : {tensor(*tke, dtype='i32')}")
        put("chosen", f"broadcast_in_dim %a2, dims = [0, 1] : ({tensor(*tk, dtype='i32')}) -> {tensor(*tke, dtype='i32')}")
        put("ishot", f"compare EQ, %chosen, %expert, SIGNED : ({tensor(*tke, dtype='i32')}, {tensor(*tke, dtype='i32')}) -> {tensor(*tke, dtype='i1')}")
        put("last", f"constant dense<{c - 1}{'.0' if place[0] == 'f' else ''}> : {tensor(*tke, dtype=place)}")
        kind = "FLOAT" if place[0] == "f" else "SIGNED"
        put("fits", f"compare LT, %a3, %last, {kind} : ({tensor(*tke, dtype=place)}, {tensor(*tke, dtype=place)}) -> {tensor(*tke, dtype='i1')}")
        put("hot", f"convert %ishot : ({tensor(*tke, dtype='i1')}) -> {tensor(*tke)}")
        if self.selects:
            put("kept", f"select %fits, %hot, %zero : {tensor(*tke, dtype='i1')}, {tensor(*tke)}")
        else:
            put("fit", f"convert %fits : ({tensor(*tke, dtype='i1')}) -> {tensor(*tke)}")
            put("kept", f"multiply %hot, %fit : {tensor(*tke)}")
        put("seat", f"iota dim = 3 : {tensor(*tkec, dtype=place)}")
        put("placed", f"broadcast_in_dim %a3, dims = [0, 1, 2] : ({tensor(*tke, dtype=place)}) -> {tensor(*tkec, dtype=place)}")
        put("isseat", f"compare EQ, %placed, %seat, {kind} : ({tensor(*tkec, dtype=place)}, {tensor(*tkec, dtype=place)}) -> {tensor(*tkec, dtype='i1')}")
        put("seats", f"convert %isseat : ({tensor(*tkec, dtype='i1')}) -> {tensor(*tkec)}")
        dot("weights", "a4", "a1", ("[]", "[]"), ("[1]", "[0]"), (tensor(t, d), tensor(d, k), tensor(*tk)))
        dot("weighted", "weights", "kept", ("[0, 1]", "[0, 1]"), ("[]", "[]"), (tensor(*tk), tensor(*tke), tensor(*tke)))
        for name, factor in (("sent", "kept"), ("combined", "weighted")):
            if not self.adds:
                dot(name, factor, "seats", ("[0, 2]", "[0, 2]"), ("[1]", "[1]"), (tensor(*tke), tensor(*tkec), tensor(*tec)))
                continue
            # One choice after the other.
            for choice in range(k):
                end = f"{name}{choice}"
                put(f"one{end}", f"constant dense<{[[1.0 if other == choice else 0.0 for other in range(k)]] * t}> : {tensor(*tk)}")
                put(f"own{end}", f"broadcast_in_dim %one{end}, dims = [0, 1] : ({tensor(*tk)}) -> {tensor(*tke)}")
                put(f"of{end}", f"multiply %own{end}, %{factor} : {tensor(*tke)}")
                dot(f"part{end}", f"of{end}", "seats", ("[0, 2]", "[0, 2]"), ("[1]", "[1]"), (tensor(*tke), tensor(*tkec), tensor(*tec)))
                put(f"sum{end}", f"add %{'sum' + name + str(choice - 1) if choice else 'part' + end}, %part{end} : {tensor(*tec)}" if choice else
                    f"reshape %part{end} : ({tensor(*tec)}) -> {tensor(*tec)}")
            put(name, f"reshape %sum{name}{k - 1} : ({tensor(*tec)}) -> {tensor(*tec)}")
        dot("at", "sent", "a4", ("[]", "[]"), ("[0]", "[0]"), (tensor(*tec), tensor(t, d), tensor(e, c, d)))
        dot("inner", "a0", "at", ("[0]", "[0]"), ("[1]", "[2]"), (tensor(e, d, d), tensor(e, c, d), tensor(e, d, c)))
        dot("outer", "combined", "inner", ("[]", "[]"), ("[1, 2]", "[0, 2]"), (tensor(*tec), tensor(e, d, c), tensor(t, d)))
        put("square", f"multiply %outer, %outer : {tensor(t, d)}")
        put("nothing", "constant dense<0.0> : tensor<f64>")
        lines.append(f"    %loss = stablehlo.reduce(%square init: %nothing) applies stablehlo.add across dimensions = [0, 1] : ({tensor(t, d)}, tensor<f64>) -> tensor<f64>")
        arguments = [("p['experts']", tensor(e, d, d)), ("p['weights']", tensor(d, k)), ("chosen", tensor(*tk, dtype="i32")),
                     ("place", tensor(*tke, dtype=place)), ("x", tensor(t, d))]
        ports = ", ".join(f'%a{i}: {type} loc("{name}")' for i, (name, type) in enumerate(arguments))
        return "\n".join([f"module @jit_loss {{\n  func.func public @main({ports}) -> (tensor<f64>) {{", *lines, "    return %loss : tensor<f64>\n  }\n}\n"])

    def check(self, folder):
        (folder / "graph.mlir").write_text(self.write_graph())
        (folder / "strategy.textproto").write_text(
            f'{MESHES[self.mesh]} model {{ parameters: "p.*" batch {{ inputs: "x" }} batch {{ inputs: "chosen" }} batch {{ inputs: "place" }} }} '
            'train { sgd { lr { constant: 1.0 } } }\n')
        batch, parameters = self.draw_batch(), self.draw_parameters()
        plain_safetensors.write(folder / "batch.safetensors", batch)
        plain_safetensors.write(folder / "init.safetensors", parameters)
        run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--target=x86-64-v3", "--target=exact", "--quiet")
        program = run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", "--to=train", "--quiet")
        dense = re.findall(f"tensor<{self.tokens}x{self.experts}x{self.room}xf64>", program)
        if dense or "net.scatter" not in program:
            return "the products are still there"
        run("dist-run", folder / "package", f"--init={folder}/init.safetensors", f"--feed={folder}/batch.safetensors", "--steps=1", "--quiet", "--kernels=x86-64-v3",
            f"--metrics={folder}/metrics.jsonl", f"--save={folder}/after.safetensors")
        run("dist-run", folder / "package", "--check-exact", "--quiet")
        loss = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])
        expected = self.compute_loss(parameters, batch)
        found = next(value for key, value in loss.items() if key in ("loss", "result", "0"))
        if abs(found - expected) > 1e-12 * abs(expected):
            return f"the loss is {found}, numpy's {expected}"
        after = plain_safetensors.read(folder / "after.safetensors")
        for name, value in parameters.items():
            update = value - after[name]
            size = numpy.linalg.norm(update)
            if size == 0:
                return f"{name} has no gradient"
            step = 1e-5 * update / size
            slope = [self.compute_loss(parameters | {name: value + sign * step}, batch) for sign in (1, -1)]
            if abs((slope[0] - slope[1]) / 2e-5 - size) > 1e-6 * (size + abs(expected)):
                return f"the gradient of {name} along itself is {size}, the slope of numpy's loss {(slope[0] - slope[1]) / 2e-5}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=int(os.environ.get("MESHWRIGHT_TEST_CASES", "0")))
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    failures = 0
    for number in range(args.first, args.first + max(args.cases, int(os.environ.get("MESHWRIGHT_TEST_CASES", "0")))):
        case = Case(number)
        with tempfile.TemporaryDirectory() as folder:
            problem = case.check(pathlib.Path(folder))
        if problem:
            failures += 1
            print(f"{problem}: {case.describe()}")
    sys.exit(f"{failures} cases failed" if failures else 0)


if __name__ == "__main__":
    main()
