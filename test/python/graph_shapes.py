# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that have many of one thing: what they take to compile is to grow in proportion to that."""


def join(items):
    return ", ".join(items)


def module(arguments, results, lines):
    text = "".join(f"    {line}\n" for line in lines)
    return f"module @many {{\n  func.func public @main({arguments}) -> ({results}) {{\n{text}  }}\n}}\n"


def chain(count, make):
    """`count` operations, each of which reads the one before; `make` makes the operation of a number and of what it reads."""
    return [f"%s{i} = {make(i, f'%s{i - 1}' if i else '%x')}" for i in range(count)]


def arguments(count):
    """Parameters, each read once, and a loss."""
    names = join(f'%p{i}: tensor<4xf32> loc("p.{i}")' for i in range(count))
    lines = chain(count, lambda i, before: f"stablehlo.multiply {before}, %p{i} : tensor<4xf32>")
    return module(f'{names}, %x: tensor<4xf32> loc("x")', "tensor<f32>", lines + [
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        f"%loss = stablehlo.reduce(%s{count - 1} init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
        "return %loss : tensor<f32>"])


def results(count):
    types = join(["tensor<4xf32>"] * count)
    lines = chain(count, lambda i, before: f"stablehlo.add {before}, %x : tensor<4xf32>")
    return module("%x: tensor<4xf32>", types, lines + [f"return {join(f'%s{i}' for i in range(count))} : {types}"])


def operands(count):
    """One call with many operands."""
    types = join(["tensor<4xf32>"] * count)
    called = "\n".join("    " + line for line in chain(count, lambda i, before: f"stablehlo.add {before}, %p{i} : tensor<4xf32>"))
    parameters = join(f"%p{i}: tensor<4xf32>" for i in range(count))
    text = module("%x: tensor<4xf32>", "tensor<4xf32>", [f"%r = call @f(%x, {join(['%x'] * count)}) : (tensor<4xf32>, {types}) -> tensor<4xf32>",
                                                        "return %r : tensor<4xf32>"])
    return text.rstrip()[:-1] + (f"  func.func private @f(%x: tensor<4xf32>, {parameters}) -> tensor<4xf32> {{\n{called}\n"
                                 f"    return %s{count - 1} : tensor<4xf32>\n  }}\n}}\n")


def concatenate(count):
    types, whole = join(["tensor<4xf32>"] * count), f"tensor<{4 * count}xf32>"
    lines = chain(count, lambda i, before: f"stablehlo.add {before}, %x : tensor<4xf32>")
    return module("%x: tensor<4xf32>", whole, lines + [
        f"%r = stablehlo.concatenate {join(f'%s{i}' for i in range(count))}, dim = 0 : ({types}) -> {whole}", f"return %r : {whole}"])


def sorted_together(count):
    """Values that are sorted by the first of them."""
    types = join(["tensor<64xf32>"] * count)
    lines = chain(count, lambda i, before: f"stablehlo.add {before}, %x : tensor<64xf32>")
    pairs = join(f"%a{i}: tensor<f32>, %b{i}: tensor<f32>" for i in range(count))
    lines += [f'%r:{count} = "stablehlo.sort"({join(f"%s{i}" for i in range(count))}) ({{ ^bb0({pairs}):',
              "%less = stablehlo.compare LT, %a0, %b0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
              '"stablehlo.return"(%less) : (tensor<i1>) -> ()',
              f"}}) {{dimension = 0 : i64, is_stable = true}} : ({types}) -> ({types})"]
    lines += [f"%t{i} = stablehlo.add {f'%t{i - 1}' if i else '%x'}, %r#{i} : tensor<64xf32>" for i in range(count)]
    return module("%x: tensor<64xf32>", "tensor<64xf32>", lines + [f"return %t{count - 1} : tensor<64xf32>"])


def power(count):
    """Powers of integers, which are many multiplications each."""
    lines = chain(count, lambda i, before: f"stablehlo.power {before}, %y : tensor<4xi64>")
    return module("%x: tensor<4xi64>, %y: tensor<4xi64>", "tensor<4xi64>", lines + [f"return %s{count - 1} : tensor<4xi64>"])


def rank(count):
    type_ = f"tensor<{'1x' * count}f32>"
    return f"module {{ func.func public @main(%x: {type_}) -> {type_} {{ return %x : {type_} }} }}\n"


SHAPES = {"arguments": arguments, "results": results, "operands": operands, "concatenate": concatenate, "sorted": sorted_together,
          "power": power, "rank": rank}
