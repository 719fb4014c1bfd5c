# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the networks of the fixtures are made of: a loss of a parameter tree and a batch, and the shapes of both."""

import dataclasses
import itertools
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

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


def tokens(batch, sequence):
    return jax.ShapeDtypeStruct((batch, sequence), jnp.int32)


def token_batch(vocabulary, batch, sequence):
    return lambda rng: {"ids": rng.integers(0, vocabulary, (batch, sequence), dtype="int32")}


def with_keys(draw, size):
    """Batches with a `key` of `size` words: pairs of a seed and the number of the batch."""
    steps = itertools.count()
    return lambda rng: draw(rng) | {"key": np.tile(np.array([KEY_SEED, next(steps)], "uint32"), size // 2)}


def in_type(parameters, dtype):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), parameters)
