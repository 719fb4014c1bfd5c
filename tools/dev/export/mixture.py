# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder whose feed-forward layers are mixtures of experts: every token goes to two of them, each of which has room for so many."""

import jax
import jax.numpy as jnp

from llama import attend, make_parameters, normalize
from network import Network, in_type, next_token_loss, token_batch, tokens

BALANCE = 0.01


def route(scores, room):
    """For scores [group, token, expert]: how much of each token goes to which place of which expert [group, token, expert, place].

    Tokens take places in order, first choices before second ones; who finds none is left out.
    """
    experts = scores.shape[-1]
    weights, chosen = jax.lax.top_k(scores, 2)
    weights = weights / weights.sum(-1, keepdims=True)
    taken, combined = 0, 0
    for choice in range(2):
        mask = jax.nn.one_hot(chosen[..., choice], experts, dtype=scores.dtype)
        place = jnp.cumsum(mask, axis=1) - mask + taken
        taken = taken + mask.sum(1, keepdims=True)
        place = (place * mask).sum(-1).astype(jnp.int32)
        places = jax.nn.one_hot(place, room, dtype=scores.dtype)
        combined += weights[..., choice, None, None] * mask[..., None] * places[..., None, :]
    return combined


def balance(scores):
    """The switch transformer's loss: how much experts are asked, times how often they are the first choice."""
    experts = scores.shape[-1]
    first = jax.nn.one_hot(jnp.argmax(scores, axis=-1), experts, dtype=scores.dtype)
    return experts * jnp.mean(jnp.mean(scores, axis=1) * jnp.mean(first, axis=1)) * experts


def mix(p, x, room):
    """The experts' answers for [group, token, feature], and what their balance costs."""
    scores = jax.nn.softmax(x @ p["router"]["kernel"])
    combined = route(scores, room)
    inputs = jnp.einsum("gtec,gtd->egcd", (combined > 0).astype(x.dtype), x)
    hidden = jax.nn.relu(jnp.einsum("egcd,edh->egch", inputs, p["up"]["kernel"]))
    outputs = jnp.einsum("egch,ehd->egcd", hidden, p["down"]["kernel"])
    return jnp.einsum("gtec,egcd->gtd", combined, outputs), balance(scores)


def mixture(layers, width, heads, experts, vocabulary, sequence, batch, dtype):
    """Every sequence is a group of its own."""
    room = sequence

    def loss(p, ids):
        x, cost = p["embed"]["embedding"][ids], 0
        for index in range(layers):
            layer = p["layers"][str(index)]
            with jax.named_scope(f"layers/{index}"):
                x = x + attend(layer["attention"], normalize(x, layer["attention_norm"]["scale"]), heads, heads)
                mixed, unbalanced = mix(layer["mlp"], normalize(x, layer["mlp_norm"]["scale"]), room * 3 // 4)
            x, cost = x + mixed, cost + unbalanced
        logits = normalize(x, p["norm"]["scale"]) @ p["head"]["kernel"]
        return next_token_loss(logits, ids) + BALANCE * cost

    def parameters():
        made = make_parameters(layers, width, heads, heads, vocabulary)
        for layer in made["layers"].values():
            layer["mlp"] = {"router": {"kernel": jnp.zeros((width, experts))},
                            "up": {"kernel": jnp.zeros((experts, width, 2 * width))},
                            "down": {"kernel": jnp.zeros((experts, 2 * width, width))}}
        return made

    return Network(loss, in_type(jax.eval_shape(parameters), dtype), {"ids": tokens(batch, sequence)},
                   token_batch(vocabulary, batch, sequence))
