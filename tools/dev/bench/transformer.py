# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a transformer's training step of about a given number of operations.

usage: transformer.py --operations N | --layers N  [--loss] > FILE
"""
import argparse
import sys

from stablehlo_text import Graph

BATCH, SEQUENCE, WIDTH, HEADS, VOCABULARY = 8, 64, 256, 8, 512


class Network:
    """A GPT-like network: pre-normalization, fused q/k/v projection, tanh-GELU, tied head."""

    def __init__(self, layers):
        self.graph = Graph()
        self.layers = layers
        self.parameters, self.names = [], []

    def parameter(self, path, shape):
        name = "p" + "".join(f"['{part}']" for part in path.split("."))
        self.names.append(name)
        self.parameters.append(self.graph.argument(name, shape))

    def declare(self):
        self.parameter("wte", (VOCABULARY, WIDTH))
        self.parameter("wpe", (SEQUENCE, WIDTH))
        for layer in range(self.layers):
            for name, shape in [("ln_1.scale", (WIDTH,)), ("ln_1.bias", (WIDTH,)), ("qkv.kernel", (WIDTH, 3 * WIDTH)),
                                ("qkv.bias", (3 * WIDTH,)), ("out.kernel", (WIDTH, WIDTH)), ("out.bias", (WIDTH,)),
                                ("ln_2.scale", (WIDTH,)), ("ln_2.bias", (WIDTH,)), ("up.kernel", (WIDTH, 4 * WIDTH)),
                                ("up.bias", (4 * WIDTH,)), ("down.kernel", (4 * WIDTH, WIDTH)), ("down.bias", (WIDTH,))]:
                self.parameter(f"h.{layer}.{name}", shape)
        self.parameter("ln_f.scale", (WIDTH,))
        self.parameter("ln_f.bias", (WIDTH,))

    def norm(self, x, scale, bias):
        g, shape = self.graph, x.shape
        mean = g.broadcast(g.scale(g.sum(x, [2]), 1 / WIDTH), (0, 1), shape)
        centered = g.subtract(x, mean)
        variance = g.scale(g.sum(g.multiply(centered, centered), [2]), 1 / WIDTH)
        inverse = g.broadcast(g.rsqrt(g.shift(variance, 1e-5)), (0, 1), shape)
        scaled = g.multiply(g.multiply(centered, inverse), g.broadcast(scale, (2,), shape))
        return g.add(scaled, g.broadcast(bias, (2,), shape))

    def linear(self, x, kernel, bias):
        g = self.graph
        y = g.dot(x, kernel, contract=((2,), (0,)))
        return g.add(y, g.broadcast(bias, (2,), y.shape))

    def attention(self, x, mask, weights):
        g, depth = self.graph, WIDTH // HEADS
        qkv = self.linear(x, weights[0], weights[1])
        parts = [g.slice_last(qkv, i * WIDTH, (i + 1) * WIDTH) for i in range(3)]
        q, k, v = [g.reshape(part, (BATCH, SEQUENCE, HEADS, depth)) for part in parts]
        scores = g.scale(g.dot(q, k, batch=((0, 2), (0, 2)), contract=((3,), (3,))), depth ** -0.5)
        scores = g.select(mask, scores, -3e38)
        shifted = g.subtract(scores, g._broadcast(g.maximum_along(scores, [3]), (0, 1, 2), scores.shape))
        weight = g.exp(shifted)
        total = g.broadcast(g.sum(weight, [3]), (0, 1, 2), weight.shape)
        mixed = g.dot(g.divide(weight, total), v, batch=((0, 1), (0, 2)), contract=((3,), (1,)))
        joined = g.reshape(g.transpose(mixed, (0, 2, 1, 3)), (BATCH, SEQUENCE, WIDTH))
        return self.linear(joined, weights[2], weights[3])

    def gelu(self, x):
        g = self.graph
        cube = g.multiply(x, g.multiply(x, x))
        inner = g.scale(g.add(x, g.scale(cube, 0.044715)), 0.7978845608)
        return g.multiply(x, g.scale(g.shift(g.tanh(inner), 1.0), 0.5))

    def loss(self, ids, labels):
        g, p = self.graph, list(self.parameters)
        shape = (BATCH, HEADS, SEQUENCE, SEQUENCE)
        g.scope = "mask"
        mask = g.compare("GE", g.iota(2, shape), g.iota(3, shape))
        g.scope = "embed"
        x = g.add(g.embed(p[0], ids), g.broadcast(p[1], (1, 2), (BATCH, SEQUENCE, WIDTH)))
        for layer in range(self.layers):
            w = p[2 + 12 * layer:14 + 12 * layer]
            g.scope = f"h/{layer}/attn"
            x = g.add(x, self.attention(self.norm(x, w[0], w[1]), mask, w[2:6]))
            g.scope = f"h/{layer}/mlp"
            x = g.add(x, self.linear(self.gelu(self.linear(self.norm(x, w[6], w[7]), w[8], w[9])), w[10], w[11]))
        g.scope = "head"
        logits = g.dot(self.norm(x, p[-2], p[-1]), p[0], contract=((2,), (1,)))
        largest = g.maximum_along(logits, [2])
        shifted = g.subtract(logits, g._broadcast(largest, (0, 1), logits.shape))
        total = g.add(g.log(g.sum(g.exp(shifted), [2])), largest)
        chosen = g.compare("EQ", g.iota(2, logits.shape), g._broadcast(labels, (0, 1), logits.shape))
        picked = g.sum(g.select(chosen, logits, 0.0), [2])
        return g.scale(g.sum(g.subtract(total, picked), [0, 1]), 1 / (BATCH * SEQUENCE))

    def momentum(self, gradients):
        """p' = p - 0.1 m', m' = 0.9 m + g."""
        g, results = self.graph, []
        for p, name, gradient in zip(self.parameters, self.names, gradients):
            g.scope = "update"
            m = g.argument("m" + name[1:], p.shape)
            next_m = g._raw("add", g._raw("multiply", m, g.fill(0.9, p.shape)), gradient)
            results += [g._raw("subtract", p, g._raw("multiply", next_m, g.fill(0.1, p.shape))), next_m]
        return results


def make(layers, forward_only):
    """The graph of a network and its results."""
    network = Network(layers)
    network.declare()
    ids = network.graph.argument("ids", (BATCH, SEQUENCE), "i32")
    labels = network.graph.argument("labels", (BATCH, SEQUENCE), "i32")
    loss = network.loss(ids, labels)
    results = [loss]
    if not forward_only:
        network.graph.scope = "backward"
        results += network.momentum(network.graph.gradients(loss, network.parameters))
    return network.graph, results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--operations", type=int, help="about so many operations")
    size.add_argument("--layers", type=int)
    parser.add_argument("--loss", action="store_true", help="the forward loss alone, for dist-opt to make the step of")
    args = parser.parse_args()
    layers = args.layers
    if layers is None:
        one, two = (make(count, args.loss)[0].operations for count in (1, 2))
        layers = max(1, round((args.operations - one) / (two - one)) + 1)
    graph, results = make(layers, args.loss)
    sys.stdout.write(graph.text(results))


if __name__ == "__main__":
    main()
