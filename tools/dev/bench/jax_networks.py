# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of step_time in JAX that are no fixtures: families by name, each a function of sizes that returns a Network."""

import dataclasses
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "export"))

import flax.linen as nn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import models  # noqa: E402
import optax  # noqa: E402
from images import images, vit  # noqa: E402
from llama import llama  # noqa: E402
from network import Network, in_type, next_token_loss, token_batch, tokens  # noqa: E402

F32 = jnp.float32


def gpt2(layers, width, heads, vocabulary, sequence, batch, bf16):
    """In mixed precision parameters are f32 and the network computes in bf16."""
    network = models.gpt2(layers, width, heads, vocabulary, sequence, batch, jnp.bfloat16 if bf16 else F32)
    return dataclasses.replace(network, parameters=in_type(network.parameters, F32))


def normalize_groups(x):
    return nn.GroupNorm(num_groups=8, epsilon=1e-5)(x)


class Residual(nn.Module):
    """Two convolutions with a norm of 8 groups each, and a projection past them where the shape changes."""

    width: int
    stride: int

    @nn.compact
    def __call__(self, x):
        strides = (self.stride, self.stride)
        y = nn.Conv(self.width, (3, 3), strides, padding=1, use_bias=False)(x)
        y = nn.Conv(self.width, (3, 3), padding=1, use_bias=False)(nn.relu(normalize_groups(y)))
        y = normalize_groups(y)
        if x.shape != y.shape:
            x = nn.Conv(self.width, (1, 1), strides, use_bias=False)(x)
        return nn.relu(x + y)


class ResNet(nn.Module):
    """A stem with a pooling, three stages of two residual blocks, and a classifier."""

    width: int
    classes: int

    @nn.compact
    def __call__(self, x):
        x = nn.max_pool(nn.relu(nn.Conv(self.width, (3, 3), padding=1, use_bias=False)(x)), (2, 2), (2, 2))
        for stage in range(3):
            for block in range(2):
                x = Residual(self.width << stage, 2 if stage and not block else 1)(x)
        return nn.Dense(self.classes)(x.mean((1, 2)))


class Twice(nn.Module):
    """`count` times a convolution, a norm of 8 groups and SiLU."""

    width: int
    count: int = 2

    @nn.compact
    def __call__(self, x):
        for _ in range(self.count):
            x = nn.silu(normalize_groups(nn.Conv(self.width, (3, 3), padding=1)(x)))
        return x


class UNet(nn.Module):
    """Three levels down by strided convolutions and up by transposed ones, joined at equal sizes; three channels in and out."""

    width: int

    @nn.compact
    def __call__(self, x):
        width = self.width
        large = Twice(width)(x)
        middle = Twice(2 * width)(nn.Conv(2 * width, (3, 3), (2, 2), padding=1)(large))
        x = Twice(4 * width)(nn.Conv(4 * width, (3, 3), (2, 2), padding=1)(middle))
        x = Twice(2 * width, 1)(jnp.concatenate([nn.ConvTranspose(2 * width, (2, 2), (2, 2))(x), middle], -1))
        x = Twice(width, 1)(jnp.concatenate([nn.ConvTranspose(width, (2, 2), (2, 2))(x), large], -1))
        return nn.Conv(3, (3, 3), padding=1)(x)


class Lstm(nn.Module):
    """Two layers over the times; the last time is classified."""

    width: int
    classes: int

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.RNN(nn.LSTMCell(self.width))(x)
        return nn.Dense(self.classes)(x[:, -1])


class Mlp(nn.Module):
    hidden: int
    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.width, name="down")(nn.gelu(nn.Dense(self.hidden, name="up")(x)))


class Mixer(nn.Module):
    """Patches, then blocks that mix the places of each channel and the channels of each place."""

    layers: int
    width: int
    tokens: int
    hidden: int
    patch: int
    classes: int

    @nn.compact
    def __call__(self, x):
        patch = (self.patch, self.patch)
        x = nn.Conv(self.width, patch, patch)(x)
        x = x.reshape(x.shape[0], -1, self.width)
        for _ in range(self.layers):
            y = nn.LayerNorm(epsilon=1e-5)(x).swapaxes(1, 2)
            x = x + Mlp(self.tokens, y.shape[-1])(y).swapaxes(1, 2)
            x = x + Mlp(self.hidden, self.width)(nn.LayerNorm(epsilon=1e-5)(x))
        return nn.Dense(self.classes)(x.mean(1))


def classifier(model, inputs, draw):
    """The network that classifies `x`."""
    variables = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(inputs["x"].shape, F32)))

    def loss(p, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply({"params": p}, x), y).mean()

    return Network(loss, variables["params"], inputs, draw)


def resnet(width, classes, size, batch):
    return classifier(ResNet(width, classes), *images(size, classes, batch, F32))


def mixer(layers, width, tokens, hidden, patch, classes, size, batch):
    return classifier(Mixer(layers, width, tokens, hidden, patch, classes), *images(size, classes, batch, F32))


def unet(width, size, batch):
    model, shape = UNet(width), jax.ShapeDtypeStruct((batch, size, size, 3), F32)
    variables = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(shape.shape, F32)))

    def loss(p, x, y):
        return jnp.mean((model.apply({"params": p}, x) - y) ** 2)

    draw = lambda rng: {name: rng.standard_normal(shape.shape).astype("float32") for name in ("x", "y")}
    return Network(loss, variables["params"], {"x": shape, "y": shape}, draw)


def lstm(features, width, sequence, classes, batch):
    inputs = {"x": jax.ShapeDtypeStruct((batch, sequence, features), F32), "y": jax.ShapeDtypeStruct((batch,), jnp.int32)}

    def draw(rng):
        return {"x": rng.standard_normal((batch, sequence, features)).astype("float32"), "y": rng.integers(0, classes, (batch,), dtype="int32")}

    return classifier(Lstm(width, classes), inputs, draw)


def language_model(block, shapes, layers, width, vocabulary, sequence, batch):
    """Blocks over embedded tokens, each after a norm without a scale."""
    array = lambda *shape: jax.ShapeDtypeStruct(shape, F32)

    def loss(p, ids):
        x = p["embedding"][ids]
        for layer in range(layers):
            scale = jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
            x = x + block(p["layers"][str(layer)], x * scale)
        return next_token_loss(x @ p["head"], ids)

    parameters = {"embedding": array(vocabulary, width), "head": array(width, vocabulary),
                  "layers": {str(layer): jax.tree.map(lambda shape: array(*shape), shapes, is_leaf=lambda node: isinstance(node, tuple))
                             for layer in range(layers)}}
    return Network(loss, parameters, {"ids": tokens(batch, sequence)}, token_batch(vocabulary, batch, sequence))


def state_space(layers, width, state, vocabulary, sequence, batch):
    """A selective state space: h[t] = exp(-d[t] exp(a)) h[t - 1] + d[t] u[t] b[t], read by c[t], as an associative scan over time."""

    def combine(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    def block(p, x):
        u, gate = jnp.split(x @ p["in"], 2, -1)
        pace = jax.nn.softplus(u @ p["pace"])
        write, read = jnp.split(u @ p["ports"], 2, -1)
        decay = jnp.exp(-pace[..., None] * jnp.exp(p["decay"]))
        entered = (pace * u)[..., None] * write[:, :, None]
        _, states = jax.lax.associative_scan(combine, (decay, entered), axis=1)
        return (jnp.einsum("btds,bts->btd", states, read) * jax.nn.silu(gate)) @ p["out"]

    shapes = {"in": (width, 2 * width), "pace": (width, width), "ports": (width, 2 * state), "decay": (width, state), "out": (width, width)}
    return language_model(block, shapes, layers, width, vocabulary, sequence, batch)


def experts(layers, width, experts, vocabulary, sequence, batch):
    """Every token goes to two experts, in the order of tokens, as long as they have room."""
    count = experts

    def block(p, x):
        t = x.reshape(-1, width)
        room = t.shape[0] // 2
        weights, chosen = jax.lax.top_k(jax.nn.softmax(t @ p["router"]), 2)
        hot = jax.nn.one_hot(chosen, count)
        place = (jnp.cumsum(hot.reshape(-1, count), 0) - 1).reshape(hot.shape)
        kept = hot * (place < room)
        seats = jax.nn.one_hot(place, room)
        sent = jnp.einsum("tke,tkec->tec", kept, seats)
        combined = jnp.einsum("tk,tke,tkec->tec", weights, kept, seats)
        inner = jax.nn.gelu(jnp.einsum("tec,td,edf->ecf", sent, t, p["experts"]["up"]))
        return jnp.einsum("tec,ecf,efd->td", combined, inner, p["experts"]["down"]).reshape(x.shape)

    shapes = {"router": (width, count), "experts": {"up": (count, width, 2 * width), "down": (count, 2 * width, width)}}
    return language_model(block, shapes, layers, width, vocabulary, sequence, batch)


def make(row):
    """The network of a row."""
    if row.family == "gpt2":
        return gpt2(**row.sizes, bf16=row.bf16)
    if row.family == "llama":
        sizes = row.sizes
        return llama(sizes["layers"], sizes["width"], sizes["heads"], sizes["heads"], sizes["vocabulary"], sizes["sequence"], sizes["batch"], F32,
                     hidden=sizes["hidden"])
    if row.family == "vit":
        return vit(**row.sizes, dtype=F32)
    return {"resnet": resnet, "unet": unet, "lstm": lstm, "mixer": mixer, "state_space": state_space, "experts": experts}[row.family](**row.sizes)
