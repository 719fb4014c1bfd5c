# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a transformer's AdamW step with Shardy's annotations, as jax.jit(step, in_shardings=...) prints it, and closed formulas
of what its plans send.

usage: annotated_transformer.py --strategy BP+MP+Z3 [--layers N] [--batch-axis N --model-axis N] ... > FILE

A strategy is a sum of BP (the batch is split over axis b), MP (heads and hidden features over axis m, as Megatron-LM does), and Z2 or Z3
(the state of the optimizer, or the parameters too, over axis b).
"""
import argparse
import sys

from stablehlo_text import Graph

ARGUMENTS = [("layers", 2), ("width", 512), ("heads", 8), ("hidden", 2048), ("vocabulary", 4096), ("batch", 32), ("sequence", 64),
             ("batch-axis", 4), ("model-axis", 2)]


class Network:
    """RMS normalization, attention by heads, gated feed-forward, tied head."""

    def __init__(self, sizes, strategy):
        self.graph, self.sizes, self.strategy = Graph(), sizes, strategy.split("+")
        self.parameters = []
        width, heads, hidden = sizes.width, sizes.heads, sizes.hidden
        depth = width // heads
        self.declare("embed", (sizes.vocabulary, width))
        for layer in range(sizes.layers):
            for name, shape, split in [("norm1", (width,), None), ("q", (width, heads, depth), 1), ("k", (width, heads, depth), 1),
                                       ("v", (width, heads, depth), 1), ("o", (heads, depth, width), 0), ("norm2", (width,), None),
                                       ("gate", (width, hidden), 1), ("up", (width, hidden), 1), ("down", (hidden, width), 0)]:
                self.declare(f"{layer}.{name}", shape, split)

    def declare(self, name, shape, split=None):
        """A parameter and its two moments, which are donated."""
        values = []
        for prefix in ("p", "m", "v"):
            path = prefix + "".join(f"['{part}']" for part in name.split("."))
            sharding = self.sharding(shape, split, prefix)
            values.append(self.graph.argument(path, shape, attributes=f"{{sdy.sharding = {sharding}, tf.aliasing_output = "
                                              f"{len(self.graph.arguments)} : i32}}"))
        self.parameters.append((name, values))

    def sharding(self, shape, split, prefix):
        dims = [[] for _ in shape]
        if "MP" in self.strategy and split is not None:
            dims[split].append("m")
        # A vector is small enough to be kept whole.
        if ("Z3" in self.strategy or ("Z2" in self.strategy and prefix != "p")) and len(shape) > 1:
            free = [dim for dim, size in enumerate(shape) if not dims[dim] and size % self.sizes.batch_axis == 0]
            if free:
                dims[free[0]].append("b")
        return self.write(dims)

    def write(self, dims):
        return "#sdy.sharding<@mesh, [" + ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}" for dim in dims) + "]>"

    def norm(self, x, scale):
        g = self.graph
        inverse = g.rsqrt(g.shift(g.scale(g.sum(g.multiply(x, x), [2]), 1 / x.shape[2]), 1e-6))
        return g.multiply(g.multiply(x, g.broadcast(inverse, (0, 1), x.shape)), g.broadcast(scale, (2,), x.shape))

    def attention(self, x, q, k, v, o):
        g = self.graph
        q, k, v = (g.dot(x, weight, contract=((2,), (0,))) for weight in (q, k, v))
        scores = g.scale(g.dot(q, k, batch=((0, 2), (0, 2)), contract=((3,), (3,))), q.shape[3] ** -0.5)
        weights = g.exp(g.subtract(scores, g._broadcast(g.maximum_along(scores, [3]), (0, 1, 2), scores.shape)))
        inverse = g.exp(g.scale(g.log(g.sum(weights, [3])), -1.0))
        mixed = g.dot(g.multiply(weights, g.broadcast(inverse, (0, 1, 2), weights.shape)), v, batch=((0, 1), (0, 2)),
                      contract=((3,), (1,)))
        return g.dot(g.transpose(mixed, (0, 2, 1, 3)), o, contract=((2, 3), (0, 1)))

    def feed_forward(self, x, gate, up, down):
        g = self.graph
        gate, up = (g.dot(x, weight, contract=((2,), (0,))) for weight in (gate, up))
        opened = g.multiply(gate, g.scale(g.shift(g.tanh(g.scale(gate, 0.5)), 1.0), 0.5))
        return g.dot(g.multiply(opened, up), down, contract=((2,), (0,)))

    def loss(self, ids, labels):
        g = self.graph
        weights = [values[0] for _, values in self.parameters]
        x = g.embed(weights[0], ids)
        for layer in range(self.sizes.layers):
            norm1, q, k, v, o, norm2, gate, up, down = weights[1 + 9 * layer:10 + 9 * layer]
            g.scope = f"layer{layer}/{layer}"
            x = g.add(x, self.attention(self.norm(x, norm1), q, k, v, o))
            x = g.add(x, self.feed_forward(self.norm(x, norm2), gate, up, down))
        g.scope = "head"
        logits = g.dot(x, weights[0], contract=((2,), (1,)))
        shifted = g.subtract(logits, g._broadcast(g.maximum_along(logits, [2]), (0, 1), logits.shape))
        total = g.log(g.sum(g.exp(shifted), [2]))
        chosen = g.compare("EQ", g.iota(2, logits.shape), g._broadcast(labels, (0, 1), logits.shape))
        picked = g.sum(g.select(chosen, shifted, 0.0), [2])
        return g.scale(g.sum(g.subtract(total, picked), [0, 1]), 1 / (ids.shape[0] * ids.shape[1]))

    def update(self, value, m, v, gradient):
        """Adam without the corrections of its first steps."""
        g, shape = self.graph, value.shape
        decay = lambda x, rate: g._raw("multiply", x, g.fill(rate, shape))
        m = g._raw("add", decay(m, 0.9), decay(gradient, 0.1))
        v = g._raw("add", decay(v, 0.999), decay(g._raw("multiply", gradient, gradient), 0.001))
        root = g._raw("add", g.op("sqrt", [v], shape, v.dtype), g.fill(1e-8, shape))
        return [g._raw("subtract", value, decay(g._raw("divide", m, root), 0.001)), m, v]

    def text(self):
        g, sizes = self.graph, self.sizes
        batch = self.write([["b"] if "BP" in self.strategy else [], []])
        ids, labels = (g.argument(name, (sizes.batch, sizes.sequence), "i32", f"{{sdy.sharding = {batch}}}")
                       for name in ("ids", "labels"))
        loss = self.loss(ids, labels)
        g.scope = "transpose(jvp(step))"
        gradients = g.gradients(loss, [values[0] for _, values in self.parameters])
        g.scope = "update"
        results = [new for (_, values), gradient in zip(self.parameters, gradients) for new in self.update(*values, gradient)]
        mesh = f'  "sdy.mesh"() <{{mesh = #sdy.mesh<["b"={sizes.batch_axis}, "m"={sizes.model_axis}]>, sym_name = "mesh"}}> : () -> ()'
        attributes = [f'{shardings.split(", tf.aliasing_output")[0]}, jax.result_info = "result[{"pmv".index(name[0])}]{name[1:]}"}}'
                      for shardings, (_, name) in zip(g.attributes, g.arguments[:len(results)])]
        return g.text(results + [loss], mesh, attributes + [f'{{sdy.sharding = {self.write([])}, jax.result_info = "result[3]"}}'])


def count_bytes(sizes, strategy):
    """The bytes that a rank sends in a step by ring algorithms, without those of scalars per token: gradients are reduced over b, split
    weights leave four activations per layer to reduce over m, and stored parameters are gathered twice."""
    strategy = strategy.split("+")
    model = sizes.model_axis if "MP" in strategy else 1
    split = sizes.layers * (4 * sizes.width ** 2 + 3 * sizes.width * sizes.hidden) // model
    matrices = split + sizes.vocabulary * sizes.width
    vectors = 2 * sizes.layers * sizes.width
    ring = lambda size, ranks: 4 * size * (ranks - 1) / ranks
    total = 0
    if "BP" in strategy:
        # A reduction is a scatter and a gather; what is stored in parts is gathered for forward and for backward.
        total += ring(matrices, sizes.batch_axis) * (3 if "Z3" in strategy else 2) + 2 * ring(vectors, sizes.batch_axis)
    if "MP" in strategy:
        rows = sizes.batch // (sizes.batch_axis if "BP" in strategy else 1)
        total += 4 * sizes.layers * 2 * ring(rows * sizes.sequence * sizes.width, sizes.model_axis)
    return total


def make_parser(description):
    parser = argparse.ArgumentParser(description=description)
    for name, default in ARGUMENTS:
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--strategy", required=True)
    args = parser.parse_args()
    sys.stdout.write(Network(args, args.strategy).text())


if __name__ == "__main__":
    main()
