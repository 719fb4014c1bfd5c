# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks whose layers or times are a scan."""

import jax
import jax.numpy as jnp

from network import Network, in_type, next_token_loss, token_batch, tokens


def normalize(x, p):
    """Layer normalization."""
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def shapes(layers, sizes, dtype):
    """Parameters by name, all layers in one array each."""
    return jax.tree.map(lambda size: jax.ShapeDtypeStruct((layers, *size), dtype), sizes, is_leaf=lambda node: isinstance(node, tuple))


def scan_gpt(layers, width, heads, vocabulary, sequence, batch, dtype):
    """A GPT with its blocks in a scan, whose parameters are stacked; queries, keys and values have kernels of their own."""

    def block(x, p):
        h = normalize(x, p["ln_1"])
        q, k, v = (jnp.einsum("btd,dhe->bhte", h, p["attn"][name]["kernel"]) for name in ("q", "k", "v"))
        scores = jnp.einsum("bhte,bhse->bhts", q, k) / jnp.sqrt(width // heads).astype(dtype)
        past = jnp.tril(jnp.ones((sequence, sequence), bool))
        weights = jax.nn.softmax(jnp.where(past, scores, jnp.finfo(dtype).min))
        x = x + jnp.einsum("bhts,bhse,hed->btd", weights, v, p["attn"]["o"]["kernel"])
        h = jax.nn.gelu(normalize(x, p["ln_2"]) @ p["mlp"]["up"]["kernel"] + p["mlp"]["up"]["bias"])
        return x + h @ p["mlp"]["down"]["kernel"], None

    def loss(p, ids):
        x = p["wte"][ids] + p["wpe"]
        x, _ = jax.lax.scan(block, x, p["h"])
        return next_token_loss(normalize(x, p["ln_f"]) @ p["wte"].T, ids)

    head = (width, heads, width // heads)
    norm = {"scale": (width,), "bias": (width,)}
    parameters = {
        "wte": jax.ShapeDtypeStruct((vocabulary, width), dtype),
        "wpe": jax.ShapeDtypeStruct((sequence, width), dtype),
        "ln_f": jax.tree.map(lambda size: jax.ShapeDtypeStruct(size, dtype), norm, is_leaf=lambda node: isinstance(node, tuple)),
        "h": shapes(layers, {
            "ln_1": norm, "ln_2": norm,
            "attn": {"q": {"kernel": head}, "k": {"kernel": head}, "v": {"kernel": head}, "o": {"kernel": (heads, width // heads, width)}},
            "mlp": {"up": {"kernel": (width, 4 * width), "bias": (4 * width,)}, "down": {"kernel": (4 * width, width)}}}, dtype)}
    return Network(loss, in_type(parameters, dtype), {"ids": tokens(batch, sequence)}, token_batch(vocabulary, batch, sequence))


def lstm(width, vocabulary, sequence, batch, dtype):
    """A language model of one LSTM, which a scan takes from time to time from a state of zeros."""

    def loss(p, ids):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ p["input"]["kernel"] + h @ p["hidden"]["kernel"] + p["bias"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        x = jnp.swapaxes(p["embedding"][ids], 0, 1)
        start = jnp.zeros((batch, width), dtype)
        _, h = jax.lax.scan(step, (start, start), x)
        return next_token_loss(jnp.swapaxes(h, 0, 1) @ p["head"]["kernel"], ids)

    parameters = {
        "embedding": jax.ShapeDtypeStruct((vocabulary, width), dtype),
        "input": {"kernel": jax.ShapeDtypeStruct((width, 4 * width), dtype)},
        "hidden": {"kernel": jax.ShapeDtypeStruct((width, 4 * width), dtype)},
        "bias": jax.ShapeDtypeStruct((4 * width,), dtype),
        "head": {"kernel": jax.ShapeDtypeStruct((width, vocabulary), dtype)}}
    return Network(loss, parameters, {"ids": tokens(batch, sequence)}, token_batch(vocabulary, batch, sequence))
