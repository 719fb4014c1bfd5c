# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of the LLaMA kind in plain JAX: rotary positions, RMS normalization, SwiGLU, and heads that share keys and values."""

import math

import jax
import jax.numpy as jnp

from network import Network, in_type, next_token_loss, token_batch, tokens


def normalize(x, scale):
    """Divides by the root of the mean square, which is taken in at least f32."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def rotate(x):
    """Turns pairs of features of [batch, sequence, heads, features] by angles that grow with the position."""
    half = x.shape[-1] // 2
    wide = jnp.promote_types(x.dtype, jnp.float32)
    frequencies = 10000.0 ** (-jnp.arange(half, dtype=wide) / half)
    angles = jnp.arange(x.shape[1], dtype=wide)[:, None] * frequencies
    cosine, sine = (f(angles)[None, :, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cosine - right * sine, right * cosine + left * sine], axis=-1)


def attend(p, x, heads, groups):
    """Causal attention; `heads` // `groups` heads share a key and a value."""
    batch, sequence, _ = x.shape
    split = lambda kernel, count: (x @ kernel).reshape(batch, sequence, count, -1)
    query, key, value = rotate(split(p["q"]["kernel"], heads)), rotate(split(p["k"]["kernel"], groups)), split(p["v"]["kernel"], groups)
    query = query.reshape(batch, sequence, groups, heads // groups, -1)
    scores = jnp.einsum("bqgrd,bkgd->bgrqk", query, key) / math.sqrt(query.shape[-1])
    mask = jnp.tril(jnp.ones((sequence, sequence), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min).astype(jnp.promote_types(x.dtype, jnp.float32)))
    mixed = jnp.einsum("bgrqk,bkgd->bqgrd", weights.astype(x.dtype), value)
    return mixed.reshape(batch, sequence, -1) @ p["o"]["kernel"]


def feed_forward(p, x):
    return (jax.nn.silu(x @ p["gate"]["kernel"]) * (x @ p["up"]["kernel"])) @ p["down"]["kernel"]


def layer(p, x, heads, groups):
    with jax.named_scope("attention"):
        x = x + attend(p["attention"], normalize(x, p["attention_norm"]["scale"]), heads, groups)
    with jax.named_scope("mlp"):
        return x + feed_forward(p["mlp"], normalize(x, p["mlp_norm"]["scale"]))


def make_parameters(layers, width, heads, groups, vocabulary, hidden=None):
    kernel = lambda rows, columns: {"kernel": jnp.zeros((rows, columns))}
    norm = lambda: {"scale": jnp.ones(width)}
    hidden, shared = hidden or 3 * width, width // heads * groups
    return {
        "embed": {"embedding": jnp.zeros((vocabulary, width))},
        "layers": {str(index): {
            "attention": {"q": kernel(width, width), "k": kernel(width, shared), "v": kernel(width, shared), "o": kernel(width, width)},
            "mlp": {"gate": kernel(width, hidden), "up": kernel(width, hidden), "down": kernel(hidden, width)},
            "attention_norm": norm(), "mlp_norm": norm()} for index in range(layers)},
        "norm": norm(),
        "head": kernel(width, vocabulary)}


def llama(layers, width, heads, groups, vocabulary, sequence, batch, dtype, checkpoint=False, hidden=None):
    """With `checkpoint` backward computes the layers again (`jax.checkpoint`). `hidden` features of a feed-forward layer, or 3 * `width`."""
    run = jax.checkpoint(layer, static_argnums=(2, 3)) if checkpoint else layer

    def loss(p, ids):
        x = p["embed"]["embedding"][ids]
        for index in range(layers):
            with jax.named_scope(f"layers/{index}"):
                x = run(p["layers"][str(index)], x, heads, groups)
        logits = normalize(x, p["norm"]["scale"]) @ p["head"]["kernel"]
        return next_token_loss(logits.astype(jnp.promote_types(dtype, jnp.float32)), ids)

    parameters = jax.eval_shape(lambda: make_parameters(layers, width, heads, groups, vocabulary, hidden))
    return Network(loss, in_type(parameters, dtype), {"ids": tokens(batch, sequence)}, token_batch(vocabulary, batch, sequence))
