# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Random concatenations of what kernels compute, reshaped, scaled and summed around them, are numpy's.

A loop through a concatenation runs piece by piece where pieces begin at whole vectors, and reads all operands elsewhere. Sizes are those of
vectors, less, more, and nothing. MESHWRIGHT_TEST_SEED and MESHWRIGHT_TEST_ROUNDS choose others and more.
"""
import os
import pathlib
import random
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "python")]
from case import run
import plain_safetensors

SEED = int(os.environ.get("MESHWRIGHT_TEST_SEED", 1))
ROUNDS = int(os.environ.get("MESHWRIGHT_TEST_ROUNDS", 4))
CASES = 40
SIZES = [0, 1, 2, 3, 7, 8, 15, 16, 16, 17, 32, 32, 48, 64, 80]


class Program:
    """The text of a program, and what numpy computes for it."""

    def __init__(self, draw):
        self.draw, self.lines, self.arguments, self.feeds, self.results = draw, [], [], {}, []

    def write(self, text, type_, value):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name, type_, value

    def give(self, shape):
        """An argument with small whole numbers, so that all sums are exact."""
        name = f"x{len(self.arguments)}"
        value = numpy.array([self.draw.randint(-9, 9) for _ in range(int(numpy.prod(shape)))], "float32").reshape(shape)
        self.arguments.append(f'%{name}: {to_type(shape)} loc("{name}")')
        self.feeds[name] = value
        return f"%{name}", to_type(shape), value

    def make(self, shape):
        """A value of this shape, computed in one of several ways."""
        way = self.draw.randrange(5)
        if way == 0:
            return self.give(shape)
        if way == 1 and len(shape) > 1:
            order = self.draw.sample(range(len(shape)), len(shape))
            name, type_, value = self.give([shape[order.index(dim)] for dim in range(len(shape))])
            return self.write(f"stablehlo.transpose {name}, dims = {order} : ({type_}) -> {to_type(shape)}", to_type(shape), value.transpose(order))
        if way == 2:
            name, type_, value = self.give([int(numpy.prod(shape))])
            return self.write(f"stablehlo.reshape {name} : ({type_}) -> {to_type(shape)}", to_type(shape), value.reshape(shape))
        (left, type_, one), (right, _, other) = self.give(shape), self.give(shape)
        if way == 3:
            return self.write(f"stablehlo.multiply {left}, {right} : {type_}", type_, one * other)
        dim = self.draw.randrange(len(shape))
        row, row_type, numbers = self.give([shape[dim]])
        spread, _, many = self.write(f"stablehlo.broadcast_in_dim {row}, dims = [{dim}] : ({row_type}) -> {type_}", type_,
                                     numpy.broadcast_to(numbers.reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape))
        return self.write(f"stablehlo.add {left}, {spread} : {type_}", type_, one + many)

    def finish(self, name, type_, value):
        self.results.append((name, type_, value))

    def add_case(self):
        draw = self.draw
        rank = draw.randint(1, 4)
        shape = [draw.choice([1, 2, 3, 4, 8]) for _ in range(rank)]
        shape[-1] = draw.choice(SIZES[1:])
        dim = draw.choice([rank - 1, draw.randrange(rank)])
        equal = draw.choice([None, draw.choice(SIZES[1:])])
        pieces = [self.make([equal or draw.choice(SIZES) if d == dim else size for d, size in enumerate(shape)]) for _ in range(draw.randint(2, 5))]
        joined = numpy.concatenate([value for _, _, value in pieces], dim)
        if joined.size == 0:
            return
        type_ = to_type(joined.shape)
        name = self.write(f"stablehlo.concatenate {', '.join(piece[0] for piece in pieces)}, dim = {dim} : ({', '.join(piece[1] for piece in pieces)}) -> {type_}",
                          type_, joined)[0]
        if draw.random() < 0.3:
            name, _, joined = self.write(f"stablehlo.negate {name} : {type_}", type_, -joined)
        if draw.random() < 0.7:
            self.finish(name, type_, joined)
        if draw.random() < 0.6:
            dims = sorted(draw.sample(range(rank), draw.randint(1, rank)))
            total = joined.sum(tuple(dims))
            self.finish(*self.write(f"stablehlo.reduce({name} init: %zero) applies stablehlo.add across dimensions = {dims} : ({type_}, tensor<f32>) -> "
                                    f"{to_type(total.shape)}", to_type(total.shape), total))
        if draw.random() < 0.3:
            flat = to_type([joined.size])
            self.finish(*self.write(f"stablehlo.reshape {name} : ({type_}) -> {flat}", flat, joined.reshape(-1)))


def to_type(shape):
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


def check(seed):
    program = Program(random.Random(seed))
    for _ in range(CASES):
        program.add_case()
    types = ", ".join(type_ for _, type_, _ in program.results)
    text = f"module {{ func.func public @main({', '.join(program.arguments)}) -> ({types}) {{\n%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    text += "\n".join(program.lines) + f"\nreturn {', '.join(name for name, _, _ in program.results)} : {types}\n}} }}\n"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "graph.mlir").write_text(text)
        (folder / "strategy.textproto").write_text('mesh { axes { name: "dp" size: 1 } }')
        run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
        plain_safetensors.write(folder / "feed", program.feeds)
        for threads in (1, 2):
            run("dist-run", folder / "package", f"--feed={folder}/feed", f"--threads={threads}", f"--outputs={folder}/outputs", "--quiet")
            found = plain_safetensors.read(folder / "outputs")
            for index, (_, type_, value) in enumerate(program.results):
                if not numpy.array_equal(found[f"out{index}"].reshape(value.shape), value):
                    sys.exit(f"seed {seed}, {threads} threads: result {index}, {type_}, differs from numpy's")


for round_ in range(ROUNDS):
    check(SEED * 1000 + round_)
