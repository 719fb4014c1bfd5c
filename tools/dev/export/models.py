# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of the fixtures: each is a loss of a parameter tree and a batch, and the shapes of both.

Flax models are built with `_do_init=False` and their parameters by `jax.eval_shape`, so that no weight is made.
"""

import dataclasses
import itertools
import logging
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

# Transformers warns that no PyTorch was found; its Flax classes do not need it.
logging.getLogger("transformers").setLevel(logging.ERROR)
from transformers import BertConfig, FlaxBertForMaskedLM, FlaxGPT2LMHeadModel, GPT2Config  # noqa: E402

# The first word of every key that is drawn; the second is the number of the batch.
KEY_SEED = 42


@dataclasses.dataclass
class Network:
    """`loss(p, *inputs)`, the shapes of `p` and of the inputs by name, and how to draw a batch."""

    loss: Callable
    parameters: Any
    inputs: dict[str, jax.ShapeDtypeStruct]
    draw: Callable  # draw(rng) -> dict of arrays, named like `inputs`


def next_token_loss(logits, ids):
    """Cross entropy of every token but the first, predicted from those before it."""
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], ids[:, 1:]).mean()


def token_batch(vocabulary, batch, sequence):
    return lambda rng: {"ids": rng.integers(0, vocabulary, (batch, sequence), dtype="int32")}


def gpt2(layers, width, heads, vocabulary, sequence, batch, dtype, dropout=0.0, generator="threefry2x32"):
    """With dropout the loss takes the raw key of the step, for JAX's generator of that name, as its last input."""
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=sequence, n_embd=width, n_layer=layers, n_head=heads,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout)
    model = FlaxGPT2LMHeadModel(config, _do_init=False, dtype=dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids, key=None):
        if key is not None:
            key = jax.random.wrap_key_data(key, impl=generator)
        return next_token_loss(model(ids, params=p, train=key is not None, dropout_rng=key).logits, ids)

    inputs = {"ids": jax.ShapeDtypeStruct((batch, sequence), jnp.int32)}
    draw = token_batch(vocabulary, batch, sequence)
    if dropout > 0:
        inputs["key"] = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=generator)))
        draw = with_keys(draw, inputs["key"].size)
    return Network(loss, in_type(parameters, dtype), inputs, draw)


def with_keys(draw, size):
    """Batches with a `key` of `size` words: pairs of a seed and the number of the batch."""
    steps = itertools.count()
    return lambda rng: draw(rng) | {"key": np.tile(np.array([KEY_SEED, next(steps)], "uint32"), size // 2)}


def bert(layers, width, heads, vocabulary, sequence, batch, dtype):
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * width, max_position_embeddings=sequence,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = FlaxBertForMaskedLM(config, _do_init=False, dtype=dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids, mask, labels):
        """Mean cross entropy of the positions whose label is not -100."""
        logits = model(ids, attention_mask=mask, params=p, train=False).logits
        counted = labels != -100
        each = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(counted, labels, 0))
        return jnp.where(counted, each, 0).sum() / counted.sum()

    def draw(rng):
        ids = rng.integers(0, vocabulary, (batch, sequence), dtype="int32")
        lengths = rng.integers(sequence // 2, sequence + 1, (batch, 1))
        mask = (jnp.arange(sequence)[None] < lengths).astype("int32")
        chosen = (rng.random((batch, sequence)) < 0.3) & (mask == 1)
        return {"ids": ids, "mask": mask, "labels": jnp.where(chosen, ids, -100).astype("int32")}

    tokens = jax.ShapeDtypeStruct((batch, sequence), jnp.int32)
    inputs = {"ids": tokens, "mask": tokens, "labels": tokens}
    return Network(loss, in_type(parameters, dtype), inputs, draw)


def mlp(widths, batch, dtype):
    """A perceptron with relu, and cross entropy over the last width."""

    def loss(p, x, y):
        for index in range(len(widths) - 1):
            layer = p[f"layer{index}"]
            x = x @ layer["kernel"] + layer["bias"]
            if index < len(widths) - 2:
                x = jax.nn.relu(x)
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=-1).mean()

    parameters = {
        f"layer{index}": {
            "kernel": jax.ShapeDtypeStruct((widths[index], widths[index + 1]), dtype),
            "bias": jax.ShapeDtypeStruct((widths[index + 1],), dtype)}
        for index in range(len(widths) - 1)}

    def draw(rng):
        return {"x": rng.standard_normal((batch, widths[0])).astype(dtype),
                "y": rng.integers(0, widths[-1], (batch,), dtype="int32")}

    inputs = {"x": jax.ShapeDtypeStruct((batch, widths[0]), dtype), "y": jax.ShapeDtypeStruct((batch,), jnp.int32)}
    return Network(loss, parameters, inputs, draw)


def in_type(parameters, dtype):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), parameters)


# Everything that can be exported. Names end in the element type unless it is f32.
NETWORKS = {
    "gpt2-12": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float32),
    "gpt2-24-f64": lambda: gpt2(24, 32, 4, 97, 8, 112, jnp.float64),
    "gpt2-12-f64": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float64),
    "gpt2-8": lambda: gpt2(8, 64, 8, 128, 16, 32, jnp.float32),
    "gpt2-small": lambda: gpt2(4, 256, 8, 512, 128, 8, jnp.float32),
    "gpt2-tiny": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float32),
    "gpt2-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64),
    "gpt2-tiny-bf16": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.bfloat16),
    "gpt2-dropout-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64, 0.1),
    "gpt2-rbg-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64, 0.1, "rbg"),
    "gpt2-dropout-12": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float32, 0.1),
    "bert-tiny": lambda: bert(2, 32, 4, 89, 16, 8, jnp.float32),
    "bert-tiny-f64": lambda: bert(2, 32, 4, 89, 16, 8, jnp.float64),
    "mlp-tiny": lambda: mlp((12, 24, 16, 10), 8, jnp.float32),
    "mlp-tiny-f64": lambda: mlp((12, 24, 16, 10), 8, jnp.float64),
}
